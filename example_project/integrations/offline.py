"""The parts that the integrations share: a spider for the bundled site, and the comparison with the truth file."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator
from typing import Any

from check_truth import TRUTH, Row, compare, read_lines
from itemadapter import ItemAdapter
from newsroom.site.press import read_pages
from newsroom.spiders.newswire import NewswireSpider
from scrapy import Request, Spider, signals
from scrapy.crawler import AsyncCrawlerProcess

SETTINGS: dict[str, Any] = {
    "ADDONS": {"scrapy_neardup.Addon": 500},
    "NEARDUP_TIME_FIELD": "published",
    "COOKIES_ENABLED": False,
    "LOG_LEVEL": "WARNING",
    "TELNETCONSOLE_ENABLED": False,
    "REMOTE_CONTROL_ENABLED": False,
}


class BundledNews(NewswireSpider):
    """Visits the articles of the bundled site, without its front pages."""

    name = "bundled"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.visits = sorted((page.published, page.url) for page in read_pages())

    async def start(self) -> AsyncIterator[Request]:
        for request in ():  # an idle spider requests the next article
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
