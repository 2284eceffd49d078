"""Sends every request of a spider to the bundled site."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy import Request, signals

from newsroom.site.press import Newsstand
from newsroom.site.proxy import LoopbackProxy

if TYPE_CHECKING:
    from scrapy.crawler import Crawler


class BundledSiteMiddleware:
    """Downloader middleware that runs the loopback proxy as long as the spider.

    The proxy is set here and not in the spider, because only here pass *all* requests: robots.txt and redirects
    too. None can reach a name server or another machine, and a host the site does not have is a 404.
    """

    def __init__(self) -> None:
        self.proxy = LoopbackProxy(Newsstand.load())

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> BundledSiteMiddleware:
        middleware = cls()
        crawler.signals.connect(middleware.proxy.start, signal=signals.spider_opened)
        crawler.signals.connect(middleware.proxy.stop, signal=signals.spider_closed)
        return middleware

    def process_request(self, request: Request) -> None:
        request.meta["proxy"] = self.proxy.url
