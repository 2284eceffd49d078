"""Which keys a window has in its store, and which of them have expired by the times of the documents.

Under one hash tag, ``{neardup:<namespace>:<config>}``. All keys expire:

``…:records:<slice>``    HASH document key -> packed record, until the slice's end + window
``…:bands:<generation>`` HASH shard -> postings, until the generation's end + window
``…:runs``               HASH number of a run -> its first and last heartbeat, until two windows after the last one
``…:copies:<run>``       HASH dropped copy -> its match, which this run has yet to deliver, until a window after the
                         last addition
``…:frequencies:<kind>`` HASH "total": document frequencies of features or terms, until a window after the last addition
``…:verdicts:<span>``    HASH minute and name -> count, of ten minutes, for two hours
``…:learned:<source hash>`` HASH "lines" that are boilerplate, and "printed", documents that others are compared with;
                         the newest come last; until ``LEARNED_SECONDS`` after the last addition

A slice is an hour, and a generation 65,536 s, and their names are numbers. If the window is over two days, generations
are longer, and their names say how much: ``<number>x<multiples of 65,536 s>``.

More keys: stories.py.

A look-up key of a document has 32 bits. Its high bits, as many as the generation says, name a shard. Its low 16 bits
are the tag of its postings in the shard's value. A posting is the tag, the seconds since the start of the generation,
and the hash part of a document key. See ``docs/decisions/0026-redis-postings.md``.
"""

from __future__ import annotations

import logging
import math
import struct
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
from dataclasses import dataclass, field
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

from scrapy_neardup.exceptions import StoreError
from scrapy_neardup.index.keys import LEAST_WEIGHT, MAX_CANDIDATES, MOST_POSTINGS, TAG_BYTES, Keys
from scrapy_neardup.index.store import (
    LOGGED,
    MOST_ATTEMPTS,
    Call,
    Client,
    ConflictError,
    Posting,
    Store,
    answers,
    new_version,
    pause_after,
)
from scrapy_neardup.records.changes import StoryChange
from scrapy_neardup.records.documents import seconds_of
from scrapy_neardup.rules.policy import HOUR, Policy

logger = logging.getLogger(__name__)

R = TypeVar("R")
P = ParamSpec("P")

GENERATION = 1 << 16
"""Seconds of a generation of postings: as many as 2 bytes can number. It is doubled for a long window."""

_MOST_GENERATIONS = 3  # within one window

HASH_BYTES = 4
FEWEST_BITS, MOST_BITS = 16, 24
_BITS_OF_EMPTY_WINDOW = 18  # with 100,000 documents a day a shard has 16 postings
_POSTINGS_A_SHARD = 16  # fewer make many fields, more make each check read and write much


class Layout:
    """The keys of one namespace and configuration. All begin with ``prefix``, a hash tag."""

    most_changes = 100_000
    """How many changes of stories a log keeps, or a few more."""

    def __init__(self, namespace: str, config: str, window: int) -> None:
        self.namespace = namespace
        self.config = config
        self.prefix = f"{{neardup:{namespace}:{config}}}"
        self.runs, self.stories, self.events, self.ended, self.outbox, self.changes = map(
            self.name, ("runs", "stories", "events", "ended", "outbox", "changes")
        )
        self._window = window
        self._generation = GENERATION
        while window > _MOST_GENERATIONS * self._generation:
            self._generation *= 2
        self._own_spans = set[tuple[str, int, int]]()  # keys that this process has written to, with start and end
        self._latest = 0  # second of the document before
        self._horizon = 0  # seconds before this one are over, by the last two documents
        self._kept_before = 0  # seconds before this one are left to the store, whose keys expire

    @property
    def of_namespace(self) -> str:
        """Return how all keys of the namespace begin, of every configuration."""
        return f"{{neardup:{self.namespace}:"

    def name(self, kind: str) -> str:
        """Return the key of a kind that the namespace and configuration have once, such as ``events``."""
        return f"{self.prefix}:{kind}"

    def learned(self, source: bytes) -> str:
        """Return the key of the hash that has what was learned of a source, given by its hash."""
        return f"{self.prefix}:learned:{source.hex()}"

    def copies(self, run: int) -> str:
        """Return the key of the hash that has the copies whose match a run has yet to deliver."""
        return self.name(f"copies:{run}")

    def story(self, key: bytes) -> str:
        """Return the key of the hash that has the story whose first document has this key."""
        return f"{self.prefix}:story:{key.hex()}"

    def log(self, *changes: StoryChange) -> list[Call]:
        """Return the calls that log changes of stories. Send them with the commit that makes the changes."""
        limit = "MAXLEN", "~", self.most_changes, "*", LOGGED
        added = [Call("XADD", self.changes, (*limit, each.pack())) for each in changes]
        return [*added, Call("EXPIRE", self.changes, (2 * self._window,))]

    def generations(self, second: int) -> list[Generation]:
        """Return the generations of postings around a second, the newest first."""
        numbers = reversed(self._around(second, self._generation))
        return [Generation(number, number * self._generation, self._generation) for number in numbers]

    def slices(self, second: int) -> list[str]:
        """Return the keys of the hashes that have the records around a second."""
        return [self._slice(number) for number in self._around(second, HOUR)]

    def _around(self, second: int, seconds: int) -> range:
        """Return the numbers of the spans of ``seconds`` that lie within a window before and after this second."""
        return range((second - self._window) // seconds, (second + self._window) // seconds + 1)

    def bands(self, generation: int) -> str:
        """Return the key of the hash that has the postings of a generation."""
        times = self._generation // GENERATION
        return f"{self.prefix}:bands:{generation}{f'x{times}' if times > 1 else ''}"

    def records(self, document: bytes) -> str:
        """Return the key of the hash that has the record of a document."""
        return self._slice(seconds_of(document) // HOUR)

    def _slice(self, number: int) -> str:
        return f"{self.prefix}:records:{number}"

    def posting(
        self, keys: Keys, generations: Iterable[Generation], own: Generation, document: bytes, version: bytes
    ) -> Posting:
        """Return how to post a document in its own generation, which then gets this version."""
        added, gone = own.added(keys, document)
        own_last = sorted(generations, key=lambda each: each is own)
        return Posting(
            keys=keys.packed,
            weights=keys.packed_weights,
            least=LEAST_WEIGHT,
            size=own.posting_bytes,
            version=version,
            added=added,
            gone=gone,
            hashes=[(self.bands(each.number), each.bits, each.version, each.newest()) for each in own_last],
        )

    def dead_after(self, second: int) -> tuple[list[str], int, int]:
        """Return the keys that left the window with a document of this second, and which seconds are now over.

        The seconds are given as the first one and the one after the last. The last two documents must agree that a
        second is over, so one document with a wrong date ends nothing. If time leaps by more than a window, a clock may
        be wrong: what lies before the leap is left to the store, until documents come back to that time. Only keys that
        this process has written to are returned: other processes delete theirs.
        """
        earlier, self._latest = min(self._latest or second, second), second
        before, self._horizon = self._horizon, (earlier - self._window) // HOUR * HOUR
        if self._horizon - before > self._window or self._horizon < self._kept_before:
            self._kept_before = self._horizon
        # The bands of the oldest slice live as long as the slice: a late document may match any document in it.
        for name_of, seconds in ((self._slice, HOUR), (self.bands, self._generation)):
            start = second // seconds * seconds
            self._own_spans.add((name_of(second // seconds), start, start + seconds))
        dead = {each for each in self._own_spans if self._kept_before <= each[1] and each[2] <= self._horizon}
        self._own_spans -= dead
        return sorted(name for name, _, _ in dead), max(0, self._kept_before), self._horizon


class ShardBits(dict[int, int]):
    """How many bits name a shard in each generation of postings, as far as that is known."""

    def __init__(self, layout: Layout) -> None:
        super().__init__()
        self._layout = layout

    async def read(self, client: Client, generations: Sequence[Generation]) -> None:
        """Read the bits of these generations, and their versions in case the bits are damaged."""
        numbers = list({generation.number for generation in generations})
        calls = [Call("HMGET", self._layout.bands(number), (b"bits", b"version")) for number in numbers]
        found = dict(zip(numbers, await answers(client, calls), strict=True))
        for generation in generations:
            bits, version = cast("list[bytes | None]", found[generation.number])
            generation.version = version or b""
            self.pop(generation.number, None)
            if number := read_bits(bits):
                self[generation.number] = number

    def call(self, keys: Keys, generation: Generation) -> Call:
        """Return the call that reads the postings of look-up keys in a generation whose bits are known."""
        generation.bits = self[generation.number]
        shards = keys.shards(generation.bits)
        return Call("HMGET", self._layout.bands(generation.number), (b"bits", b"version", *shards))

    async def choose(self, client: Client, generation: Generation, second: int, keys: int) -> None:
        """Choose the bits of a generation that has no postings yet, for documents with so many keys.

        It gets as many shards as it will fill if documents keep coming at the rate of the slices in the window.
        """
        calls = [Call("HLEN", name) for name in self._layout.slices(second)]
        busy = [documents for documents in cast("list[int]", await answers(client, calls)) if documents]
        bits = _BITS_OF_EMPTY_WINDOW
        if busy:
            postings = sum(busy) / len(busy) * (generation.seconds / HOUR * keys)
            bits = math.floor(math.log2(postings / _POSTINGS_A_SHARD) + 0.5)
        self[generation.number] = max(FEWEST_BITS, min(MOST_BITS, bits))


def parts_of(name: str) -> tuple[str, str]:
    """Return the namespace and the configuration of a key."""
    namespace, _, config = name.partition("}")[0].removeprefix("{neardup:").rpartition(":")
    return namespace, config


@dataclass(slots=True)
class Generation:
    """The postings of one document's keys in one generation."""

    number: int
    start: int  # second
    seconds: int
    bits: int = 0  # how many bits name a shard, 0 if that is not known
    version: bytes = b""  # empty if it has no postings
    postings: dict[int, list[bytes]] = field(default_factory=dict)  # without tags, by the number of the key

    def read(self, keys: Keys, answer: Sequence[bytes | None]) -> None:
        """Read the answer to ``ShardBits.call``. If the bits have changed, the shards are others."""
        bits, version, *values = answer
        if read_bits(bits) != self.bits:
            return
        self.version = version or b""
        posting = struct.Struct(f"{TAG_BYTES}s{self.posting_bytes - TAG_BYTES}s")
        for number, (tag, value) in enumerate(zip(keys.tags, values, strict=True)):
            # Most keys belong to no other document: one scan shows that.
            if value is not None and tag in value:
                whole = memoryview(value)[: len(value) // posting.size * posting.size]
                if found := [each for each_tag, each in posting.iter_unpack(whole) if each_tag == tag]:
                    self.postings[number] = found

    @property
    def posting_bytes(self) -> int:
        """Bytes of a posting with its tag."""
        return TAG_BYTES + (3 if self.seconds > 1 << 16 else 2) + HASH_BYTES

    def posting_of(self, document: bytes) -> bytes:
        """Return the posting of a document of this generation, without a tag. Postings sort as document keys do."""
        second = int.from_bytes(document[:4], "big") - self.start
        return second.to_bytes(self.posting_bytes - TAG_BYTES - HASH_BYTES, "big") + document[4:]

    def key_of(self, posting: bytes) -> bytes:
        """Return the key of a document from its posting."""
        return (self.start + int.from_bytes(posting[:-HASH_BYTES], "big")).to_bytes(4, "big") + posting[-HASH_BYTES:]

    def add(self, number: int, posting: bytes) -> None:
        """Add a posting to those of a key. If it then has too many, leave out the oldest, which may be the new one."""
        found = self.postings.setdefault(number, [])
        found.append(posting)
        if len(found) > MOST_POSTINGS:
            found.remove(min(found))

    def added(self, keys: Keys, document: bytes) -> tuple[Sequence[tuple[bytes, bytes]], Sequence[tuple[bytes, bytes]]]:
        """Return ``added`` and ``gone`` of the ``Posting`` of a document.

        The postings that have to go are those that it replaces at crowded keys.
        """
        posting, shards = self.posting_of(document), keys.shards(self.bits)
        if len(set(shards)) == len(shards) and all(len(each) < MOST_POSTINGS for each in self.postings.values()):
            return [(shard, tag + posting) for shard, tag in zip(shards, keys.tags, strict=True)], ()  # nearly always
        added, gone = dict[bytes, bytes](), list[tuple[bytes, bytes]]()
        for number, (shard, tag) in enumerate(zip(shards, keys.tags, strict=True)):
            if len(found := self.postings.get(number, ())) >= MOST_POSTINGS:
                if posting <= (oldest := min(found)):
                    continue
                gone.append((shard, tag + oldest))
            added[shard] = added.get(shard, b"") + tag + posting
        return [*added.items()], gone

    def newest(self) -> bytes:
        """Return the posting that was added last to each key that has any: number of the key, and the posting."""
        return b"".join([number.to_bytes(2, "big") + found[-1] for number, found in self.postings.items()])


class PostedTogether:
    """The postings of documents that are checked together, before they are committed."""

    def __init__(self, documents: Sequence[Keys]) -> None:
        self._shared = set[int]()  # look-up keys of several documents
        self._postings: dict[int, list[tuple[int, bytes]]] = {}  # with their generations, by shared key
        self._versions: dict[int, bytes] = {}  # that the generations get
        met = set[int]()
        for keys in documents:
            self._shared |= met & keys.numbers.keys()
            met |= keys.numbers.keys()

    def add_to(self, keys: Keys, generations: Iterable[Generation]) -> None:
        """Add the postings so far to those that were read for a document."""
        by_number = {generation.number: generation for generation in generations}
        for number in by_number.keys() & self._versions.keys():
            by_number[number].version = self._versions[number]
        for key in keys.numbers.keys() & self._postings.keys():
            for number, posting in self._postings[key]:
                if number in by_number:
                    by_number[number].add(keys.numbers[key], posting)

    def post(self, keys: Keys, own: Generation, document: bytes) -> bytes:
        """Post a document in its generation, and return the version that the generation then gets."""
        for key in keys.numbers.keys() & self._shared:
            self._postings.setdefault(key, []).append((own.number, own.posting_of(document)))
        self._versions[own.number] = version = new_version()
        return version


def find_candidates(keys: Keys, generations: Iterable[Generation], own: bytes, window: int) -> list[bytes]:
    """Return the keys of the documents of the window that share keys with a document, the likeliest first.

    ``generations`` come with the newest first, ``own`` is the document's key. See ``Index`` for the rule.
    """
    second = int.from_bytes(own[:4], "big")
    room: dict[int, int] = {}
    votes: list[tuple[int, bytes]] = []
    for generation in generations:
        first, last = second - window - generation.start, second + window - generation.start
        posted = _votes(keys, generation, first, last, room)
        votes += [(-count, generation.key_of(each)) for each, count in posted.items() if count >= LEAST_WEIGHT]
    return [key for _, key in sorted(votes)[: MAX_CANDIDATES + 1] if key != own][:MAX_CANDIDATES]


def _votes(keys: Keys, generation: Generation, first: int, last: int, room: dict[int, int]) -> dict[bytes, int]:
    """Return what the shared keys of each posting count. ``first`` and ``last`` are seconds after the start.

    ``room`` is how many postings are still read of each key.
    """
    is_inside = first <= 0 and last >= generation.seconds - 1
    posted: dict[bytes, int] = {}
    for number, found in generation.postings.items():
        left, weight = room.get(number, MOST_POSTINGS), keys.weights[number]
        near = found if is_inside else [each for each in found if first <= _seconds_after_start(each) <= last]
        newest = near if len(near) <= left else sorted(near, reverse=True)[:left]
        room[number] = left - len(newest)
        for posting in newest:
            posted[posting] = posted.get(posting, 0) + weight
    return posted


def _seconds_after_start(posting: bytes) -> int:
    """Return how long after the start of its generation a document came."""
    return int.from_bytes(posting[:-HASH_BYTES], "big")


def read_bits(stored: bytes | None) -> int | None:
    """Return how many bits name a shard in a generation, None if that is not stored or damaged."""
    bits = int(stored) if stored is not None and stored.isdigit() else 0
    return bits if FEWEST_BITS <= bits <= MOST_BITS else None


class Steps:
    """The base of what an index is made of: methods that take steps in the store of one namespace and configuration.

    Damaged data cost one warning for each kind, and are left out.
    """

    def __init__(self, store: Store, layout: Layout, policy: Policy) -> None:
        self.store = store
        self.layout = layout
        self.policy = policy
        self._warned: set[str] = set()

    def warn_damaged(self, kind: str, effect: str) -> None:
        """Warn that data of this kind is damaged, and name the effect. Warn only once for each kind."""
        if kind not in self._warned:
            self._warned.add(kind)
            logger.warning(
                "%s %s: %s is damaged, or not of this version: %s. Further cases are not logged.",
                *(self.store.location, self.layout.prefix, kind, effect),
            )


S = TypeVar("S", bound=Steps)


Step = Callable[Concatenate[S, Client, P], Awaitable[R]]
Method = Callable[Concatenate[S, P], Coroutine[Any, Any, R]]


def reads(step: Step[S, P, R]) -> Method[S, P, R]:
    """Let a method that only reads be called without its client."""

    @wraps(step)
    async def call(self: S, /, *arguments: P.args, **named: P.kwargs) -> R:
        return await self.store.ask(lambda client: step(self, client, *arguments, **named), reads=True)

    return call


def changes(step: Step[S, P, R]) -> Method[S, P, R]:
    """Let a method that reads, decides and swaps be called without its client. Repeat it if others were faster."""

    @wraps(step)
    async def call(self: S, /, *arguments: P.args, **named: P.kwargs) -> R:
        for attempt in range(MOST_ATTEMPTS):
            try:
                return await self.store.ask(lambda client: step(self, client, *arguments, **named))
            except ConflictError:  # noqa: PERF203
                await pause_after(attempt)
        raise StoreError("other processes change the same data all the time")

    return call
