"""How an item can end: the table of docs/delivery.md, row by row, with real crawls.

The wire prints two stories, ``shared`` and ``alone``, and two papers copy ``shared`` directly behind it. The table says
what the first copy gets, and what the wire's page of ``alone`` gets in the next crawl.
"""

from pathlib import Path
from typing import Any

import pytest
from json_lines import read_lines
from news_site import article
from projects import Project

pytestmark = pytest.mark.versions

SPIDER = """
class News(scrapy.Spider):
    name = "news"

    start_urls = ["data:,"]

    def parse(self, response):
        for name, text in self.settings["STORIES"].items():
            for paper in ("wire", "times", "post") if name == "shared" else ("wire",):
                yield {"url": f"https://{paper}.example/{name}", "story": name, "paper": paper, "text": text}
"""

ENDINGS_MODULE = '''
import asyncio
import os

from scrapy import signals
from scrapy.exceptions import DontCloseSpider, DropItem
from scrapy.exporters import JsonLinesItemExporter
from scrapy.extensions.feedexport import FileFeedStorage


class Refuses:
    def process_item(self, item):
        if item["paper"] == "wire":
            raise DropItem("not wanted")
        return item


class RefusesSlowly(Refuses):
    async def process_item(self, item):
        await asyncio.sleep(0.05)
        return super().process_item(item)


class Breaks:
    def process_item(self, item):
        if item["paper"] == "wire":
            raise ValueError("a bug of the user's")
        return item


class Replaces:
    def process_item(self, item):
        return dict(item)


class CannotWrite(JsonLinesItemExporter):
    def export_item(self, item):
        if item["paper"] == "wire":
            raise ValueError("cannot be written")
        super().export_item(item)


class Bucket(FileFeedStorage):
    def store(self, file):
        super().store(file)
        raise OSError("the bucket is gone")


class SlowStorage(FileFeedStorage):
    async def store(self, file):
        await asyncio.sleep(0.05)
        super().store(file)


class NoWire:
    def __init__(self, options):
        pass

    def accepts(self, item):
        return item["paper"] != "wire"


class Notes:
    """Notes the items that passed the pipelines, and ends the crawl by a signal of the system."""

    def __init__(self, crawler):
        crawler.signals.connect(self.note, signals.item_scraped)
        if crawler.settings["ENDS"]:
            when, *self.numbers = crawler.settings["ENDS"]
            crawler.signals.connect(self.end, getattr(signals, when))

    @classmethod
    def from_crawler(cls, crawler):
        return cls(crawler)

    def note(self, item):
        with open("scraped.txt", "a") as notes:
            print(item["paper"], item["story"], file=notes)

    def end(self):
        if self.numbers:  # once
            os.kill(os.getpid(), self.numbers.pop())
        raise DontCloseSpider  # Scrapy leaves its own end half done if it is stopped in the middle of it
'''

DOCS = Path(__file__).parents[2] / "docs" / "delivery.md"
FEED = {"format": "jsonlines", "overwrite": True}
PICKY = {**FEED, "item_filter": "news.endings.NoWire"}
SIGINT, SIGKILL = 2, 9


def pipeline(name: str, order: int = 900) -> dict[str, Any]:
    return {"ITEM_PIPELINES": {f"news.endings.{name}": order}}


def feeds(**feeds: dict[str, Any]) -> dict[str, Any]:
    return {"FEEDS": {name.replace("_", ":"): feed for name, feed in feeds.items()}}


# The first crawl has the feed ``first``, unless a row says otherwise. A filter leaves out what the wire prints.
ENDINGS: dict[str, dict[str, Any]] = {
    "is in a feed that is stored": {},
    "is in two feeds that are stored": feeds(first=FEED, other=FEED),
    "is in a batch that takes long to store": {"FEEDS": {"slow:%(batch_id)d": {**FEED, "batch_item_count": 1}}},
    "is taken by one feed, and left out by the filter of another": feeds(first=FEED, other=PICKY),
    "is left out by the filter of each feed": feeds(first=PICKY),
    "passes the pipelines, and there are no feeds": {"FEEDS": {}},
    'passes the pipelines, with `NEARDUP_DELIVERED = "scraped"`': {
        **feeds(first=PICKY),
        "NEARDUP_DELIVERED": "scraped",
    },
    "is replaced by a pipeline before the plugin": pipeline("Replaces", 100),
    "is replaced by a pipeline after the plugin": pipeline("Replaces"),
    "is dropped by a pipeline before the plugin": pipeline("Refuses", 100),
    "is dropped by a pipeline after the plugin": pipeline("Refuses"),
    "is dropped by a slow pipeline after the plugin": pipeline("RefusesSlowly"),
    "makes a pipeline after the plugin fail": pipeline("Breaks"),
    "cannot be written to a feed": {"FEED_EXPORTERS": {"jsonlines": "news.endings.CannotWrite"}},
    "is in a feed that fails when stored": feeds(bucket_first=FEED),
    "is in two feeds, one of which fails when stored": feeds(first=FEED, bucket_first=FEED),
    "is in a feed when the crawl is killed": {"ENDS": ("spider_closed", SIGKILL)},
    "is in a feed when the crawl is stopped (Ctrl-C)": {"ENDS": ("spider_idle", SIGINT)},
    "is in a feed when the crawl is stopped, to be resumed": {"ENDS": ("spider_idle", SIGINT), "JOBDIR": "job"},
}


def rows() -> dict[str, tuple[str, str]]:
    """Return the rows of the table: what the copy gets, and what the page in the next crawl, by how the item ends."""
    cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in DOCS.read_text("utf-8").splitlines()]
    return {row[0]: (row[1], row[2]) for row in cells if row and row[-1] in ("known", "new")}


def crawl(project: Project, feed: str, **settings: object) -> None:
    """Crawl with one feed, unless the settings say otherwise."""
    stories = {name: article(name) for name in ("shared", "alone")}
    always = {
        "STORIES": stories,
        "ENDS": None,
        "NEARDUP_ACTION": "drop",
        "FEEDS": {feed: FEED},
        "FEED_STORAGES": {name: f"news.endings.{cls}" for name, cls in (("slow", "SlowStorage"), ("bucket", "Bucket"))},
    }
    project.prepare(SPIDER, {**always, "EXTENSIONS": {"news.endings.Notes": 0}, **settings})
    project.run("crawl", "news")


def test_the_table_has_a_row_for_each_ending() -> None:
    assert rows().keys() == ENDINGS.keys()


@pytest.mark.slow
@pytest.mark.parametrize("ending", ENDINGS)
def test_an_item_ends_as_the_table_says(
    project: Project, ending: str, namespace: str, request: pytest.FixtureRequest
) -> None:
    project.write("news/endings.py", ENDINGS_MODULE)
    # How an item ends is told to both stores in one way; what they make of it is tested in tests/index/test_runs.py.
    is_redis = [*ENDINGS].index(ending) % 2
    store = request.getfixturevalue("redis_url") if is_redis else "sqlite:///window.sqlite"
    where = {"NEARDUP_STORE": store, "NEARDUP_NAMESPACE": namespace}
    crawl(project, "first", **where, **ENDINGS[ending])
    passed = (project.folder / "scraped.txt").read_text().split("\n")
    crawl(project, "second", **where, **({"JOBDIR": "job"} if "resumed" in ending else {}))
    second = [(item["paper"], item["story"]) for item in read_lines(project.folder / "second")]
    copy = "original" if "times shared" in passed else "dropped"
    page = "new" if ("wire", "alone") in second else "known"
    assert (copy, page) == rows()[ending]
    assert ("wire", "shared") in second or copy == "original" or page == "known", "a story is in no feed"
    assert len([story for _, story in second if story == "shared"]) <= 1
