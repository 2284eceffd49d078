"""Make heartbeats of runs older than they are, by the clock of the store."""

from __future__ import annotations

from typing import cast

from fleet import open_client

from scrapy_neardup.index import Index
from scrapy_neardup.index.redis.index import RedisIndex
from scrapy_neardup.index.sqlite.index import SQLiteIndex


async def silence(index: Index, url: str, run: int, seconds: float, *, beat_alone: bool = False) -> None:
    """Make the last heartbeat of a run so many seconds older, by the clock of the store; the first one as well."""
    if isinstance(index, SQLiteIndex):
        since = "" if beat_alone else f", started = started - {seconds}"
        change = f"UPDATE runs_{index._space} SET beat = beat - {seconds}{since} WHERE run = {run}"
        await index._in_thread(index._write, lambda sql: sql.execute(change))
        return
    assert isinstance(index, RedisIndex)
    with open_client(url) as client:
        name = f"{index.layout.prefix}:runs"
        first, last = map(int, cast("bytes", client.hget(name, str(run))).split())
        age = int(seconds * 1000)
        client.hset(name, str(run), f"{first if beat_alone else first - age} {last - age}")
