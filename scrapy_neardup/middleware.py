"""Spider middleware: response -> main content, carried beside the item."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from itemadapter import ItemAdapter, is_item
from scrapy import Request, signals
from scrapy.http import HtmlResponse, Response, TextResponse

from scrapy_neardup.carriage import Content, carriage_of, settings_of
from scrapy_neardup.content import ExtractionThreads, canonical_url, load_extractor
from scrapy_neardup.exceptions import ExtractionError
from scrapy_neardup.selection import ItemSelection, text_of
from scrapy_neardup.timings import Timings

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
        self.timings = Timings()
        extractor = load_extractor(self.settings.extractor)
        self._threads = ExtractionThreads(extractor, timeout=self.settings.extract_timeout)
        # Dropped before it came to the capture pipeline.
        crawler.signals.connect(self.carriage.forget, signals.item_dropped)
        crawler.signals.connect(self.carriage.forget, signals.item_error)
        crawler.signals.connect(self._close, signals.spider_closed)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    async def process_spider_output(self, response: Response, result: AsyncIterator[Any]) -> AsyncIterator[Any]:
        page: Content | None = None
        own_url: str | None = None
        serial = 0
        opted_out = response.meta.get("neardup") is False
        async for output in result:
            if not isinstance(output, Request) and is_item(output) and self.selection.includes(output):
                if opted_out:
                    content = Content(opted_out=True)
                elif self._has(output, self.settings.text_field):
                    content = Content(url=response.url, serial=serial)
                else:
                    content = page = page or await self._content(response)
                if not content.opted_out and not self._has(output, self.settings.url_field):
                    own_url = own_url or _own_url(response)
                    content = replace(content, url=own_url)
                self.carriage.put(output, content)
                serial += 1
            yield output

    @staticmethod
    def _has(item: Any, field: str | None) -> bool:
        return bool(text_of(ItemAdapter(item), field))

    async def _content(self, response: Response) -> Content:
        if not isinstance(response, TextResponse) or not _looks_like_html(response):
            return Content(url=response.url, reason="no-text")
        if len(response.body) > self.settings.max_html_bytes:
            size = f"{response.url}: {len(response.body)} bytes, over NEARDUP_MAX_HTML_BYTES"
            logger.warning("%s = %d", size, self.settings.max_html_bytes)
            return Content(url=response.url, reason="extraction-failed")
        try:
            with self.timings.measure():
                text = await self._threads.extract(response.text, response.url)
        except ExtractionError as error:
            logger.warning("No main content: %s", error)
            return Content(url=response.url, reason="extraction-failed")
        return Content(text, response.url, None if text.strip() else "no-text")

    def _close(self) -> None:
        self._threads.close()
        if self.crawler.stats is not None:
            for name, value in self.timings.summary().items():
                self.crawler.stats.set_value(f"neardup/extract/{name}", value)


def _own_url(response: Response) -> str:
    if isinstance(response, TextResponse) and _looks_like_html(response):
        return canonical_url(response.text, response.url)
    return response.url


def _looks_like_html(response: TextResponse) -> bool:
    return isinstance(response, HtmlResponse) or b"<" in response.body[:512]
