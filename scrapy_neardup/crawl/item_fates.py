"""Decide which items are delivered, and which copies may be dropped.

An item is delivered when the feeds that took it are stored. If there are no feeds, it is delivered when it is scraped.
"""

import asyncio
import logging
from collections import Counter, deque
from typing import Any

from scrapy import signals
from scrapy.crawler import Crawler
from scrapy.extensions.feedexport import FeedExporter, FeedSlot

from scrapy_neardup.crawl.component import Component
from scrapy_neardup.crawl.item_context import ItemContext, PendingDocument, current_item
from scrapy_neardup.crawl.scrapy_internals import FeedFile
from scrapy_neardup.index.runs import Fate, Run
from scrapy_neardup.text.display import without_password

logger = logging.getLogger(__name__)

_PATIENCE = 5.0  # seconds that a copy waits for the item of its match


class ItemFates(Component):
    """Follows each item from its verdict until it is delivered, and reports delivered documents to the run.

    ``problems`` counts as "feed" the items that a feed could not write, and the documents that a feed could not store.
    """

    def __init__(self, crawler: Crawler, run: Run, problems: Counter[str]) -> None:
        super().__init__(crawler)
        self.run = run
        self._problems = problems
        # ``crawler.get_extension`` needs an engine, which is made after the pipelines.
        extensions = getattr(crawler.extensions, "middlewares", ())
        exporter = next((each for each in extensions if isinstance(each, FeedExporter)), None)
        self.exporter = exporter if self.settings.delivered == "stored" else None  # None: delivered when scraped
        self._files: dict[FeedSlot, FeedFile] = {}
        self._accepted: list[FeedFile] = []  # the files whose feeds accept the newest item
        self.documents: dict[
            frozenset[FeedFile], set[str]
        ] = {}  # ids, by the files that have them and are not stored yet
        self._fates: dict[str, asyncio.Future[Fate]] = {}  # of documents whose items are in the pipelines
        # A copy whose check is under way may have one of these documents as its match.
        self._lost: deque[str] = deque(maxlen=1000)
        run.is_kept = lambda document: document not in self._fates and document not in self._lost
        # Connected after Scrapy's feed exporter: when the signal comes here, an item is already in its files.
        crawler.signals.connect(self._item_scraped, signals.item_scraped)
        crawler.signals.connect(self._item_lost, signals.item_dropped)
        crawler.signals.connect(self._item_lost, signals.item_error)
        crawler.signals.connect(self._slot_closed, signals.feed_slot_closed)

    def add_item(self, document: PendingDocument) -> None:
        """Follow one more item of this document until it is delivered or lost."""
        self._watch_files()
        document.items += 1
        if not document.is_kept:
            self.follow_as(document, document.id)

    def follow_as(self, document: PendingDocument, document_id: str) -> None:
        """Follow a document under the id by which the store knows it."""
        fate = self._fates.pop(document.id, None) or asyncio.get_running_loop().create_future()
        document.id = document_id
        self._fates[document_id] = fate

    async def fate_of_match(self, copy: str, match: str) -> Fate:
        """Return what became of the item that a copy is a copy of. Wait for it, but not for long."""
        if (fate := self._fates.get(match)) is not None:
            await asyncio.wait([fate], timeout=_PATIENCE)
            return fate.result() if fate.done() else "unknown"
        return "lost" if match in self._lost else await self.run.fate_of_match(copy, _PATIENCE)

    async def drop(self, context: ItemContext) -> None:
        """Note that an item is dropped as a copy. The feed has enough of its text: its own copies may be dropped."""
        if (document := context.take_document()) is not None:
            document.is_dropped = True  # it counts as its match does
            self._set_fate(document, "kept")
            await document.item_left()

    async def lose(self, document: PendingDocument) -> None:
        await self.run.withdraw([document.id])
        self._lost.append(document.id)
        self._set_fate(document, "lost")

    def _set_fate(self, document: PendingDocument, fate: Fate) -> None:
        if document.id in self._fates:  # copies may wait for it
            self._fates.pop(document.id).set_result(fate)

    def _watch_files(self) -> None:
        """Note the files that feeds have open now, before the next item may close one."""
        if self.exporter is not None:
            self._files |= {
                slot: FeedFile(slot, self._accepted) for slot in self.exporter.slots if slot not in self._files
            }

    async def _item_scraped(self) -> None:
        written = {file for file in self._accepted if file.has_item()}
        is_missing = len(written) < len(self._accepted)  # a feed failed to write it
        self._accepted.clear()
        self._watch_files()
        self._problems["feed"] += is_missing
        if is_missing and self._problems["feed"] == 1:
            logger.warning(
                "An item could not be written to a feed: the error of scrapy.utils.signal above says why. This feed and"
                " those behind it are without the item. If surrogates are not allowed, the item has half a character:"
                " let a pipeline replace it by value.encode('utf-8', 'replace').decode(). Further cases are not logged"
            )
        if (document := current_item.get().take_document()) is None:
            return
        if not is_missing and (written or self.exporter is None):
            document.is_kept = True
            document.files |= written
            self._set_fate(document, "kept")
        await document.item_left()

    async def _item_lost(self, item: Any) -> None:
        current = current_item.get()
        # If this item was dropped before our first pipeline, the variable still holds the previous item.
        if current.item is item and (document := current.take_document()) is not None:
            self.count("run/lost")
            await document.item_left()

    async def finish(self, document: PendingDocument) -> None:
        """Deliver a document as soon as its files are stored.

        Withdraw it if no feed took any of its items, or if one of its files was closed but not stored. A document whose
        items were all dropped as copies counts as its match does.
        """
        if document.is_dropped and not document.is_kept:
            return
        if not document.is_kept or any(file.is_closed and not file.is_stored for file in document.files):
            await self.lose(document)
        elif waiting := frozenset(file for file in document.files if not file.is_stored):
            self.documents.setdefault(waiting, set()).add(document.id)
        else:
            self.run.deliver([document.id])

    async def _slot_closed(self, slot: FeedSlot) -> None:
        file = self._files.pop(slot, None)
        if file is None:  # items are delivered when they are scraped
            return
        file.is_closed = True
        released: set[str] = set()
        for files in [each for each in self.documents if file in each]:
            documents = self.documents.pop(files)
            if file.is_stored and (others := files - {file}):
                self.documents.setdefault(others, set()).update(documents)
            else:
                released |= documents
        if file.is_stored:
            self.run.deliver(released)
        elif released:
            self._problems["feed"] += len(released)
            logger.warning(
                "%s is not stored: its %d documents do not count as seen", without_password(slot.uri), len(released)
            )
            await self.run.withdraw(released)
