"""The window: find the candidates of documents, decide in Python, and register the documents.

``Window._try`` has the steps in their order. It asks the store two to five times: for postings; for records of
candidates, if there are any; for texts of those that may be copies; for the story that the document joins; and to
commit. A posting whose record is gone is no candidate.

Documents that come together are decided one after the other, as if each had been registered before the next. If others
have changed what was read for a document, it is tried again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from functools import partial
from itertools import groupby
from typing import cast

from scrapy_neardup.document import LONG_TEXT, Document, Fingerprint
from scrapy_neardup.exceptions import StoreError, StoreUnavailable
from scrapy_neardup.index.batch import Attempt, Batch, Checked, NewDocument
from scrapy_neardup.index.commit import Expiry, register
from scrapy_neardup.index.layout import Layout, reads
from scrapy_neardup.index.postings import ShardBits
from scrapy_neardup.index.runs import MOST_LINKS, RunSteps
from scrapy_neardup.index.store import Call, Client, Store, answers, pause_after
from scrapy_neardup.index.stories import Stories
from scrapy_neardup.records.documents import NO_TEXT, WITHDRAWN, Record, read_record, seconds_of, with_next_key
from scrapy_neardup.records.texts import StoredText, unpack_text
from scrapy_neardup.rules.decision import Decision, Judge
from scrapy_neardup.rules.policy import HOUR

_MOST_TRIES = 1000  # to register a document while others register documents with the same keys


Records = dict[bytes, Record]


class Window(RunSteps):
    """Finds the documents that a new one may be like, has them judged, and registers the new one."""

    def __init__(self, store: Store, layout: Layout, judge: Judge) -> None:
        super().__init__(store, layout, judge.policy)
        self.judge = judge
        self.stories = Stories(store, layout, judge.policy)
        self._bits = ShardBits()
        self._expiry = Expiry(layout, judge.policy.window)

    async def check(self, documents: Sequence[tuple[Fingerprint, Document]]) -> list[Checked | StoreError]:
        """Decide what documents are, one after the other, and register them. They go to the store together.

        If data is damaged, the error is the answer for those documents that need this data. Raise StoreUnavailable if
        the store does not answer in time; the documents may then be registered or not.
        """
        checked = [NewDocument(*each, self.run, keep_text=self.policy.keep_texts) for each in documents]
        waiting, most, failures = checked, len(checked), 0
        for number in range(_MOST_TRIES):
            batch = Batch(_with_own_keys(waiting[:most]), self.layout, self.run)
            try:
                await self.store.ask(partial(self._try, batch, number > 0))
            except StoreError as error:
                batch.note_damage(error)
            waiting = [each for each in waiting if each.answer is None]
            if not waiting:
                break
            most, failures = batch.next_size(most), 0 if batch.answered else failures + 1
            if failures:
                await pause_after(failures)
        await self._expiry.unlink_dead(
            [seconds_of(each.key) for each in checked], self.stories, is_crawl=bool(self.run)
        )
        return [each.answer or StoreUnavailable("others change the window all the time") for each in checked]

    @reads
    async def look(self, client: Client, fingerprint: Fingerprint, document: Document) -> tuple[Decision, Records]:
        """Return what a check would decide now, and the records of all candidates. This registers nothing."""
        batch = Batch([NewDocument(fingerprint, document, self.run, keep_text=False)], self.layout, 0)
        (attempt,) = batch.attempts
        await self._read_postings(client, batch, again=True)
        batch.find(attempt, self.policy.window)
        await self._read_candidates(client, batch)
        await self._read_texts(client, batch)
        decision = await self._decide(client, batch, attempt)
        return decision, {key: each for key, each in batch.records.items() if each and key != attempt.new.key}

    async def _try(self, batch: Batch, again: bool, client: Client) -> None:
        """Try to register documents."""
        await self._read_postings(client, batch, again=again)
        await self._settle_keys(client, batch)
        for attempt in batch.attempts:
            batch.find(attempt, self.policy.window)
        await self._read_candidates(client, batch)
        await self._read_texts(client, batch)
        for attempt in batch.attempts:
            attempt.decision = await self._decide(client, batch, attempt)
        await register(client, batch, self.stories)

    # Find

    async def _read_postings(self, client: Client, batch: Batch, *, again: bool) -> None:
        """Read what is stored under the documents' own keys, and the postings of their look-up keys.

        In the first attempt a generation of which nothing is known counts as empty: if it is not, the commit fails.
        """
        asked = [(each.new.lookup_keys, one) for each in batch.attempts for one in each.generations]
        if again or any(each.own.name not in self._bits for each in batch.attempts):
            await self._bits.read(client, [one for _, one in asked])
        asked = [(keys, one) for keys, one in asked if one.name in self._bits]
        for _, generation in asked:
            generation.bits = self._bits[generation.name]
        found = await self._read_packed(client, batch, batch.document_keys, [one.call(keys) for keys, one in asked])
        for (keys, generation), answer in zip(asked, found, strict=True):
            generation.read(keys, answer)
        for each in batch.attempts:
            if each.own.name not in self._bits:
                slices = self.layout.slices(seconds_of(each.new.key))
                await self._bits.choose(client, each.own, slices, len(each.new.lookup_keys.weights))
            each.own.bits = self._bits[each.own.name]

    async def _settle_keys(self, client: Client, batch: Batch) -> None:
        """Find the documents that were checked before. If another document has a key, take the next key."""
        moved = batch.attempts
        while moved := [each for each in moved if not self._has_key(batch, each)]:
            for each in moved:
                each.new.record = with_next_key(each.new.record)
            await self._read_packed(client, batch, batch.document_keys)

    def _has_key(self, batch: Batch, attempt: Attempt) -> bool:
        """Return whether a document has its key, as the first or because it was checked before."""
        packed = batch.packed[attempt.new.key]
        if packed is None:
            return True
        stored = read_record(packed)
        if stored is None:
            self.warn_damaged("a record", "its document is not compared")
        elif stored.run != WITHDRAWN and stored.is_same_document(attempt.new.record):
            attempt.stored = stored
        return attempt.stored is not None

    async def _read_candidates(self, client: Client, batch: Batch) -> None:
        """Read the heartbeats, the records of all candidates, and those that dropped or lost ones link to."""
        wanted = {key for each in batch.attempts for key in each.candidates}
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
        calls = _reads_of_hours(self.layout.records, missing)
        found = await answers(client, [*more, *calls])
        batch.packed.update(_values(calls, found[len(more) :]))
        return found[: len(more)]

    async def _read_texts(self, client: Client, batch: Batch) -> None:
        """Read the texts of candidates that are chosen for a second look, and of documents kept instead of them."""
        wanted = set[bytes]()
        for attempt in batch.attempts:
            likely = batch.likely_candidates(attempt, self.judge)
            for each in self.judge.second_look(attempt.stored or attempt.new.record, likely) if likely else ():
                records = (each.record, batch.records.get(each.kept))
                wanted.update(record.text_at for record in records if record)
        batch.texts = await self.texts(client, wanted)
        batch.lend_texts()

    async def texts(self, client: Client, keys: AbstractSet[bytes]) -> dict[bytes, StoredText]:
        """Return the texts that documents with these keys hold, as far as they are there and whole."""
        calls = _reads_of_hours(self.layout.texts, keys - {NO_TEXT})
        texts = dict[bytes, StoredText]()
        for key, packed in _values(calls, await answers(client, calls) if calls else []):
            text = unpack_text(packed) if packed is not None else None
            if text is not None:
                texts[key] = text
            elif packed is not None:
                self.warn_damaged("a text", "it is not compared")
        return texts

    # Decide

    async def _decide(self, client: Client, batch: Batch, attempt: Attempt) -> Decision:
        """Decide what a document is. The documents behind it are decided as if it was registered."""
        key, record, stored = attempt.new.key, attempt.new.record, attempt.stored
        candidates = batch.likely_candidates(attempt, self.judge)
        if stored is not None:
            # Only whether it was a wall needs ``tells_title``, which is not stored. A wall has kept its own story.
            record = replace(stored, tells_title=stored.story != key, is_boilerplate=record.is_boilerplate)
        document, texts = attempt.new.document, batch.texts_of(candidates)
        longest = max(len(document.text), *(len(each.text) for each in texts.values()), 0)
        if candidates and longest >= LONG_TEXT:
            # To compare them takes long. With Redis that would hold up the event loop; SQLite has a thread anyway.
            decision = await client.run_aside(self.judge.decide, document, record, candidates, texts)
        else:
            decision = self.judge.decide(document, record, candidates, texts)
        if stored is None:
            batch.records[key] = decision.record
            batch.records |= {changed: after for changed, (_, after) in decision.changed.items()}
        return decision


def _reads_of_hours(name_of: Callable[[bytes], str], keys: Iterable[bytes]) -> list[Call]:
    """Return the calls that read what hashes have of documents. ``name_of`` returns the hash of a document."""
    hours = [[*group] for _, group in groupby(sorted(keys), lambda key: seconds_of(key) // HOUR)]
    return [Call("HMGET", name_of(hour[0]), hour) for hour in hours]


def _values(calls: Sequence[Call], found: Sequence[object]) -> Iterator[tuple[bytes, bytes | None]]:
    """Yield the keys of documents and what was found of each."""
    for call, values in zip(calls, found, strict=True):
        yield from zip(cast("list[bytes]", call.arguments), cast("list[bytes | None]", values), strict=True)


def _with_own_keys(documents: Sequence[NewDocument]) -> Iterable[NewDocument]:
    """Yield documents up to the first whose key an earlier one has: that one must be registered before."""
    keys = set[bytes]()
    for new in documents:
        if new.key in keys:
            return
        keys.add(new.key)
        yield new
