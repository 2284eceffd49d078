"""Find the records in a Redis that share a look-up key with a document. Layout of the keys: layout.py."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, cast

from scrapy_neardup.index.redis.layout import read_name
from scrapy_neardup.index.redis.survey import AT_ONCE, names_of
from scrapy_neardup.index.spans import GENERATION
from scrapy_neardup.records.documents import seconds_of
from scrapy_neardup.similarity.policy import HOUR
from scrapy_neardup.similarity.verification import MOST_POSTINGS

if TYPE_CHECKING:
    from redis.asyncio import Redis

_BITS = {str(bits).encode(): bits for bits in range(16, 25)}  # how many bits of a key may name its shard
_HASH_BYTES = 4  # a posting: tag (2 bytes), seconds since the start of the generation (2 or 3), hash part of the key


async def records_by_keys(
    client: Redis, namespace: str, keys: Mapping[str, Sequence[int]]
) -> list[tuple[bytes, bytes]] | None:
    """Return document keys and packed records of all documents that have one of the keys.

    ``keys`` are the look-up keys of one document, by the prefix under which they are posted. Return None if one of
    them has so many postings that older ones may be gone. Raise what redis-py raises.
    """
    names = [name async for name in names_of(client, namespace)]
    found: dict[bytes, bytes] = {}  # several shards have a document
    for prefix, own in keys.items():
        generations = [name for name in names if name.startswith(f"{prefix}:bands:")]
        slices = [name for name in names if name.startswith(f"{prefix}:records:")]
        posted: set[bytes] = set()
        readable: set[range] = set()
        for name in generations:
            values = await _values(client, name, own)
            if values is None:
                continue
            readable.add(_seconds(name, GENERATION))
            for key, value in zip(own, values, strict=True):
                each = _posted(value or b"", key, _seconds(name, GENERATION))
                if len(each) >= MOST_POSTINGS:
                    return None
                posted.update(each)
        for name in slices:
            seconds = _seconds(name, HOUR)
            found.update(await _records(client, name, {key for key in posted if seconds_of(key) in seconds}))
            # Bands may expire some time before the records of their last slice.
            if not all(any(second in each for each in readable) for second in (seconds[0], seconds[-1])):
                found.update(await _all_records(client, name))
    return list(found.items())


def _seconds(name: str, unit: int) -> range:
    """Return the seconds of the slice or generation whose key this is."""
    number, times = read_name(name)
    return range(number * times * unit, (number + 1) * times * unit)


async def _values(client: Redis, name: str, keys: Sequence[int]) -> list[bytes | None] | None:
    """Return the postings of the shard of each key; None if the band hash is gone or damaged."""
    bits = _BITS.get(cast("bytes", await client.hget(name, "bits")))
    if bits is None:
        return None
    dropped = 24 - bits
    shards = [(key >> 8 >> dropped << dropped).to_bytes(3, "big") for key in keys]
    return cast("list[bytes | None]", await client.hmget(name, cast("list[str]", shards)))  # redis-py takes bytes too


def _posted(value: bytes, key: int, generation: range) -> list[bytes]:
    """Return the keys of the documents that are posted under a key."""
    behind_second = 2 + (2 if len(generation) <= GENERATION else 3)
    size = behind_second + _HASH_BYTES
    postings = (value[at : at + size] for at in range(0, len(value) - size + 1, size))
    return [
        (generation.start + int.from_bytes(each[2:behind_second], "big")).to_bytes(4, "big") + each[behind_second:]
        for each in postings
        if each[:2] == (key & 0xFFFF).to_bytes(2, "big")
    ]


async def _records(client: Redis, name: str, wanted: set[bytes]) -> dict[bytes, bytes]:
    """Return the records that are there; a posting may outlive its record."""
    if not wanted:
        return {}
    fields = sorted(wanted)
    packed = cast("list[bytes | None]", await client.hmget(name, cast("list[str]", fields)))
    return {key: record for key, record in zip(fields, packed, strict=True) if record is not None}


async def _all_records(client: Redis, name: str) -> dict[bytes, bytes]:
    return dict([each async for each in client.hscan_iter(name, count=AT_ONCE)])
