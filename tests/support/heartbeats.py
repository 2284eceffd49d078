"""Make heartbeats of runs older than they are, by the clock of the store."""

from __future__ import annotations

from typing import cast

from scrapy_neardup.index import Index
from scrapy_neardup.index.store import Call, Client, run


async def silence(index: Index, run_number: int, seconds: float, *, beat_alone: bool = False) -> None:
    """Make the last heartbeat of a run so many seconds older, by the clock of the store; the first one as well."""
    name = index.layout.name("runs")
    field = str(run_number)

    async def change(client: Client) -> None:
        (kept,) = await run(client, [Call("HGET", name, (field,))])
        first, last = map(int, cast("bytes", kept).split())
        age = int(seconds * 1000)
        await run(client, [Call("HSET", name, (field, f"{first if beat_alone else first - age} {last - age}"))])

    await index.store.ask(change)
