"""The tags arrive in every format of a feed and in every type of item, with the code that the guide shows."""

from __future__ import annotations

import csv
import json
import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pytest
from projects import Crawl, Project

from scrapy_neardup.document import TAGS

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r'^```python title="([^"]+)"\n(.*?)^```$', re.MULTILINE | re.DOTALL)
FORMATS = ("jsonlines", "json", "csv", "xml", "parquet")
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


def block(guide: str, title: str) -> str:
    text = (ROOT / "docs/howto" / guide).read_text("utf-8")
    blocks: dict[str, str] = dict(BLOCK.findall(text))
    return blocks[title]


@pytest.fixture(scope="module")
def crawl(tmp_path_factory: pytest.TempPathFactory) -> Crawl:
    """One crawl that yields every type of item, and writes the dataclasses in every format."""
    project = Project(tmp_path_factory.mktemp("formats"))
    project.write("news/items.py", block("formats.md", "news/items.py"))
    exporter = (ROOT / "example_project/integrations/parquet_feed.py").read_text("utf-8")
    project.write("news/parquet_feed.py", exporter)
    settings: dict[str, Any] = {}
    exec(block("formats.md", "news/settings.py"), settings)
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
    if format == "csv":
        return [{name: value or None for name, value in row.items()} for row in csv.DictReader(text.splitlines())]
    return json.loads(text) if format == "json" else [json.loads(line) for line in text.splitlines()]


@pytest.mark.parametrize("format", FORMATS)
def test_every_format_holds_every_tag(crawl: Crawl, format: str) -> None:
    assert not crawl.lines(" ERROR: ")
    copy, short = rows_of(crawl, format)
    assert set(copy) == set(short) == {"url", "text", *TAGS}
    assert (copy["neardup_status"], copy["neardup_original"]) == ("duplicate", "https://paper0.example/ferry")
    assert float(copy["neardup_share"]) == 1
    assert (short["neardup_status"], short["neardup_reason"]) == ("unchecked", "too-short")
    assert short["neardup_share"] is None


@pytest.mark.parametrize(("format", "true"), [("jsonlines", True), ("parquet", True), ("csv", "True"), ("xml", "True")])
def test_true_is_written_as_the_guide_says(crawl: Crawl, format: str, true: object) -> None:
    assert rows_of(crawl, format)[0]["neardup_would_drop"] == true


def test_every_type_of_the_guide_takes_its_tags(crawl: Crawl) -> None:
    ferries = sorted((item for item in crawl.items if item["url"].endswith("ferry")), key=lambda item: item["url"])
    assert [item["neardup_status"] for item in ferries] == ["original", *["duplicate"] * 4]
    full, some = {"url", "text", *TAGS}, {"url", "text", "neardup_status", "neardup_original"}
    assert [set(item) for item in ferries] == [full, full, some, some, full]
