"""How a page's main content finds its items: extracted once, carried beside them, never left behind."""

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pytest
from json_lines import read_lines
from news_site import Answer, NewsSite, article, page
from projects import NOTING, Crawl, Project, extracted

from scrapy_neardup.crawl.item_context import ItemContext, ItemContexts, Place

TWENTY = """
from scrapy_neardup import NearDupItem


class Article(NearDupItem):
    page = scrapy.Field()


class News(Pages):
    def parse(self, response):
        name = response.url.rpartition("/")[2]
        one = {"page": name}
        for _ in range(20):
            yield {"dicts": {"page": name}, "one-dict": one, "declared": Article(page=name)}[name]
"""


COUNTING = """
import gc

from scrapy.http import HtmlResponse
from scrapy.utils.trackref import live_refs
from scrapy_neardup.crawl.item_context import Page


class News(Pages):
    def parse(self, response):
        gc.disable()
        yield {"page": response.css("title").get()}

    def closed(self, reason):
        pages = sum(isinstance(each, Page) for each in gc.get_objects())
        self.crawler.stats.set_value("pages", pages)
        self.crawler.stats.set_value("responses", len(live_refs[HtmlResponse]))
        gc.enable()
"""


@pytest.mark.versions
def test_a_page_is_freed_without_the_garbage_collector(project: Project, site: NewsSite) -> None:
    """Else hundreds of parsed pages wait for a full collection, which a crawl seldom has."""
    urls = [site.publish(f"/{number}", page(article(number))) for number in range(20)]
    crawl = project.crawl(COUNTING, urls=urls)
    assert crawl.neardup == {"checked": 20, "original": 20}
    assert crawl.stats["pages"] <= 3
    assert crawl.stats["responses"] <= 3


FAILS = """
import gc, psutil, scrapy, sys
from scrapy.crawler import AsyncCrawlerProcess
Fails = type("Fails", (), {sys.argv[1]: lambda self, *_: 1 / 0})
settings = {"ADDONS": {"scrapy_neardup.Addon": 500}, "ITEM_PIPELINES": {Fails: 900}, "FEEDS": {"items.jsonl": {}}}
process = AsyncCrawlerProcess(settings | {"NEARDUP_STORE": "memory://"})
process.crawl(scrapy.Spider, name="news")
process.start()
gc.collect()
print(psutil.Process().children(), gc.get_freeze_count())
"""


@pytest.mark.parametrize("fails", ["__init__", "open_spider"])
def test_a_crawl_that_fails_before_it_opens_leaves_no_worker_and_no_frozen_objects(tmp_path: Path, fails: str) -> None:
    done = subprocess.run([sys.executable, "-c", FAILS, fails], cwd=tmp_path, capture_output=True, text=True)
    assert ("ZeroDivisionError" in done.stderr, done.stdout) == (True, "[] 0\n")


KINDS = ("dicts", "one-dict", "declared")


@pytest.mark.parametrize("concurrent_items", [1, 100])
def test_items_of_a_page_are_one_document_with_one_verdict(
    project: Project, site: NewsSite, concurrent_items: int
) -> None:
    """Judged and extracted once, and tagged alike. None is dropped for another one, and later all are dropped."""
    urls = [site.publish(f"/{kind}", page(article(kind))) for kind in KINDS]
    settings = {"NEARDUP_ACTION": "drop", "CONCURRENT_ITEMS": concurrent_items, **NOTING}
    first = project.crawl(TWENTY, urls=urls, **settings)
    assert first.neardup == {"checked": 60, "original": 60}
    assert Counter(item["page"] for item in first.items) == dict.fromkeys(KINDS, 20)
    assert len({json.dumps(item, sort_keys=True) for item in first.items}) == 3
    assert extracted(project) == dict.fromkeys(KINDS, 1)
    assert first.stats["neardup/check/ms_count"] == 3
    assert first.stats["waiting_contexts"] == 0
    second = project.crawl(TWENTY, urls=urls, **settings)
    assert second.neardup == {"checked": 60, "duplicate": 60, "duplicate/revisit": 60, "dropped": 60}
    assert second.items == []
    assert second.stats["waiting_contexts"] == 0


OWN_AND_PAGE = """
class News(Pages):
    def parse(self, response):
        yield {"name": "article"}
        for number, text in enumerate(self.comments.split("|")):
            yield {"name": f"comment {number}", "url": response.url, "text": text}
        yield {"name": "photograph", "url": response.url + "#photo"}
"""


def test_items_with_a_text_of_their_own_are_documents_beside_their_page(project: Project, site: NewsSite) -> None:
    """None of them is the page's text changed, and the page stays known by its url."""
    url = site.publish("/page", page(article("page")))
    comments = f"comments={article('one', 40)}|{article('two', 40)}"
    first = project.crawl(OWN_AND_PAGE, "-a", comments, urls=[url], **NOTING)
    assert first.statuses == {"original": 4}
    assert first.item(name="article")["neardup_story"] == first.item(name="photograph")["neardup_story"]
    assert len({item["neardup_story"] for item in first.items}) == 3
    second = project.crawl(OWN_AND_PAGE, "-a", comments, urls=[url], **NOTING)
    kinds = {item["name"]: item["neardup_kind"] for item in second.items}
    assert kinds == {"article": "revisit", "photograph": "revisit", "comment 0": "exact", "comment 1": "exact"}


RSS = """
class News(Pages):
    def parse(self, response):
        for entry in response.xpath("//item"):
            item = {"name": entry.xpath("title/text()").get(), "text": entry.xpath("description/text()").get()}
            yield {**item, "url": entry.xpath("link/text()").get()} if self.linked == "yes" else item
"""


def feed(entries: Iterable[tuple[object, str, str]]) -> Answer:
    """Return an RSS feed with entries of a title, a link and a text."""
    items = "".join(
        f"<item><title>{title}</title><link>{link}</link><description>{text}</description></item>"
        for title, link, text in entries
    )
    return Answer(f"<rss><channel>{items}</channel></rss>".encode(), "application/rss+xml")


@pytest.mark.parametrize("linked", ["yes", "no"])
def test_the_entries_of_a_feed_are_documents_of_their_own(project: Project, site: NewsSite, linked: str) -> None:
    def crawl(numbers: range) -> Crawl:
        url = site.publish("/feed", feed((number, f"{site.url}/{number}", article(number)) for number in numbers))
        return project.crawl(RSS, "-a", f"linked={linked}", urls=[url], NEARDUP_ACTION="drop")

    first = crawl(range(50))
    assert first.statuses == {"original": 50}
    # Its first entry is a new one now: that is no changed text of the feed's page.
    later = crawl(range(-1, 50))
    assert [item["name"] for item in later.items] == ["-1"]
    assert later.neardup["dropped"] == 50
    assert later.statuses == {"original": 1}


@pytest.mark.parametrize("link", ["/status", "/status#{}"])
def test_entries_of_a_feed_that_share_a_link_are_no_versions_of_a_page(
    project: Project, site: NewsSite, link: str
) -> None:
    def crawl(seeds: str) -> Crawl:
        answer = feed(
            (f"Case {seed}", site.url + link.format(seed), f"{article(seed)} The severity is {number}.3 of ten points.")
            for number, seed in enumerate(seeds, 6)
        )
        return project.crawl(RSS, "-a", "linked=yes", urls=[site.publish("/feed", answer)], **NOTING)

    first = crawl("abc")
    assert first.statuses == {"original": 3}
    assert {item["neardup_changes"] for item in first.items} == {None}
    assert len({item["neardup_story"] for item in first.items}) == 3
    assert crawl("abc").neardup["duplicate/revisit"] == 3
    assert crawl("d").statuses == {"update": 1}, "rewritten between two crawls"


ADDRESSES = """
class News(Pages):
    def request(self, url):
        return scrapy.Request(url + "?utm_source=start")

    def parse(self, response):
        for name in self.names.split():
            yield {"url": name}
        yield {"url": None}
"""


@pytest.mark.versions
def test_a_page_has_the_text_of_all_items_that_name_one_of_its_addresses(project: Project, site: NewsSite) -> None:
    """Of the request, of each redirect, of the response and of its canonical url, however they are written."""
    site.publish("/old", Answer(status=301, headers={"Location": "/moved"}))
    site.publish("/moved", Answer(status=302, headers={"Location": "/page?id=7&utm_medium=x"}))
    canonical = page(article("page")).replace("<head>", '<head><link rel="canonical" href="/canonical">')
    site.publish("/page", canonical)
    own = [
        "/old",
        "/moved",
        f"{site.url}/page?id=7",
        "/p%61ge?id=7",
        f"{site.url}/page/amp?id=7#top",
        "canonical",
        "urn:article:7",
    ]
    other = ["/page", "/page?id=8", f"{site.url}/", "https://elsewhere.example/page?id=7"]
    crawl = project.crawl(ADDRESSES, "-a", f"names={' '.join([*own, *other])}", urls=[f"{site.url}/old"], **NOTING)

    assert {item["url"]: item["neardup_status"] for item in crawl.items} == {
        **dict.fromkeys([*own, None], "original"),
        **dict.fromkeys(other, "unchecked"),
    }
    assert crawl.neardup["unchecked/no-text"] == len(other)


LOADED = """
class News(Pages):
    def parse(self, response):
        given = {"url": [self.given, "/other"], "title": ["A", "B"], "language": ["en", "de"]}
        yield {**given, "seen": ["2020-05-05T08:00:00Z", "2021"]}
"""


@pytest.mark.versions
@pytest.mark.parametrize(
    ("given", "linked"),
    [("https://courier.example/caf%c3%a9", False), ("https://courier.example/café?utm_source=x", True)],
)
def test_a_page_of_a_renderer_belongs_to_the_url_that_page_and_item_name(
    project: Project, site: NewsSite, given: str, linked: bool
) -> None:
    """Values may be in lists, as item loaders leave them, and a url in any spelling."""
    link = '<head><link rel="canonical" href="https://courier.example/caf%C3%A9">'
    html = page(article("page"))
    site.publish("/render", html.replace("<head>", link) if linked else html)
    settings = {**NOTING, "NEARDUP_ITEM_FIELDS": {"time": "seen", "language": "language"}}
    arguments = f"given={given}", "-s", "NEARDUP_RECORD=recorded.jsonl"
    crawl = project.crawl(LOADED, "-a", *arguments, urls=[f"{site.url}/render?url={given}"], **settings)
    if not linked:
        assert crawl.hints == {"other-page": 1}
        return
    assert crawl.statuses == {"original": 1}
    (row,) = read_lines(project.folder / "recorded.jsonl")
    assert (row["url"], row["language"], row["time"]) == (given, "en", "2020-05-05T08:00:00+00:00")
    later = project.crawl(LOADED, "-a", *arguments, urls=[f"{site.url}/render?url=x"], **settings)
    assert later.statuses == {"duplicate": 1}
    assert later.items[0]["neardup_kind"] == "revisit"


async def test_contexts_of_items_that_are_replaced_before_the_capture_are_bounded() -> None:
    """The oldest goes first, and no item waits for it."""
    response = Place(None, 60)
    contexts = ItemContexts()
    given = [ItemContext({}, place=response.add_item()) for _ in range(10_002)]
    for context in given:
        await contexts.put(context)
    assert len(contexts._contexts) == response.items == 10_000
    assert [contexts.take(each.item) is each for each in given[:3]] == [False, False, True]


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


class News(Pages):
    def request(self, url):
        return scrapy.Request(url, meta={"neardup": not url.endswith("out")})

    def parse(self, response):
        name = response.url.rpartition("/")[2]
        if name != "comments":
            yield Article(name=f"article {name}")
            yield Longread(name=f"longread {name}")
        yield Comment(name=f"comment {name}")
"""


@pytest.mark.versions
def test_a_request_and_an_item_class_opt_out(project: Project, site: NewsSite) -> None:
    urls = [site.publish(f"/{name}", page(article(name))) for name in ("in", "out", "comments")]
    classes = {"NEARDUP_ITEM_CLASSES": ["news.spiders.news.Article"]}
    crawl = project.crawl(OPTING_OUT, urls=urls, **NOTING, **classes)
    assert {item["name"] for item in crawl.items if item["neardup_status"] is not None} == {"article in", "longread in"}
    assert crawl.neardup["checked"] == 2
    assert extracted(project) == {"in": 1}
    assert crawl.stats["waiting_contexts"] == 0
