"""Which keys a window has in its store, and which of them have expired by the times of the documents.

Under one hash tag, ``{neardup:<namespace>:<config>}``. All keys expire:

``…:records:<slice>``    HASH document key -> packed record, until the slice's end + window
``…:bands:<generation>`` HASH shard -> postings, until the generation's end + window
``…:runs``               HASH number of a run -> its first and last heartbeat, until two windows after the last one
``…:frequencies:<kind>`` HASH "documents" and "total": document frequencies of features or terms, until a window after
                         the last addition
``…:verdicts:<span>``    HASH minute and name -> count, of ten minutes, for two hours; see verdict_counts.py
``…:learned:lines:<source hash>``   LIST of lines that are boilerplate, the newest last
``…:learned:printed:<source hash>`` LIST of documents that others are compared with, the newest last

``…:once:<random>``      HASH that shows for a minute that a change was made, if it is sent again; see ``store.swap``

The lists of ``learned`` expire ``LEARNED_SECONDS`` after the last addition.

A slice is an hour, and a generation 65,536 s, and their names are numbers. If the window is over two days, both are
longer, and their names say how much: ``<number>x<hours>``, ``<number>x<multiples of 65,536 s>``.

More keys: stories.py.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import NamedTuple, cast

from scrapy_neardup.index.postings import Generation, bits_of_new_generation, read_bits
from scrapy_neardup.index.store import Call, Client, run
from scrapy_neardup.records.documents import seconds_of
from scrapy_neardup.rules.policy import HOUR

GENERATION = 1 << 16
"""Seconds of a generation of postings: as many as 2 bytes can number."""

_MOST_SLICES = 50  # before and after a document: a check passes all their keys to the store
_MOST_HOURLY = 48 * HOUR  # the longest window that is kept by the hour
_MOST_GENERATIONS = 3  # within one window


class Layout:
    """The keys of one namespace and configuration. All begin with ``prefix``, a hash tag."""

    def __init__(self, namespace: str, config: str, window: int) -> None:
        self.namespace = namespace
        self.config = config
        self.prefix = f"{{neardup:{namespace}:{config}}}"
        self._window = window
        self.slice_seconds = slice_seconds(window)
        self._generation = generation_seconds(window)
        self._horizon = Horizon(window, self.slice_seconds)
        # The spans that this process has written to, also for late documents. Only these are deleted here: other
        # processes delete their own spans, or the spans expire.
        self._own_slices: set[int] = set()
        self._own_generations: set[int] = set()

    @property
    def of_namespace(self) -> str:
        """Return how all keys of the namespace begin, of every configuration."""
        return f"{{neardup:{self.namespace}:"

    def name(self, kind: str) -> str:
        """Return the key of a kind that the namespace and configuration have once, such as ``events``."""
        return f"{self.prefix}:{kind}"

    def once(self) -> str:
        """Return a new key that shows that a change was made; see ``store.swap``."""
        return f"{self.prefix}:once:{secrets.token_hex(8)}"

    def story(self, key: bytes) -> str:
        """Return the key of the hash that has the story whose first document has this key."""
        return f"{self.prefix}:story:{key.hex()}"

    def generations(self, second: int) -> list[Generation]:
        """Return the generations of postings around a second, the newest first."""
        numbers = reversed(self._around(second, self._generation))
        return [Generation(number, number * self._generation, self._generation) for number in numbers]

    def slices(self, second: int) -> list[str]:
        """Return the keys of the hashes that have the records around a second."""
        return [
            _records(self.prefix, number, self.slice_seconds) for number in self._around(second, self.slice_seconds)
        ]

    def end_of_slice(self, second: int) -> int:
        return (second // self.slice_seconds + 1) * self.slice_seconds

    def _around(self, second: int, seconds: int) -> range:
        """Return the numbers of the spans of ``seconds`` that lie within a window before and after this second."""
        return range((second - self._window) // seconds, (second + self._window) // seconds + 1)

    def bands(self, generation: int) -> str:
        """Return the key of the hash that has the postings of a generation."""
        return _bands(self.prefix, generation, self._generation)

    def records(self, document: bytes) -> str:
        """Return the key of the hash that has the record of a document."""
        return _records(self.prefix, seconds_of(document) // self.slice_seconds, self.slice_seconds)

    def dead_after(self, second: int) -> tuple[list[str], ExpiredSpan] | None:
        """Return the keys that left the window with a document of this second, and the span that has expired."""
        self._own_slices.add(second // self.slice_seconds)
        self._own_generations.add(second // self._generation)
        over = self._horizon.observe(second)
        if over is None:
            return None
        slices = _dead(self._own_slices, over, self.slice_seconds)
        # Keep the bands of the oldest slice as long as the slice: a late document may match any document in it.
        generations = _dead(self._own_generations, over, self._generation)
        dead = [_records(self.prefix, number, self.slice_seconds) for number in slices]
        dead += [_bands(self.prefix, number, self._generation) for number in generations]
        return (dead, over) if dead else None


class ShardBits(dict[int, int]):
    """How many bits name a shard in each generation of postings, as far as that is known."""

    def __init__(self, layout: Layout) -> None:
        super().__init__()
        self._layout = layout

    async def read(self, client: Client, generations: Sequence[Generation]) -> None:
        """Read the bits of these generations, and their versions in case the bits are damaged."""
        numbers = list({generation.number for generation in generations})
        calls = [Call("HMGET", self._layout.bands(number), (b"bits", b"version")) for number in numbers]
        found = dict(zip(numbers, await run(client, calls), strict=True))
        for generation in generations:
            bits, version = cast("list[bytes | None]", found[generation.number])
            generation.version = version or b""
            self.pop(generation.number, None)
            if number := read_bits(bits):
                self[generation.number] = number

    async def choose(self, client: Client, generation: Generation, second: int, keys: int) -> None:
        """Choose the bits of a generation that has no postings yet, for documents with so many keys."""
        calls = [Call("HLEN", name) for name in self._layout.slices(second)]
        slices = generation.seconds / self._layout.slice_seconds
        self[generation.number] = bits_of_new_generation(cast("list[int]", await run(client, calls)), slices * keys)


def _records(prefix: str, number: int, seconds: int) -> str:
    return f"{prefix}:records:{_name(number, seconds // HOUR)}"


def _bands(prefix: str, number: int, seconds: int) -> str:
    return f"{prefix}:bands:{_name(number, seconds // GENERATION)}"


def _dead(own: set[int], over: ExpiredSpan, seconds: int) -> list[int]:
    """Return the numbers of the spans that have expired, and take them out of ``own``."""
    first, last = -(-over.floor // seconds), over.horizon // seconds
    dead = {number for number in own if first <= number < last}
    own -= dead
    return sorted(dead.union(range(max(first, over.start // seconds), last)))


def _name(number: int, times: int) -> str:
    return str(number) if times == 1 else f"{number}x{times}"


def hours_of_slice(name: str) -> range:
    """Return the hours of a slice of records, from the name of its key."""
    number, _, times = name.rpartition(":")[2].partition("x")
    return range(int(number) * int(times or 1), (int(number) + 1) * int(times or 1))


def parts_of(name: str) -> tuple[str, str]:
    """Return the namespace and the configuration of a key."""
    namespace, _, config = name.partition("}")[0].removeprefix("{neardup:").rpartition(":")
    return namespace, config


def slice_seconds(window: int) -> int:
    """Return the length of a slice of records: an hour, or some hours if the window is longer than two days."""
    return HOUR if window <= _MOST_HOURLY else -(-window // (_MOST_SLICES * HOUR)) * HOUR


def generation_seconds(window: int) -> int:
    """Return the length of a generation: ``GENERATION``, doubled until three of them reach over the window."""
    seconds = GENERATION
    while window > _MOST_GENERATIONS * seconds:
        seconds *= 2
    return seconds


class ExpiredSpan(NamedTuple):
    """The seconds that have left the window: from ``floor`` to before ``horizon``. Seconds before ``floor`` are kept.

    ``start`` is the previous horizon, or ``floor`` if that is later.
    """

    floor: int
    start: int
    horizon: int


class Horizon:
    """Tells which seconds have left the window, as documents come one after the other.

    The horizon lies one window before the earlier of the last two documents. Both must agree that a second is over, so
    one document with a wrong date expires nothing. If the horizon leaps by more than a window, a clock may be wrong:
    the seconds before the leap are left to the store, whose keys expire. If two documents in a row come back to the
    time before the leap, the leap is forgotten.
    """

    def __init__(self, window: int, cut: int) -> None:
        self._window = window
        self._cut = cut  # seconds of a slice: the horizon lies between two of them
        self._previous: int | None = None
        self._horizon = 0  # the latest one
        self._kept_before = 0  # time leapt to this second, so earlier seconds are kept
        self._before_leap = 0  # the horizon before the leap

    def observe(self, second: int) -> ExpiredSpan | None:
        """Note the time of a document. Return the seconds that have now left the window, or None."""
        previous, self._previous = self._previous, second
        if previous is None:
            self._horizon = self._before(second)
            return None
        horizon = self._before(min(previous, second))
        start = min(self._horizon, horizon)
        if max(previous, second) < self._kept_before:
            self._come_back(horizon)
        else:
            if horizon - self._horizon > self._window:  # time leaps
                if not self._kept_before:
                    self._before_leap = self._horizon
                self._kept_before = horizon
            self._horizon = max(horizon, self._horizon)
        start = max(start, self._kept_before)
        return ExpiredSpan(self._kept_before, start, horizon) if horizon > self._kept_before else None

    def _before(self, second: int) -> int:
        return max(0, (second - self._window) // self._cut * self._cut)

    def _come_back(self, horizon: int) -> None:
        self._horizon = max(horizon, self._before_leap)
        self._kept_before = horizon if horizon - self._before_leap > self._window else 0
