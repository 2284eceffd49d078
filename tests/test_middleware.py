"""How a page's main content finds its items: extracted once, carried beside them, never left behind."""

from __future__ import annotations

from collections import Counter

import pytest
from news_site import NewsSite, article, page
from projects import ITEM_A_PAGE, NOTING, Project, extracted

TWENTY = """
from scrapy_neardup import NearDupItem


class Article(NearDupItem):
    page = scrapy.Field()


class News(scrapy.Spider):
    name = "news"

    async def start(self):
        for url in self.urls.split():
            yield scrapy.Request(url)

    def parse(self, response):
        name = response.url.rpartition("/")[2]
        one = {"page": name}
        for _ in range(20):
            yield {"dicts": {"page": name}, "one-dict": one, "declared": Article(page=name)}[name]
"""


def test_twenty_items_of_a_response_are_one_original_and_one_extraction(project: Project, site: NewsSite) -> None:
    kinds = ("dicts", "one-dict", "declared")
    urls = [site.publish(f"/{kind}", page(article(kind))) for kind in kinds]
    crawl = project.crawl(TWENTY, urls=urls, **NOTING)

    assert crawl.neardup == {"checked": 60, "original": 3, "duplicate": 57, "duplicate/revisit": 57}
    assert Counter(item["page"] for item in crawl.items) == dict.fromkeys(kinds, 20)
    for kind in ("dicts", "declared"):
        statuses = Counter(item["neardup_status"] for item in crawl.items if item["page"] == kind)
        assert statuses == {"original": 1, "duplicate": 19}
    assert extracted(project) == dict.fromkeys(kinds, 1)
    assert crawl.stats["carriage"] == 0


@pytest.mark.parametrize("concurrent_items", [1, 4, 100])
def test_twenty_items_of_a_response_leave_one_when_duplicates_are_dropped(
    project: Project, site: NewsSite, concurrent_items: int
) -> None:
    """However many the pipelines have in hand, one object yielded twenty times keeps its content twenty times."""
    kinds = ("dicts", "one-dict", "declared")
    urls = [site.publish(f"/{kind}", page(article(kind))) for kind in kinds]
    crawl = project.crawl(TWENTY, urls=urls, NEARDUP_ACTION="drop", CONCURRENT_ITEMS=concurrent_items, **NOTING)

    assert crawl.neardup["dropped"] == 57
    assert sorted(item["page"] for item in crawl.items) == sorted(kinds)
    assert crawl.stats["carriage"] == 0


LISTING = """
class News(scrapy.Spider):
    name = "news"

    async def start(self):
        for url in self.urls.split():
            yield scrapy.Request(url)

    def parse(self, response):
        for number in range(20):
            yield {"url": response.urljoin(f"/story-{number}"), "title": f"Story {number}"}
"""


def test_teasers_of_a_listing_page_are_not_copies_of_each_other(project: Project, site: NewsSite) -> None:
    crawl = project.crawl(LISTING, urls=[site.publish("/front", page(article("front")))], NEARDUP_ACTION="drop")

    assert len(crawl.items) == 20
    assert crawl.neardup == {"checked": 20, "original": 1, "unchecked": 19, "unchecked/no-text": 19}


OWN_TEXT = """
class News(scrapy.Spider):
    name = "news"

    async def start(self):
        yield {"name": "start with text", "text": self.text}
        yield {"name": "start without text"}
        for url in self.urls.split():
            yield scrapy.Request(url, errback=self.failed)

    def parse(self, response):
        name = response.url.rpartition("/")[2]
        values = {"string": "An own text. " * 3, "list": ["An own", "text."], "blank": " ", "none": None, "number": 5}
        yield {"name": name, "text": values[name]}

    def failed(self, failure):
        yield {"name": "failed"}
"""


def test_items_with_a_text_of_their_own_skip_extraction(project: Project, site: NewsSite) -> None:
    names = ("string", "list", "blank", "none", "number")
    urls = [site.publish(f"/{name}", page(article(name))) for name in names]
    refused = "http://127.0.0.1:9/"
    crawl = project.crawl(
        OWN_TEXT, "-a", f"text={article('start')}", urls=[*urls, refused], RETRY_ENABLED=False, **NOTING
    )

    assert extracted(project) == {"blank": 1, "none": 1, "number": 1}
    assert {item["name"]: (item["neardup_status"], item["neardup_reason"]) for item in crawl.items} == {
        "start with text": ("original", None),
        "start without text": ("unchecked", "no-text"),
        "string": ("unchecked", "too-short"),
        "list": ("unchecked", "too-short"),
        "blank": ("original", None),
        "none": ("original", None),
        "number": ("original", None),
        "failed": ("unchecked", "no-text"),
    }
    assert crawl.stats["carriage"] == 0


def test_no_page_is_extracted_for_requests_alone(project: Project, site: NewsSite) -> None:
    spider = """
        class News(scrapy.Spider):
            name = "news"

            async def start(self):
                yield scrapy.Request(self.urls)

            def parse(self, response):
                yield scrapy.Request(response.urljoin("/story"), callback=self.story)

            def story(self, response):
                yield {"page": response.url}
        """
    site.publish("/story", page(article("story")))
    crawl = project.crawl(spider, urls=[site.publish("/index", page(article("index")))], **NOTING)
    assert extracted(project) == {"story": 1}
    assert crawl.statuses == {"original": 1}


PIPELINES = """
import asyncio
import random

from scrapy.exceptions import DropItem


class Replace:
    async def process_item(self, item):
        await asyncio.sleep(random.random() / 20)
        return {"page": item["page"], "replaced": True}


class Rename:
    def process_item(self, item):
        return {**item, "renamed": True}


class Sieve:
    def process_item(self, item):
        number = int(item["page"].rpartition("/")[2])
        if number % 3 == 0:
            raise DropItem("every third")
        if number % 3 == 1:
            raise RuntimeError("and another")
        return item
"""


def test_300_items_replaced_on_their_way_keep_each_its_own_text(project: Project, site: NewsSite) -> None:
    """A second crawl meets the texts of the first at other urls: each copy must name its own original."""
    originals = [site.publish(f"/first/{number}", page(article(number))) for number in range(300)]
    again = [site.publish(f"/again/{number}", page(article(number))) for number in range(300)]
    project.write("news/pipelines.py", PIPELINES)
    settings = {
        **NOTING,
        "ITEM_PIPELINES": {"news.pipelines.Replace": 100, "news.pipelines.Rename": 200},
        "CONCURRENT_REQUESTS": 100,
        "CONCURRENT_REQUESTS_PER_DOMAIN": 100,
        "LOG_LEVEL": "INFO",
    }
    first = project.crawl(ITEM_A_PAGE, urls=originals, **settings)
    assert first.statuses == {"original": 300}
    assert first.stats["carriage"] == 0
    second = project.crawl(ITEM_A_PAGE, urls=again, **settings)
    assert second.statuses == {"duplicate": 300}
    for item in second.items:
        assert item["neardup_original"] == item["page"].replace("/again/", "/first/")
        assert item["neardup_kind"] == "exact"
        assert item["replaced"]
        assert item["renamed"]


@pytest.mark.parametrize("order", [0, 100], ids=["before the capture", "after the capture"])
def test_nothing_stays_behind_of_items_that_other_pipelines_drop(project: Project, site: NewsSite, order: int) -> None:
    urls = [site.publish(f"/{number}", page(article(number))) for number in range(30)]
    project.write("news/pipelines.py", PIPELINES)
    crawl = project.crawl(ITEM_A_PAGE, urls=urls, ITEM_PIPELINES={"news.pipelines.Sieve": order}, **NOTING)
    assert crawl.statuses == {"original": 10}
    assert crawl.neardup["checked"] == 10
    assert crawl.stats["carriage"] == 0


OPTING_OUT = """
from dataclasses import dataclass

from scrapy_neardup import NearDupFields


@dataclass
class Article(NearDupFields):
    name: str


@dataclass
class Longread(Article):
    pass


@dataclass
class Comment(NearDupFields):
    name: str


class News(scrapy.Spider):
    name = "news"

    async def start(self):
        for url in self.urls.split():
            yield scrapy.Request(url, meta={"neardup": not url.endswith("out")})

    def parse(self, response):
        name = response.url.rpartition("/")[2]
        if name != "comments":
            yield Article(name=f"article {name}")
            yield Longread(name=f"longread {name}")
        yield Comment(name=f"comment {name}")
"""


def test_a_request_and_an_item_class_opt_out(project: Project, site: NewsSite) -> None:
    urls = [site.publish(f"/{name}", page(article(name))) for name in ("in", "out", "comments")]
    classes = {"NEARDUP_ITEM_CLASSES": ["news.spiders.news.Article"]}
    crawl = project.crawl(OPTING_OUT, urls=urls, **NOTING, **classes)

    assert {item["name"] for item in crawl.items if item["neardup_status"] is not None} == {"article in", "longread in"}
    assert crawl.neardup["checked"] == 2
    assert extracted(project) == {"in": 1}
    assert crawl.stats["carriage"] == 0
