"""The window: find the candidates of documents, decide in Python, and register the documents.

``Window._try`` has the steps in their order. It asks the store two to four times: for postings; for records of
candidates, if there are any; for the story that the document joins; and to commit. A posting whose record is gone is no
candidate.

Documents that come together are decided one after the other, as if each had been registered before the next. If others
have changed what was read for a document, it is tried again.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import groupby
from typing import NamedTuple, cast

from scrapy_neardup.document import LONG_TEXT, Document, Fingerprint, Join, Story, with_id
from scrapy_neardup.exceptions import StoreError, StoreUnavailable
from scrapy_neardup.index.layout import Layout, reads
from scrapy_neardup.index.postings import Generation, Keys, PostedTogether, ShardBits, find_candidates, new_postings
from scrapy_neardup.index.runs import MOST_LINKS, Heartbeats, RunSteps, kept_by
from scrapy_neardup.index.store import Argument, Call, Client, Commit, Expected, Store, answers, is_version, pause_after
from scrapy_neardup.index.stories import StoredStories, Stories
from scrapy_neardup.records.documents import WITHDRAWN, Record, new_record, read_record, seconds_of, with_next_key
from scrapy_neardup.rules.decision import Candidate, Decision, Judge
from scrapy_neardup.rules.pair import CandidateState
from scrapy_neardup.rules.policy import HOUR

logger = logging.getLogger(__name__)

_MOST_TRIES = 1000  # to register a document while others register documents with the same keys
_MOST_STORY_TRIES = 10  # to join stories that others change, before everything is read again
_COMMITTED = 1  # the answer of a store


Records = dict[bytes, Record]


class Checked(NamedTuple):
    """The answer to a check.

    ``id`` is the id under which the document is registered. It is the document's own id, or a later one of the same
    second if another document has that id already. ``story`` is the story just after the document joined it, None if it
    joined none. If the data of the story is damaged, ``story`` is the error, and the document is registered without it.
    ``asks_other_run`` is True if the document is to be dropped, and another run has yet to deliver its match.
    """

    id: str
    decision: Decision
    story: Story | StoreError | None
    asks_other_run: bool = False


class NewDocument:
    """A document that is checked: its record as the first of its kind, its look-up keys, and in the end the answer."""

    def __init__(self, fingerprint: Fingerprint, document: Document, run: int) -> None:
        self._document = document
        self.record = new_record(fingerprint, document, run)
        self.keys = Keys.of(fingerprint)
        self.answer: Checked | StoreError | None = None

    @property
    def key(self) -> bytes:
        return self.record.original

    @property
    def document(self) -> Document:
        """Return the document with the id under which it will be registered."""
        return with_id(self._document, self.key.hex())


@dataclass(slots=True, eq=False)
class Attempt:
    """One attempt to register a document: what was read for it, and what was decided.

    A document that was checked before has its ``stored`` record. It is decided again, but not registered.
    """

    new: NewDocument
    generations: list[Generation]  # those in the window, the newest first
    own: Generation  # the one in which the document is posted
    stored: Record | None = None
    version: bytes = b""  # that its own generation gets
    candidates: list[bytes] = field(default_factory=list)
    decision: Decision | None = None
    packed: bytes = b""  # the record that is registered
    story: Story | StoreError | None = None
    asks_other_run: bool = False  # another run is asked for the fate of the match


class Batch:
    """Documents that are decided one after the other, with what was read for them. No two of them have one key."""

    def __init__(self, documents: Iterable[NewDocument], layout: Layout, run: int) -> None:
        self.attempts: list[Attempt] = []
        for new in documents:
            second, generations = seconds_of(new.key), layout.generations(seconds_of(new.key))
            self.attempts.append(Attempt(new, generations, next(each for each in generations if each.has(second))))
        self.heartbeats = Heartbeats(run)
        self.packed: dict[bytes, bytes | None] = {}  # stored records, None where there is none
        self.records: dict[bytes, Record | None] = {}  # those of candidates, also those of this batch
        self.stories: StoredStories = {}
        self._posted = PostedTogether(each.new.keys for each in self.attempts)

    @property
    def keys(self) -> set[bytes]:
        return {each.new.key for each in self.attempts}

    def find(self, attempt: Attempt, window: int) -> None:
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
            if record and record.match not in known and self.state(record) == "lost":
                attempt.candidates.append(record.match)

    def likely_candidates(self, attempt: Attempt, judge: Judge) -> list[Candidate]:
        """Return the candidates without those that cannot be a match."""
        new, found = attempt.new.record, list[Candidate]()
        for key in attempt.candidates:
            record = self.records.get(key)
            if record is not None and judge.may_match(new, record):
                found.append((key, record, self.state(record)))
        return found

    def known_candidate(self, key: bytes, stored: Record) -> list[Candidate]:
        """Return the document that one which was checked before is linked to."""
        old = self.records.get(stored.match) if stored.has_match(key) else None
        return [(stored.match, old, self.state(old))] if old else []


class Window(RunSteps):
    """Finds the documents that a new one may be like, has them judged, and registers the new one."""

    def __init__(self, store: Store, layout: Layout, judge: Judge) -> None:
        super().__init__(store, layout, judge.policy)
        self.judge = judge
        self.stories = Stories(store, layout, judge.policy)
        self._bits = ShardBits()
        self._looked_until = 0  # stories were looked through for those that were dead at this second
        self._part: Argument | None = None  # of the stories, where that goes on

    async def check(self, documents: Sequence[tuple[Fingerprint, Document]]) -> list[Checked | StoreError]:
        """Decide what documents are, one after the other, and register them. They go to the store together.

        If data is damaged, the error is the answer for those documents that need this data. Raise StoreUnavailable if
        the store does not answer in time; the documents may then be registered or not.
        """
        checked = [NewDocument(*each, self.run) for each in documents]
        waiting, most, failures = checked, len(checked), 0
        for number in range(_MOST_TRIES):
            batch = Batch(_with_own_keys(waiting[:most]), self.layout, self.run)
            try:
                await self.store.ask(partial(self._try, batch, number > 0))
            except StoreUnavailable:
                raise
            except StoreError as error:
                if len(batch.attempts) == 1:
                    batch.attempts[0].new.answer = error
            answered = sum(each.new.answer is not None for each in batch.attempts)
            waiting = [each for each in waiting if each.answer is None]
            if not waiting:
                break
            # The fewer documents, the less time others have to interfere.
            most = max(1, len(batch.attempts) // 2) if answered < len(batch.attempts) else 2 * most
            failures = 0 if answered else failures + 1
            if failures:
                await pause_after(failures)
        await self._unlink_dead(new.document for new in checked)
        late = StoreUnavailable("others change the window all the time")
        return [late if each.answer is None else each.answer for each in checked]

    @reads
    async def look(self, client: Client, fingerprint: Fingerprint, document: Document) -> tuple[Decision, Records]:
        """Return what a check would decide now, and the records of all candidates. This registers nothing."""
        batch = Batch([NewDocument(fingerprint, document, self.run)], self.layout, 0)
        (attempt,) = batch.attempts
        await self._read_postings(client, batch, again=True)
        batch.find(attempt, self.policy.window)
        await self._read_candidates(client, batch)
        decision = await self._decide(client, batch, attempt)
        return decision, {key: each for key, each in batch.records.items() if each and key != attempt.new.key}

    async def _try(self, batch: Batch, again: bool, client: Client) -> None:
        """Try to register documents."""
        await self._read_postings(client, batch, again=again)
        await self._settle_keys(client, batch)
        for attempt in batch.attempts:
            if attempt.stored is None:
                batch.find(attempt, self.policy.window)
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
        moved = batch.attempts
        while moved := [each for each in moved if not self._has_key(batch, each)]:
            for each in moved:
                each.new.record = with_next_key(each.new.record)
            await self._read_packed(client, batch, batch.keys)

    def _has_key(self, batch: Batch, attempt: Attempt) -> bool:
        """Return whether a document has its key, as the first or because it was checked before."""
        new, packed = attempt.new.record, batch.packed[attempt.new.key]
        stored = read_record(packed) if packed is not None else None
        if stored is None and packed is not None:
            self.warn_damaged("a record", "its document is not compared")
        is_free = packed is None
        if stored and stored.run != WITHDRAWN and stored.is_same_document(new):
            attempt.stored = stored
        return is_free or attempt.stored is not None

    async def _read_candidates(self, client: Client, batch: Batch) -> None:
        """Read the heartbeats, the records of all candidates, and those that dropped or lost ones link to."""
        wanted = {key for each in batch.attempts for key in each.candidates}
        wanted |= {each.stored.match for each in batch.attempts if each.stored}
        if not wanted:
            return
        batch.heartbeats.note(*await self._read_packed(client, batch, wanted, [Call("RUNS", self.layout.runs)]))
        for _ in range(MOST_LINKS + 1):
            await self._read_packed(client, batch, wanted)
            read = filter(None, [self._read_record(batch, key) for key in wanted])
            linked = {each.match for each in read if each.is_dropped or batch.state(each) == "lost"}
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
        key, record, stored = attempt.new.key, attempt.new.record, attempt.stored
        if stored is None:
            candidates = batch.likely_candidates(attempt, self.judge)
        else:
            candidates = batch.known_candidate(key, stored)
            # ``tells_title`` is not stored, but a document whose match was a wall has kept its own story.
            record = replace(stored, tells_title=stored.story != key, is_boilerplate=record.is_boilerplate)
        document = attempt.new.document
        if candidates and len(document.text) >= LONG_TEXT:  # reading its figures would hold up the event loop
            decision = await client.run_aside(self.judge.decide, document, record, candidates)
        else:
            decision = self.judge.decide(document, record, candidates)
        if stored is None:
            batch.records[key] = decision.record
        return decision

    # Commit

    async def _commit_all(self, client: Client, batch: Batch) -> None:
        """Send the commits, and note the answers. Raise StoreUnavailable if the store is lost.

        If others have changed a story, but no candidate, match and verdict are still right: join the story again.
        """
        left = batch.attempts
        for _ in range(_MOST_STORY_TRIES):
            joins = [each.decision.join for each in left if each.decision and each.decision.join]
            await self.stories.read(client, batch.stories, joins)
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
        new = attempt.new
        if isinstance(result, Exception):
            new.answer = self.store.explained(result)
            if isinstance(new.answer, StoreUnavailable):
                raise new.answer
        # An earlier attempt may have written this very record, and its answer was lost on its way.
        elif attempt.decision and (result == _COMMITTED or (attempt.packed and result == attempt.packed)):
            new.answer = Checked(new.key.hex(), attempt.decision, attempt.story, attempt.asks_other_run)

    def _commit(self, batch: Batch, attempt: Attempt) -> Commit | None:
        """Return the commit that registers a document and writes the story that it joins, None if nothing is new.

        The store refuses it if the document's key is taken, if its match is gone, if the story has changed, or if
        others have posted a document that shares look-up keys of ``LEAST_WEIGHT`` or more. So of equal documents
        exactly one is the original.
        """
        assert attempt.decision is not None
        record, key, own = attempt.decision.record, attempt.new.key, attempt.own
        expected, writes = self._join(batch, attempt, attempt.decision.join)
        if attempt.stored is not None:
            return Commit(expected, writes) if writes else None
        attempt.packed = record.pack()
        records, second, window = self.layout.records(key), seconds_of(key), self.policy.window
        if (match := attempt.decision.match) is not None:
            is_there = Call("HEXISTS", self.layout.records(match.key), (match.key,))
            expected = [Expected(is_there, b"1"), *expected]
        if record.is_dropped:
            kept_key, kept = kept_by(key, record, batch.records.get)
            attempt.asks_other_run = kept is not None and kept.run not in (0, record.run_number)
            if kept is not None and attempt.asks_other_run:
                asked = self.layout.asked(kept.run)
                writes += [Call("HSET", asked, (key, kept_key)), Call("EXPIRE", asked, (window,))]
        writes = [
            Call("EXPIRE", own.name, (own.start + own.seconds - second + window,)),
            *writes,
            Call("HSET", records, (key, attempt.packed)),
            Call("EXPIRE", records, (HOUR - second % HOUR + window,)),
        ]
        posted = new_postings(attempt.new.keys, attempt.generations, own, key, attempt.version)
        return Commit([Expected(Call("HGET", records, (key,))), *expected], writes, posted)

    def _join(self, batch: Batch, attempt: Attempt, join: Join | None) -> tuple[list[Expected], list[Call]]:
        """Let a document join its story. Return how the story is written, nothing if it joins none."""
        if join is None:
            return [], []
        try:
            attempt.story, expected, writes = self.stories.join(batch.stories, join)
        except Exception as error:
            attempt.story = self.store.explained(error)
            if isinstance(attempt.story, StoreUnavailable):
                raise attempt.story from error
            return [], []
        return expected, writes

    async def _unlink_dead(self, documents: Iterable[Document]) -> None:
        """Delete keys that have left the window: a replay runs faster than the clock by which they expire.

        A crawl does not, and others may have a longer window: it only forgets the names of stories that have expired.
        """
        expired = [self.layout.dead_after(int(each.seen_at)) for each in documents]
        try:
            names = [name for found, _, _ in expired for name in found]
            _, first, end = expired[-1]
            if self.run:
                names, first = [], end
            if names or end > self._looked_until:
                self._looked_until, self._part = max(end, self._looked_until), self._part or 0
            if self._part is not None:  # with each batch of checks a part, so that they do not wait long
                self._part = await self.stories.unlink_dead(names, first, end, self._part)
        except StoreError as error:  # the checks are done, and the keys expire anyway
            logger.warning("Expired keys are not deleted now: %s", error)


def _with_own_keys(documents: Sequence[NewDocument]) -> Iterable[NewDocument]:
    """Yield documents up to the first whose key an earlier one has: that one must be registered before."""
    keys = set[bytes]()
    for new in documents:
        if new.key in keys:
            return
        keys.add(new.key)
        yield new
