"""Look into a store, and change what it keeps, in the same way for every store."""

from __future__ import annotations

from typing import cast

from scrapy_neardup.index import Index
from scrapy_neardup.index.store import Call, Client, run


async def stored(index: Index, kind: str) -> dict[str, dict[bytes, bytes]]:
    """Return the fields of all hashes of a kind, such as ``records`` or ``story``, by key."""

    async def read(client: Client) -> dict[str, dict[bytes, bytes]]:
        names = await client.names(f"{index.layout.prefix}:{kind}")
        return {name: dict(await client.fields(name)) for name in names}

    return await index.store.ask(read)


async def overwrite(index: Index, key: str, fields: dict[bytes, bytes]) -> None:
    pairs = [each for pair in fields.items() for each in pair]
    await index.store.ask(lambda client: run(client, [Call("HSET", key, pairs)]))


async def overwrite_all(index: Index, kind: str, name: str, value: bytes) -> None:
    """Give a field of all hashes of a kind another value."""
    for key in await stored(index, kind):
        await overwrite(index, key, {name.encode(): value})


async def overwrite_records(index: Index, garbage: bytes | None, *, only: str = "") -> None:
    """Damage all records, or that of one document. ``None`` cuts the last byte off."""
    for key, fields in (await stored(index, "records")).items():
        chosen = {field: value for field, value in fields.items() if not only or field.hex() == only}
        if chosen:
            changed = {field: value[:-1] if garbage is None else garbage for field, value in chosen.items()}
            await overwrite(index, key, cast("dict[bytes, bytes]", changed))


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
