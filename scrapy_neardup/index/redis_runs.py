"""Runs in Redis: which of them live, and what they have not delivered."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from scrapy_neardup.index.base import HOUR
from scrapy_neardup.index.lua import ScriptCall, run_all, script
from scrapy_neardup.index.record import seconds_of
from scrapy_neardup.index.redis_layout import RedisLayout
from scrapy_neardup.index.runs import FORGOTTEN_SECONDS

if TYPE_CHECKING:
    from redis.asyncio import Redis


async def beat(
    client: Redis, layouts: Sequence[RedisLayout], run: int, alive: Collection[int], dead: Collection[int], seconds: int
) -> None:
    """See ``Index.beat``; ``seconds`` is how long the store remembers. Raises what redis-py raises."""
    numbers = (run, *(" ".join(map(str, runs)) for runs in (alive, dead)), int(FORGOTTEN_SECONDS * 1000), seconds)
    arguments = [str(number).encode() for number in numbers]
    await _run(client, [(script("beat"), (layout.runs,), arguments) for layout in layouts])


async def end_run(client: Redis, layouts: Sequence[RedisLayout], run: int) -> None:
    for layout in layouts:
        await client.hdel(layout.runs, str(run))


async def deliver(client: Redis, layouts: Sequence[RedisLayout], documents: Sequence[str]) -> None:
    """See ``Index.deliver``. Raises what redis-py raises."""
    by_hour = _by_hour(documents)
    await _run(
        client,
        [(script("deliver"), (layout.records(hour),), keys) for layout in layouts for hour, keys in by_hour.items()],
    )


async def withdraw(client: Redis, layouts: Sequence[RedisLayout], documents: Sequence[str]) -> None:
    """See ``Index.withdraw``. Raises what redis-py raises."""
    for layout in layouts:
        for hour, keys in _by_hour(documents).items():
            await client.hdel(layout.records(hour), *keys)


async def _run(client: Redis, calls: Sequence[ScriptCall]) -> None:
    for answer in await run_all(client, calls) if calls else ():
        if isinstance(answer, Exception):
            raise answer


def _by_hour(documents: Sequence[str]) -> Mapping[int, list[bytes]]:
    by_hour: dict[int, list[bytes]] = {}
    for key in map(bytes.fromhex, documents):
        by_hour.setdefault(seconds_of(key) // HOUR, []).append(key)
    return by_hour
