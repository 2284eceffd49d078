"""For people: summarise what a store holds of a namespace, and remove the documents of a source or of a page.

This reads every key of the namespace.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import cast

from scrapy_neardup.exceptions import StoreError
from scrapy_neardup.index.layout import KeyName, Layout, Partition, texts_beside
from scrapy_neardup.index.store import Call, Client, Commit, Facts, answers
from scrapy_neardup.index.stories import Stories
from scrapy_neardup.records.documents import Record, read_record
from scrapy_neardup.records.stored_stories import members_of, pack_ledger, read_ledger, without_documents
from scrapy_neardup.records.stories import read_claim, unpack_member


@dataclass(frozen=True, slots=True)
class StoreSummary:
    """What a store holds for one namespace and configuration."""

    location: str
    namespace: str
    config: str
    documents_per_slice: dict[int, int]  # by the number of the slice
    store: Facts  # of the store itself
    texts: int = 0  # kept; documents with equal texts share one
    stories: int = 0  # without those that became a part of another one
    events: int = 0  # that have not ended
    waiting: int = 0  # events on their way, counted for each receiver
    other_configs: tuple[str, ...] = ()  # other configurations in the namespace
    namespaces: tuple[str, ...] = ()  # others in this store; they are looked for only if this one has no documents

    @property
    def documents(self) -> int:
        return sum(self.documents_per_slice.values())


async def survey(client: Client, partition: Partition, stories: Stories) -> StoreSummary:
    layout = partition.layout
    names = [KeyName.of(name) for name in await client.names(layout.of_namespace)]
    own = [each for each in names if each.config == layout.config]
    documents = await _counts_per_slice(client, own, "records")
    texts = await _counts_per_slice(client, own, "texts")
    counters = await stories.counters_of(client, (bytes.fromhex(each.detail) for each in own if each.kind == "story"))
    events, waiting = await answers(client, [Call("HLEN", layout.events), Call("HLEN", layout.outbox)])
    namespaces = set[str]()
    if not documents:
        everything = map(KeyName.of, await client.names("{neardup:"))
        namespaces = {each.namespace for each in everything if each.kind == "records"} - {layout.namespace}
    return StoreSummary(
        location=partition.store.location,
        namespace=layout.namespace,
        config=layout.config,
        documents_per_slice=documents,
        texts=sum(texts.values()),
        store=await client.facts([each.name for each in own] or [layout.prefix]),
        stories=sum(each is None or not each.moved for each in counters),
        events=cast("int", events),
        waiting=cast("int", waiting),
        other_configs=tuple(sorted({each.config for each in names} - {layout.config})),
        namespaces=tuple(sorted(namespaces)),
    )


async def _counts_per_slice(client: Client, names: Iterable[KeyName], kind: str) -> dict[int, int]:
    slices = {int(each.detail): each.name for each in names if each.kind == kind}
    counts = await answers(client, [Call("HLEN", name) for name in slices.values()])
    return dict(sorted(zip(slices, cast("list[int]", counts), strict=True)))


@dataclass(frozen=True, slots=True)
class Selection:
    """The documents to purge: those of one source, those of one page, or all if neither is given."""

    source: str = ""
    source_hash: bytes = b""  # as in a fingerprint; ``url_hash`` too
    url_hash: bytes = b""
    # Decides whether a text is the source or a host of it, a url of the source, or a url of the page.
    is_named: Callable[[str], bool] = lambda _: False

    def takes(self, record: Record) -> bool:
        """Return whether a document is of the source, also if this is the platform of several, or of the page."""
        return (
            self.source_hash == record.source_hash
            or self.url_hash == record.url_hash
            or (self.source != "" and any(record.source_hash) and self.is_named(record.url.decode("utf-8", "replace")))
        )

    def takes_member(self, key: bytes, packed: bytes) -> bool:
        """Return whether a field of a story is a member of the source or page. Return False if it is damaged."""
        try:
            member = unpack_member(key, packed)
        except StoreError:
            return False
        return self.is_named(member.url) or (bool(self.source) and member.source == self.source)


async def to_purge(client: Client, layout: Layout, selection: Selection) -> tuple[int, list[Call | Commit]]:
    """Return how many documents ``Index.purge`` removes, and the calls that remove them and what belongs to them."""
    names = [KeyName.of(name) for name in await client.names(layout.of_namespace)]
    slices = [each.name for each in names if each.kind == "records"]
    if not (selection.source_hash or selection.url_hash):
        counts = cast("list[int]", await answers(client, [Call("HLEN", name) for name in slices]))
        return sum(counts), [Call("UNLINK", each.name) for each in names]
    documents = await _documents_in(client, slices)
    selected = {key: record.source_hash for _, key, record in documents if selection.takes(record)}
    # Copies of a selected document go too.
    removed = [(name, key) for name, key, record in documents if key in selected or record.original in selected]
    calls = list[Call | Commit]()
    for name, key in removed:
        calls += [Call("HDEL", name, (key,)), Call("HDEL", texts_beside(name), (key,))]
    gone = {key for _, key in removed}
    sources = {selection.source_hash, *selected.values()}
    for each in names:
        calls += await _forget(client, each, selection, gone, sources)
    return len(removed), calls


async def _forget(
    client: Client, name: KeyName, selection: Selection, gone: Collection[bytes], sources: Collection[bytes]
) -> list[Call]:
    """Return the calls that forget what a key has of documents that go, and what was learned of these sources."""
    if name.kind == "outbox":
        # Events on their way whose story began with a document that goes, or that such a document has raised. A process
        # that takes an event over while this runs still sends it. docs/howto/purge.md says: stop crawls first.
        ids = {each.hex() for each in gone}
        going = list[bytes]()
        for token, packed in (await client.fields(name.name)).items():
            with suppress(StoreError):
                _, claim = read_claim(token, packed)
                if not ids.isdisjoint((claim.story, claim.item)):
                    going.append(token)
        return [Call("HDEL", name.name, (each,)) for each in going]
    if name.kind == "story":
        return _forget_members(name, await client.fields(name.name), selection, gone)
    if name.kind == "learned" and selection.source and bytes.fromhex(name.detail) in sources:
        return [Call("UNLINK", name.name)]
    return []


async def _documents_in(client: Client, slices: Iterable[str]) -> list[tuple[str, bytes, Record]]:
    """Return the documents of these hashes of records: name of the hash, key and record."""
    return [
        (name, key, record)
        for name in slices
        for key, packed in (await client.fields(name)).items()
        if (record := read_record(packed))
    ]


def _forget_members(
    story: KeyName, fields: Mapping[bytes, bytes], selection: Selection, gone: Collection[bytes]
) -> list[Call]:
    """Return the calls that forget members of a story. If its first document and all known members go, it goes too."""
    members = members_of(fields)
    going = [key for key, packed in members.items() if key in gone or selection.takes_member(key, packed)]
    first = bytes.fromhex(story.detail)
    if first in gone and len(going) == len(members):
        return [
            Call("UNLINK", story.name),
            Call("HDEL", Layout(story.namespace, story.config, window=0).events, (first,)),
        ]
    calls = [Call("HDEL", story.name, (each,)) for each in going]
    with suppress(StoreError):
        ledger = read_ledger(fields.get(b"ledger"))
        left = without_documents(ledger, {*gone, *going})
        if left != ledger:
            calls.append(Call("HSET", story.name, ("ledger", pack_ledger(left))))
    return calls
