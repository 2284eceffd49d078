"""Carry the context of an item from the spider to the verdict: everything that the middleware knows about the item.

A declared item takes no unknown field, and an earlier pipeline may replace the item object. So the middleware leaves
the context of an item under the item's identity. The first pipeline moves it into a context variable, which lasts until
the item has left the pipelines.

The place of an item keeps verdicts in the order of the responses, however long each page takes on its way.
"""

import asyncio
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable, Iterable
from contextvars import Context, ContextVar
from dataclasses import dataclass, field

from scrapy_neardup.content.head import PageHead
from scrapy_neardup.content.urls import absolute_url, own_url, url_identity
from scrapy_neardup.crawl.scrapy_internals import FeedFile
from scrapy_neardup.document import Document, Reason, Verdict
from scrapy_neardup.evidence.sources import source_of


class Page:
    """The main content of one response, and its url, language and title. Without a url any item may belong to it.

    ``urls`` are the addresses of the page besides ``url``: the request's, and those it was redirected from.
    ``is_list`` is True if the response is made to hold several documents, like a news feed. ``place`` is that of the
    response in the order of verdicts.
    """

    def __init__(
        self, url: str = "", urls: Iterable[str] = (), *, place: "Place | None" = None, is_list: bool = False
    ) -> None:
        self.url = url
        self.place = place
        self.encoding: str | None = None  # None if it is unknown
        self.canonical = url  # the url that the page gives as its own
        self.head = PageHead()
        self.reading: asyncio.Task[None] | None = None  # reads what the items of the page need of it
        self.has_begun_extraction = False
        self.text = ""
        self.sketch = b""  # of the text, if the worker that extracted it made one
        self.reason: Reason = "no-text"  # why there is no text
        self.document: PendingDocument | None = None  # of the text
        self._identities = {url_identity(each) or each for each in (url, *urls) if each}
        self._elsewhere = ""  # identity of the url of another source that the page gives as its own
        self._is_url_claimed = is_list

    def add_head(self, head: PageHead, canonical: str) -> None:
        """Add what the page says of itself. ``canonical`` is the url of its head if that can be believed."""
        self.head = head
        self.canonical = canonical
        self._identities.add(url_identity(canonical) or canonical)
        own = own_url(head.canonical, self.url)
        self._elsewhere = "" if source_of(own) == source_of(self.url) else url_identity(own)

    def absolute(self, url: str) -> str:
        """Return the url that an item of this page names, or the page's own url if the item names none."""
        return self.url if url in ("", self.url) else absolute_url(self.url, url) or url

    def is_named_by(self, url: str) -> bool:
        """Decide whether an item with this url is about this page.

        It is if the url is one of the page's addresses, or is not the url of a web page. It also is if both the page
        and the item name one url elsewhere: then a renderer or a proxy has fetched the page.
        """
        if not url or not self._identities:
            return True
        absolute = self.absolute(url)
        if identity := url_identity(absolute):
            return identity in self._identities or identity == self._elsewhere
        return bool(url_identity(self.url)) or absolute in self._identities

    def canonical_for(self, url: str) -> str:
        """Return the url that identifies the page for an item with this url, which names the page."""
        absolute = self.absolute(url)
        if self._elsewhere and url_identity(absolute) == self._elsewhere:
            return absolute
        return self.canonical

    def claim_url(self) -> bool:
        """Return whether the page's url identifies a document: it does for the first one, unless the page is a list."""
        is_first = not self._is_url_claimed
        self._is_url_claimed = bool(self.url)
        return is_first

    async def finish_if_over(self) -> None:
        if self.document is not None:
            await self.document.finish_if_over()


class PendingDocument:
    """Follows a judged document until each of its items is delivered or lost.

    ``place`` is that of its response if the document is the main content of a page: more items may come until the
    place is over. ``finish`` is called when all items have left the crawl.
    """

    def __init__(
        self, document: Document, place: "Place | None", finish: "Callable[[PendingDocument], Awaitable[None]]"
    ) -> None:
        self.document = document
        self.id = document.id  # under which it is registered
        self.verdict: asyncio.Task[Verdict] | None = None  # once an item has asked for it
        self.final_verdict: asyncio.Task[Verdict] | None = None  # if it was to be dropped
        self.files: set[FeedFile] = set()
        self.is_kept = False  # at least one item was scraped
        self.is_dropped = False  # at least one item was dropped as a copy
        self._place = place
        self._finish = finish
        self.items = 0  # in the pipelines
        self._is_finished = False

    async def item_left(self) -> None:
        self.items -= 1
        await self.finish_if_over()

    async def finish_if_over(self) -> None:
        """Finish if no item of the document is on its way, and its page yields no more."""
        if not self._is_finished and not self.items and (self._place is None or self._place.is_over):
            self._is_finished = True
            await self._finish(self)


@dataclass(slots=True)
class ItemContext:
    """An item as the spider yielded it, with its page, its place and its document on the way through the pipelines."""

    item: object = None
    page: Page = field(default_factory=Page)
    place: "Place | None" = None  # in the order of verdicts
    opted_out: bool = False
    document: PendingDocument | None = None  # from the verdict until the item has left the crawl

    async def let_next_ask(self) -> None:
        if self.place is not None:
            self.place.leave()
        await self.page.finish_if_over()

    def take_document(self) -> PendingDocument | None:
        """Return the document, and None from the second call on: an item leaves the crawl only once."""
        document = self.document
        self.document = None
        return document


current_item: ContextVar[ItemContext] = ContextVar("neardup_current_item", default=ItemContext())  # noqa: B039


class ItemContexts:
    """The contexts of items by the identity of the item, from the spider to the first pipeline.

    An earlier pipeline may replace all items, so their number is bounded: the oldest is removed first.
    """

    def __init__(self) -> None:
        # A context keeps its item: if the item were freed, another item could get the same id. A spider may yield the
        # same object several times.
        self._contexts: OrderedDict[int, deque[ItemContext]] = OrderedDict()

    async def put(self, context: ItemContext) -> None:
        self._contexts.setdefault(id(context.item), deque()).append(context)
        self._contexts.move_to_end(id(context.item))
        while len(self._contexts) > 10_000:  # Scrapy holds far fewer
            _, lost = self._contexts.popitem(last=False)
            for each in lost:
                await each.let_next_ask()

    def take(self, item: object) -> ItemContext:
        """Return the context of an item. An item that the middleware has not seen gets a context of its own."""
        if (contexts := self._contexts.get(id(item))) is None:
            return ItemContext(item)
        context = contexts.popleft()
        if not contexts:
            del self._contexts[id(item)]
        return context

    async def forget(self, item: object) -> None:
        """Forget an item that left the pipelines before its verdict: the items behind it no longer wait for it."""
        current = current_item.get()
        await (current if current.item is item else self.take(item)).let_next_ask()


class Place:
    """A place in the order in which items ask for their verdicts: that of a response, or of an item of a response.

    A response takes it when it reaches the middleware, and leaves it when it yields nothing more. Each of its items
    takes one within it, and leaves it as soon as its verdict is asked for or it is lost. The turn of an item comes when
    all earlier responses are done and all earlier items of its own response have left.

    No item waits forever: one that is ready passes over what is ``before`` it after ``patience`` seconds.
    """

    def __init__(self, before: asyncio.Future[None] | None, patience: float, response: "Place | None" = None) -> None:
        loop = asyncio.get_running_loop()
        self.gone: asyncio.Future[None] = loop.create_future()  # done when this place and all before it were left
        self.items = 0  # within this place, that have not left
        # Done when all before this place have left. A response leaves behind its items, so of a response it is the
        # newest item.
        self._before: asyncio.Future[None] = before or loop.create_future()
        if before is None:
            self._before.set_result(None)
        self._patience = patience
        self._response = response
        self._has_left = False

    @property
    def is_over(self) -> bool:
        """Return whether the response yields nothing more and all its items have left."""
        return self._has_left and not self.items

    def add_item(self) -> "Place":
        item = Place(self._before, self._patience, self)
        self._before = item.gone
        self.items += 1
        return item

    async def wait_for_turn(self) -> None:
        # The loop keeps a cancelled timer until its time comes. In a context of its own it keeps no item alive.
        timer = self._before.get_loop().call_later(self._patience, _settle, self._before, context=Context())
        try:
            await asyncio.shield(self._before)
        finally:
            timer.cancel()

    def leave(self) -> None:
        """Let those behind go on. Leaving twice does no harm."""
        if self._has_left:
            return
        self._has_left = True
        if self._response is not None:
            self._response.items -= 1
        if self._before.done():
            _settle(self.gone)
        else:
            self._before.add_done_callback(lambda _: _settle(self.gone), context=Context())


def _settle(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
