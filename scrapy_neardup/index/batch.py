"""The steps of a check: documents that come together are decided one after the other, and registered.

A batch asks the store two to five times: for postings; for records of candidates, if there are any; for texts of those
that may be copies; for the story that a document joins; and to commit. Postings without a record are skipped.

Each document is decided as if those before it had been registered. If others have changed what was read for a document,
its commit is refused.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from scrapy_neardup.document import Document
from scrapy_neardup.exceptions import StoreError, StoreUnavailable
from scrapy_neardup.index.layout import SLICE, Part, Partition, calls_by_slice, values_by_slice
from scrapy_neardup.index.postings import Keys, Neighbourhood, Postings, ShardBits
from scrapy_neardup.index.runs import MOST_LINKS, Heartbeats, kept_by
from scrapy_neardup.index.store import (
    Call,
    Client,
    Commit,
    Expected,
    NewPostings,
    answers,
)
from scrapy_neardup.index.stories import JoinedStories, text_of
from scrapy_neardup.records.documents import (
    DELIVERED,
    NO_TEXT,
    WITHDRAWN,
    Record,
    StoredText,
    pack_text,
    read_record,
    seconds_of,
    with_next_key,
)
from scrapy_neardup.rules.decision import Decision, chosen_for_second_look
from scrapy_neardup.rules.pair import Pair
from scrapy_neardup.story import Story

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

    @property
    def key(self) -> bytes:
        """The key under which the document is registered: its own, or if another has that, the next that is free.

        As long as it has no match it is its own original.
        """
        return self.record.original

    @property
    def is_done(self) -> bool:
        return self.is_registered or self.error is not None

    @property
    def answer(self) -> "CheckedDocument | StoreError":
        if self.is_registered:
            return self
        return self.error or StoreUnavailable("others change the window all the time")


class Batch(Part):
    """Documents that are checked together, and what was read of the window for them. No two of them have one key.

    The methods are the steps of a check, in their order. ``bits`` is what this process remembers of the generations.
    """

    def __init__(self, partition: Partition, bits: ShardBits, client: Client, documents: list[CheckedDocument]) -> None:
        super().__init__(partition)
        self._client = client
        self.documents = documents
        for each in documents:  # forget what an earlier try has read
            second = seconds_of(each.key)
            each.near = Neighbourhood(each.keys, self.layout.generations(second), second)
            each.stored = None
            each.pairs = {}
            each.story = None
        self._postings = Postings(self.layout, bits)
        self._heartbeats = Heartbeats(partition.run)
        # Those that were read, also None for damaged ones; then those of this batch.
        self.records: dict[bytes, Record | None] = {}
        self._taken = set[bytes]()  # keys that have a record, also a damaged one
        # Stored ones by the ``text_at`` of their records; those of this batch by their own keys.
        self._texts: dict[bytes, StoredText] = {}
        self._stories = JoinedStories(partition, self.records, self._texts)

    async def check(self, *, registers: bool = True) -> None:
        """Take all steps, or only decide the documents."""
        # Read the postings of look-up keys, and what is stored under the documents' own keys.
        near = [each.near for each in self.documents]
        calls = await self._postings.calls(self._client, near)
        found = await self._read_records({each.key for each in self.documents}, calls)
        await self._postings.take(self._client, near, found)
        if registers:
            await self._find_own_keys()
        # Find the candidates of each document, and post it for those that come after it.
        for each in self.documents:
            if each.stored is not None:  # it was checked before: the only candidate is the one that it is linked to
                each.candidates = [*{each.stored.match} - {each.key}]
            else:
                each.candidates = self._postings.find(each.near, self.policy.window)
                each.posted = self._postings.post(each.near, each.key)
        await self._read_candidates()
        await self._read_texts()
        await self._client.run_aside(self._decide)
        if registers:
            await self._commit()

    # 1. Read the postings

    async def _read_records(self, keys: set[bytes], more: Sequence[Call] = ()) -> list[object]:
        """Read the records under these keys that were not read before. Return the answers to ``more`` calls."""
        calls = calls_by_slice(self.layout.records, keys - self.records.keys())
        found = await answers(self._client, [*more, *calls])
        for key, packed in values_by_slice(calls, found[len(more) :]):
            self.records[key] = read_record(packed or b"")
            if packed is not None:
                self._taken.add(key)
                if self.records[key] is None:
                    self.partition.warn_damaged("a record", "its document is not compared")
        return found[: len(more)]

    # 2. Find their own keys

    async def _find_own_keys(self) -> None:
        """Find the documents that were checked before. If another document has a key, take the next key."""
        moved = self.documents
        while moved := [each for each in moved if not self._keeps_key(each)]:
            for each in moved:
                each.record = with_next_key(each.record)
            await self._read_records({each.key for each in self.documents})

    def _keeps_key(self, new: CheckedDocument) -> bool:
        """Return False if another document has the key of a new one. If it is the same document, note its record."""
        if new.key not in self._taken:
            return True
        stored = self.records[new.key]
        text_and_page = (new.record.text_hash, new.record.url_hash)
        if stored is None or stored.life == WITHDRAWN or (stored.text_hash, stored.url_hash) != text_and_page:
            return False
        # Only a document with a match needs ``tells_title``, not stored. A wall has one, but a story of its own.
        new.stored = replace(stored, tells_title=stored.story != new.key, is_boilerplate=new.record.is_boilerplate)
        return True

    # 3. Read the candidates

    async def _read_candidates(self) -> None:
        """Read the heartbeats, the records of all candidates, and those that dropped or lost ones link to."""
        wanted = {key for each in self.documents for key in each.candidates}
        if not wanted:
            return
        (runs,) = await self._read_records(wanted, [Call("RUNS", self.layout.runs)])
        self._heartbeats = Heartbeats.of(self.partition.run, runs)
        done = set[bytes]()
        for _ in range(MOST_LINKS + 1):
            await self._read_records(wanted)
            done |= wanted
            known = [(key, record) for key in wanted if (record := self.records[key])]
            wanted = {record.match for key, record in known if record.is_dropped or self._is_lost(key, record)} - done
            if not wanted:
                break
        self._add_matches_of_lost()

    def _is_lost(self, key: bytes, record: Record) -> bool:
        return not self._heartbeats.is_seen(record, kept_by(key, record, self.records.get))

    def _add_matches_of_lost(self) -> None:
        """Add what each lost candidate was like. Otherwise a page that is lost in every run would hide its original."""
        for new in (each for each in self.documents if each.stored is None):
            for key in new.candidates:  # those that are added are looked at too
                record = self.records.get(key)
                if record and record.match not in (new.key, *new.candidates) and self._is_lost(key, record):
                    new.candidates.append(record.match)

    # 4. Read the texts

    async def _read_texts(self) -> None:
        """Read the texts of candidates that are chosen for a second look, and of documents kept instead of them."""
        wanted = await self._client.run_aside(self._wanted_texts)
        self._texts |= await self.partition.texts(self._client, wanted)
        for each in self.documents:  # those that come later in this batch may read the texts of those before
            if each.stored is None and each.record.text_at != NO_TEXT:
                self._texts[each.key] = StoredText.of(each.given.title, each.given.text)

    def _wanted_texts(self) -> set[bytes]:
        """Return the keys of the documents that hold the texts which are compared.

        A candidate that is equal to a chosen one gets the same look, but another document may be kept instead of it.
        """
        wanted = set[bytes]()
        for each in self.documents:
            pairs = self._update_pairs(each)
            chosen = chosen_for_second_look(pairs)
            keys = {pair.key for pair in chosen.values()}
            keys |= {pair.kept_key for pair in pairs if pair.old.is_dropped and pair.old.content_hash in chosen}
            wanted |= {record.text_at for key in keys if (record := self.records.get(key))}
        return wanted

    def _update_pairs(self, new: CheckedDocument) -> list[Pair]:
        """Pair a document with each candidate whose record is known, and return the pairs that may match.

        It is done before texts are read, and again before the document is decided: then those before it in this batch
        have records, and may have changed others. So ``Judge.decide`` chooses again whose texts are compared.
        """
        for key in new.candidates:
            record = self.records.get(key)
            # A candidate that is paired may have changed since.
            if record is None or (key in new.pairs and ((known := new.pairs[key]) is None or known.old is record)):
                continue
            kept = kept_by(key, record, self.records.get)
            pair = Pair(
                key,
                new.stored or new.record,
                record,
                self.policy,
                is_seen=self._heartbeats.is_seen(record, kept),
                kept_key=kept.key if kept else b"",
            )
            new.pairs[key] = pair if new.stored is not None or self.partition.judge.system.may_match(pair) else None
        return [each for key in new.candidates if (each := new.pairs.get(key)) is not None]

    # 5. Decide

    def _decide(self) -> None:
        """Decide what each document is. The documents behind it are decided as if it was registered."""
        for each in self.documents:
            pairs = self._update_pairs(each)
            # Of candidates, and of the documents kept instead of them.
            texts = {
                key: text
                for pair in pairs
                for key in (pair.key, pair.kept_key)
                if (text := text_of(key, self.records, self._texts))
            }
            document = replace(each.given, id=each.key.hex())
            each.decision = self.partition.judge.decide(document, each.stored or each.record, pairs, texts)
            if each.stored is None:
                self.records[each.key] = each.decision.record
                self.records |= {changed: after for changed, (_, after) in each.decision.changed.items()}

    # 6. Commit

    async def _commit(self) -> None:
        """Send a commit for each document, and note the answers. Raise StoreUnavailable if the store is lost.

        A document whose commit is refused is not done then: everything is read again for it.
        """
        await self._stories.read(self._client, [each.decision.join for each in self.documents if each.decision.join])
        commits = await self._client.run_aside(
            lambda: {each: commit for each in self.documents if (commit := self._commit_of(each))}
        )
        results = dict(zip(commits, await self._client.send([*commits.values()]), strict=True))
        for each in self.documents:
            result = results.get(each, _COMMITTED)  # a document without a commit is done
            if isinstance(result, Exception):
                each.error = self.partition.store.explained(result)
                if isinstance(each.error, StoreUnavailable):
                    raise each.error
            # An earlier try may have written this very record, and its answer was lost on its way.
            elif result == _COMMITTED or (each.packed and result == each.packed):
                each.is_registered = True

    def _commit_of(self, new: CheckedDocument) -> Commit | None:
        """Return the commit that registers a document and writes the story that it joins, None if nothing is new.

        The store refuses it if the document's key is taken, if its match is gone, if the story has changed, or if
        others have posted a document that shares look-up keys of ``LEAST_WEIGHT`` or more. So of equal documents
        exactly one is the original.
        """
        layout = self.layout
        key = new.key
        second = seconds_of(key)
        expected, writes = list[Expected](), list[Call]()
        if new.decision.join is not None:
            new.story, expected, writes = self._stories.join(new.decision.join)
        record = new.stored or new.decision.record
        kept = kept_by(key, record, self.records.get)
        new.asks_other_run = kept is not None and kept.record.run not in (DELIVERED, record.run)
        if new.stored is not None:
            return Commit(expected, writes) if writes else None
        new.packed = record.pack()
        needed = {record.text_at} - {NO_TEXT, key}
        if new.decision.match is not None:
            needed.add(new.decision.match.pair.key)
        must_exist = [Expected(Call("HEXISTS", layout.records(each), (each,)), b"1") for each in needed]
        if kept is not None and new.asks_other_run:
            asked = layout.asked(kept.record.run)
            writes += [Call("HSET", asked, (key, kept.key, b"", b"")), Call("EXPIRE", asked, (self.policy.window,))]
        # Slices and generations live until their end + window.
        slice_left = SLICE - second % SLICE + self.policy.window
        own = new.near.own
        writes += [
            Call("EXPIRE", own.name, (own.start + own.seconds - second + self.policy.window,)),
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
        must_be_free = Expected(Call("HGET", layout.records(key), (key,)))
        return Commit([must_be_free, *must_exist, *expected], writes, new.posted)
