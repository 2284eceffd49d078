"""Summarise what a store holds of a namespace, for people. This reads every key of the namespace."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import cast

from scrapy_neardup.index.layout import Layout, parts_of
from scrapy_neardup.index.store import Call, Client, run
from scrapy_neardup.index.stories import Stories
from scrapy_neardup.records.documents import Record, read_record


@dataclass(frozen=True, slots=True)
class StoreSummary:
    """What a store holds for one namespace and configuration."""

    location: str
    namespace: str
    config: str
    documents_per_hour: dict[int, int]  # hour (Unix seconds // 3600) -> documents
    bytes: int | None = None  # None if the store cannot tell
    stories: int = 0  # without those that became a part of another one
    events: int = 0  # that have not ended
    other_configs: tuple[str, ...] = ()  # other configurations in the namespace
    server: dict[str, str] = field(default_factory=dict)  # facts of the store itself, for people
    warnings: tuple[str, ...] = ()  # settings of the store that make it lose documents
    namespaces: tuple[str, ...] = ()  # others in this store; they are looked for only if this one has no documents

    @property
    def documents(self) -> int:
        """Return the number of documents of all hours."""
        return sum(self.documents_per_hour.values())


async def survey(client: Client, location: str, layout: Layout, stories: Stories) -> StoreSummary:
    """Return a summary of one configuration."""
    names = await client.names(layout.of_namespace)
    own = [name for name in names if name.startswith(f"{layout.prefix}:")]
    hours = await _documents_per_hour(client, own)
    facts, warnings, size = await client.facts(own or [layout.prefix])
    (events,) = await run(client, [Call("ZCARD", layout.name("events"))])
    return StoreSummary(
        location=location,
        namespace=layout.namespace,
        config=layout.config,
        documents_per_hour=hours,
        bytes=size,
        stories=await stories.count(client),
        events=cast("int", events),
        other_configs=tuple(sorted({parts_of(name)[1] for name in names} - {layout.config})),
        server=facts,
        warnings=warnings,
        namespaces=() if hours else await _namespaces(client, layout.namespace),
    )


async def _namespaces(client: Client, own: str) -> tuple[str, ...]:
    """Return the other namespaces of the store."""
    found = {parts_of(name)[0] for name in await client.names("{neardup:") if "}:records:" in name}
    return tuple(sorted(found - {own}))


async def _documents_per_hour(client: Client, names: Sequence[str]) -> dict[int, int]:
    slices = {int(name.rpartition(":")[2]): name for name in names if "}:records:" in name}
    counts = await run(client, [Call("HLEN", name) for name in slices.values()])
    return dict(sorted(zip(slices, cast("list[int]", counts), strict=True)))


async def records_of(client: Client, layout: Layout) -> list[tuple[bytes, Record]]:
    """Return document keys and records of a configuration. Leave out those that are damaged."""
    names = await client.names(f"{layout.prefix}:records:")
    rows = [row for name in names for row in (await client.fields(name)).items()]
    return [(key, record) for key, packed in rows if (record := read_record(packed)) is not None]
