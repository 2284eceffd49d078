"""The postings of documents: under which look-up keys they are listed, and who shares keys with whom.

A *look-up key* is a hash of 32 bits that similar documents share, and a *posting* lists a document under it. Postings
are kept in *generations* of some hours, each cut into *shards*. The high bits of a key, as many as the generation says,
name the shard. Its low 16 bits are the tag of its postings in the shard's value. A posting is the tag, the seconds
since the start of the generation, and the hash part of a document key. See ``docs/decisions/window.md``.
"""

import math
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import cast

from scrapy_neardup.document import Fingerprint
from scrapy_neardup.index.layout import SLICE, Layout, Span
from scrapy_neardup.index.store import Call, Client, NewPostings, answers, new_version
from scrapy_neardup.records.documents import seconds_of

# How many postings (documents listed under a key) are read for each key.
#
# The newest are read. If more documents share a key, they are reports of one template, or copies that each name their
# original.
MOST_POSTINGS = 16

# What a shared key counts. A shared text or url counts for more than all other keys together.
IDENTITY_WEIGHT = 1000
TEXT_WEIGHT = 5
NAME_WEIGHT = 4  # also of the heaviest term of the title
TOPIC_WEIGHT = 2

# How much the shared keys of a candidate must count: one name or two terms in common make a candidate.
LEAST_WEIGHT = 4

# How many records a check reads: first those of the same page or text, then those that share most bands.
MAX_CANDIDATES = 32

# How many of these may share no more than a name or two terms. In a window of 17,000 documents 22 such candidates of a
# document were read, one in 4,000 of them was related, and that was one of the newest four.
MOST_WEAK = 12

_TAG_BYTES = 2
_HASH_BYTES = 4
_FEWEST_BITS = 15
_MOST_BITS = 24
_BITS = {b"%d" % bits: bits for bits in range(_FEWEST_BITS, _MOST_BITS + 1)}  # that name a shard, as they are stored
_MOST_A_SHARD = 64  # on average; then the documents that follow are posted beside them, in shards for their rate


def weights_of(fingerprint: Fingerprint) -> list[int]:
    """Return the weight of each key, in the order of ``identity_keys`` and ``text_keys``."""
    topics = max(0, len(fingerprint.topic_keys) - 1)  # the first one is that of the title's heaviest term
    texts = len(fingerprint.band_keys) + len(fingerprint.sample_keys)
    names = len(fingerprint.text_keys) - texts - topics
    return [
        *[IDENTITY_WEIGHT] * len(fingerprint.identity_keys),
        *[TEXT_WEIGHT] * texts,
        *[NAME_WEIGHT] * names,
        *[TOPIC_WEIGHT] * topics,
    ]


def choose_candidates(votes: Sequence[tuple[int, bytes]]) -> list[bytes]:
    """Return the documents that are read, the likeliest first, from what their shared keys count and their own keys.

    They are at most ``MAX_CANDIDATES``: those whose shared keys count most, and among equals the oldest. Of those with
    ``LEAST_WEIGHT`` they are the newest.
    """
    strong = sorted((-count, key) for count, key in votes if count > LEAST_WEIGHT)
    weak = sorted((key for count, key in votes if count == LEAST_WEIGHT), reverse=True)
    return [*(key for _, key in strong), *weak[:MOST_WEAK]][:MAX_CANDIDATES]


class Keys:
    """The look-up keys of one document, each with its weight."""

    __slots__ = ("_shards", "numbers", "packed", "packed_weights", "tags", "weights")

    def __init__(self, fingerprint: Fingerprint) -> None:
        keys = fingerprint.identity_keys + fingerprint.text_keys
        # Of equal keys the first one counts.
        by_key = dict(zip(reversed(keys), reversed(weights_of(fingerprint)), strict=True))
        self.numbers = dict(zip(by_key, range(len(by_key)), strict=True))
        self.weights = [*by_key.values()]
        self.packed_weights = bytes([min(each, 0xFF) for each in self.weights])
        self.packed = struct.pack(f">{len(by_key)}I", *by_key)
        self.tags: Sequence[bytes] = struct.unpack("2x2s" * len(by_key), self.packed)
        self._shards: dict[int, Sequence[bytes]] = {}

    def shards(self, bits: int) -> Sequence[bytes]:
        """Return the name of the shard of each key if ``bits`` bits name a shard."""
        if bits not in self._shards:
            mask = -1 << 32 - bits  # keeps the highest ``bits`` of a key
            names = struct.pack(f">{len(self.numbers)}I", *[key & mask for key in self.numbers])
            self._shards[bits] = struct.unpack("3sx" * len(self.numbers), names)
        return self._shards[bits]


@dataclass(slots=True)
class Generation:
    """The postings of one document's keys in one generation. ``name`` is the key of the hash that has them."""

    name: str
    start: int  # second
    seconds: int
    is_overflow: bool
    bits: int = 0  # how many bits name a shard, 0 if that is not known
    version: bytes = b""  # empty if it has no postings
    is_crowded: bool = False  # its shards have grown: a check reads more of them than it should
    postings: dict[int, list[bytes]] = field(default_factory=dict)  # without tags, by the number of the key

    def read(self, keys: Keys, answer: object) -> None:
        """Read bits, version, and the shards of look-up keys. If the bits have changed, the shards are others."""
        bits, version, *values = cast("list[bytes | None]", answer)
        if _BITS.get(bits or b"") != self.bits:
            return
        self.version = version or b""
        self.is_crowded = sum(map(len, filter(None, values))) > _MOST_A_SHARD * self.posting_bytes * len(values)
        posting = struct.Struct(f"{_TAG_BYTES}s{self.posting_bytes - _TAG_BYTES}s")
        for number, (tag, value) in enumerate(zip(keys.tags, values, strict=True)):
            # Most keys belong to no other document: one scan shows that.
            if value is not None and tag in value:
                whole = memoryview(value)[: len(value) // posting.size * posting.size]
                if found := [each for each_tag, each in posting.iter_unpack(whole) if each_tag == tag]:
                    self.postings[number] = found

    @property
    def posting_bytes(self) -> int:
        return _TAG_BYTES + 2 + (self.seconds > 1 << 16) + _HASH_BYTES  # the second is one of up to 1 << 24

    def posting_of(self, document: bytes) -> bytes:
        second = seconds_of(document) - self.start
        return second.to_bytes(self.posting_bytes - _TAG_BYTES - _HASH_BYTES, "big") + document[4:]

    def add(self, number: int, posting: bytes) -> None:
        """Add a posting to those of a key. If it then has too many, leave out the oldest, which may be the new one."""
        found = self.postings.setdefault(number, [])
        found.append(posting)
        if len(found) > MOST_POSTINGS:
            found.remove(min(found))

    def newest(self) -> bytes:
        """Return the posting that was added last to each key that has any: number of the key, and the posting."""
        return b"".join([number.to_bytes(2, "big") + found[-1] for number, found in self.postings.items()])

    def votes(self, keys: Keys, first: int, last: int, room: dict[int, int]) -> list[tuple[int, bytes]]:
        """Return what the keys count that a document shares, and the document's own key, if they count enough.

        ``first`` and ``last`` are seconds after the start. ``room`` is how many postings are still read of each key.
        """
        is_inside = first <= 0 and last >= self.seconds - 1
        posted: dict[bytes, int] = {}
        for number, found in self.postings.items():
            left = room.get(number, MOST_POSTINGS)
            weight = keys.weights[number]
            if not is_inside:
                found = [each for each in found if first <= _seconds_after_start(each) <= last]
            if len(found) > left:
                found = sorted(found, reverse=True)[:left]
            room[number] = left - len(found)
            for posting in found:
                posted[posting] = posted.get(posting, 0) + weight
        return [
            (count, (self.start + _seconds_after_start(each)).to_bytes(4, "big") + each[-_HASH_BYTES:])
            for each, count in posted.items()
            if count >= LEAST_WEIGHT
        ]


def _added(
    keys: Keys, own: Generation, document: bytes
) -> tuple[Sequence[tuple[bytes, bytes]], Sequence[tuple[bytes, bytes]]]:
    """Return ``added`` and ``gone`` of ``NewPostings``: a document replaces the oldest ones at crowded keys."""
    posting = own.posting_of(document)
    shards = keys.shards(own.bits)
    if len(set(shards)) == len(shards) and all(len(each) < MOST_POSTINGS for each in own.postings.values()):
        return [(shard, tag + posting) for shard, tag in zip(shards, keys.tags, strict=True)], ()  # nearly always
    added = dict[bytes, bytes]()
    gone = list[tuple[bytes, bytes]]()
    for number, (shard, tag) in enumerate(zip(shards, keys.tags, strict=True)):
        if len(others := own.postings.get(number, ())) >= MOST_POSTINGS:
            if posting <= (oldest := min(others)):  # postings begin with their seconds, so they sort by time
                continue
            gone.append((shard, tag + oldest))
        added[shard] = added.get(shard, b"") + tag + posting
    return [*added.items()], gone


class ShardBits(dict[str, int]):
    """How many bits name a shard in each generation, by its name, as far as that is known."""

    async def read(self, client: Client, generations: Sequence[Generation]) -> None:
        """Read the bits of these generations, and their versions in case the bits are damaged."""
        names = list({each.name for each in generations})
        calls = [Call("HMGET", name, (b"bits", b"version")) for name in names]
        found = dict(zip(names, cast("list[list[bytes | None]]", await answers(client, calls)), strict=True))
        for each in generations:
            bits, version = found[each.name]
            each.version = version or b""
            self.pop(each.name, None)
            if number := _BITS.get(bits or b""):
                self[each.name] = number

    async def choose(self, client: Client, generation: Generation, slices: Iterable[str], keys: int) -> None:
        """Choose the bits of a generation that has no postings yet, for documents with so many keys.

        It gets as many shards as it will fill if documents keep coming at the rate of these slices of records.
        """
        counts = await answers(client, [Call("HLEN", name) for name in slices])
        busy = [documents for documents in cast("list[int]", counts) if documents]
        bits = _FEWEST_BITS  # of an empty window
        if busy:
            postings = sum(busy) / len(busy) * (generation.seconds / SLICE * keys)
            # 16 in a shard: fewer make many fields, more make each check read and write much.
            bits = math.floor(math.log2(postings / 16) + 0.5)
        self[generation.name] = max(_FEWEST_BITS, min(_MOST_BITS, bits))


class Neighbourhood:
    """The look-up keys of one document, and the postings of these keys in each generation of its window.

    ``spans`` are those of ``Layout.generations``. The document is posted in its ``own`` generation, or if that is
    crowded, in its overflow.
    """

    def __init__(self, keys: Keys, spans: Iterable[Span], second: int) -> None:
        self.keys = keys
        self.second = second
        self.generations = [Generation(*span) for span in spans]
        self.own = next(
            each for each in self.generations if not each.is_overflow and 0 <= second - each.start < each.seconds
        )


class Postings:
    """Reads the postings around documents that are checked together, and adds those of the documents themselves."""

    def __init__(self, layout: Layout, bits: ShardBits) -> None:
        self._layout = layout
        self._bits = bits
        self._known = list[tuple[Keys, Generation]]()  # generations whose bits are known, each for one document's keys
        self._added: dict[int, list[tuple[str, bytes]]] = {}  # not committed yet: generation and posting, by key
        self._versions: dict[str, bytes] = {}  # that generations get by the commits to come, by their names

    async def calls(self, client: Client, documents: Sequence[Neighbourhood]) -> list[Call]:
        """Return the calls whose answers ``take`` takes.

        Of a generation whose bits are not known nothing is read, as if it was empty. If it is not, the commit fails.
        """
        all_around = [(new.keys, generation) for new in documents for generation in new.generations]
        if any(new.own.name not in self._bits for new in documents):
            await self._bits.read(client, [generation for _, generation in all_around])
        self._known = [(keys, generation) for keys, generation in all_around if generation.name in self._bits]
        for _, generation in self._known:
            generation.bits = self._bits[generation.name]
        return [
            Call("HMGET", generation.name, (b"bits", b"version", *keys.shards(generation.bits)))
            for keys, generation in self._known
        ]

    async def take(self, client: Client, documents: Sequence[Neighbourhood], found: Sequence[object]) -> None:
        """Read the postings, and choose where each document is posted: beside its generation if that is crowded."""
        for (keys, generation), answer in zip(self._known, found, strict=True):
            generation.read(keys, answer)
        for new in documents:
            if new.own.is_crowded:
                new.own = next(each for each in new.generations if each.is_overflow and each.start == new.own.start)
            if new.own.name not in self._bits:
                await self._bits.choose(client, new.own, self._layout.slices(new.second), len(new.keys.weights))
            new.own.bits = self._bits[new.own.name]

    def find(self, new: Neighbourhood, window: int) -> list[bytes]:
        """Return the keys of the documents that are compared with a new one, the likeliest first.

        Of each look-up key at most ``MOST_POSTINGS`` documents are read: the newest of the window, by their own time.
        """
        # Add what the documents before it have posted.
        by_name = {each.name: each for each in new.generations}
        for name in by_name.keys() & self._versions.keys():
            by_name[name].version = self._versions[name]
        for key in new.keys.numbers.keys() & self._added.keys():
            for name, posting in self._added[key]:
                if name in by_name:
                    by_name[name].add(new.keys.numbers[key], posting)
        room = dict[int, int]()  # how many postings are still read of each key
        votes = list[tuple[int, bytes]]()
        for each in new.generations:
            second = new.second - each.start
            votes += each.votes(new.keys, second - window, second + window, room)
        return choose_candidates(votes)

    def post(self, new: Neighbourhood, document: bytes) -> NewPostings:
        """Return how to post the document of this key in its own generation. Those behind it find it already."""
        own = new.own
        added, gone = _added(new.keys, own, document)
        version = new_version()
        posting = (own.name, own.posting_of(document))
        others = [each for each in new.generations if each is not own]
        for key in new.keys.numbers:
            self._added.setdefault(key, []).append(posting)
        self._versions[own.name] = version
        return NewPostings(
            keys=new.keys.packed,
            weights=new.keys.packed_weights,
            least=LEAST_WEIGHT,
            size=own.posting_bytes,
            version=version,
            added=added,
            gone=gone,
            hashes=[(each.name, each.bits, each.version, each.newest()) for each in (*others, own)],
        )


def _seconds_after_start(posting: bytes) -> int:
    """Return how long after the start of its generation a document came."""
    return int.from_bytes(posting[:-_HASH_BYTES], "big")
