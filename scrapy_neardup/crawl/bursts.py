"""Let the responses of a burst go to the spider one by one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_neardup.crawl.shared import settings_of, shared_state

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.http import Request, Response
    from typing_extensions import Self


class BurstMiddleware:
    """A downloader middleware that gives each response a round of the event loop of its own.

    Scrapy starts ``CONCURRENT_ITEMS`` tasks for each response before a spider middleware is asked. Responses come in
    bursts while pages are extracted, and the tasks of thirty responses in one round would block the loop for 100 ms.
    """

    def __init__(self, crawler: Crawler) -> None:
        settings_of(crawler)
        self.turns = shared_state(crawler).turns

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    async def process_response(self, request: Request, response: Response) -> Response:
        await self.turns.yield_turn()
        return response
