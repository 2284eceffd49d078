"""All that this package patches or reads of the private objects of Scrapy, each with its reason."""

from typing import IO, Any

from scrapy.extensions.feedexport import FeedSlot
from scrapy.http import Response, TextResponse
from scrapy.utils.defer import ensure_awaitable


def declared_encoding(response: TextResponse) -> str | None:
    """Return the encoding that a response declares, None if it declares none.

    The public ``encoding`` would guess one from the whole page, which takes too long for the event loop.
    """
    return response._declared_encoding()


def free_tree(response: Response) -> None:
    """Let Scrapy parse the page again if somebody asks. The parsed page takes a megabyte while items wait for verdicts.

    It refers to the response, and the response to it. So only a full collection would free them.
    """
    if getattr(response, "_cached_selector", None) is not None:
        response._cached_selector = None  # type: ignore[attr-defined]


class FeedFile:
    """One file of a feed, from its first item until it is stored. ``accepted`` gets the files that accept an item."""

    def __init__(self, slot: FeedSlot, accepted: "list[FeedFile]") -> None:
        self.is_stored = False
        self.is_closed = False
        self._slot = slot
        self._accepted = accepted
        self._items = 0
        self._filter = slot.filter
        self._store = slot.storage.store
        # Ask the filter only once for each item: a user's own filter may count its calls.
        slot.filter = self  # type: ignore[assignment]
        # Scrapy tells when a slot is closed, but not whether it was stored.
        slot.storage.store = self._store_and_note  # type: ignore[method-assign, assignment]

    def accepts(self, item: Any) -> bool:
        self._items = self._slot.itemcount
        self._accepted.append(self)  # also if the filter raises: then no feed has the item
        if not self._filter.accepts(item):
            self._accepted.remove(self)
            return False
        return True

    async def _store_and_note(self, file: IO[bytes]) -> None:
        await ensure_awaitable(self._store(file))
        self.is_stored = True

    def has_item(self) -> bool:
        """Decide whether the slot has taken the item that it accepted last."""
        return self._slot.itemcount > self._items
