"""The parts that the integrations share: a spider for the bundled site, and the comparison with the truth file."""

from __future__ import annotations

import socket
from collections import Counter
from collections.abc import AsyncIterator
from typing import Any

from check_truth import TRUTH, Row, compare, read_lines
from itemadapter import ItemAdapter
from newsroom.site.press import read_pages, read_story
from newsroom.spiders.newswire import NewswireSpider
from scrapy import Request, Spider, signals
from scrapy.crawler import AsyncCrawlerProcess

SETTINGS: dict[str, Any] = {
    "ADDONS": {"scrapy_neardup.Addon": 500},
    "NEARDUP_ITEM_FIELDS": {"time": "published"},
    "COOKIES_ENABLED": False,
    "LOG_LEVEL": "WARNING",
    "TELNETCONSOLE_ENABLED": False,
    "REMOTE_CONTROL_ENABLED": False,
}


class BundledNews(NewswireSpider):
    """Visits the articles of the bundled site, or the first ``pages`` of them, without its front pages."""

    name = "bundled"

    def __init__(self, pages: int | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.visits = sorted((page.published, page.url) for page in read_pages())[:pages]

    async def start(self) -> AsyncIterator[Request]:
        nothing: list[Request] = []  # an idle spider requests the next article
        for request in nothing:
            yield request


def start_crawl(process: AsyncCrawlerProcess, spider: type[Spider], **arguments: Any) -> list[Row]:
    """Start a crawl, and return the list that its items will be added to."""
    crawler = process.create_crawler(spider)
    items: list[Row] = []

    def keep(item: Any) -> None:
        items.append(ItemAdapter(item).asdict())

    crawler.signals.connect(keep, signals.item_scraped, weak=False)
    process.crawl(crawler, **arguments)
    return items


def count_statuses(items: list[Row]) -> str:
    """Return how many items have each status, as one line."""
    counts = Counter(str(item.get("neardup_status")) for item in items)
    return ", ".join(f"{count} {status}" for status, count in sorted(counts.items()))


def check(items: list[Row], pages: int | None = None) -> bool:
    """Print the statuses, and each verdict that is not the one in the truth file. Return whether there is none.

    ``pages`` is the number of visits, if they are not all that the truth file has.
    """
    wrong = compare(items, read_lines(TRUTH)[:pages]).wrong_lines
    print(f"{len(items)} items: {count_statuses(items)}")
    print(*wrong, f"{len(wrong)} verdicts differ from the truth file", sep="\n")
    return not wrong


def repeated_originals(items: list[Row]) -> list[str]:
    """Return the stories that several papers print word for word, and of which several pages are originals."""
    stories = {page.url: page.story for page in read_pages() if page.paragraphs() == read_story(page.story)}
    originals = Counter(stories.get(str(item["url"])) for item in items if item["neardup_status"] == "original")
    return [story for story, count in originals.items() if story and count > 1]


def unused_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])
