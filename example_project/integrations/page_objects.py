"""Judge the articles of page objects (scrapy-poet, zyte-common-items): ``python -m integrations.page_objects``.

Exit status 0 if every verdict is the one in the truth file.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

from integrations.offline import SETTINGS, BundledNews, check, start_crawl
from newsroom.items import format_time, page_time, page_title
from parsel import Selector
from scrapy.crawler import AsyncCrawlerProcess
from scrapy.http import Response
from trafilatura import extract
from web_poet import field, handle_urls
from zyte_common_items import Article, ArticlePage

POET: dict[str, Any] = {
    "ADDONS": {
        "zyte_common_items.Addon": 300,  # with this add-on, an Article takes the tags
        "scrapy_poet.Addon": 400,
        "scrapy_neardup.Addon": 500,
    },
    "NEARDUP_ITEM_FIELDS": {"time": "datePublished"},
}


@handle_urls("")  # of every site
class NewsPage(ArticlePage):
    """Extracts an article from the page of any paper."""

    @property
    def tree(self) -> Selector:
        # web-poet reads pages that begin with <?xml as XML, where //h1 finds nothing.
        return Selector(self.response.text, type="html")

    @field
    def headline(self) -> str:
        return page_title(self.tree)

    @field
    def datePublished(self) -> str | None:  # noqa: N802
        published = page_time(self.tree)
        return format_time(published) if published else None

    @field
    def articleBody(self) -> str | None:  # noqa: N802
        return extract(self.response.text, fast=True, include_comments=False, include_tables=False)


class PageObjects(BundledNews):
    """Yields each article as its page object made it."""

    def parse_article(self, response: Response, article: Article) -> Iterator[Article]:  # type: ignore[override]
        yield article


def main() -> int:
    process = AsyncCrawlerProcess({**SETTINGS, **POET})
    items = start_crawl(process, PageObjects)
    process.start()
    return int(not check(items))


if __name__ == "__main__":
    sys.exit(main())
