"""Which keys of Redis a store has, and which of them have expired.

Under one hash tag, ``{neardup:<namespace>:<config>}``. All keys expire:

``…:records:<slice>``    HASH document key -> packed record, until the slice's end + window
``…:bands:<generation>`` HASH shard -> postings, until the generation's end + window
``…:runs``               HASH number of a run -> its first and last heartbeat, until two windows after the last one
``…:frequencies:<kind>`` document frequencies of features or terms, until a window after the last addition
``…:verdicts:<span>``    HASH minute and name -> count, of ten minutes, for two hours; see verdict_counts.py
``…:learned:lines:<source hash>``   LIST of lines that are boilerplate, the newest last
``…:learned:printed:<source hash>`` LIST of documents that others are compared with, the newest last

The lists of ``learned`` expire ``LEARNED_SECONDS`` after the last addition.

A slice is an hour, and a generation 65,536 s, and their names are numbers. If the window is over two days, both are
longer, and their names say how much: ``<number>x<hours>``, ``<number>x<multiples of 65,536 s>``.

More keys: stories.py.
"""

from __future__ import annotations

import math
import time

from scrapy_neardup.index.horizon import (
    GENERATION,
    ExpiredSpan,
    Horizon,
    generation_seconds,
    slice_seconds,
)
from scrapy_neardup.index.redis.postings import Generation
from scrapy_neardup.records.documents import seconds_of
from scrapy_neardup.rules.policy import HOUR


class RedisLayout:
    """The keys of one namespace and configuration. All begin with ``prefix``, a hash tag."""

    def __init__(self, namespace: str, config: str, window: int) -> None:
        self.namespace = namespace
        self.config = config
        self.prefix = f"{{neardup:{namespace}:{config}}}"
        self._window = window
        self.slice_seconds = slice_seconds(window)
        self._generation = generation_seconds(window)
        self._horizon = Horizon(window, self.slice_seconds, math.inf, time.time)
        # The spans that this process has written to, also for late documents. Only these are deleted here: other
        # processes delete their own spans, or the spans expire.
        self._own_slices: set[int] = set()
        self._own_generations: set[int] = set()

    def names(self, *kinds: str) -> list[str]:
        """Return the keys of kinds that the namespace and configuration have once, such as ``events``."""
        return [f"{self.prefix}:{kind}" for kind in kinds]

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
