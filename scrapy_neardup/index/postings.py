"""Read the postings of a document's keys, as they are kept in the shards of a generation, and find candidates.

A key has 32 bits. Its high bits, as many as the generation says, name a shard. Its low 16 bits are the tag of its
postings in the shard's value. A posting is the tag, the seconds since the start of the generation, and the hash part of
a document key. See ``docs/decisions/0026-redis-postings.md``.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from scrapy_neardup.rules.decision import LEAST_WEIGHT, MAX_CANDIDATES, MOST_POSTINGS

TAG_BYTES, HASH_BYTES = 2, 4
FEWEST_BITS, MOST_BITS = 16, 24
_BITS_OF_EMPTY_WINDOW = 18  # with 100,000 documents a day a shard has 16 postings
_POSTINGS_A_SHARD = 16  # fewer make many fields, more make each check read and write much


class Keys:
    """The look-up keys of one document, each with its weight."""

    __slots__ = ("_shards", "numbers", "packed", "packed_weights", "tags", "weights")

    def __init__(self, keys: Sequence[int], weights: Sequence[int]) -> None:
        by_key = dict(zip(reversed(keys), reversed(weights), strict=True))  # of equal keys the first one counts
        self.numbers = {key: number for number, key in enumerate(by_key)}
        self.weights = [*by_key.values()]
        self.packed_weights = bytes([min(each, 0xFF) for each in self.weights])
        self.packed = struct.pack(f">{len(by_key)}I", *by_key)
        self.tags = [self.packed[at : at + TAG_BYTES] for at in range(2, len(self.packed), 4)]
        self._shards: dict[int, list[bytes]] = {}

    def shards(self, bits: int) -> list[bytes]:
        """Return the name of the shard of each key if ``bits`` bits name a shard."""
        if bits not in self._shards:
            mask = -1 << 32 - bits
            names = struct.pack(f">{len(self.numbers)}I", *(key & mask for key in self.numbers))
            self._shards[bits] = [names[at : at + 3] for at in range(0, len(names), 4)]
        return self._shards[bits]


@dataclass(slots=True)
class Generation:
    """The postings of one document's keys in one generation."""

    number: int
    start: int  # second
    seconds: int
    bits: int = 0  # how many bits name a shard, 0 if that is not known
    version: bytes = b""  # empty if it has no postings
    postings: dict[int, list[bytes]] = field(default_factory=dict)  # without tags, by the number of the key

    def read(self, keys: Keys, values: Sequence[bytes | None]) -> None:
        """Read the values of the shards of all keys."""
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

    def added(self, keys: Keys, document: bytes) -> tuple[bytes, bytes, bytes, bytes]:
        """Return ``shards``, ``counts``, ``postings`` and ``gone`` of the ``Posting`` of a document.

        The postings that have to go are those that it replaces at crowded keys.
        """
        posting, shards = self.posting_of(document), keys.shards(self.bits)
        oldest = {number: min(found) for number, found in self.postings.items() if len(found) >= MOST_POSTINGS}
        if not oldest and len(set(shards)) == len(shards):  # as nearly always
            return b"".join(shards), b"\1" * len(shards), posting.join(keys.tags) + posting, b""
        gone, tags_of = list[bytes](), dict[bytes, list[bytes]]()
        kept_out = {number for number, each in oldest.items() if posting <= each}
        for number, (shard, tag) in enumerate(zip(shards, keys.tags, strict=True)):
            if number not in kept_out:
                tags_of.setdefault(shard, []).append(tag)
                if number in oldest:
                    place = [*tags_of].index(shard) + 1
                    gone.append(place.to_bytes(2, "big") + tag + oldest[number])
        counts = bytes(map(len, tags_of.values()))
        postings = [tag + posting for tags in tags_of.values() for tag in tags]
        return b"".join(tags_of), counts, b"".join(postings), b"".join(gone)

    def newest(self) -> bytes:
        """Return the posting that was added last to each key that has any: number of the key, and the posting."""
        return b"".join([number.to_bytes(2, "big") + found[-1] for number, found in self.postings.items()])


def find_candidates(keys: Keys, generations: Iterable[Generation], own: bytes, window: int) -> list[bytes]:
    """Return the keys of the documents of the window that share keys with a document, the likeliest first.

    ``generations`` come with the newest first, ``own`` is the document's key. See ``Index`` for the rule.
    """
    second = int.from_bytes(own[:4], "big")
    room: dict[int, int] = {}
    votes: list[tuple[int, bytes]] = []
    for generation in generations:
        first, last = second - window - generation.start, second + window - generation.start
        is_inside = first <= 0 and last >= generation.seconds - 1
        posted: dict[bytes, int] = {}
        for number, found in generation.postings.items():
            left, weight = room.get(number, MOST_POSTINGS), keys.weights[number]
            if not is_inside:
                found = [each for each in found if first <= int.from_bytes(each[:-HASH_BYTES], "big") <= last]
            if len(found) > left:
                found = sorted(found, reverse=True)[:left]
            room[number] = left - len(found)
            for posting in found:
                posted[posting] = posted.get(posting, 0) + weight
        votes += [(-count, generation.key_of(each)) for each, count in posted.items() if count >= LEAST_WEIGHT]
    return [key for _, key in sorted(votes)[: MAX_CANDIDATES + 1] if key != own][:MAX_CANDIDATES]


def read_bits(stored: bytes | None) -> int | None:
    """Return how many bits name a shard in a generation, None if that is not stored or damaged."""
    bits = int(stored) if stored is not None and stored.isdigit() else 0
    return bits if FEWEST_BITS <= bits <= MOST_BITS else None


def bits_of_new_generation(slices: Sequence[int], keys: float) -> int:
    """Return how many bits name a shard in a new generation.

    It gets as many shards as it will fill if documents keep coming at the rate of the slices in the window. ``slices``
    has the documents of each slice, and ``keys`` is how many keys a generation gets for each document of a slice.
    """
    busy = [documents for documents in slices if documents]
    if not busy:
        return _BITS_OF_EMPTY_WINDOW
    bits = math.floor(math.log2(sum(busy) / len(busy) * keys / _POSTINGS_A_SHARD) + 0.5)
    return max(FEWEST_BITS, min(MOST_BITS, bits))
