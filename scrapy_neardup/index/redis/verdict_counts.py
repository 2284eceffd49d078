"""Counts of verdicts in Redis: one hash for each span of ten minutes, which expires after two hours."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from typing import cast

from redis.asyncio import Redis

from scrapy_neardup.index.base import COUNTED_MINUTES, MOST_COUNTED
from scrapy_neardup.index.redis import lua
from scrapy_neardup.index.redis.layout import RedisLayout
from scrapy_neardup.index.redis.lua import Call
from scrapy_neardup.index.redis.swap import swap

_SPAN = 10  # minutes


async def add(client: Redis, layout: RedisLayout, minute: int, counts: Mapping[str, int]) -> None:
    """Add counts. Leave out new names over the limit. Processes that add at the same time may exceed it."""
    key = f"{layout.prefix}:verdicts:{minute // _SPAN}"
    fields = {f"{minute}:{name}": count for name, count in counts.items()}
    calls: list[Call] = [("HLEN", (key,), ()), ("HMGET", (key,), [*fields])]
    length, answer = await lua.run_or_raise(client, calls)
    before = dict(zip(fields, cast("list[bytes | None]", answer), strict=True))
    room = max(0, _SPAN * MOST_COUNTED - cast("int", length))
    new = [field for field, value in before.items() if value is None]
    damaged = [field for field, value in before.items() if not (value or b"0").isdigit()]
    writes: list[Call] = [("HDEL", (key,), damaged)] if damaged else []
    writes += [("HINCRBY", (key,), (field, fields[field])) for field in fields.keys() - new[room:]]
    await swap(client, [], [*writes, ("EXPIRE", (key,), (60 * (COUNTED_MINUTES + _SPAN),))])


async def read(client: Redis, layout: RedisLayout, since: int, until: int) -> dict[int, dict[str, int]]:
    """Return the counts by minute. Leave out what is damaged."""
    found: dict[int, dict[str, int]] = {}
    for span in range(since // _SPAN, until // _SPAN + 1):
        answer = client.hgetall(f"{layout.prefix}:verdicts:{span}")
        for field, count in (await cast("Awaitable[dict[bytes, bytes]]", answer)).items():
            minute, _, name = field.decode("utf-8", "replace").partition(":")
            if minute.isdecimal() and count.isdigit() and since <= int(minute) <= until:
                found.setdefault(int(minute), {})[name] = int(count)
    return found
