"""The middlewares: pass on responses one by one, extract their main content, and carry it beside the items."""

import asyncio
import logging
from collections.abc import AsyncIterator
from typing import Any

from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.http import HtmlResponse, JsonResponse, Response, TextResponse, XmlResponse

from scrapy_neardup.content.extractors import MOST_HTML_BYTES
from scrapy_neardup.content.head import MOST_HEAD_BYTES, SHORT_PAGE, guess_encoding, read_head
from scrapy_neardup.content.urls import CanonicalUrls
from scrapy_neardup.crawl.component import Component, adapter_of
from scrapy_neardup.crawl.item_context import ItemContext, Page, Place
from scrapy_neardup.crawl.scrapy_internals import declared_encoding, free_tree
from scrapy_neardup.exceptions import ExtractionError
from scrapy_neardup.settings.values import text_of, url_of

logger = logging.getLogger(__name__)


class NearDupDownloaderMiddleware(Component):
    """Gives each response its own round of the event loop, and holds it back while much work waits.

    Scrapy starts ``CONCURRENT_ITEMS`` tasks for each response before it calls a spider middleware. While pages are
    extracted, responses come in bursts. The tasks of thirty responses in one round would block the loop for 100 ms,
    and so would a spider that takes 5 ms for each of them.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._turn = asyncio.Lock()  # of the response that goes on next

    async def process_response(self, request: Request, response: Response) -> Response:
        """Return the response when it is its turn."""
        await self._turn.acquire()  # when a page is done, only the next response wakes up
        try:
            await self.shared.has_room.wait()
        finally:
            asyncio.get_running_loop().call_soon(self._turn.release)  # in the next round
        return response


class NearDupSpiderMiddleware(Component):
    """Extracts a response's main content once, when the response yields its first item that has no text of its own.

    The text belongs to the items whose url is that of the page, and to items without a url. Items with another url,
    such as teasers on a listing page, get no text.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._newest: asyncio.Future[None] | None = None  # done when the responses so far have left their places
        self._canonical = CanonicalUrls()
        # These signals are also sent for items that were lost before they reached the capture pipeline.
        crawler.signals.connect(self.shared.contexts.forget, signals.item_dropped)
        crawler.signals.connect(self.shared.contexts.forget, signals.item_error)

    async def process_spider_output(self, response: Response, result: AsyncIterator[Any]) -> AsyncIterator[Any]:
        opted_out = response.meta.get("neardup") is False
        page: Page | None = None
        place = Place(self._newest, self.settings.extract_timeout)
        self._newest = place.gone
        if opted_out:
            place.leave()
        try:
            async for output in result:
                if not isinstance(output, Request) and self.is_judged(output):
                    if opted_out:
                        context = ItemContext(output, opted_out=True)
                    else:
                        page = self._page_of(output, response, place, page)
                        context = ItemContext(output, page, place.add_item())
                    await self.shared.contexts.put(context)
                yield output
        finally:
            place.leave()
            if page is not None:
                free_tree(response)
                await page.finish_if_over()

    def _page_of(self, item: Any, response: Response, place: Place, page: Page | None) -> Page:
        """Return the page of an item, and start to read what the item needs of it. Never raise: the output passes.

        The item waits for its page in our pipeline, not here. While the output of a response waits, Scrapy keeps
        ``CONCURRENT_ITEMS`` tasks for the response. They would take more time than all that we do on the event loop.
        """
        try:
            if page is None:
                assert response.request is not None
                page = Page(
                    response.url,
                    (response.request.url, *response.meta.get("redirect_urls", ())),
                    place=place,
                    is_list=isinstance(response, XmlResponse) and not _looks_like_html(response),
                )
            adapter = adapter_of(item)
            text = text_of(adapter, self.settings.item_fields["text"])
            url = url_of(adapter, self.settings.item_fields["url"])
            # The first item needs the head of the page. The first one without a text of its own needs the text too.
            needs_reading = not page.has_begun_extraction and (page.reading is None or not text)
            if needs_reading and isinstance(response, TextResponse) and _looks_like_html(response):
                page.reading = asyncio.create_task(
                    self._read(response, page, place, after=page.reading, url_of_item=None if text else url)
                )
        except Exception as error:
            self.log_fault(error, response.url)
            page = page or Page()
            page.has_begun_extraction = True
            page.reason = "internal-error"
        return page

    async def _read(
        self,
        response: TextResponse,
        page: Page,
        place: Place,
        *,
        after: asyncio.Task[None] | None,
        url_of_item: str | None,
    ) -> None:
        """Read what an item needs of a page: the head, unless ``after`` reads it, then the text. Never raise.

        ``url_of_item`` is None if the item has a text of its own.
        """
        try:
            if after is None:
                body = response.body
                page.encoding = declared_encoding(response)
                if page.encoding is None and guess_encoding(body[:SHORT_PAGE]) != "utf-8":
                    # Let Scrapy guess from the beginning of the page, which ends behind a tag: no character is cut.
                    beginning = response.replace(body=body[: body.rfind(b">", 0, SHORT_PAGE) + 1 or SHORT_PAGE])
                    # Scrapy guesses when ``encoding`` is read, in some milliseconds.
                    page.encoding = await asyncio.to_thread(getattr, beginning, "encoding")
                head = read_head(body[:SHORT_PAGE], page.encoding)
                if not head.is_whole and len(body) > SHORT_PAGE:
                    head = await asyncio.to_thread(read_head, body[:MOST_HEAD_BYTES], page.encoding)
                page.add_head(head, self._canonical.of(head.canonical, response.url))
            else:
                await after
            if url_of_item is not None and not page.has_begun_extraction and page.is_named_by(url_of_item):
                page.has_begun_extraction = True
                await self._extract(response, page, place)
        except Exception as error:
            self.log_fault(error, response.url)
            page.reason = "internal-error"

    async def _extract(self, response: TextResponse, page: Page, place: Place) -> None:
        """Give the page its text, or the reason why it has none."""
        try:
            if len(response.body) > MOST_HTML_BYTES:
                raise ExtractionError(
                    f"{response.url}: {len(response.body)} bytes, over the limit of {MOST_HTML_BYTES}"
                )
            with self.shared.in_backlog():
                extracted = await self.shared.extraction.extract(response.body, response.url, page.encoding)
            page.text = extracted.text
            page.sketch = extracted.sketch
        except ExtractionError as error:
            if not place.is_over:  # else its items are lost, and the crawl may be over
                logger.warning("No main content: %s", error)
            page.reason = "extraction-failed"


def _looks_like_html(response: TextResponse) -> bool:
    if isinstance(response, JsonResponse):
        return False
    if isinstance(response, XmlResponse):  # a feed or sitemap, unless it is XHTML
        return b"<html" in response.body[:4096]
    return isinstance(response, HtmlResponse) or b"<" in response.body[:512]
