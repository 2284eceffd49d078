"""For people: summarise what a store holds of a namespace, and remove the documents of a source or of a page.

This reads every key of the namespace.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import cast

from scrapy_neardup.exceptions import StoreError
from scrapy_neardup.index.layout import Layout, parts_of
from scrapy_neardup.index.store import Call, Client, Commit, Facts, answers
from scrapy_neardup.index.stories import Stories, forget_stories
from scrapy_neardup.records.documents import KEY_BYTES, WITHDRAWN, Record, read_record
from scrapy_neardup.records.stories import read_claim, unpack_member


@dataclass(frozen=True, slots=True)
class StoreSummary:
    """What a store holds for one namespace and configuration."""

    location: str
    namespace: str
    config: str
    documents_per_hour: dict[int, int]  # hour (Unix seconds // 3600) -> documents
    store: Facts  # of the store itself
    texts: int = 0  # kept; documents with equal texts share one
    stories: int = 0  # without those that became a part of another one
    events: int = 0  # that have not ended
    waiting: int = 0  # events on their way
    other_configs: tuple[str, ...] = ()  # other configurations in the namespace
    namespaces: tuple[str, ...] = ()  # others in this store; they are looked for only if this one has no documents

    @property
    def documents(self) -> int:
        """Return the number of documents of all hours."""
        return sum(self.documents_per_hour.values())


async def survey(client: Client, location: str, layout: Layout, stories: Stories) -> StoreSummary:
    """Return a summary of one configuration."""
    names = await client.names(layout.of_namespace)
    own = [name for name in names if name.startswith(f"{layout.prefix}:")]
    hours = await _counts_per_hour(client, own, "records")
    events, waiting = await answers(client, [Call("HLEN", layout.events), Call("HLEN", layout.outbox)])
    return StoreSummary(
        location=location,
        namespace=layout.namespace,
        config=layout.config,
        documents_per_hour=hours,
        texts=sum((await _counts_per_hour(client, own, "texts")).values()),
        store=await client.facts(own or [layout.prefix]),
        stories=await stories.count(client),
        events=cast("int", events),
        waiting=cast("int", waiting),
        other_configs=tuple(sorted({parts_of(name)[1] for name in names} - {layout.config})),
        namespaces=() if hours else await _namespaces(client, layout.namespace),
    )


async def _namespaces(client: Client, own: str) -> tuple[str, ...]:
    """Return the other namespaces of the store."""
    found = {parts_of(name)[0] for name in await client.names("{neardup:") if "}:records:" in name}
    return tuple(sorted(found - {own}))


async def _counts_per_hour(client: Client, names: Sequence[str], kind: str) -> dict[int, int]:
    slices = {int(name.rpartition(":")[2]): name for name in names if f"}}:{kind}:" in name}
    counts = await answers(client, [Call("HLEN", name) for name in slices.values()])
    return dict(sorted(zip(slices, cast("list[int]", counts), strict=True)))


async def records_of(client: Client, layout: Layout) -> list[tuple[bytes, Record]]:
    """Return document keys and records of a configuration. Leave out those that are damaged or lost."""
    names = await client.names(f"{layout.prefix}:records:")
    rows = [row for name in names for row in (await client.fields(name)).items()]
    return [(key, record) for key, packed in rows if (record := read_record(packed)) and record.run != WITHDRAWN]


@dataclass(frozen=True, slots=True)
class Selection:
    """The documents to purge: those of one source, those of one page, or all if neither is given."""

    source: str = ""
    source_hash: bytes = b""  # as in a fingerprint; ``url_hash`` too
    url_hash: bytes = b""
    is_named: Callable[[str], bool] | None = None  # decides whether a text is the source, a url of it, or of the page

    @property
    def is_all(self) -> bool:
        return not (self.source_hash or self.url_hash)

    def takes(self, record: Record) -> bool:
        """Return whether a document is of the source, also if this is the platform of several, or of the page."""
        if self.is_all or self.source_hash == record.source_hash or self.url_hash == record.url_hash:
            return True
        has_source = bool(self.source) and any(record.source_hash)
        return has_source and self.takes_name(record.url.decode("utf-8", "replace"))

    def takes_member(self, key: bytes, packed: bytes) -> bool:
        """Return whether a field of a story is a member of the source or page. Return False if it is damaged."""
        try:
            member = unpack_member(key, packed)
        except StoreError:
            return False
        return self.takes_name(member.url) or (bool(self.source) and member.source == self.source)

    def takes_name(self, name: str) -> bool:
        """Return whether a text is the source or a host of it, a url of the source, or a url of the page."""
        return self.is_named is not None and self.is_named(name)


async def to_purge(client: Client, layout: Layout, selection: Selection) -> tuple[int, list[Call | Commit]]:
    """Return how many documents ``Index.purge`` removes, and the calls that remove them and what belongs to them."""
    names = await client.names(layout.of_namespace)
    slices = [name for name in names if "}:records:" in name]
    if selection.is_all:
        counts = cast("list[int]", await answers(client, [Call("HLEN", name) for name in slices]))
        return sum(counts), [Call("UNLINK", name) for name in names]
    rows = await _rows(client, slices)
    selected = {key: record.source_hash for _, key, record in rows if selection.takes(record)}
    sources = {selection.source_hash, *selected.values()}
    removed = [(name, key) for name, key, record in rows if key in selected or record.original in selected]
    gone, learned = {key for _, key in removed}, {source.hex() for source in sources if selection.source}
    calls = _removals(removed)
    for name in names:
        calls += await _forget(client, name, selection, gone, learned)
    return len(removed), calls


def _removals(removed: Sequence[tuple[str, bytes]]) -> list[Call | Commit]:
    """Return the calls that remove documents and their texts, given for each the hash of its record, and its key."""
    of_texts = [(name.replace("}:records:", "}:texts:"), key) for name, key in removed]
    return [Call("HDEL", name, (key,)) for name, key in (*removed, *of_texts)]


async def _rows(client: Client, slices: Sequence[str]) -> list[tuple[str, bytes, Record]]:
    """Return the documents of these hashes of records: name of the hash, key and record."""
    found = [(name, *each) for name in slices for each in (await client.fields(name)).items()]
    return [(name, key, record) for name, key, packed in found if (record := read_record(packed))]


async def _forget(
    client: Client, name: str, selection: Selection, gone: Collection[bytes], learned: Collection[str]
) -> Sequence[Call | Commit]:
    """Return the calls that forget what a key has of documents that go, and what was learned of these sources."""
    kind, _, rest = name.partition("}:")[2].partition(":")
    if kind == "outbox":
        return _forget_claims(name, await client.fields(name), gone)
    if kind == "story":
        return _forget_members(name, await client.fields(name), selection, gone)
    return [Call("UNLINK", name)] if kind == "learned" and rest in learned else []


def _forget_members(
    story: str, fields: Mapping[bytes, bytes], selection: Selection, gone: Collection[bytes]
) -> list[Call | Commit]:
    """Return the calls that forget members of a story. If its first document and all known members go, it goes too."""
    members = {key: packed for key, packed in fields.items() if len(key) == KEY_BYTES}
    going = [key for key, packed in members.items() if key in gone or selection.takes_member(key, packed)]
    prefix, _, name = story.rpartition(":story:")
    first = bytes.fromhex(name)
    if first in gone and len(going) == len(members):
        return [*forget_stories(prefix, [first])]
    return [Call("HDEL", story, going)] if going else []


def _forget_claims(key: str, claims: Mapping[bytes, bytes], gone: Collection[bytes]) -> list[Call]:
    """Return the calls that forget events that are on their way: their story began with a document that goes.

    Or such a document has raised the event. A process that takes an event over while this runs still sends it.
    docs/howto/purge.md says: stop crawls first.
    """
    ids, going = {each.hex() for each in gone}, list[bytes]()
    for token, packed in claims.items():
        with suppress(StoreError):
            _, claim = read_claim(token, packed)
            if not ids.isdisjoint((claim.story, claim.item)):
                going.append(token)
    return [Call("HDEL", key, going)] if going else []
