"""Delete the keys that have left the window."""

import logging
from collections.abc import Iterable
from functools import partial

from scrapy_neardup.exceptions import StoreError
from scrapy_neardup.index.layout import SLICE, Span
from scrapy_neardup.index.partition import Part, Partition
from scrapy_neardup.index.registration import CheckedDocument
from scrapy_neardup.index.store import Call, answers
from scrapy_neardup.records.documents import seconds_of
from scrapy_neardup.story import Story

logger = logging.getLogger(__name__)


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
        earlier = min(self._latest or second, second)
        before = self._horizon
        self._latest = second
        self._horizon = (earlier - self.policy.window) // SLICE * SLICE
        if self._horizon - before > self.policy.window or self._horizon < self._kept_before:
            self._kept_before = self._horizon
        # The bands of the oldest slice live as long as the slice: a late document may match any document in it.
        self._own |= {each.name: each for each in self.layout.spans_of(second)}
        if isinstance(document.story, Story):
            newest = max((second, *document.story.times))
            # The story that it joined, and the one that this became a part of.
            for key in {document.decision.record.story, bytes.fromhex(document.story.id)}:
                name = self.layout.story(key)
                last = max(newest, self._own[name].start) if name in self._own else newest
                self._own[name] = Span(name, last, 1)  # a story lives for a window after its last member
        if self._horizon == before:
            return []
        dead = [
            name
            for name, each in self._own.items()
            if self._kept_before <= each.start and each.start + each.seconds <= self._horizon
        ]
        for name in dead:
            del self._own[name]
        return dead
