"""Which items have left the crawl for good: their feeds are stored, or they are scraped if no feed holds them."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import IO, TYPE_CHECKING, Any

from scrapy import signals
from scrapy.extensions.feedexport import FeedExporter
from scrapy.utils.defer import ensure_awaitable

from scrapy_neardup.crawl.carriage import current
from scrapy_neardup.index.redis.connection import without_password

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.extensions.feedexport import FeedSlot

    from scrapy_neardup.crawl.page import Page
    from scrapy_neardup.index.runs import Run

logger = logging.getLogger(__name__)


class Batch:
    """One file of a feed, from its first item until it is stored."""

    def __init__(self, slot: FeedSlot) -> None:
        self.slot = slot
        self.items = slot.itemcount
        self.is_stored = False
        self.is_closed = False
        self.has_unwritten_item = False  # its filter accepted an item that is not written yet
        self._filter = slot.filter
        self._store = slot.storage.store
        # A filter is asked once an item: one of the user's may count.
        slot.filter = self  # type: ignore[assignment]
        # Scrapy says of a slot that it is closed, but not whether it was stored.
        slot.storage.store = self._store_and_note  # type: ignore[method-assign, assignment]

    def accepts(self, item: Any) -> bool:
        """Ask the filter of the feed whether it takes an item."""
        self.has_unwritten_item = True  # also if the filter raises: then no feed has the item
        self.has_unwritten_item = self._filter.accepts(item)
        return self.has_unwritten_item

    async def _store_and_note(self, file: IO[bytes]) -> None:
        await ensure_awaitable(self._store(file))
        self.is_stored = True

    def has_grown(self) -> bool:
        """Whether the slot has taken an item since this was last asked."""
        before, self.items = self.items, self.slot.itemcount
        if self.items > before:
            self.has_unwritten_item = False
        return self.items > before


class Parcel:
    """A document and its items: it is delivered once each item is delivered or lost, and at least one is delivered."""

    def __init__(self, delivery: Delivery, document: str, page: Page | None) -> None:
        self.document = document
        self.batches: set[Batch] = set()
        self._delivery = delivery
        self._page = page
        self._waiting = 0  # items
        self._is_kept = False
        self._is_dropped = False

    def add(self) -> None:
        """Count an item that begins its way."""
        self._waiting += 1

    def scraped(self, batches: Iterable[Batch]) -> None:
        """Note that an item is scraped into these files."""
        self._waiting -= 1
        self._is_kept = True
        self.batches.update(batches)

    def dropped(self) -> None:
        """Note that an item was dropped as a copy: the document is delivered with its match."""
        self._waiting -= 1
        self._is_dropped = True

    def lost(self) -> None:
        """Note that another pipeline dropped an item or failed."""
        self._waiting -= 1

    async def settle(self) -> None:
        """Hand the document on once no item of it is on its way, and its page yields no more."""
        if self._waiting or (self._page is not None and not self._page.is_done):
            return
        if self._is_kept:
            await self._delivery.await_stored(self.document, frozenset(self.batches))
        elif not self._is_dropped:
            await self._delivery.run.withdraw([self.document])


class Delivery:
    """Follows each item from its verdict to the moment when it is delivered, and tells the run.

    ``by_feeds`` is False if items are delivered when they are scraped, whatever feeds there are.
    """

    def __init__(self, crawler: Crawler, run: Run, *, by_feeds: bool) -> None:
        self.run = run
        exporter = crawler.get_extension(FeedExporter) if by_feeds and crawler.extensions is not None else None
        self._exporter = exporter if isinstance(exporter, FeedExporter) else None
        self._batches: dict[FeedSlot, Batch] = {}
        self._documents: dict[frozenset[Batch], list[str]] = {}  # by the files that are not stored yet
        # Connected later than Scrapy's feeds: an item is in its files when this is told of it.
        crawler.signals.connect(self._item_scraped, signals.item_scraped)
        crawler.signals.connect(self._item_lost, signals.item_dropped)
        crawler.signals.connect(self._item_lost, signals.item_error)
        crawler.signals.connect(self._slot_closed, signals.feed_slot_closed)

    @property
    def has_feeds(self) -> bool:
        return self._exporter is not None

    def parcel(self, document: str, page: Page | None = None) -> Parcel:
        """Return the parcel of a document. ``page`` is given if the document is the main content of that page."""
        return Parcel(self, document, page)

    def watch(self) -> None:
        """Look at the files that feeds have open, before an item may close one."""
        for slot in self._exporter.slots if self._exporter is not None else ():
            if slot not in self._batches:
                self._batches[slot] = Batch(slot)

    async def _item_scraped(self) -> None:
        grown = [batch for batch in self._batches.values() if batch.has_grown()]
        is_missing = any(batch.has_unwritten_item for batch in self._batches.values())  # a feed failed to write it
        for batch in self._batches.values():
            batch.has_unwritten_item = False
        self.watch()
        parcel = current.get().take_parcel()
        if parcel is None:
            return
        if is_missing:
            parcel.lost()
        else:
            parcel.scraped(grown)
        await parcel.settle()

    async def _item_lost(self, item: Any) -> None:
        captured = current.get()
        # An item that is dropped before the first pipeline of ours finds the one before it here.
        if captured.item is item and (parcel := captured.take_parcel()) is not None:
            parcel.lost()
            await parcel.settle()

    async def await_stored(self, document: str, batches: frozenset[Batch]) -> None:
        """Deliver a document as soon as these files are stored; take it back if one of them was not."""
        if any(batch.is_closed and not batch.is_stored for batch in batches):
            await self.run.withdraw([document])
            return
        waiting = frozenset(batch for batch in batches if not batch.is_stored)
        if waiting:
            self._documents.setdefault(waiting, []).append(document)
        else:
            self.run.deliver([document])

    async def _slot_closed(self, slot: FeedSlot) -> None:
        if (batch := self._batches.pop(slot, None)) is None:
            return
        batch.is_closed = True
        waiting: list[str] = []
        for batches in [each for each in self._documents if batch in each]:
            documents = self._documents.pop(batches)
            others = batches - {batch} if batch.is_stored else None
            if others:
                self._documents.setdefault(others, []).extend(documents)
            else:
                waiting += documents
        if batch.is_stored:
            self.run.deliver(waiting)
        elif waiting:
            uri = without_password(slot.uri)
            logger.warning("%s is not stored: its %d documents do not count as seen", uri, len(waiting))
            await self.run.withdraw(waiting)
