"""The page of one response, shared by all of its items."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import TYPE_CHECKING

from scrapy_neardup.content import absolute_url, url_identity
from scrapy_neardup.document import Reason, Verdict

if TYPE_CHECKING:
    from scrapy_neardup.crawl.order import ItemPlace
    from scrapy_neardup.crawl.pending import PendingDocument


class Page:
    """The main content of one response, and its url, language and title.

    ``urls`` are the addresses of the page besides ``url``: the request's, and those it was redirected from.
    ``canonical`` is the url that the page gives as its own. ``is_list`` is True if the response is made to hold
    several documents, like a news feed.
    """

    def __init__(
        self,
        url: str,
        urls: Iterable[str] = (),
        *,
        canonical: str = "",
        language: str = "",
        title: str = "",
        is_list: bool = False,
    ) -> None:
        self.url = url
        self.canonical = canonical or url
        self.language = language  # ISO 639 code
        self.title = title
        self.is_extracted = False
        self.text = ""
        self.sketch = b""  # of the text, if the worker that extracted it made one
        self.reason: Reason = "no-text"  # why there is no text
        self.verdict: asyncio.Future[Verdict] | None = None  # of the text, once an item has asked for it
        self.document: PendingDocument | None = None  # of the text
        self.places: list[ItemPlace] = []  # of its items
        self._has_ended = False
        self._identities = {_identity(each) for each in (url, self.canonical, *urls)}
        self._is_identity_taken = is_list

    @classmethod
    def unread(cls) -> Page:
        """Return a page that could not be read because of a bug in this package. Any item may belong to it."""
        page = cls("")
        page.is_extracted = True
        page.reason = "internal-error"
        page._identities = set()
        return page

    def absolute(self, url: str) -> str:
        """Return the url that an item of this page names, or the page's own url if the item names none."""
        return (absolute_url(self.url, url) or url) if url else self.url

    def is_named_by(self, url: str) -> bool:
        """Decide whether an item with this url is about this page: it names one of its addresses, or no web page."""
        if not url or not self._identities:
            return True
        absolute = self.absolute(url)
        if identity := url_identity(absolute):
            return identity in self._identities
        is_web_page = bool(url_identity(self.url))
        return is_web_page or absolute in self._identities

    async def end(self) -> None:
        """Note that the response yields no more items."""
        self._has_ended = True
        await self.settle()

    async def settle(self) -> None:
        """Finish the document of the page if no more of its items can come."""
        if self.document is not None:
            await self.document.settle()

    @property
    def is_done(self) -> bool:
        """Return whether all items of the page have their verdicts or are lost."""
        while self.places and self.places[-1].has_left:
            self.places.pop()
        return self._has_ended and not self.places

    def take_identity(self) -> bool:
        """Return True on the first call, unless the page is a list: the page's url identifies the first document."""
        is_first, self._is_identity_taken = not self._is_identity_taken, True
        return is_first


def _identity(url: str) -> str:
    return url_identity(url) or url
