"""Spider middleware: response -> main content, carried beside the item."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from itemadapter import ItemAdapter, is_item
from scrapy import Request, signals
from scrapy.http import HtmlResponse, JsonResponse, Response, TextResponse, XmlResponse
from xxhash import xxh3_128_digest

from scrapy_neardup.carriage import Content, carriage_of, settings_of
from scrapy_neardup.content import CanonicalUrls, ExtractedPages, page_language, source_of, start_extraction
from scrapy_neardup.document import Reason
from scrapy_neardup.exceptions import ExtractionError
from scrapy_neardup.selection import ItemSelection, text_of

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from typing_extensions import Self

logger = logging.getLogger(__name__)


class NearDupSpiderMiddleware:
    """Extracts a response's main content once, when it yields its first item that carries no text of its own."""

    def __init__(self, crawler: Crawler) -> None:
        self.settings = settings_of(crawler)
        self.crawler = crawler
        self.carriage = carriage_of(crawler)
        self.selection = ItemSelection(self.settings.item_classes)
        self._extraction = start_extraction(
            self.settings.extractor,
            workers=self.settings.extract_workers,
            timeout=self.settings.extract_timeout,
            most_characters=self.settings.max_html_bytes,
            timings=self.carriage.extract_times,
            sketching=self.settings.sketching(),
        )
        self._pages = ExtractedPages()
        self._canonical = CanonicalUrls()
        self._is_first = True
        # Dropped before it came to the capture pipeline.
        crawler.signals.connect(self.carriage.forget, signals.item_dropped)
        crawler.signals.connect(self.carriage.forget, signals.item_error)
        crawler.signals.connect(self._close, signals.spider_closed)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    async def process_spider_output(self, response: Response, result: AsyncIterator[Any]) -> AsyncIterator[Any]:
        page: Content | None = None
        named = ""
        said: tuple[str, str] | None = None  # canonical url and language
        serial = 0
        opted_out = response.meta.get("neardup") is False
        await self.carriage.turns.next()  # the callback of a spider runs when its output is first asked for
        async for output in result:
            if not isinstance(output, Request) and is_item(output) and self.selection.includes(output):
                if opted_out:
                    content = Content(opted_out=True)
                elif self._has_text(output):
                    content = Content(url=response.url, serial=serial)
                else:
                    url = text_of(ItemAdapter(output), self.settings.url_field)
                    if page is None:
                        page, named = await self._content(response), url
                        await self.carriage.turns.next()
                    # Teasers of a listing page name other pages: its text is not theirs.
                    content = page if url == named else Content(url=response.url, reason="no-text", serial=serial)
                if not content.opted_out:
                    said = said or await self._said_by(response)
                    content = replace(content, canonical=said[0], language=said[1])
                self.carriage.put(output, content)
                serial += 1
            yield output

    def _has_text(self, item: Any) -> bool:
        return bool(text_of(ItemAdapter(item), self.settings.text_field))

    async def _content(self, response: Response) -> Content:
        if not isinstance(response, TextResponse) or not _looks_like_html(response):
            return Content(url=response.url, reason="no-text")
        if len(response.body) > self.settings.max_html_bytes:
            size = f"{response.url}: {len(response.body)} bytes, over NEARDUP_MAX_HTML_BYTES"
            logger.warning("%s = %d", size, self.settings.max_html_bytes)
            return Content(url=response.url, reason="extraction-failed")
        try:
            # An extractor may know its sites, so a mirror's page is another page.
            key = xxh3_128_digest(response.body), response.headers.get("Content-Type"), urlsplit(response.url).netloc
            page = await self._pages.page(key, lambda: self._extraction.extract(response.text, response.url))
        except ExtractionError as error:
            logger.warning("No main content: %s", error)
            return Content(url=response.url, reason="extraction-failed")
        reason: Reason | None = None if page.text.strip() else "no-text"
        return Content(page.text, page.sketch, response.url, reason=reason)

    async def _said_by(self, response: Response) -> tuple[str, str]:
        """What a page says of itself: its canonical url, and its language."""
        if not isinstance(response, TextResponse) or not _looks_like_html(response):
            return response.url, ""
        if self._is_first:
            # The first one loads the list of public suffixes, which would hold up the event loop.
            self._is_first = False
            await asyncio.get_running_loop().run_in_executor(None, source_of, response.url)
        return self._canonical.of(response.body, response.url), page_language(response.body)

    def _close(self) -> None:
        self._extraction.close()


def _looks_like_html(response: TextResponse) -> bool:
    if isinstance(response, JsonResponse):
        return False
    if isinstance(response, XmlResponse):  # a feed or sitemap, unless it is XHTML
        return b"<html" in response.body[:4096]
    return isinstance(response, HtmlResponse) or b"<" in response.body[:512]
