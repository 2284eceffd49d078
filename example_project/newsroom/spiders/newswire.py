"""Crawls the bundled site: ``scrapy crawl newswire -O items.jsonl``."""

from __future__ import annotations

import heapq
import os
from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING, Any

from scrapy import Request, Spider, signals
from scrapy.exceptions import DontCloseSpider
from scrapy.http import Response

from newsroom.items import Article, format_time, page_time, page_title
from newsroom.site.press import DIRECTORY

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

SETTINGS: dict[str, Any] = {
    # Before HttpProxyMiddleware (750), which reads what this one sets.
    "DOWNLOADER_MIDDLEWARES": {"newsroom.loopback.BundledSiteMiddleware": 740},
    # A window that begins empty and ends with the crawl: the second run gives the same answer as the first. The
    # default store is a file and would find every page of the first run again, as it should.
    "NEARDUP_STORE": os.environ.get("NEARDUP_STORE", "memory://"),
    # The only site there is to be polite to is our own.
    "DOWNLOAD_DELAY": 0,
    "AUTOTHROTTLE_ENABLED": False,
}


class NewswireSpider(Spider):
    """Reads the front pages of all sources, then visits their articles in the order of publication.

    One article at a time: which print of a story is the original depends on who was seen first, and only this way it
    is the same in every run. A real crawl takes pages as they come, and the first one *seen* is the original.

    With ``-a papers=1/2`` the spider reads the first of every two papers, so that two workers share the site.
    """

    name = "newswire"
    custom_settings = SETTINGS

    def __init__(self, papers: str = "1/1", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.first_paper, self.every = map(int, papers.split("/"))
        self.visits: list[tuple[str, str]] = []

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> NewswireSpider:
        spider = super().from_crawler(crawler, *args, **kwargs)
        crawler.signals.connect(spider.visit_next, signal=signals.spider_idle)
        return spider

    async def start(self) -> AsyncIterator[Request]:
        yield Request(DIRECTORY, callback=self.parse_directory)

    def parse_directory(self, response: Response) -> Iterator[Request]:
        links = response.css("#papers a::attr(href)").getall()
        for link in links[self.first_paper - 1 :: self.every]:
            yield response.follow(link, callback=self.parse_front_page)

    def parse_front_page(self, response: Response) -> None:
        for story in response.css("#stories li"):
            link = response.urljoin(story.css("a::attr(href)").get(""))
            heapq.heappush(self.visits, (story.css("time::attr(datetime)").get(""), link))

    def visit_next(self) -> None:
        """Ask for the next article. Idle means that the one before has left the last pipeline."""
        if not self.visits or self.crawler.engine is None:
            return
        _, link = heapq.heappop(self.visits)
        self.crawler.engine.crawl(self.article_request(link))
        raise DontCloseSpider

    def article_request(self, url: str) -> Request:
        # Front pages list a revised article a second time, and it is to be fetched a second time.
        return Request(url, callback=self.parse_article, dont_filter=True)

    def parse_article(self, response: Response) -> Iterator[Article]:
        published = page_time(response)
        if published is None:
            self.logger.error("No publication time on %s", response.url)
            return
        yield Article(url=response.url, title=page_title(response), published=format_time(published))
