"""The window: find the candidates of documents, decide in Python, and register the documents.

A check asks the store two to four times: for postings; for records of candidates, if there are any; for the story that
the document joins; and to commit. A posting whose record is gone is no candidate.

A *look-up key* is a hash that similar documents share, and a *posting* lists a document under it. Postings are kept in
*generations* of some hours, each cut into *shards*. Each commit gives its generation another *version*.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from functools import partial
from itertools import groupby
from typing import cast

from scrapy_neardup.document import LONG_TEXT, with_id
from scrapy_neardup.exceptions import StoreError, StoreUnavailable
from scrapy_neardup.index.batch import Batch, Checked, NewDocument, Question, new_document
from scrapy_neardup.index.layout import Generation, Layout, ShardBits, read_bits
from scrapy_neardup.index.store import Call, Client, Commit, Expected, Posting, Store, pause_after, run
from scrapy_neardup.index.stories import Stories, is_version
from scrapy_neardup.records.documents import Record, read_record, seconds_of, with_next_key
from scrapy_neardup.records.stories import DamageLog
from scrapy_neardup.rules.decision import LEAST_WEIGHT, MOST_LINKS
from scrapy_neardup.rules.policy import HOUR, Policy

_ATTEMPTS = 1000  # to register a document while others register documents with the same keys
_COMMITTED = 1  # the answer of a store; also of a document without a commit, of which nothing is new
_STORY_ATTEMPTS = 10  # to join stories that others change, before everything is read again


class Window:
    """Records and postings of one namespace and configuration."""

    def __init__(self, store: Store, layout: Layout, policy: Policy, stories: Stories, damage: DamageLog) -> None:
        self._store = store
        self._layout = layout
        self._policy = policy
        self._stories = stories
        self._damage = damage
        self._bits = ShardBits(layout)

    async def check(self, batch: Sequence[Question], own_run: int) -> list[Checked | StoreError]:
        """Find candidates, decide and commit. Do it again for documents with which others interfered."""
        documents = [new_document(question, self._policy, own_run) for question in batch]
        answers: dict[NewDocument, Checked | StoreError] = {}
        size, failed = len(documents), 0  # attempts in a row without an answer
        for attempt in range(_ATTEMPTS):
            if failed:
                await pause_after(failed)
            group = [new for new in documents if new not in answers][:size]
            found = await self._store.ask(partial(self._try, group, own_run, attempt > 0))
            answers |= found
            if len(answers) == len(documents):
                break
            # The fewer documents, the less time others have to interfere.
            size = max(1, len(group) // 2) if len(found) < len(group) else 2 * size
            failed = 0 if found else failed + 1
        late = StoreUnavailable("others change the window all the time")
        return [answers.get(new, late) for new in documents]

    async def _try(
        self, documents: Sequence[NewDocument], own_run: int, again: bool, client: Client
    ) -> dict[NewDocument, Checked | StoreError]:
        """Return the answers of the documents that need no further attempt."""
        batch = Batch(documents, self._policy, own_run)
        await self._read_postings(client, batch, documents, again=again)
        await self._settle_keys(client, batch, documents)
        for new in documents:
            if new.known is None:
                batch.vote(new)
        await self._read_candidates(client, batch, documents)
        for new in documents:
            batch.decide(new)
            if new.judge is not None:
                document = with_id(new.document, new.key.hex())
                is_slow = new.match is not None and len(document.text) >= LONG_TEXT
                judged = client.run_aside(new.judge, document, new.match) if is_slow else None
                new.judged = await judged if judged else new.judge(document, new.match)
        results, left = dict[NewDocument, object](), list(documents)
        for _ in range(_STORY_ATTEMPTS):
            joins = [each.judged.join for each in left if each.judged is not None and each.judged.join is not None]
            await self._stories.read(client, batch.stories, joins)
            calls = {new: call for new in left if (call := self._commit(batch, new)) is not None}
            results.update(zip(calls, await client.run(list(calls.values())), strict=True))
            if not (left := [new for new in calls if is_version(results[new])]):
                break
            batch.stories.clear()  # others changed them, but no candidate: match and verdict are still right
        answers = dict[NewDocument, Checked | StoreError]()
        for new in documents:
            result = results.get(new, _COMMITTED)
            first = answers.get(new.known) if isinstance(new.known, NewDocument) else new.answer
            if isinstance(result, Exception):
                answers[new] = self._store.explained(result)
            # An earlier attempt may have written this very record, and its answer was lost on its way.
            elif first is not None and (result == _COMMITTED or (new.packed and result == new.packed)):
                answers[new] = first if isinstance(first, StoreError) else new.answer
        return answers

    async def _read_postings(
        self, client: Client, batch: Batch, documents: Sequence[NewDocument], *, again: bool
    ) -> None:
        """Read what is stored under the documents' own keys, and the postings of their look-up keys.

        In the first attempt a generation of which nothing is known counts as empty: if it is not, the commit fails.
        """
        for new in documents:
            new.look_at(self._layout.generations(seconds_of(new.key)))
        if again or any(new.own.number not in self._bits for new in documents):
            await self._bits.read(client, [generation for new in documents for generation in new.generations])
        records = self._records_of({new.key for new in documents})
        asked = [(new, each) for new in documents for each in new.generations if each.number in self._bits]
        answers = await run(client, [*records, *(self._postings_of(*each) for each in asked)])
        batch.note(records, answers)
        for (new, generation), answer in zip(asked, answers[len(records) :], strict=True):
            bits, version, *values = cast("list[bytes | None]", answer)
            if read_bits(bits) == generation.bits:
                generation.version = version or b""
                generation.read(new.keys, values)
        for new in documents:
            if new.own.number not in self._bits:
                await self._bits.choose(client, new.own, seconds_of(new.key), len(new.keys.weights))
            new.own.bits = self._bits[new.own.number]

    def _postings_of(self, new: NewDocument, generation: Generation) -> Call:
        generation.bits = self._bits[generation.number]
        shards = new.keys.shards(generation.bits)
        return Call("HMGET", self._layout.bands(generation.number), (b"bits", b"version", *shards))

    def _records_of(self, keys: AbstractSet[bytes]) -> list[Call]:
        """Return the calls that read what is stored under these keys."""
        groups = groupby(sorted(keys), lambda key: seconds_of(key) // HOUR)
        by_slice = [[*group] for _, group in groups]
        return [Call("HMGET", self._layout.records(group[0]), group) for group in by_slice]

    async def _settle_keys(self, client: Client, batch: Batch, documents: Sequence[NewDocument]) -> None:
        """Find the documents that were checked before. If another document has a key, take the next key."""
        is_settled = False
        while not is_settled:
            is_settled = True
            await self._read_packed(client, batch, {new.key for new in documents})
            taken: dict[bytes, NewDocument] = {}
            for new in documents:
                packed, first = batch.packed[new.key], taken.get(new.key)
                stored = read_record(packed) if packed is not None else None
                if packed is None and first is None:
                    taken[new.key] = new
                elif first and new.is_the_same(first.record):
                    new.known = first
                elif stored and new.is_the_same(stored):
                    new.known = stored
                else:
                    if first is None and stored is None:
                        self._damage.warn_once("a record")
                    new.record, is_settled = with_next_key(new.record), False

    async def _read_candidates(self, client: Client, batch: Batch, documents: Sequence[NewDocument]) -> None:
        """Read the records of all candidates, and those that dropped documents among them link to, and the runs."""
        wanted = {key for new in documents for key in new.candidates}
        wanted |= {new.known.candidate for new in documents if isinstance(new.known, Record)}
        if wanted:
            calls = self._records_of(wanted - batch.packed.keys())
            runs, *answers = await run(client, [Call("RUNS", self._layout.name("runs")), *calls])
            batch.note_runs(runs)
            batch.note(calls, answers)
        for _ in range(MOST_LINKS + 1):
            await self._read_packed(client, batch, wanted := wanted - batch.records.keys())
            for key in wanted:
                packed = batch.packed[key]
                batch.records[key] = record = read_record(packed) if packed is not None else None
                if record is None and packed is not None:
                    self._damage.warn_once("a record")
            links = {record.candidate for key in wanted if (record := batch.records[key]) and record.is_dropped}
            if not (wanted := links - batch.records.keys()):
                break

    async def _read_packed(self, client: Client, batch: Batch, keys: AbstractSet[bytes]) -> None:
        """Read what is stored under these keys, unless it was read before."""
        if calls := self._records_of(keys - batch.packed.keys()):
            batch.note(calls, await run(client, calls))

    def _commit(self, batch: Batch, new: NewDocument) -> Commit | None:
        """Return the commit that registers a document and writes the story that it joins, None if nothing is new.

        The store refuses it if the document's key is taken, if its match is gone, if the story has changed, or if
        others have posted a document that shares look-up keys of ``LEAST_WEIGHT`` or more. So of equal documents
        exactly one is the original.
        """
        expected, writes, posting = list[Expected](), list[Call](), None
        if new.judged and new.judged.join:
            try:
                new.story, expected, writes = self._stories.join(batch.stories, new.judged.join)
            except Exception as error:
                new.story = self._store.explained(error)
                if isinstance(new.story, StoreUnavailable):
                    raise new.story from error
        if (record := batch.decided.get(new.key)) is not None and new.known is None:
            new.packed = record.pack()
            own = self._layout.records(new.key)
            since_hour, since_start = seconds_of(new.key) % HOUR, seconds_of(new.key) - new.own.start
            slice_lives = HOUR - since_hour + self._policy.window
            bands_live = new.own.seconds - since_start + self._policy.window
            if record.has_match(new.key):
                match = Call("HEXISTS", self._layout.records(record.candidate), (record.candidate,))
                expected = [Expected(match, b"1"), *expected]
            expected = [Expected(Call("HGET", own, (new.key,))), *expected]
            posting = self._posting(new)
            writes = [
                Call("EXPIRE", self._layout.bands(new.own.number), (bands_live,)),
                *writes,
                Call("HSET", own, (new.key, new.packed)),
                Call("EXPIRE", own, (slice_lives,)),
            ]
        return Commit(expected, writes, posting) if writes else None

    def _posting(self, new: NewDocument) -> Posting:
        own, keys = new.own, new.keys
        generations = sorted(new.generations, key=lambda each: each is own)
        hashes = [(self._layout.bands(each.number), each.bits, each.version, each.newest()) for each in generations]
        added = own.added(keys, new.key)
        return Posting(keys.packed, keys.packed_weights, LEAST_WEIGHT, own.posting_bytes, new.version, *added, hashes)
