"""The window: find the candidates of documents, decide in Python, and register the documents.

A check asks the store two to four times: for postings; for records of candidates, if there are any; for the story that
the document joins; and to commit. A posting whose record is gone is no candidate.

A *look-up key* is a hash that similar documents share, and a *posting* lists a document under it. Postings are kept in
*generations* of some hours, each cut into *shards*. Each commit gives its generation another *version*.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from functools import partial
from itertools import groupby
from typing import NamedTuple, cast

from scrapy_neardup.contracts import Judged
from scrapy_neardup.document import LONG_TEXT, Document, Fingerprint, Story, with_id
from scrapy_neardup.exceptions import StoreError, StoreUnavailable
from scrapy_neardup.index.layout import Generation, Keys, Layout, PostedTogether, ShardBits, Steps, find_candidates
from scrapy_neardup.index.runs import Heartbeats, kept_by
from scrapy_neardup.index.store import Call, Client, Commit, Expected, Store, answers, is_version, pause_after
from scrapy_neardup.index.stories import StoredStories, Stories
from scrapy_neardup.records.documents import WITHDRAWN, Record, new_record, read_record, seconds_of, with_next_key
from scrapy_neardup.rules.decision import MOST_LINKS, decide, decide_again, weights_of
from scrapy_neardup.rules.match import CandidateState, Judge, Match
from scrapy_neardup.rules.policy import HOUR, Policy

_ATTEMPTS = 1000  # to register a document while others register documents with the same keys
_COMMITTED = 1  # the answer of a store; also of a document without a commit, of which nothing is new
_STORY_ATTEMPTS = 10  # to join stories that others change, before everything is read again


class Checked(NamedTuple):
    """The answer to a check.

    ``id`` is the id under which the document is registered. It is the document's own id, or a later one of the same
    second if another document has that id already. ``story`` is the story just after the document joined it, None if it
    joined none. If the data of the story is damaged, ``story`` is the error, and the document is registered without it.
    """

    id: str
    match: Match | None
    judged: Judged
    story: Story | StoreError | None


class NewDocument:
    """A document that is checked."""

    def __init__(
        self, fingerprint: Fingerprint, document: Document, judge: Judge, policy: Policy, own_run: int
    ) -> None:
        self.document = document
        self.judge = judge
        self.record = new_record(fingerprint, document, own_run)
        self.keys = Keys(fingerprint.identity_keys + fingerprint.text_keys, weights_of(fingerprint))
        self.least_dropped = policy.least_dropped_share(document.source)

    @property
    def key(self) -> bytes:
        return self.record.original

    def look_at(self, generations: list[Generation]) -> None:
        """Begin an attempt, with the generations in the window, the newest first."""
        second = seconds_of(self.key)
        self.generations = generations
        # The generation in which it is posted, and the version that this generation then gets.
        self.own = next(each for each in generations if 0 <= second - each.start < each.seconds)
        self.version = b""
        # If it was checked before: its record, or the same document in this batch.
        self.earlier: Record | NewDocument | None = None
        self.candidates: list[bytes] = []
        self.packed = b""  # the record to register, nothing if the document was checked before
        self.match: Match | None = None
        self.judged: Judged
        self.story: Story | StoreError | None = None

    @property
    def answer(self) -> Checked:
        return Checked(self.key.hex(), self.match, self.judged, self.story)

    def is_the_same(self, other: Record) -> bool:
        return (self.record.text_hash, self.record.url_hash) == (other.text_hash, other.url_hash)


class Batch:
    """What was read for documents that are decided one after the other, as if each had been registered before the next.

    Also what was decided so far.
    """

    def __init__(self, documents: Sequence[NewDocument], policy: Policy, own_run: int) -> None:
        self.documents = documents
        self._policy = policy
        self.heartbeats = Heartbeats(own_run)
        self.packed: dict[bytes, bytes | None] = {}  # stored records, None where there is none
        self.records: dict[bytes, Record | None] = {}  # those of candidates, also those of this batch
        self.decided: dict[bytes, Record] = {}
        self.stories: StoredStories = {}
        self._posted = PostedTogether([new.keys for new in documents])

    def vote(self, new: NewDocument) -> None:
        """Find the candidates of a document, and post it for those that come after it."""
        self._posted.add_to(new.keys, new.generations)
        new.candidates = find_candidates(new.keys, new.generations, new.key, self._policy.window)
        new.version = self._posted.post(new.keys, new.own, new.key)

    def state(self, record: Record) -> CandidateState:
        """Decide whether a document counts as seen."""
        return self.heartbeats.state(record, self.records.get)

    def _as_delivered(self, key: bytes) -> Record | None:
        """Return a record. A copy whose match is delivered is delivered too, whatever its own run did since."""
        if (record := self.records.get(key)) is None or not record.is_dropped:
            return record
        _, kept = kept_by(key, record, self.records.get)
        return record if kept is None or kept.run else replace(record, run=0)

    def follow_lost(self, new: NewDocument) -> None:
        """Add what lost candidates were like to the candidates: a page that is lost each time would hide it."""
        for key in new.candidates:  # it grows
            record = self.records.get(key)
            if record and record.candidate not in (new.key, *new.candidates) and self.state(record) == "lost":
                new.candidates.append(record.candidate)

    def decide(self, new: NewDocument) -> None:
        """Find the match of a document, and the record to register unless the document was checked before."""
        if new.earlier is not None:
            known = new.earlier if isinstance(new.earlier, Record) else self.decided[new.key]
            old = self.records.get(known.candidate)
            new.match = decide_again(new.key, known, old, self._policy, self.state(old)) if old else None
            return
        found = [(key, old, self.state(old)) for key in new.candidates if (old := self._as_delivered(key))]
        record, new.match = decide(new.record, found, self._policy, new.least_dropped)
        self.records[new.key] = self.decided[new.key] = record


class Window(Steps):
    """Records and postings of one namespace and configuration."""

    def __init__(self, store: Store, layout: Layout, policy: Policy, stories: Stories) -> None:
        super().__init__(store, layout, policy)
        self._stories = stories
        self._bits = ShardBits(layout)

    async def check(self, documents: Sequence[NewDocument], own_run: int) -> list[Checked | StoreError]:
        """Find candidates, decide and commit. Do it again for documents with which others interfered."""
        done: dict[NewDocument, Checked | StoreError] = {}
        size, failed = len(documents), 0  # attempts in a row without an answer
        for attempt in range(_ATTEMPTS):
            if failed:
                await pause_after(failed)
            batch = Batch([new for new in documents if new not in done][:size], self.policy, own_run)
            found = await self.store.ask(partial(self._try, batch, attempt > 0))
            done |= found
            if len(done) == len(documents):
                break
            # The fewer documents, the less time others have to interfere.
            size = max(1, len(batch.documents) // 2) if len(found) < len(batch.documents) else 2 * size
            failed = 0 if found else failed + 1
        late = StoreUnavailable("others change the window all the time")
        return [done.get(new, late) for new in documents]

    async def _try(self, batch: Batch, again: bool, client: Client) -> dict[NewDocument, Checked | StoreError]:
        """Return the answers of the documents that need no further attempt."""
        await self._read_postings(client, batch, again=again)
        await self._settle_keys(client, batch)
        for new in batch.documents:
            if new.earlier is None:
                batch.vote(new)
        await self._read_candidates(client, batch)
        for new in batch.documents:
            batch.decide(new)
            document = with_id(new.document, new.key.hex())
            is_slow = new.match is not None and len(document.text) >= LONG_TEXT
            judged = client.run_aside(new.judge, document, new.match) if is_slow else None
            new.judged = await judged if judged else new.judge(document, new.match)
        results, left = dict[NewDocument, object](), list(batch.documents)
        for _ in range(_STORY_ATTEMPTS):
            joins = [each.judged.join for each in left if each.judged.join]
            await self._stories.read(client, batch.stories, joins)
            calls = {new: call for new in left if (call := self._commit(batch, new)) is not None}
            results.update(zip(calls, await client.send(list(calls.values())), strict=True))
            if not (left := [new for new in calls if is_version(results[new])]):
                break
            batch.stories.clear()  # others changed them, but no candidate: match and verdict are still right
        done = dict[NewDocument, Checked | StoreError]()
        for new in batch.documents:
            result = results.get(new, _COMMITTED)
            first = done.get(new.earlier) if isinstance(new.earlier, NewDocument) else new.answer
            if isinstance(result, Exception):
                done[new] = self.store.explained(result)
            # An earlier attempt may have written this very record, and its answer was lost on its way.
            elif first is not None and (result == _COMMITTED or (new.packed and result == new.packed)):
                done[new] = first if isinstance(first, StoreError) else new.answer
        return done

    async def _read_postings(self, client: Client, batch: Batch, *, again: bool) -> None:
        """Read what is stored under the documents' own keys, and the postings of their look-up keys.

        In the first attempt a generation of which nothing is known counts as empty: if it is not, the commit fails.
        """
        for new in batch.documents:
            new.look_at(self.layout.generations(seconds_of(new.key)))
        if again or any(new.own.number not in self._bits for new in batch.documents):
            await self._bits.read(client, [each for new in batch.documents for each in new.generations])
        asked = [(new, each) for new in batch.documents for each in new.generations if each.number in self._bits]
        calls = [self._bits.call(new.keys, generation) for new, generation in asked]
        found = await self._read_packed(client, batch, {new.key for new in batch.documents}, calls)
        for (new, generation), answer in zip(asked, found, strict=True):
            generation.read(new.keys, cast("list[bytes | None]", answer))
        for new in batch.documents:
            if new.own.number not in self._bits:
                await self._bits.choose(client, new.own, seconds_of(new.key), len(new.keys.weights))
            new.own.bits = self._bits[new.own.number]

    async def _settle_keys(self, client: Client, batch: Batch) -> None:
        """Find the documents that were checked before. If another document has a key, take the next key."""
        is_settled = False
        while not is_settled:
            is_settled = True
            await self._read_packed(client, batch, {new.key for new in batch.documents})
            taken: dict[bytes, NewDocument] = {}
            for new in batch.documents:
                packed, first = batch.packed[new.key], taken.get(new.key)
                stored = read_record(packed) if packed is not None else None
                if packed is None and first is None:
                    taken[new.key] = new
                elif first and new.is_the_same(first.record):
                    new.earlier = first
                elif stored and stored.run != WITHDRAWN and new.is_the_same(stored):
                    new.earlier = stored
                else:
                    if first is None and stored is None:
                        self.warn_damaged("a record", "its document is not compared")
                    new.record, is_settled = with_next_key(new.record), False

    async def _read_candidates(self, client: Client, batch: Batch) -> None:
        """Read the heartbeats, the records of all candidates, and those that dropped or lost ones link to."""
        wanted = {key for new in batch.documents for key in new.candidates}
        wanted |= {new.earlier.candidate for new in batch.documents if isinstance(new.earlier, Record)}
        heartbeats = [Call("RUNS", self.layout.runs)]
        for links in range(MOST_LINKS + 1):
            if not (wanted := wanted - batch.records.keys()):
                break
            for answer in await self._read_packed(client, batch, wanted, [] if links else heartbeats):
                batch.heartbeats.note(answer)
            for key in wanted:
                packed = batch.packed[key]
                batch.records[key] = record = read_record(packed) if packed is not None else None
                if record is None and packed is not None:
                    self.warn_damaged("a record", "its document is not compared")
            read = [record for key in wanted if (record := batch.records[key]) is not None]
            wanted = {each.candidate for each in read if each.is_dropped or batch.state(each) == "lost"}
        for new in batch.documents:
            batch.follow_lost(new)

    async def _read_packed(
        self, client: Client, batch: Batch, keys: AbstractSet[bytes], more: Sequence[Call] = ()
    ) -> list[object]:
        """Read what is stored under these keys, unless it was read before. Return the answers to ``more`` calls."""
        groups = groupby(sorted(keys - batch.packed.keys()), lambda key: seconds_of(key) // HOUR)
        hours = [[*group] for _, group in groups]
        calls = [Call("HMGET", self.layout.records(hour[0]), hour) for hour in hours]
        found = await answers(client, [*more, *calls])
        for hour, packed in zip(hours, cast("list[list[bytes | None]]", found[len(more) :]), strict=True):
            batch.packed.update(zip(hour, packed, strict=True))
        return found[: len(more)]

    def _commit(self, batch: Batch, new: NewDocument) -> Commit | None:
        """Return the commit that registers a document and writes the story that it joins, None if nothing is new.

        The store refuses it if the document's key is taken, if its match is gone, if the story has changed, or if
        others have posted a document that shares look-up keys of ``LEAST_WEIGHT`` or more. So of equal documents
        exactly one is the original.
        """
        expected, writes, posting = list[Expected](), list[Call](), None
        if new.judged.join:
            try:
                new.story, expected, writes = self._stories.join(batch.stories, new.judged.join)
            except Exception as error:
                new.story = self.store.explained(error)
                if isinstance(new.story, StoreUnavailable):
                    raise new.story from error
        if (record := batch.decided.get(new.key)) is not None and new.earlier is None:
            new.packed = record.pack()
            own = self.layout.records(new.key)
            second, window = seconds_of(new.key), self.policy.window
            if record.has_match(new.key):
                match = Call("HEXISTS", self.layout.records(record.candidate), (record.candidate,))
                expected = [Expected(match, b"1"), *expected]
            if record.is_dropped:
                kept_key, kept = kept_by(new.key, record, batch.records.get)
                copies = self.layout.copies(kept.run if kept else record.run_number)
                writes += [Call("HSET", copies, (new.key, kept_key)), Call("EXPIRE", copies, (window,))]
            expected = [Expected(Call("HGET", own, (new.key,))), *expected]
            posting = self.layout.posting(new.keys, new.generations, new.own, new.key, new.version)
            writes = [
                Call("EXPIRE", self.layout.bands(new.own.number), (new.own.start + new.own.seconds - second + window,)),
                *writes,
                Call("HSET", own, (new.key, new.packed)),
                Call("EXPIRE", own, (HOUR - second % HOUR + window,)),
            ]
        return Commit(expected, writes, posting) if writes else None
