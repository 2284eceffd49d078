"""The documents of the window: check new ones, read those that are there, and delete those that have left it.

``batch.py`` has the steps of a check, in their order.
"""

import logging
from collections.abc import Iterable, Iterator, Sequence
from functools import partial

from scrapy_neardup.document import Document, Fingerprint
from scrapy_neardup.exceptions import StoreError, StoreUnavailable
from scrapy_neardup.index.batch import Batch, CheckedDocument
from scrapy_neardup.index.layout import (
    SLICE,
    Part,
    Partition,
    Span,
    calls_by_slice,
    pause_after,
    reads,
    values_by_slice,
)
from scrapy_neardup.index.postings import Keys, ShardBits
from scrapy_neardup.index.store import Call, Client, answers
from scrapy_neardup.records.documents import WITHDRAWN, Record, StoredText, new_record, read_record, seconds_of
from scrapy_neardup.rules.decision import Decision
from scrapy_neardup.story import Story

logger = logging.getLogger(__name__)


class Documents(Part):
    def __init__(self, partition: Partition) -> None:
        super().__init__(partition)
        self._bits = ShardBits()
        self._expiry = Expiry(partition)

    async def check(self, documents: Sequence[tuple[Fingerprint, Document]]) -> list[CheckedDocument | StoreError]:
        """Decide what documents are, one after the other, and register them. They go to the store together.

        If data is damaged, the error is the answer for those documents that need this data. Raise StoreUnavailable if
        the store does not answer in time; the documents may then be registered or not.
        """
        checked = [self._new(*each, keep_text=self.policy.keep_texts) for each in documents]
        waiting = checked
        most = len(checked)
        for tries in range(1000):
            batch = await self._register(waiting[:most])
            waiting = [each for each in waiting if not each.is_done]
            if not waiting:
                break
            done = sum(each.is_done for each in batch)
            if not done:
                await pause_after(tries)
            # The fewer documents are tried next, the less time others have to interfere; one alone shows its damage.
            most = 2 * most if done == len(batch) else max(1, len(batch) // 2)
            self._bits = ShardBits()  # others may have chosen other ones
        await self._expiry.unlink_dead(checked)
        return [each.answer for each in checked]

    def _new(self, fingerprint: Fingerprint, document: Document, *, keep_text: bool) -> CheckedDocument:
        # The number of a run is the life of a document on its way.
        return CheckedDocument(
            document,
            new_record(fingerprint, document, self.partition.run, keep_text=keep_text),
            Keys(fingerprint),
        )

    async def _register(self, documents: list[CheckedDocument]) -> list[CheckedDocument]:
        """Register documents up to the first whose key an earlier one has: that one must be registered before.

        Return those that were tried. If data is damaged that one document needs, note the error.
        """
        keys = [each.key for each in documents]
        documents = documents[: next((place for place, key in enumerate(keys) if key in keys[:place]), None)]
        try:
            # A plain function: the store awaits the steps themselves, with its client.
            await self.partition.store.ask(lambda client: Batch(self.partition, self._bits, client, documents).check())
        except StoreUnavailable:
            raise
        except StoreError as error:  # of several documents nobody knows which one needs the data
            if len(documents) == 1:
                documents[0].error = error
        return documents

    @reads
    async def look(
        self, client: Client, fingerprint: Fingerprint, document: Document
    ) -> tuple[Decision, dict[bytes, Record]]:
        """Return what a check would decide now, and the records of all candidates. This registers nothing."""
        new = self._new(fingerprint, document, keep_text=False)
        batch = Batch(self.partition, ShardBits(), client, [new])
        await batch.check(registers=False)
        return new.decision, {key: each for key, each in batch.records.items() if each and key != new.key}

    # What people ask for

    @reads
    async def are_any(self, client: Client, second: int) -> bool:
        """Return whether the window around a second has a document. This is much cheaper than a summary."""
        return any(await answers(client, [Call("HLEN", name) for name in self.layout.slices(second)]))

    @reads
    async def records_of(self, client: Client, keys: Iterable[bytes]) -> dict[bytes, Record]:
        """Return the records of documents, without those that are gone or withdrawn."""
        calls = calls_by_slice(self.layout.records, keys)
        return dict(_present(values_by_slice(calls, await answers(client, calls))))

    @reads
    async def records(self, client: Client) -> list[tuple[bytes, Record]]:
        """Return the keys and records of all documents, as ``records_of`` does. This reads the whole window."""
        return [
            row
            for name in await client.names(self.layout.name("records:"))
            for row in _present((await client.fields(name)).items())
        ]

    @reads
    async def text_of(self, client: Client, record: Record) -> StoredText | None:
        """Return the text that the window stores of a document, None if it stores none, or if it is gone or damaged."""
        return (await self.partition.texts(client, {record.text_at})).get(record.text_at)


def _present(found: Iterable[tuple[bytes, bytes | None]]) -> Iterator[tuple[bytes, Record]]:
    """Yield the records among packed ones, without those that are gone, damaged or withdrawn."""
    for key, packed in found:
        record = read_record(packed or b"")
        if record is not None and record.life != WITHDRAWN:
            yield key, record


class Expiry(Part):
    """Deletes the keys that have left the window: a replay runs faster than the clock by which they expire.

    The last two documents must agree that a second is over, so one document with a wrong date ends nothing. If time
    leaps by more than a window, a clock may be wrong: what lies before the leap is left to the store, until documents
    come back to that time. Other processes delete the keys that they have written to themselves. A crawl deletes none,
    because others may have a longer window.
    """

    def __init__(self, partition: Partition) -> None:
        super().__init__(partition)
        self._own = dict[str, Span]()  # keys that this process has written to
        self._latest = 0  # second of the document before
        self._horizon = 0  # seconds before this one are over, by the last two documents
        self._kept_before = 0  # seconds before this one are left to the store, whose keys expire

    async def unlink_dead(self, documents: Iterable[CheckedDocument]) -> None:
        """Delete the keys that are over after these documents."""
        if self.partition.run:
            return
        names = [name for each in documents for name in self._note(each)]
        try:
            if names:
                await self.partition.store.ask(partial(answers, calls=[Call("UNLINK", name) for name in names]))
        except StoreError as error:  # the checks are done, and the keys expire anyway
            logger.warning("Expired keys are not deleted now: %s", error)

    def _note(self, document: CheckedDocument) -> list[str]:
        """Note a document. Return the keys that have left the window with it."""
        second = seconds_of(document.key)
        agreed = min(self._latest or second, second)  # the last two documents have reached this second
        horizon_before = self._horizon
        self._latest = second
        self._horizon = (agreed - self.policy.window) // SLICE * SLICE
        has_leapt = self._horizon - horizon_before > self.policy.window
        if has_leapt or self._horizon < self._kept_before:
            self._kept_before = self._horizon
        # The bands of the oldest slice live as long as the slice: a late document may match any document in it.
        self._own |= {each.name: each for each in self.layout.spans_of(second)}
        if isinstance(document.story, Story):
            newest = max((second, *document.story.times))
            # The story that it joined, and the one that this became a part of.
            for key in {document.decision.record.story, bytes.fromhex(document.story.id)}:
                name = self.layout.story(key)
                span = self._own.get(name, Span(name, 0, 1))  # a story lives for a window after its last member
                self._own[name] = span._replace(start=max(newest, span.start))
        if self._horizon == horizon_before:
            return []
        dead = [
            name
            for name, each in self._own.items()
            if self._kept_before <= each.start and each.start + each.seconds <= self._horizon
        ]
        for name in dead:
            del self._own[name]
        return dead
