"""Records of a Redis that have a key in common with a document, found by the tables. The layout: redis_layout.py."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, cast

from scrapy_neardup.index.base import HOUR
from scrapy_neardup.index.record import seconds_of
from scrapy_neardup.index.redis_layout import GENERATION
from scrapy_neardup.index.redis_survey import AT_ONCE, names_of
from scrapy_neardup.index.verification import NEWEST

if TYPE_CHECKING:
    from redis.asyncio import Redis

_POSTING = struct.Struct(">HH4s")  # tag, seconds since the start of the generation, hash part of the document key
_BITS = {str(bits).encode(): bits for bits in range(16, 25)}  # how many bits of a key may name its shard


async def records_by_keys(
    client: Redis, namespace: str, keys: Mapping[str, Sequence[int]]
) -> list[tuple[bytes, bytes]] | None:
    """Return document keys and packed records of all documents that have one of the keys.

    ``keys`` are those of a document, by the prefix under which they are posted. Return None if one of them has so many
    postings that older ones may be gone. Raise what redis-py raises.
    """
    names = [name async for name in names_of(client, namespace)]
    found: dict[bytes, bytes] = {}  # several shards have a document
    for prefix, own in keys.items():
        generations, hours = (_numbers(names, f"{prefix}:{kind}:") for kind in ("bands", "records"))
        wanted: dict[int, set[bytes]] = {}  # by hour
        readable = set()
        for generation in generations:
            values = await _values(client, f"{prefix}:bands:{generation}", own)
            if values is None:
                continue
            readable.add(generation)
            for key, value in zip(own, values, strict=True):
                posted = _posted(value or b"", key, generation)
                if len(posted) >= NEWEST:
                    return None
                for each in posted:
                    wanted.setdefault(seconds_of(each) // HOUR, set()).add(each)
        for hour in hours:
            found.update(await _records(client, f"{prefix}:records:{hour}", wanted.get(hour, set())))
            # Bands may expire up to an hour before the records of their last hour.
            if not _generations_of(hour) <= readable:
                found.update(await _all_records(client, f"{prefix}:records:{hour}"))
    return list(found.items())


def _numbers(names: Sequence[str], beginning: str) -> list[int]:
    return [int(name.removeprefix(beginning)) for name in names if name.startswith(beginning)]


def _generations_of(hour: int) -> set[int]:
    first = hour * HOUR
    return {first // GENERATION, (first + HOUR - 1) // GENERATION}


async def _values(client: Redis, name: str, keys: Sequence[int]) -> list[bytes | None] | None:
    """Return the postings of the shard of each key; None if the band hash is gone or damaged."""
    bits = _BITS.get(cast("bytes", await client.hget(name, "bits")))
    if bits is None:
        return None
    dropped = 24 - bits
    shards = [(key >> 8 >> dropped << dropped).to_bytes(3, "big") for key in keys]
    return cast("list[bytes | None]", await client.hmget(name, cast("list[str]", shards)))  # redis-py takes bytes too


def _posted(value: bytes, key: int, generation: int) -> list[bytes]:
    """Return the keys of the documents that are posted under a key."""
    whole = value[: len(value) // _POSTING.size * _POSTING.size]
    start = generation * GENERATION
    return [
        (start + second).to_bytes(4, "big") + hash_part
        for tag, second, hash_part in _POSTING.iter_unpack(whole)
        if tag == key & 0xFFFF
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
