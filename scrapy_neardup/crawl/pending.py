"""Documents that have their verdict while their items are still in the crawl, and the files that hold these items."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import IO, Any

from scrapy.extensions.feedexport import FeedSlot
from scrapy.utils.defer import ensure_awaitable

from scrapy_neardup.crawl.order import ResponsePlace


class FeedFile:
    """One file of a feed, from its first item until it is stored."""

    def __init__(self, slot: FeedSlot) -> None:
        self.slot = slot
        self.items = slot.itemcount
        self.is_stored = False
        self.is_closed = False
        self.has_accepted = False  # the newest item
        self._filter = slot.filter
        self._store = slot.storage.store
        # Ask the filter only once for each item: a user's own filter may count its calls.
        slot.filter = self  # type: ignore[assignment]
        # Scrapy tells when a slot is closed, but not whether it was stored.
        slot.storage.store = self._store_and_note  # type: ignore[method-assign, assignment]

    def accepts(self, item: Any) -> bool:
        """Ask the filter of the feed whether it takes an item."""
        self.has_accepted = True  # also if the filter raises: then no feed has the item
        self.has_accepted = self._filter.accepts(item)
        return self.has_accepted

    async def _store_and_note(self, file: IO[bytes]) -> None:
        await ensure_awaitable(self._store(file))
        self.is_stored = True

    def has_grown(self) -> bool:
        """Decide whether the slot has taken an item since this was last asked."""
        before, self.items = self.items, self.slot.itemcount
        return self.items > before


class PendingDocument:
    """Follows a judged document until each of its items is delivered or lost.

    ``place`` is that of its response if the document is the main content of a page: more items may come until the
    place is over. ``finish`` is called when all items have left the crawl.
    """

    def __init__(
        self, document_id: str, place: ResponsePlace | None, finish: Callable[[PendingDocument], Awaitable[None]]
    ) -> None:
        self.id = document_id
        self.files: set[FeedFile] = set()
        self.is_kept = False  # at least one item was scraped
        self.is_dropped = False  # at least one item was dropped as a copy
        self._place = place
        self._finish = finish
        self._items = 0  # in the pipelines

    def add_item(self) -> None:
        """Count an item that begins its way through the pipelines."""
        self._items += 1

    async def item_scraped(self, files: Iterable[FeedFile]) -> None:
        """Note that an item was scraped into these files."""
        self.is_kept = True
        self.files.update(files)
        await self.item_left()

    async def item_dropped(self) -> None:
        """Note that an item was dropped as a copy: the document is delivered with its match."""
        self.is_dropped = True
        await self.item_left()

    async def item_left(self) -> None:
        """Note that an item has left the crawl, in whatever way."""
        self._items -= 1
        await self.finish_if_over()

    async def finish_if_over(self) -> None:
        """Finish if no item of the document is on its way, and its page yields no more."""
        if not self._items and (self._place is None or self._place.is_over):
            await self._finish(self)
