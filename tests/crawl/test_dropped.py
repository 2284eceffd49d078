"""What is dropped can be read: each dropped item goes to a feed of its own, with its tags, before it is gone."""

import json
import os
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from glob import glob
from pathlib import Path

import attrs
import pydantic
import pytest
import scrapy
from itemadapter import ItemAdapter
from json_lines import read_lines
from news_site import NewsSite, article, page
from projects import FERRY, ITEM_A_PAGE, NOTING, Project
from scrapy import Spider
from scrapy.utils.serialize import ScrapyJSONEncoder
from scrapy.utils.test import get_crawler

from scrapy_neardup import NearDupSettings
from scrapy_neardup.crawl.feeds import JsonLinesFeed, dropped_row, feeds_of
from scrapy_neardup.document import TAGS
from scrapy_neardup.exceptions import SettingsError
from scrapy_neardup.settings import DEFAULT_DROPPED_FEED

DROP = {"NEARDUP_ACTION": "drop", **NOTING}


def default_feeds(project: Project) -> list[Path]:
    return sorted((project.folder / ".scrapy/neardup-dropped").glob("*"))


def copies(site: NewsSite, number: int = 4) -> list[str]:
    return [site.publish(f"/{name}", page(article("wire"))) for name in range(number)]


def test_dropped_items_go_to_the_file_of_the_day_in_the_data_directory(project: Project, site: NewsSite) -> None:
    """With all tags, and together with what is kept all that was crawled. An unchanged page is in none."""
    urls = copies(site)
    crawl = project.crawl(ITEM_A_PAGE, urls=urls, **DROP, LOG_LEVEL="INFO")
    (feed,) = default_feeds(project)
    rows, (kept,) = read_lines(feed), crawl.items
    assert re.fullmatch(r"news-\d{4}-\d\d-\d\d\.jsonl", feed.name)
    assert crawl.lines("INFO", "NEARDUP_DROPPED_FEED: lines are written to", str(feed))
    assert sorted(item["page"] for item in [kept, *rows]) == urls
    for row in rows:
        assert set(row) == {"page", *TAGS}
        found = row["neardup_kind"], row["neardup_would_drop"], row["neardup_original"]
        assert found == ("exact", True, kept["page"])
    site.publish("/0", page(article("wire").rpartition("\n")[0]))
    again = project.crawl(ITEM_A_PAGE, urls=urls, **DROP)
    assert again.neardup["duplicate/revisit"] == again.neardup["dropped"] == 4
    assert [row["page"] for row in read_lines(feed)[3:]] == urls[:1]
    asked_for = project.crawl(ITEM_A_PAGE, urls=urls, NEARDUP_DROPPED_FEED="all-%(day)s.jsonl", **DROP)
    assert asked_for.neardup["dropped"] == 4
    (own,) = project.folder.glob("all-20??-??-??.jsonl")
    assert {row["neardup_kind"] for row in read_lines(own)} == {"revisit"}


async def test_old_files_are_removed(tmp_path: Path) -> None:
    """Files of others stay."""
    for name, days in (("news-2026-01-01", 31), ("news-2026-01-02", 29), ("my-notes", 99)):
        path = tmp_path / f"{name}.jsonl"
        path.write_text('{"n": 0}\n')
        os.utime(path, (0, time.time() - days * 24 * 3600))
    crawler = get_crawler(Spider)
    crawler.spider = Spider("news")
    feed = JsonLinesFeed(crawler, "NEARDUP_DROPPED_FEED", f"{tmp_path}/%(name)s-%(day)s.jsonl", is_daily=True)
    assert feed.put({"n": 1})
    await feed.close()
    own, *others = sorted(map(Path, glob(f"{tmp_path}/*")), key=lambda path: -path.stat().st_mtime)
    assert read_lines(own) == [{"n": 1}]
    assert [path.name for path in others] == ["news-2026-01-02.jsonl", "my-notes.jsonl"]


def test_the_feed_goes_where_a_scrapy_feed_can_go_and_is_appended_to(project: Project, site: NewsSite) -> None:
    uri = f"file://{project.folder}/out/100%%25-%(name)s-%(batch_id)02d.jsonl"
    for run in (1, 2):
        project.crawl(ITEM_A_PAGE, urls=copies(site), NEARDUP_DROPPED_FEED=uri, NEARDUP_NAMESPACE=f"run-{run}", **DROP)
    (feed,) = (project.folder / "out").iterdir()
    assert len(read_lines(feed)) == 6
    assert default_feeds(project) == []


@pytest.mark.parametrize("name", ["NEARDUP_DROPPED_FEED", "NEARDUP_EVENTS_FEED"])
def test_a_uri_that_no_feed_can_be_stored_under_stops_the_start(project: Project, site: NewsSite, name: str) -> None:
    crawl = project.crawl(ITEM_A_PAGE, urls=copies(site), **{**DROP, name: "foo://user:secret@x"})
    assert crawl.status != 0
    (line,) = [line for line in crawl.log.splitlines() if name in line]
    assert line == crawl.log.splitlines()[-1]
    assert f"error: {name} = 'foo://***@x': no feed can be stored there" in line
    assert "file:, ftp:" in line
    assert "secret" not in crawl.log
    assert site.requested == []


class Unready(Spider):
    name = "news"

    @property
    def unready(self) -> str:
        raise RuntimeError("only later")


def feed_of(**settings: str) -> JsonLinesFeed:
    crawler = get_crawler(Unready)
    crawler.spider = Unready()
    return feeds_of(crawler, NearDupSettings(action="drop", **settings))["NEARDUP_DROPPED_FEED"]


def test_a_data_directory_may_have_any_name_and_a_spider_any_property(tmp_path: Path) -> None:
    folder = tmp_path / "100% %(name)s"
    assert Path(feed_of(data_dir=str(folder))._storage.path).parent == folder / "neardup-dropped"


def test_a_name_that_promises_another_format_is_refused() -> None:
    for name, uri in (("dropped_feed", "x.jsonl.gz"), ("events_feed", "x.CSV"), ("record", "x.parquet")):
        with pytest.raises(SettingsError, match=f"NEARDUP_{name.upper()} = .*let its name end in .jsonl"):
            feed_of(**{name: uri})


@pytest.mark.parametrize(
    ("uri", "problem"),
    [("%(nam)s", "'Unready' object has no attribute 'nam'"), ("%(unready)s", "only later"), ("100%", "incomplete")],
)
def test_a_uri_that_cannot_be_filled_in_says_what_can_be(uri: str, problem: str) -> None:
    allowed = r"use %\(name\)s, %\(time\)s or another attribute of the spider, and %% for %: "
    with pytest.raises(SettingsError, match=f"{allowed}.*{problem}"):
        feed_of(dropped_feed=uri)


def test_a_feed_is_a_path_or_a_uri_and_is_turned_off_in_python_and_on_the_command_line() -> None:
    assert NearDupSettings().dropped_feed == DEFAULT_DROPPED_FEED
    for given, feed in ((Path("out.jsonl"), "out.jsonl"), *((off, None) for off in (None, "", "None", "null"))):
        assert NearDupSettings.from_mapping({"NEARDUP_DROPPED_FEED": given}).dropped_feed == feed


def refuse(value: object) -> None:
    raise ValueError("a serializer that fails")


class Declared(scrapy.Item):
    value = scrapy.Field(serializer=refuse)


@dataclass(frozen=True)
class Frozen:
    value: object


@attrs.define
class Attrs:
    value: object


class Pydantic(pydantic.BaseModel):
    value: object


VALUES: list[tuple[object, object]] = [
    (datetime(2019, 11, 15), json.loads(ScrapyJSONEncoder().encode(datetime(2019, 11, 15)))),  # as this Scrapy has it
    ({1}, [1]),
    (Decimal("1.5"), "1.5"),
    (b"\xffcaf\xc3\xa9", "\N{REPLACEMENT CHARACTER}café"),
    (Path("a/path"), "a/path"),
    ("half a character \ud83d", "half a character \ud83d"),
    ({"inner": Attrs(Frozen(1))}, {"inner": {"value": {"value": 1}}}),
]
"""Values of items, and what stands for them in the feed."""


@pytest.mark.parametrize("make", [dict, Declared, Frozen, Attrs, Pydantic])
async def test_each_type_of_item_and_most_values_have_a_row(tmp_path: Path, make: Callable[..., object]) -> None:
    crawler = get_crawler(Spider)
    crawler.spider = Spider("news")
    settings = NearDupSettings(dropped_feed=f"{tmp_path}/feed.jsonl", action="drop")
    feed = feeds_of(crawler, settings)["NEARDUP_DROPPED_FEED"]
    for given, _ in VALUES:
        assert feed.put(dropped_row(ItemAdapter(make(value=given)), {"neardup_status": "duplicate"}))
    await feed.close()
    assert [row["value"] for row in read_lines(tmp_path / "feed.jsonl")] == [written for _, written in VALUES]


def test_a_line_that_cannot_be_written_costs_no_item(project: Project, site: NewsSite) -> None:
    full = dict.fromkeys(("NEARDUP_DROPPED_FEED", "NEARDUP_RECORD", "NEARDUP_EVENTS_FEED"), "/dev/full")
    crawl = project.crawl(FERRY, **full, NEARDUP_ACTION="drop")
    assert crawl.statuses == {"original": 1, "duplicate": 6}
    for name, feed, count in zip(full, ("dropped_feed", "record", "events_feed"), (6, 7, 2), strict=True):
        assert crawl.neardup[f"{feed}/errors"] == count
        assert len(crawl.lines("ERROR", f"{name}: a line cannot be written", "No space left")) == 1
    assert "dropped" not in crawl.neardup
