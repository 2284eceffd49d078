"""Counts of verdicts in Redis: one hash for each span of ten minutes, which expires after two hours."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from typing import TYPE_CHECKING, cast

from scrapy_neardup.index.base import COUNTED_MINUTES, MOST_COUNTED
from scrapy_neardup.index.redis.layout import RedisLayout
from scrapy_neardup.index.redis.lua import Call, script

if TYPE_CHECKING:
    from redis.asyncio import Redis

_SPAN = 10  # minutes


def addition(layout: RedisLayout, minute: int, counts: Mapping[str, int]) -> Call:
    """Return the call that adds counts."""
    arguments = [str(60 * (COUNTED_MINUTES + _SPAN)), str(_SPAN * MOST_COUNTED)]
    for name, count in counts.items():
        arguments += [f"{minute}:{name}", str(count)]
    encoded = tuple(each.encode() for each in arguments)
    return script("count"), (f"{layout.prefix}:verdicts:{minute // _SPAN}",), encoded


async def read_counts(client: Redis, layout: RedisLayout, since: int, until: int) -> dict[int, dict[str, int]]:
    """Return the counts by minute. Leave out what is damaged."""
    found: dict[int, dict[str, int]] = {}
    for span in range(since // _SPAN, until // _SPAN + 1):
        answer = client.hgetall(f"{layout.prefix}:verdicts:{span}")
        for field, count in (await cast("Awaitable[dict[bytes, bytes]]", answer)).items():
            minute, _, name = field.decode("utf-8", "replace").partition(":")
            if minute.isdecimal() and count.isdigit() and since <= int(minute) <= until:
                found.setdefault(int(minute), {})[name] = int(count)
    return found
