"""Runs in Redis: which of them are alive, and which documents they have not delivered.

Every method raises what redis-py raises.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from scrapy_neardup.index.redis.layout import RedisLayout
from scrapy_neardup.index.redis.lua import ScriptCall, script
from scrapy_neardup.index.redis.types import WrongTypes
from scrapy_neardup.index.runs import FORGOTTEN_SECONDS
from scrapy_neardup.records.documents import seconds_of

if TYPE_CHECKING:
    from redis.asyncio import Redis


class RedisRuns:
    """The runs of one namespace and configuration. ``seconds`` is how long the store remembers the last heartbeat."""

    def __init__(self, layouts: Sequence[RedisLayout], types: WrongTypes, seconds: int) -> None:
        self._layouts = layouts
        self._types = types
        self._seconds = seconds

    async def beat(self, client: Redis, run: int, alive: Collection[int], dead: Collection[int]) -> None:
        numbers = run, _listed(alive), _listed(dead), int(FORGOTTEN_SECONDS * 1000), self._seconds
        arguments = [str(number).encode() for number in numbers]
        await self._call(client, [(script("beat"), (layout.runs,), arguments) for layout in self._layouts])

    async def deliver(self, client: Redis, documents: Sequence[str]) -> None:
        await self._call_by_records(client, "deliver", documents)

    async def withdraw(self, client: Redis, documents: Sequence[str]) -> None:
        await self._call_by_records(client, "withdraw", documents)

    async def _call_by_records(self, client: Redis, name: str, documents: Sequence[str]) -> None:
        by_records: dict[str, list[bytes]] = {}
        for key in map(bytes.fromhex, documents):
            for layout in self._layouts:
                by_records.setdefault(layout.records(seconds_of(key)), []).append(key)
        await self._call(client, [(script(name), (records,), keys) for records, keys in by_records.items()])

    async def _call(self, client: Redis, calls: Sequence[ScriptCall]) -> None:
        for answer in await self._types.run(client, calls) if calls else ():
            if isinstance(answer, Exception):
                raise answer


def _listed(runs: Collection[int]) -> str:
    return " ".join(map(str, runs))
