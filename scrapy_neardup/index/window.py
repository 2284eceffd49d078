"""The window: find the candidates of documents, decide in Python, and register the documents.

A check asks the store two to four times: for postings; for records of candidates, if there are any; for the story that
the document joins; and to commit. A posting whose record is gone is no candidate.

``Window._try`` has the steps in their order. Documents that come together are decided one after the other, as if each
had been registered before the next. If others have changed what was read for a document, it is tried again.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import groupby
from typing import NamedTuple, cast

from scrapy_neardup.document import LONG_TEXT, Document, Fingerprint, Join, Story, with_id
from scrapy_neardup.exceptions import StoreError, StoreUnavailable
from scrapy_neardup.index.layout import Layout, Steps, reads
from scrapy_neardup.index.postings import Generation, Keys, PostedTogether, ShardBits, find_candidates, posting
from scrapy_neardup.index.runs import MOST_LINKS, Heartbeats, kept_by
from scrapy_neardup.index.store import Call, Client, Commit, Expected, Store, answers, is_version, pause_after
from scrapy_neardup.index.stories import Stories
from scrapy_neardup.records.documents import WITHDRAWN, Record, new_record, read_record, seconds_of, with_next_key
from scrapy_neardup.records.stories import StoredStories
from scrapy_neardup.rules.decision import Candidate, Decision, Judge
from scrapy_neardup.rules.pair import CandidateState
from scrapy_neardup.rules.policy import HOUR

_ATTEMPTS = 1000  # to register a document while others register documents with the same keys
_STORY_ATTEMPTS = 10  # to join stories that others change, before everything is read again
_COMMITTED = 1  # the answer of a store


class Checked(NamedTuple):
    """The answer to a check.

    ``id`` is the id under which the document is registered. It is the document's own id, or a later one of the same
    second if another document has that id already. ``story`` is the story just after the document joined it, None if it
    joined none. If the data of the story is damaged, ``story`` is the error, and the document is registered without it.
    """

    id: str
    decision: Decision
    story: Story | StoreError | None


class NewDocument:
    """A document that is checked: its text, its record as the first of its kind, and its look-up keys."""

    def __init__(self, fingerprint: Fingerprint, document: Document, own_run: int) -> None:
        self._document = document
        self.record = new_record(fingerprint, document, own_run)
        self.keys = Keys.of(fingerprint)

    @property
    def key(self) -> bytes:
        return self.record.original

    @property
    def document(self) -> Document:
        """Return the document with the id under which it will be registered."""
        return with_id(self._document, self.key.hex())

    def is_the_same(self, other: Record) -> bool:
        return (self.record.text_hash, self.record.url_hash) == (other.text_hash, other.url_hash)


@dataclass(slots=True, eq=False)
class Attempt:
    """One attempt to register a document: what was read for it, what was decided, and what became of it.

    A document that was checked before has its ``stored`` record, or a ``twin``: the same document earlier in the batch.
    It is decided again, but not registered.
    """

    new: NewDocument
    generations: list[Generation]  # those in the window, the newest first
    own: Generation  # the one in which the document is posted
    stored: Record | None = None
    twin: Attempt | None = None
    version: bytes = b""  # that its own generation gets
    candidates: list[bytes] = field(default_factory=list)
    decision: Decision | None = None
    packed: bytes = b""  # the record that is registered
    story: Story | StoreError | None = None
    is_done: bool = False  # it is registered, or nothing had to be written
    error: StoreError | None = None

    @property
    def is_first(self) -> bool:
        """Return whether this is the first check of the document: then it is registered."""
        return self.stored is None and self.twin is None

    @property
    def answer(self) -> Checked | StoreError | None:
        """Return the answer to the check, None if the document has to be tried again."""
        if self.error or not self.is_done or self.decision is None:
            return self.error
        if self.twin and not isinstance(self.twin.answer, Checked):
            return self.twin.answer
        return Checked(self.new.key.hex(), self.decision, self.story)


class Batch:
    """Documents that are decided one after the other, with what was read for them."""

    def __init__(self, documents: Sequence[NewDocument], layout: Layout, own_run: int) -> None:
        self.attempts: list[Attempt] = []
        for new in documents:
            second, generations = seconds_of(new.key), layout.generations(seconds_of(new.key))
            self.attempts.append(Attempt(new, generations, next(each for each in generations if each.has(second))))
        self.heartbeats = Heartbeats(own_run)
        self.packed: dict[bytes, bytes | None] = {}  # stored records, None where there is none
        self.records: dict[bytes, Record | None] = {}  # those of candidates, also those of this batch
        self.decided: dict[bytes, Record] = {}
        self.stories: StoredStories = {}
        self._posted = PostedTogether(new.keys for new in documents)

    @property
    def keys(self) -> set[bytes]:
        return {each.new.key for each in self.attempts}

    def vote(self, attempt: Attempt, window: int) -> None:
        """Find the candidates of a document, and post it for those that come after it."""
        keys, key = attempt.new.keys, attempt.new.key
        self._posted.add_to(keys, attempt.generations)
        attempt.candidates = find_candidates(keys, attempt.generations, key, window)
        attempt.version = self._posted.post(keys, attempt.own, key)

    def state(self, record: Record) -> CandidateState:
        """Decide whether a document counts as seen."""
        return self.heartbeats.state(record, self.records.get)

    def follow_lost(self, attempt: Attempt) -> None:
        """Add what each lost candidate was like. Otherwise a page that is lost in every run would hide its original."""
        for key in attempt.candidates:  # it grows
            record, known = self.records.get(key), (attempt.new.key, *attempt.candidates)
            if record and record.candidate not in known and self.state(record) == "lost":
                attempt.candidates.append(record.candidate)

    def likely_candidates(self, attempt: Attempt, judge: Judge) -> list[Candidate]:
        """Return the candidates without those that cannot be a match."""
        new, found = attempt.new.record, list[Candidate]()
        for key in attempt.candidates:
            record = self.records.get(key)
            if record is not None and judge.may_match(new, record):
                old = self._as_delivered(key, record)
                found.append((key, old, self.state(old)))
        return found

    def known_candidate(self, key: bytes, known: Record) -> list[Candidate]:
        """Return the document that one which was checked before is linked to."""
        old = self.records.get(known.candidate) if known.has_match(key) else None
        return [(known.candidate, old, self.state(old))] if old else []

    def _as_delivered(self, key: bytes, record: Record) -> Record:
        """Return a record. A copy whose match is delivered is delivered too, whatever its own run did since."""
        if not record.is_dropped:
            return record
        _, kept = kept_by(key, record, self.records.get)
        return record if kept is None or kept.run else replace(record, run=0)


class Window(Steps):
    """Records and postings of one namespace and configuration."""

    def __init__(self, store: Store, layout: Layout, judge: Judge, stories: Stories) -> None:
        super().__init__(store, layout, judge.policy)
        self._judge = judge
        self._stories = stories
        self._bits = ShardBits()

    async def check(self, documents: Sequence[NewDocument], own_run: int) -> list[Checked | StoreError]:
        """Find candidates, decide and commit. Do it again for documents with which others interfered."""
        done: dict[NewDocument, Checked | StoreError] = {}
        size, failed = len(documents), 0  # attempts in a row without an answer
        for attempt in range(_ATTEMPTS):
            if failed:
                await pause_after(failed)
            left = [new for new in documents if new not in done][:size]
            batch = Batch(left, self.layout, own_run)
            await self.store.ask(partial(self._try, batch, attempt > 0))
            found = {each.new: answer for each in batch.attempts if (answer := each.answer) is not None}
            done |= found
            if len(done) == len(documents):
                break
            # The fewer documents, the less time others have to interfere.
            size = max(1, len(left) // 2) if len(found) < len(left) else 2 * size
            failed = 0 if found else failed + 1
        late = StoreUnavailable("others change the window all the time")
        return [done.get(new, late) for new in documents]

    @reads
    async def look(self, client: Client, new: NewDocument) -> tuple[Decision, dict[bytes, Record]]:
        """Return what a check would decide, and the records of all candidates. This registers nothing."""
        batch = Batch([new], self.layout, 0)
        (attempt,) = batch.attempts
        await self._read_postings(client, batch, again=True)
        batch.vote(attempt, self.policy.window)
        await self._read_candidates(client, batch)
        decision = await self._decide(client, batch, attempt)
        return decision, {key: each for key, each in batch.records.items() if each and key != new.key}

    async def _try(self, batch: Batch, again: bool, client: Client) -> None:
        """Try to register documents."""
        await self._read_postings(client, batch, again=again)
        await self._settle_keys(client, batch)
        for attempt in batch.attempts:
            if attempt.is_first:
                batch.vote(attempt, self.policy.window)
        await self._read_candidates(client, batch)
        for attempt in batch.attempts:
            attempt.decision = await self._decide(client, batch, attempt)
        await self._commit_all(client, batch)

    # Find

    async def _read_postings(self, client: Client, batch: Batch, *, again: bool) -> None:
        """Read what is stored under the documents' own keys, and the postings of their look-up keys.

        In the first attempt a generation of which nothing is known counts as empty: if it is not, the commit fails.
        """
        asked = [(each.new.keys, one) for each in batch.attempts for one in each.generations]
        if again or any(each.own.name not in self._bits for each in batch.attempts):
            await self._bits.read(client, [one for _, one in asked])
        asked = [(keys, one) for keys, one in asked if one.name in self._bits]
        for _, generation in asked:
            generation.bits = self._bits[generation.name]
        found = await self._read_packed(client, batch, batch.keys, [one.call(keys) for keys, one in asked])
        for (keys, generation), answer in zip(asked, found, strict=True):
            generation.read(keys, answer)
        for each in batch.attempts:
            if each.own.name not in self._bits:
                slices = self.layout.slices(seconds_of(each.new.key))
                await self._bits.choose(client, each.own, slices, len(each.new.keys.weights))
            each.own.bits = self._bits[each.own.name]

    async def _settle_keys(self, client: Client, batch: Batch) -> None:
        """Find the documents that were checked before. If another document has a key, take the next key."""
        is_settled = False
        while not is_settled:
            await self._read_packed(client, batch, batch.keys)
            taken: dict[bytes, Attempt] = {}
            settled = [self._settle_key(batch, attempt, taken) for attempt in batch.attempts]
            is_settled = all(settled)

    def _settle_key(self, batch: Batch, attempt: Attempt, taken: dict[bytes, Attempt]) -> bool:
        """Return whether a document has its key, as the first or because it was checked before.

        ``taken`` are the documents of the batch that have their keys.
        """
        new = attempt.new
        packed, twin = batch.packed[new.key], taken.get(new.key)
        stored = read_record(packed) if packed is not None else None
        if packed is None and twin is None:
            taken[new.key] = attempt
        elif twin and new.is_the_same(twin.new.record):
            attempt.twin = twin
        elif stored and stored.run != WITHDRAWN and new.is_the_same(stored):
            attempt.stored = stored
        else:
            if twin is None and stored is None:
                self.warn_damaged("a record", "its document is not compared")
            new.record = with_next_key(new.record)
            return False
        return True

    async def _read_candidates(self, client: Client, batch: Batch) -> None:
        """Read the heartbeats, the records of all candidates, and those that dropped or lost ones link to."""
        wanted = {key for each in batch.attempts for key in each.candidates}
        wanted |= {each.stored.candidate for each in batch.attempts if each.stored}
        if not wanted:
            return
        batch.heartbeats.note(*await self._read_packed(client, batch, wanted, [Call("RUNS", self.layout.runs)]))
        for _ in range(MOST_LINKS + 1):
            await self._read_packed(client, batch, wanted)
            read = filter(None, [self._read_record(batch, key) for key in wanted])
            linked = {each.candidate for each in read if each.is_dropped or batch.state(each) == "lost"}
            if not (wanted := linked - batch.records.keys()):
                break
        for attempt in batch.attempts:
            batch.follow_lost(attempt)

    def _read_record(self, batch: Batch, key: bytes) -> Record | None:
        """Return the record of a candidate, None if it is gone or damaged."""
        if key not in batch.records:
            packed = batch.packed[key]
            batch.records[key] = record = read_record(packed) if packed is not None else None
            if record is None and packed is not None:
                self.warn_damaged("a record", "its document is not compared")
        return batch.records[key]

    async def _read_packed(
        self, client: Client, batch: Batch, keys: AbstractSet[bytes], more: Sequence[Call] = ()
    ) -> list[object]:
        """Read what is stored under these keys, unless it was read before. Return the answers to ``more`` calls."""
        if not (missing := keys - batch.packed.keys()):
            return await answers(client, more) if more else []
        hours = [[*group] for _, group in groupby(sorted(missing), lambda key: seconds_of(key) // HOUR)]
        calls = [Call("HMGET", self.layout.records(hour[0]), hour) for hour in hours]
        found = await answers(client, [*more, *calls])
        for hour, packed in zip(hours, cast("list[list[bytes | None]]", found[len(more) :]), strict=True):
            batch.packed.update(zip(hour, packed, strict=True))
        return found[: len(more)]

    # Decide

    async def _decide(self, client: Client, batch: Batch, attempt: Attempt) -> Decision:
        """Decide what a document is. The documents behind it are decided as if it was registered."""
        new, key = attempt.new.record, attempt.new.key
        if attempt.is_first:
            record, candidates = new, batch.likely_candidates(attempt, self._judge)
        else:
            known = attempt.stored or batch.decided[key]
            candidates = batch.known_candidate(key, known)
            # ``tells_title`` is not stored, but a document whose match was a wall has kept its own story.
            record = replace(known, tells_title=known.story != key, is_boilerplate=new.is_boilerplate)
        document = attempt.new.document
        if candidates and len(document.text) >= LONG_TEXT:  # reading its figures would hold up the event loop
            decision = await client.run_aside(self._judge.decide, document, record, candidates)
        else:
            decision = self._judge.decide(document, record, candidates)
        if attempt.is_first:
            batch.records[key] = batch.decided[key] = decision.record
        return decision

    # Commit

    async def _commit_all(self, client: Client, batch: Batch) -> None:
        """Send the commits, and note what became of them. Raise StoreUnavailable if the store is lost.

        If others have changed a story, but no candidate, match and verdict are still right: join the story again.
        """
        left = batch.attempts
        for _ in range(_STORY_ATTEMPTS):
            joins = [each.decision.join for each in left if each.decision and each.decision.join]
            await self._stories.read(client, batch.stories, joins)
            commits = {each: self._commit(batch, each) for each in left}
            sent = [(each, commit) for each, commit in commits.items() if commit is not None]
            results = dict(zip(dict(sent), await client.send([commit for _, commit in sent]), strict=True))
            for each in left:
                self._note(each, results.get(each, _COMMITTED))
            if not (left := [each for each, result in results.items() if is_version(result)]):
                break
            batch.stories.clear()

    def _note(self, attempt: Attempt, result: object) -> None:
        """Note the answer of a store to a commit; a document without a commit is done."""
        if isinstance(result, Exception):
            attempt.error = self.store.explained(result)
            if isinstance(attempt.error, StoreUnavailable):
                raise attempt.error
        # An earlier attempt may have written this very record, and its answer was lost on its way.
        attempt.is_done = result == _COMMITTED or (bool(attempt.packed) and result == attempt.packed)

    def _commit(self, batch: Batch, attempt: Attempt) -> Commit | None:
        """Return the commit that registers a document and writes the story that it joins, None if nothing is new.

        The store refuses it if the document's key is taken, if its match is gone, if the story has changed, or if
        others have posted a document that shares look-up keys of ``LEAST_WEIGHT`` or more. So of equal documents
        exactly one is the original.
        """
        assert attempt.decision is not None
        record, key, own = attempt.decision.record, attempt.new.key, attempt.own
        expected, writes = self._join(batch, attempt, attempt.decision.join)
        if not attempt.is_first:
            return Commit(expected, writes) if writes else None
        attempt.packed = record.pack()
        records, second, window = self.layout.records(key), seconds_of(key), self.policy.window
        if record.has_match(key):
            match = Call("HEXISTS", self.layout.records(record.candidate), (record.candidate,))
            expected = [Expected(match, b"1"), *expected]
        if record.is_dropped:
            kept_key, kept = kept_by(key, record, batch.records.get)
            copies = self.layout.copies(kept.run if kept else record.run_number)
            writes += [Call("HSET", copies, (key, kept_key)), Call("EXPIRE", copies, (window,))]
        writes = [
            Call("EXPIRE", own.name, (own.start + own.seconds - second + window,)),
            *writes,
            Call("HSET", records, (key, attempt.packed)),
            Call("EXPIRE", records, (HOUR - second % HOUR + window,)),
        ]
        posted = posting(attempt.new.keys, attempt.generations, own, key, attempt.version)
        return Commit([Expected(Call("HGET", records, (key,))), *expected], writes, posted)

    def _join(self, batch: Batch, attempt: Attempt, join: Join | None) -> tuple[list[Expected], list[Call]]:
        """Let a document join its story. Return how the story is written, nothing if it joins none."""
        if join is None:
            return [], []
        try:
            attempt.story, expected, writes = self._stories.join(batch.stories, join)
        except Exception as error:
            attempt.story = self.store.explained(error)
            if isinstance(attempt.story, StoreUnavailable):
                raise attempt.story from error
            return [], []
        return expected, writes
