"""The guides to other packages work as they are written: their settings and their code are run."""

import csv
import json
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from browser import find_chromium
from guides import GUIDES, ROOT, SITE, block, blocks, crawl_guide, settings_in, settings_of
from itemadapter import ItemAdapter
from json_lines import read_lines
from news_site import NewsSite, article, page
from projects import FERRY, Crawl, Project
from receivers import Receiver
from redis import Redis
from servers import RedisServer
from zyte_common_items import Article

from scrapy_neardup.document import TAGS
from scrapy_neardup.settings.values import text_of

EXAMPLE = ROOT / "example_project"
FERRY_PAGE = page(article("ferry"), "Ferry runs aground")


@pytest.fixture
def crawl_page(project: Project, site: NewsSite) -> Callable[..., Crawl]:
    """Crawls with the spider and the settings of a guide. The site has one article."""
    site.publish("/4711", FERRY_PAGE)
    return lambda guide, spider, **more: crawl_guide(project, site, guide, spider, **{**settings_of(guide), **more})


@pytest.mark.slow
def test_pages_that_a_script_fills_are_judged(crawl_page: Callable[..., Crawl], site: NewsSite) -> None:
    site.publish("/", "<h2><a href='/a'>A</a></h2><h2><a href='/b'>B</a></h2>")
    for path in ("/a", "/b"):
        written = json.dumps(FERRY_PAGE).replace("</", "<\\/")
        site.publish(path, f"<!doctype html><script>setTimeout(() => document.write({written}), 100)</script>")
    options = {"executable_path": find_chromium(), "args": ["--no-sandbox", "--disable-dev-shm-usage"]}
    done = crawl_page("javascript.md", "rendered", PLAYWRIGHT_LAUNCH_OPTIONS=options)
    assert done.statuses == {"original": 1, "duplicate": 1}
    assert {item["title"] for item in done.items} == {"Ferry runs aground"}


def test_an_article_of_a_page_object_is_tagged(crawl_page: Callable[..., Crawl]) -> None:
    (item,) = crawl_page("scrapy-poet.md", "articles").items
    assert (item["headline"], item["neardup_status"]) == ("Ferry runs aground", "original")
    assert item["articleBody"].split() == article("ferry").split()
    adapter = ItemAdapter(Article(url="https://a.example/", headline="Ferry", articleBody="It ran aground."))
    assert [text_of(adapter, name) for name in ("title", "text", "body")] == ["Ferry", "It ran aground.", ""]


@pytest.mark.slow
def test_urls_come_from_the_queue(crawl_page: Callable[..., Crawl], site: NewsSite, redis_server: RedisServer) -> None:
    site.publish("/4712", FERRY_PAGE)
    with Redis.from_url(redis_server.url) as queue:
        for path in ("/4711", "/4712"):
            queue.rpush("news:start_urls", json.dumps({"url": site.url + path}))
    stores = {"REDIS_URL": redis_server.url, "NEARDUP_STORE": redis_server.url}
    done = crawl_page("scrapy-redis.md", "news", **stores, MAX_IDLE_TIME_BEFORE_CLOSE=1)
    assert done.statuses == {"original": 1, "duplicate": 1}


def test_prometheus_gets_the_figures_of_the_guide(project: Project, receiver: Receiver) -> None:
    project.write("news/stats.py", block("monitoring.md", "news/stats.py"))
    given = settings_in(block("monitoring.md", "news/settings.py"))
    gateway = urlsplit(receiver.url).netloc
    done = project.crawl(FERRY, **{**given, "SCRAPROM_PUSHGATEWAY_URL": gateway, "NEARDUP_ACTION": "drop"})
    told = dict(line.rsplit(" ", 1) for line in receiver.requests[-1][1].decode().splitlines() if line[0] != "#")
    assert not done.lines(" ERROR: ")
    names = "checked_total", "duplicate_total", "dropped_total", "events_breaking_total"
    assert [told[f'scrapy_neardup_{name}{{spider="news"}}'] for name in names] == ["7.0", "6.0", "6.0", "1.0"]
    assert float(told['scrapy_neardup_check_ms_mean{spider="news"}']) > 0


@pytest.mark.slow
def test_a_script_needs_no_project_and_no_guard(site: NewsSite, tmp_path: Path) -> None:
    """``multiprocessing`` would import the script in its workers, and so crawl there too."""
    site.publish("/4711", FERRY_PAGE)
    code = block("asyncio.md", "crawl.py").replace(SITE, site.url)
    (tmp_path / "crawl.py").write_text(code.replace('"BOT_NAME"', '"NEARDUP_DATA_DIR": "window", "BOT_NAME"'), "utf-8")
    subprocess.run([sys.executable, "crawl.py"], cwd=tmp_path, timeout=120, check=True)
    assert site.requested == ["/4711"]
    (item,) = read_lines(tmp_path / "items.jsonl")
    assert (item["title"], item["neardup_status"]) == ("Ferry runs aground", "original")


@pytest.mark.parametrize("guide", sorted(path.name for path in GUIDES.glob("*.md")))
def test_code_that_a_guide_takes_from_a_script_is_in_the_script(guide: str) -> None:
    for title, text in blocks(GUIDES / guide, "python"):
        if title.startswith("integrations/"):
            assert text in (EXAMPLE / title).read_text("utf-8")


FORMATS = ("csv", "xml", "parquet")
SPIDER = """
from news.items import *

WORDS = "the ferry ran aground in fog near the old lighthouse and its crew was brought ashore safe by two tugs"


class News(scrapy.Spider):
    name = "news"
    start_urls = ["data:,"]

    def parse(self, response):
        for number, kind in enumerate((ScrapyArticle, DataclassArticle, AttrsArticle, PydanticArticle, dict)):
            yield kind(url=f"https://paper{number}.example/ferry", text=WORDS)
        yield DataclassArticle(url="https://paper1.example/short", text="Correction")
"""


@pytest.fixture(scope="module")
def crawl(tmp_path_factory: pytest.TempPathFactory) -> Crawl:
    """One crawl that yields every type of item, and writes the dataclasses in every format."""
    project = Project(tmp_path_factory.mktemp("formats"))
    project.write("news/items.py", block("formats.md", "news/items.py"))
    exporter = (EXAMPLE / "integrations/parquet_feed.py").read_text("utf-8")
    project.write("news/parquet_feed.py", exporter)
    settings = settings_in(block("formats.md", "news/settings.py"))
    feeds = {f"feed.{name}": {"format": name, "item_classes": ["news.items.DataclassArticle"]} for name in FORMATS}
    return project.crawl(SPIDER, FEEDS=feeds, FEED_EXPORTERS=settings["FEED_EXPORTERS"])


def rows_of(crawl: Crawl, format: str) -> list[dict[str, Any]]:
    path = crawl.folder / f"feed.{format}"
    if format == "parquet":
        from pyarrow import parquet

        return list(parquet.read_table(path).to_pylist())
    text = path.read_text("utf-8")
    if format == "xml":
        rows = [{field.tag: field.text for field in item} for item in ElementTree.fromstring(text)]
        return [{name: None if value == "None" else value for name, value in row.items()} for row in rows]
    return [{name: value or None for name, value in row.items()} for row in csv.DictReader(text.splitlines())]


@pytest.mark.parametrize("format", FORMATS)
def test_every_format_holds_every_tag(crawl: Crawl, format: str) -> None:
    assert not crawl.lines(" ERROR: ")
    copy, short = rows_of(crawl, format)
    assert set(copy) == set(short) == {"url", "text", *TAGS}
    assert (copy["neardup_status"], copy["neardup_original"]) == ("duplicate", "https://paper0.example/ferry")
    assert (float(copy["neardup_share"]), str(copy["neardup_would_drop"])) == (1, "True")
    assert (short["neardup_status"], short["neardup_reason"]) == ("unchecked", "too-short")
    assert short["neardup_share"] is None
