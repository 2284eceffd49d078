"""An editor reads the same numbers of a story wherever they are told."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from json_lines import read_lines
from newsdesk import made_up
from projects import Project
from scrapy_processes import neardup

from scrapy_neardup.report import gather
from scrapy_neardup.report.stories import Links, group_stories
from scrapy_neardup.settings import NearDupSettings
from scrapy_neardup.stories.messages import message_of

ITEMS = """
class News(Pages):
    def parse(self, response):
        for url, text in self.settings["ARTICLES"]:
            yield {"url": url, "text": text, "title": f"Harbour fire, says {url}"}
"""
BODY = "\n".join(" ".join(made_up(("fire", line), 30)) for line in range(8))


def toll(dead: int) -> str:
    return f"{BODY}\nRescue workers said that {dead} people were dead after the great fire in the old harbour."


ARTICLES = [
    ("https://www.wire.example/fire", toll(4)),
    ("https://www.wire.example/again", toll(4)),  # a second page of a source
    ("https://www.sister.example/fire", toll(4)),  # another site of its owner
    ("https://one.blogspot.com/fire", toll(4)),
    ("https://two.blogspot.com/fire", toll(4)),  # of the same platform
    ("https://www.s1.example/fire", toll(4)),
    ("https://www.s1.example/fire", toll(4)),  # the page again
    ("https://www.s2.example/fire", toll(12)),
    ("https://www.s2.example/fire", toll(13)),  # the page again, with another toll
    ("https://www.s3.example/fire", "\n".join([*toll(12).splitlines()[:5], *made_up("more", 60)])),
    ("", toll(12)),  # nobody knows whose
    ("https://www.s4.example/fire", toll(12)),
]
OWNERS = {"wire.example": "Press", "sister.example": "Press"}


@pytest.mark.slow
def test_counts_are_the_same_in_message_feed_watch_report_and_digest(tmp_path: Path) -> None:
    options = {"NEARDUP_SOURCE_OWNERS": OWNERS, "NEARDUP_EVENTS_MIN_SOURCES": 6, "CONCURRENT_ITEMS": 1}
    project = Project(tmp_path)
    crawl = project.crawl(ITEMS, urls=["data:,"], ARTICLES=ARTICLES, NEARDUP_EVENTS_FEED="events.jsonl", **options)
    assert [row["level"] for row in read_lines(tmp_path / "events.jsonl")] == ["watch", "breaking"]
    told = read_lines(tmp_path / "events.jsonl")[-1]
    (watched,) = map(json.loads, neardup(tmp_path, "watch", "--events", "--json").stdout.splitlines())
    settings = NearDupSettings(source_owners=OWNERS)
    rows = gather([tmp_path / "items.jsonl"], settings).rows
    story = group_stories(rows, Links(rows))[0]

    expected = 6, 10
    assert (told["measures"]["sources"], told["items"]) == expected
    assert (watched["measures"]["sources"], watched["items"]) == expected
    for report in (told, watched):
        assert (len(report["sources"]), sum(each["items"] for each in report["sources"]) + 1) == expected
    assert "6 independent sources" in message_of(told).body
    assert "; 10 items" in message_of(told).body
    assert (len(story.owners), story.size) == expected
    digest = crawl.log[crawl.log.index("Largest stories") :]
    assert re.search(r"(\d+) items, +(\d+) sources", digest).groups() == ("10", "6")
