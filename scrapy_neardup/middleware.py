"""The middlewares: pass on responses one by one, extract their main content, and carry it beside the items."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from itemadapter import ItemAdapter, is_item
from scrapy import Request, signals
from scrapy.http import HtmlResponse, JsonResponse, Response, TextResponse, XmlResponse
from xxhash import xxh3_128_digest

from scrapy_neardup.content import (
    LONGEST_URL,
    SHORT_PAGE,
    CanonicalUrls,
    Extracted,
    ExtractedPages,
    Undecoded,
    declared_encoding,
    decode_as,
    guess_encoding,
    is_built_in,
    is_of_text,
    page_language,
    page_title,
    source_of,
    start_extraction,
)
from scrapy_neardup.crawl.item_context import ItemContext
from scrapy_neardup.crawl.order import ResponseOrder
from scrapy_neardup.crawl.page import Page
from scrapy_neardup.crawl.selection import ItemSelection, text_of
from scrapy_neardup.crawl.shared import settings_of, shared_state
from scrapy_neardup.exceptions import ExtractionError

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from typing_extensions import Self

logger = logging.getLogger(__name__)

T = TypeVar("T")
_HEAD = 100_000  # bytes in which a page's title is looked for


class NearDupDownloaderMiddleware:
    """Gives each response a round of the event loop of its own.

    Scrapy starts ``CONCURRENT_ITEMS`` tasks for each response before it calls a spider middleware. While pages are
    extracted, responses come in bursts. The tasks of thirty responses in one round would block the loop for 100 ms.
    """

    def __init__(self, crawler: Crawler) -> None:
        settings_of(crawler)
        self.turns = shared_state(crawler).turns

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    async def process_response(self, request: Request, response: Response) -> Response:
        """Return the response when it is its turn."""
        await self.turns.yield_turn()
        return response


class NearDupSpiderMiddleware:
    """Extracts a response's main content once, when the response yields its first item that has no text of its own.

    The text belongs to the items whose url is that of the page, and to items without a url. Items with another url,
    such as teasers on a listing page, get no text.
    """

    def __init__(self, crawler: Crawler) -> None:
        self.settings = settings_of(crawler)
        self.crawler = crawler
        self.shared = shared_state(crawler)
        self.selection = ItemSelection(self.settings.item_classes)
        self._extraction = start_extraction(
            self.settings.extractor,
            workers=self.settings.extract_workers,
            timeout=self.settings.extract_timeout,
            most_characters=self.settings.max_html_bytes,
            memory=self.settings.extract_memory,
            timings=self.shared.extraction_timings,
            sketching=self.settings.sketching(),
        )
        self._order = ResponseOrder(self.settings.extract_timeout)
        self._pages = ExtractedPages()
        self._canonical = CanonicalUrls()
        self._is_first = True
        # These signals are also sent for items that were lost before they reached the capture pipeline.
        crawler.signals.connect(self.shared.contexts.forget, signals.item_dropped)
        crawler.signals.connect(self.shared.contexts.forget, signals.item_error)
        crawler.signals.connect(self._close, signals.spider_closed)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    async def process_spider_output(self, response: Response, result: AsyncIterator[Any]) -> AsyncIterator[Any]:
        opted_out = response.meta.get("neardup") is False
        page: Page | None = None
        place = self._order.take_place()
        if opted_out:
            place.close()
        try:
            await self.shared.turns.yield_turn()  # the spider's callback runs in the first step of the loop below
            async for output in result:
                if self._is_judged(output) and opted_out:
                    self.shared.contexts.put(output, ItemContext(opted_out=True))
                elif self._is_judged(output):
                    with place.hold():
                        page = await self._page_of(output, response, page)
                    item_place = place.add_item()
                    page.places.append(item_place)
                    self.shared.contexts.put(output, ItemContext(page, item_place))
                with place.hand_over():
                    yield output
        finally:
            place.close()
            if page is not None:
                await page.end()

    def _is_judged(self, output: Any) -> bool:
        return not isinstance(output, Request) and is_item(output) and self.selection.includes(output)

    def _needs_text(self, item: Any, page: Page) -> bool:
        adapter = ItemAdapter(item)
        if page.is_extracted or text_of(adapter, self.settings.text_field):
            return False
        return page.is_named_by(text_of(adapter, self.settings.url_field))

    async def _page_of(self, item: Any, response: Response, page: Page | None) -> Page:
        """Return the page of an item, with its text if the item needs it. Never raise, so that the output passes."""
        try:
            page = page or await self._page(response)
            if self._needs_text(item, page):
                await self._extract(response, page)
        except Exception as error:
            self._log_fault(error, response)
            if page is not None:
                await page.end()
            return Page.unread()
        return page

    def _log_fault(self, error: Exception, response: Response) -> None:
        self.shared.faults.log(error, response.url, self.crawler.stats)

    def _read_or(self, default: T, read: Callable[[], T], response: Response) -> T:
        """Return what ``read`` reads from a page, the default if it cannot be read."""
        try:
            return read()
        except Exception as error:
            self._log_fault(error, response)
            return default

    async def _page(self, response: Response) -> Page:
        """Return the page of a response with its url, language and title, but without its text."""
        assert response.request is not None
        urls = [response.request.url, *response.meta.get("redirect_urls", ())]
        if not isinstance(response, TextResponse) or not _looks_like_html(response):
            return Page(response.url, urls, is_list=isinstance(response, XmlResponse))
        if self._is_first:
            # The first call loads the list of public suffixes, which would block the event loop.
            self._is_first = False
            await asyncio.get_running_loop().run_in_executor(None, source_of, response.url)
        title = ""
        if not self._is_too_large(response):
            head, encoding = response.body[:_HEAD], await self._encoding(response)
            if len(head) > SHORT_PAGE:  # decoding takes long if many bytes are wrong
                text = await asyncio.to_thread(decode_as, head, encoding)
            else:
                text = decode_as(head, encoding)
            title = self._read_or("", lambda: page_title(text), response)
        return Page(
            response.url,
            urls,
            canonical=self._read_or(response.url, lambda: self._canonical.of(response.body, response.url), response),
            language=self._read_or("", lambda: page_language(response.body), response),
            title=title,
        )

    async def _encoding(self, response: TextResponse) -> str | None:
        """Return the encoding of a response, or None. If it is not declared, guess it in a thread: that takes long."""
        header = response.headers.get("Content-Type") or b""
        if declared_encoding(response.body, header.decode("latin-1")) is not None:
            return _encoding_of(response, is_declared=True)
        return await asyncio.to_thread(_encoding_of, response, is_declared=False)

    async def _html(self, response: TextResponse) -> str | Undecoded:
        encoding = await self._encoding(response)
        if len(response.body) > SHORT_PAGE or encoding is None or not is_of_text(encoding):
            return Undecoded(response.body, encoding)
        return response.text

    async def _extract(self, response: Response, page: Page) -> None:
        """Give the page its text, or the reason why it has none."""
        page.is_extracted = True
        if not isinstance(response, TextResponse) or not _looks_like_html(response):
            return
        try:
            if self._is_too_large(response):
                size = f"{response.url}: {len(response.body)} bytes"
                raise ExtractionError(f"{size}, over NEARDUP_MAX_HTML_BYTES = {self.settings.max_html_bytes}")
            extracted = await self._extracted(response)
            page.text, page.sketch = extracted.text, extracted.sketch
        except ExtractionError as error:
            logger.warning("No main content: %s", error)
            page.reason = "extraction-failed"
        else:
            await self.shared.turns.yield_turn()

    async def _extracted(self, response: TextResponse) -> Extracted:
        # A user's own extractor may depend on the whole url. Ours depend on the site at most.
        url = _site(response.url) if is_built_in(self.settings.extractor) else response.url
        about = b"\n".join((response.headers.get("Content-Type") or b"", url.encode("utf-8", "surrogatepass")))
        key = xxh3_128_digest(response.body), xxh3_128_digest(about)
        return await self._pages.page(key, lambda: self._extract_html(response))

    async def _extract_html(self, response: TextResponse) -> Extracted:
        return await self._extraction.extract(await self._html(response), response.url)

    def _is_too_large(self, response: Response) -> bool:
        return len(response.body) > self.settings.max_html_bytes

    def _close(self) -> None:
        self._extraction.close()


def _encoding_of(response: TextResponse, *, is_declared: bool) -> str | None:
    """Return the encoding of a response. Scrapy guesses it from the beginning if the response is long."""
    try:
        if is_declared or len(response.body) <= SHORT_PAGE:
            return response.encoding
        head = response.body[:SHORT_PAGE]
        head = head[: head.rfind(b">") + 1]  # end after a tag, not in the middle of a character
        guess = guess_encoding(response.body)
        return guess if guess == "utf-8" or head.isascii() else response.replace(body=head).encoding
    except Exception:  # Python does not know the encoding
        return None


def _site(url: str) -> str:
    try:
        return urlsplit(url[:LONGEST_URL]).netloc
    except ValueError:
        return url


def _looks_like_html(response: TextResponse) -> bool:
    if isinstance(response, JsonResponse):
        return False
    if isinstance(response, XmlResponse):  # a feed or sitemap, unless it is XHTML
        return b"<html" in response.body[:4096]
    return isinstance(response, HtmlResponse) or b"<" in response.body[:512]
