"""What counts as seen after a crawl that was killed, failed, or lost items on their way: only what it delivered."""

import random
from collections import Counter
from pathlib import Path

import pytest
from json_lines import read_lines
from kills import PROSE, draw_moment, kill_and_rerun
from long_form import some
from news_site import NewsSite, article, page
from projects import Project


@pytest.mark.parametrize("seed", some(range(10), 1))
@pytest.mark.slow
def test_a_crawl_that_is_killed_and_run_again_loses_no_story(
    tmp_path: Path, site: NewsSite, store: str, seed: int
) -> None:
    moment = draw_moment(random.Random(f"{store.partition(':')[0]} {seed}"))
    kill_and_rerun(tmp_path, site, store, moment, seed)


PAGES = ["kept", "dropped", "broken", "copied"]

SPIDER = """
class News(Pages):
    def parse(self, response):
        for part in range(int(self.settings["ITEMS_A_PAGE"])):
            yield {"page": response.url, "part": part, "kind": response.url.rpartition("/")[2].partition("-")[0]}
"""

LOSSES = """
from scrapy.exceptions import DropItem


class Losses:
    def process_item(self, item):
        if item["kind"] == "dropped" and item["part"] == 0:
            raise DropItem("not wanted")
        if item["kind"] == "broken":
            raise ValueError("a bug of the user's")
        return dict(item, page=item["page"])  # another object than the spider's


class EverySecond:
    def __init__(self, options):
        self.count = 0

    def accepts(self, item):
        self.count += 1
        return self.count % 2 == 1
"""

FEED = {"format": "jsonlines", "overwrite": True}


def _crawl(project: Project, site: NewsSite, **settings: object) -> Counter[str]:
    """Crawl pages, then pages that copy them, and return how many of these were copies, by kind of page."""
    project.write("news/losses.py", LOSSES)
    project.write("news/prose.py", PROSE)
    always = {
        "NEARDUP_ACTION": "drop",
        "NEARDUP_EXTRACTOR": "news.prose.prose",
        "CONCURRENT_REQUESTS": 1,
        "ITEMS_A_PAGE": 1,
    }
    first, second = (
        [site.publish(f"/{name}-{turn}", page(article(name), title=name)) for name in PAGES] for turn in range(2)
    )
    project.prepare(SPIDER, {**always, "FEEDS": {"first.jsonl": FEED}, **settings})
    project.run("crawl", "news", "-a", f"urls={' '.join(first)}")
    again = project.crawl(SPIDER, urls=second, **{**always, "NEARDUP_ACTION": "tag"})
    return Counter(item["kind"] for item in again.items if item["neardup_status"] == "duplicate")


def test_a_page_of_several_items_is_delivered_if_one_of_them_is(project: Project, site: NewsSite) -> None:
    seen = _crawl(project, site, ITEM_PIPELINES={"news.losses.Losses": 900}, ITEMS_A_PAGE=2)
    assert seen.keys() == {"kept", "copied", "dropped"}


LONE_SURROGATES = """
class News(scrapy.Spider):
    name = "news"

    start_urls = ["data:,"]

    def parse(self, response):
        for number, title in enumerate(["first", "half \\ud800", "second", "half \\ud800 in a list"]):
            yield {"number": number, "title": [title] if "list" in title else title}
"""


def test_a_lone_surrogate_costs_no_other_item_and_the_remedy_is_logged_once(project: Project) -> None:
    crawl = project.crawl(LONE_SURROGATES)
    assert [item["number"] for item in crawl.items] == [0, 2]
    (warning,) = crawl.lines("WARNING", "could not be written to a feed")
    assert "value.encode('utf-8', 'replace').decode()" in warning


def test_a_filter_of_a_feed_is_asked_once_an_item(project: Project, site: NewsSite) -> None:
    """This one counts its calls."""
    seen = _crawl(project, site, FEEDS={"first.jsonl": {**FEED, "item_filter": "news.losses.EverySecond"}})
    items = read_lines(project.folder / "first.jsonl")
    assert [item["kind"] for item in items] == ["kept", "broken"]
    assert seen.keys() == {"kept", "broken"}
