"""A document that is checked, and the last step of its check: register it with its postings and its story."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from scrapy_neardup.document import Document
from scrapy_neardup.exceptions import StoreError, StoreUnavailable
from scrapy_neardup.index.joined_stories import JoinedStories
from scrapy_neardup.index.layout import SLICE, Span
from scrapy_neardup.index.partition import Part, Partition
from scrapy_neardup.index.postings import Keys, Neighbourhood
from scrapy_neardup.index.runs import kept_by
from scrapy_neardup.index.store import Call, Client, Commit, Expected, NewPostings, is_other_version
from scrapy_neardup.records.documents import NO_TEXT, Record, seconds_of
from scrapy_neardup.records.life import DELIVERED
from scrapy_neardup.records.texts import StoredText, pack_text
from scrapy_neardup.rules.decision import Decision
from scrapy_neardup.rules.pair import Pair
from scrapy_neardup.story import Story

_MOST_JOINS = 10  # tries to join stories that others change, before everything is read again
_COMMITTED = 1  # the answer of a store


@dataclass(eq=False)
class CheckedDocument:
    """A document that is checked: what was read for it, what was decided, and in the end how it is registered.

    One that was checked before is decided again, with its ``stored`` record, but not registered.
    """

    given: Document
    record: Record  # as an original
    keys: Keys  # look-up keys
    near: Neighbourhood = field(init=False)
    posted: NewPostings | None = None
    stored: Record | None = None
    candidates: list[bytes] = field(default_factory=list)
    pairs: dict[bytes, Pair | None] = field(default_factory=dict)  # with candidates; None for one that is no match
    decision: Decision = field(init=False)
    packed: bytes = b""  # the record that is registered
    story: Story | StoreError | None = None  # just after the document joined it; the error if its data is damaged
    asks_other_run: bool = False  # it is to be dropped, and another run has yet to deliver its match
    is_registered: bool = False  # it is registered, now or before
    error: StoreError | None = None

    def begin(self, spans: Sequence[Span]) -> None:
        """Forget what an earlier try has read. ``spans`` are the generations of the document's window."""
        self.near = Neighbourhood(self.keys, spans, seconds_of(self.key))
        self.stored = None
        self.pairs = {}
        self.story = None

    @property
    def key(self) -> bytes:
        """The key under which the document is registered. As long as it has no match it is its own original."""
        return self.record.original

    @property
    def id(self) -> str:
        """The same as an id: that of the document, or if another has that, the next that is free."""
        return self.key.hex()

    @property
    def is_done(self) -> bool:
        return self.is_registered or self.error is not None

    @property
    def answer(self) -> CheckedDocument | StoreError:
        if self.is_registered:
            return self
        return self.error or StoreUnavailable("others change the window all the time")


class Registration(Part):
    """Registers the documents of one batch. ``records`` and ``texts`` are those that the batch knows."""

    def __init__(
        self, partition: Partition, records: Mapping[bytes, Record | None], texts: dict[bytes, StoredText]
    ) -> None:
        super().__init__(partition)
        self._records = records
        self._texts = texts
        self._stories = JoinedStories(partition, records, texts)

    async def commit(self, client: Client, documents: Sequence[CheckedDocument]) -> None:
        """Send a commit for each document, and note the answers. Raise StoreUnavailable if the store is lost.

        A document whose commit is refused is not done then. But if the store answers with another version, only its
        story has changed: its match and verdict are still right, and it joins the story again.
        """
        left = documents
        for _ in range(_MOST_JOINS):
            joins = [each.decision.join for each in left if each.decision.join]
            await self._stories.read(client, joins)
            commits = {each: commit for each in left if (commit := self._commit_of(each))}
            results = dict(zip(commits, await client.send([*commits.values()]), strict=True))
            for each in left:
                self._note(each, results.get(each, _COMMITTED))
            left = [each for each, result in results.items() if is_other_version(result)]
            if not left:
                break
            self._stories.forget()

    def _note(self, new: CheckedDocument, result: object) -> None:
        """Note the answer of the store to a commit; a document without a commit is done."""
        if isinstance(result, Exception):
            new.error = self.partition.store.explained(result)
            if isinstance(new.error, StoreUnavailable):
                raise new.error
        # An earlier try may have written this very record, and its answer was lost on its way.
        elif result == _COMMITTED or (new.packed and result == new.packed):
            new.is_registered = True

    def _commit_of(self, new: CheckedDocument) -> Commit | None:
        """Return the commit that registers a document and writes the story that it joins, None if nothing is new.

        The store refuses it if the document's key is taken, if its match is gone, if the story has changed, or if
        others have posted a document that shares look-up keys of ``LEAST_WEIGHT`` or more. So of equal documents
        exactly one is the original.
        """
        layout = self.layout
        window = self.policy.window
        key = new.key
        second = seconds_of(key)
        expected, writes = list[Expected](), list[Call]()
        if new.decision.join is not None:
            new.story, expected, writes = self._stories.join(new.decision.join)
        record = new.stored or new.decision.record
        kept = kept_by(key, record, self._records.get)
        new.asks_other_run = kept is not None and kept.record.life.run not in (DELIVERED, record.life.run)
        if new.stored is not None:
            return Commit(expected, writes) if writes else None
        new.packed = record.pack()
        needed = [] if record.text_at in (NO_TEXT, key) else [record.text_at]
        if new.decision.match is not None:
            needed.append(new.decision.match.key)
        there = [Expected(Call("HEXISTS", layout.records(each), (each,)), b"1") for each in needed]
        if kept is not None and new.asks_other_run:
            asked = layout.asked(kept.record.life.run)
            writes += [Call("HSET", asked, (key, kept.key, b"", b"")), Call("EXPIRE", asked, (window,))]
        own = new.near.own
        slice_left = SLICE - second % SLICE + window
        writes += [
            Call("EXPIRE", own.name, (own.start + own.seconds - second + window,)),
            Call("HSET", layout.records(key), (key, new.packed)),
            Call("EXPIRE", layout.records(key), (slice_left,)),
        ]
        for changed, (before, after) in new.decision.changed.items():
            expected.append(Expected(Call("HGET", layout.records(changed), (changed,)), before.pack()))
            writes.append(Call("HSET", layout.records(changed), (changed, after.pack())))
        if record.text_at == key:
            writes.append(Call("HSET", layout.texts(key), (key, pack_text(self._texts[key]))))
        if record.text_at != NO_TEXT:  # the text lives as long as this record
            writes.append(Call("EXPIRE", layout.texts(record.text_at), (slice_left,)))
        return Commit([Expected(Call("HGET", layout.records(key), (key,))), *there, *expected], writes, new.posted)
