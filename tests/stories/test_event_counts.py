"""An editor reads the same numbers of a story wherever they are told."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from documents import join, joined, members_in
from json_lines import read_lines
from newsdesk import START, made_up, opened, text
from projects import Project
from scrapy_processes import neardup

from scrapy_neardup.index import Index
from scrapy_neardup.settings import NearDupSettings
from scrapy_neardup.stories.event import StoryEvent
from scrapy_neardup.stories.messages import message_of
from scrapy_neardup.stories.report import special_report
from scrapy_neardup.tools.report.feed_stories import Links, group_stories
from scrapy_neardup.tools.report.gathering import gather

View = dict[str, Any]

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
OWNERS = {"Press": ["wire.example", "sister.example"]}


@pytest.mark.slow
def test_counts_are_the_same_in_message_feed_watch_report_and_digest(tmp_path: Path) -> None:
    options = {"NEARDUP_SOURCE_OWNERS": OWNERS, "NEARDUP_EVENTS_MIN_SOURCES": 6, "CONCURRENT_ITEMS": 1}
    project = Project(tmp_path)
    crawl = project.crawl(ITEMS, urls=["data:,"], ARTICLES=ARTICLES, NEARDUP_EVENTS_FEED="events.jsonl", **options)
    assert [row["level"] for row in read_lines(tmp_path / "events.jsonl")] == ["watch", "breaking"]
    told = read_lines(tmp_path / "events.jsonl")[-1]
    (watched,) = map(json.loads, neardup(tmp_path, "watch", "--events", "--json").stdout.splitlines())
    settings = NearDupSettings.from_mapping({"NEARDUP_SOURCE_OWNERS": OWNERS})
    rows = gather([tmp_path / "items.jsonl"], settings).rows
    story = group_stories(rows, Links(rows))[0]

    expected = 6, 10
    assert (told["measures"]["sources"], told["items"]) == expected
    assert (watched["measures"]["sources"], watched["items"]) == expected
    for report in (told, watched):
        assert (len(report["sources"]), sum(each["items"] for each in report["sources"]) + 1) == expected
    assert "6 papers on 8 sites, 10 items" in message_of(told).body
    assert story.words.startswith("6 papers on 8 sites, 10 items")
    assert (len(story.owners), story.size) == expected
    digest = crawl.log[crawl.log.index("Largest stories") :]
    assert re.search(r"(\d+) items, +(\d+) sources", digest).groups() == ("10", "6")


@pytest.mark.in_memory
async def test_a_member_that_does_not_count_is_listed_and_is_no_source(index: Index) -> None:
    for number, counts in enumerate((True, False, True)):
        story = await joined(index, replace(join(f"{number}", 60 * number, f"s{number}.example"), is_coverage=counts))
    event = StoryEvent("watch", START, "sources", story, await members_in(index, story.id))
    report = special_report(event)
    assert [each["source"] for each in report["sources"]] == ["wire.example", "s0.example", "s2.example"]
    assert (report["measures"]["sources"], report["items"], len(report["members"])) == (3, 3, 4)


LONG = " ".join(f"Правительство{chr(1072 + n)}" for n in range(9))  # 134 characters, 250 bytes
LONGER = " ".join(f"Правительство{chr(1072 + n)}" for n in range(12))


async def raised(store: str, namespace: str, titles: Sequence[str], languages: Sequence[str], body: str) -> View:
    """Return the report of the event that papers raise which print one text under these titles."""
    async with opened(store=store, namespace=namespace) as room:
        for number, (title, language) in enumerate(zip(titles, languages, strict=True)):
            url = f"https://s{number}.example/"
            document = room.detector.document(body, url=url, title=title, language=language, seen_at=START + number)
            await room.detector.check(document)
        return special_report(room.detector.take_events()[0])


@pytest.mark.in_memory
@pytest.mark.parametrize("title", [LONG, LONGER])
async def test_a_headline_is_never_cut_within_a_word(store_url: str, namespace: str, title: str) -> None:
    """Not even that of the first document, whose title comes from the window."""
    report = await raised(store_url, namespace, [title] * 6, ["ru"] * 6, text("fire"))
    for member in report["members"]:
        assert member["title"] == title or set(member["title"].removesuffix("…").split()) < set(title.split())
    assert report["headline"] == title
    assert message_of(report).body.startswith(title)


@pytest.mark.in_memory
@pytest.mark.parametrize("last", ["en", "de"])
async def test_the_lead_is_in_the_language_of_the_headline(store_url: str, namespace: str, last: str) -> None:
    lead = "The Harbour fire of Skerrow began at noon in the old port."
    headlines = {"en": "Harbour fire of Skerrow spreads", "de": "Feuer im Hafen von Skerrow (Harbour fire)"}
    languages = [*["en"] * 5, last, last]  # the fifth source, and then two of another language, which count as one
    titles = [headlines[each] for each in languages]
    report = await raised(store_url, namespace, titles, languages, f"{lead}\n{text('fire')}")
    assert report["headline"] == headlines["en"]
    assert (report["lead"], report["lead_from"]["language"]) == (lead, "en")
