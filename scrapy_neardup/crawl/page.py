"""What one response holds, shared by all of its items."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import TYPE_CHECKING

from scrapy_neardup.content import absolute_url, url_identity
from scrapy_neardup.document import Reason, Verdict

if TYPE_CHECKING:
    from scrapy_neardup.crawl.delivery import Parcel
    from scrapy_neardup.crawl.order import Ticket


class Page:
    """The main content of one response, and what the page says of itself.

    ``urls`` are the addresses of the page besides ``url``: its request's, those it was redirected from, and
    ``canonical``, the url it gives as its own. ``is_list`` is True if the response is made to hold several
    documents, as a news feed is.
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
        self.parcel: Parcel | None = None  # of the text
        self.tickets: list[Ticket] = []  # of its items
        self._is_over = False
        self._identities = {_identity(each) for each in (url, self.canonical, *urls)}
        self._is_taken = is_list

    @classmethod
    def unread(cls) -> Page:
        """Return a page of which nothing is known, because an error of ours came in between: any item may be of it."""
        page = cls("")
        page.is_extracted = True
        page.reason = "internal-error"
        page._identities = set()
        return page

    def absolute(self, url: str) -> str:
        """The url that an item of this page names, or the page's if it names none."""
        return (absolute_url(self.url, url) or url) if url else self.url

    def is_named_by(self, url: str) -> bool:
        """Whether an item with this url speaks of this page: it names one of its addresses, or no web page at all."""
        if not url or not self._identities:
            return True
        absolute = self.absolute(url)
        if identity := url_identity(absolute):
            return identity in self._identities
        is_web_page = bool(url_identity(self.url))
        return is_web_page or absolute in self._identities

    async def end(self) -> None:
        """Note that the response yields no more items."""
        self._is_over = True
        await self.settle()

    async def settle(self) -> None:
        """Hand the document of the page on if no item of it is to come any more."""
        if self.parcel is not None:
            await self.parcel.settle()

    @property
    def is_done(self) -> bool:
        """Whether all items of the page have come to their verdicts, or are lost."""
        while self.tickets and self.tickets[-1].is_gone:
            self.tickets.pop()
        return self._is_over and not self.tickets

    def take_identity(self) -> bool:
        """Whether the document that asks is the one that the page's url stands for: the first one."""
        is_first, self._is_taken = not self._is_taken, True
        return is_first


def _identity(url: str) -> str:
    return url_identity(url) or url
