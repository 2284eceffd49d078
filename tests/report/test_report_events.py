"""Events and news: one number for each event, one clock, changed figures in words, days, and the digest."""

from __future__ import annotations

import email
from email.message import EmailMessage
from email.policy import default as policy
from pathlib import Path
from typing import Any

import pytest
from json_lines import write_lines
from newsstand import JudgedSite
from report_items import item

from scrapy_neardup.report import build_digest, build_report, gather
from scrapy_neardup.report.news import News, news_by_day
from scrapy_neardup.report.stories import FeedStory, Links, add_reports, group_stories
from scrapy_neardup.settings import NearDupSettings

START = 1_700_000_000  # 2023-11-14 22:13:20
DAY = 86_400


def event(items: int, level: str = "breaking", **fields: Any) -> dict[str, Any]:
    """Return the special report of an event as its first items raise it; it is sent a day later."""
    members = [
        {
            "id": f"m{n}",
            "time": START + 600 * n,
            "source": f"paper{n}.example",
            "url": f"https://paper{n}.example/{n}",
            "title": f"Ferry aground, paper {n}",
            "status": "duplicate" if n else "original",
        }
        for n in range(items)
    ]
    sent = {"level": level, "story": item()["neardup_story"], "time": START + DAY, "item": f"m{items - 1}"}
    return {**sent, "items": items, "members": members, "growth": []} | fields


def news_in(rows: list[dict[str, Any]], folder: Path, **settings: Any) -> list[News]:
    feed = folder / "feed.jsonl"
    write_lines(feed, rows)
    gathered = gather([feed], NearDupSettings(**settings))
    links = Links(gathered.rows)
    stories = group_stories(gathered.rows, links)
    add_reports(gathered.events, stories)
    return news_by_day(stories, links)


def events_in(rows: list[dict[str, Any]], folder: Path, **settings: Any) -> list[FeedStory]:
    return news_in(rows, folder, **settings)[0].events


def figures_in(rows: list[dict[str, Any]], folder: Path) -> list[tuple[str, list[str], str, int]]:
    ((_, figures),) = news_in(rows, folder)[0].figures
    return [(figure.label, figure.values, figure.first.source, figure.sources) for figure in figures]


def test_an_event_has_one_number_of_items_and_of_sources(tmp_path: Path) -> None:
    items = [item(n, "duplicate" if n else "original") for n in range(5)]
    (story,) = events_in([*items, event(2), event(3, "update")], tmp_path)
    assert (story.size, len(story.owners), story.copies) == (5, 5, 4)
    page = " ".join(build_report(gather([tmp_path / "feed.jsonl"], NearDupSettings())).html.split())
    assert "5 items from 5 sources; 4 items are copies" in page
    assert "3 items from" not in page


def test_members_that_the_feeds_lack_are_part_of_their_story_but_not_of_the_items(tmp_path: Path) -> None:
    (story,) = events_in([item(), event(4)], tmp_path)
    assert (story.size, story.copies) == (4, 3)
    assert build_report(gather([tmp_path / "feed.jsonl"], NearDupSettings())).numbers["items"] == 1
    (alone,) = events_in([event(4)], tmp_path)
    assert (alone.size, alone.level, alone.headline) == (4, "breaking", "Ferry aground, paper 0")


def test_sources_of_one_owner_are_one_independent_source(tmp_path: Path) -> None:
    owners = {"paper0.example": "Group", "paper1.example": "Group"}
    items = [item(), item(1, "duplicate"), item(2, "duplicate", neardup_event="watch")]
    (story,) = events_in(items, tmp_path, source_owners=owners)
    assert story.owners == ["Group", "paper2.example"]


def test_a_figure_is_one_line_with_all_its_values_and_who_printed_the_newest_first(tmp_path: Path) -> None:
    rows = [
        item(),
        item(1, "update", neardup_changes="dead: 3 -> 7; injured: 10 -> 14"),
        item(2, "update", neardup_changes="dead: 7 -> 12"),
        item(3, "duplicate", neardup_match=item(2)["url"]),
        item(4, "update", neardup_changes="dead: 7 -> 12"),
    ]
    assert figures_in(rows, tmp_path) == [
        ("dead", ["3", "7", "12"], "paper2.example", 3),
        ("injured", ["10", "14"], "paper1.example", 1),
    ]


def test_a_report_tells_on_what_sources_disagree(tmp_path: Path) -> None:
    values = [{"source": "a.example", "value": "9"}, {"source": "b.example", "value": "12"}]
    rows = [item(), item(1, "update"), event(2, disagreements=[{"figure": "dead", "values": values}])]
    (story,) = events_in(rows, tmp_path)
    assert story.disagreements == [("dead", [("a.example", "9"), ("b.example", "12")])]


def test_each_day_has_its_own_news(tmp_path: Path) -> None:
    second = {"neardup_story": "b" * 16, "neardup_match": item(10)["url"], "neardup_original": item(10)["url"]}
    rows = [
        item(),
        item(1, "duplicate"),
        item(10, published=START + DAY, **second | {"neardup_match": None, "neardup_original": None}),
        item(11, "update", published=START + DAY + 60, **second),
    ]
    everything, later, earlier = news_in(rows, tmp_path)
    assert [news.start for news in (everything, later, earlier)] == [None, 1_700_006_400, 1_699_920_000]
    assert [news.items for news in (everything, later, earlier)] == [4, 2, 2]
    assert [len(news.figures) for news in (everything, later, earlier)] == [1, 1, 0]
    assert [story.headline for story in later.largest] == ["Ferry runs aground, report 10"]


def test_the_news_tell_what_a_drop_would_lose_and_nothing_of_revisits(tmp_path: Path) -> None:
    rows = [
        item(),
        item(1, "duplicate", neardup_share=0.72),
        item(2, "duplicate", neardup_share=1.0),
        item(3, "duplicate", url=item()["url"], neardup_kind="revisit", neardup_share=0.5),
    ]
    (news,) = news_in(rows, tmp_path)
    assert (news.items, news.drops) == (3, 2)
    assert [row.number for row in news.losing] == [1]


def test_every_event_of_the_day_is_in_the_news(judged_day: JudgedSite) -> None:
    gathered = gather([judged_day.verdicts, judged_day.events], NearDupSettings(), [judged_day.documents])
    links = Links(gathered.rows)
    stories = group_stories(gathered.rows, links)
    add_reports(gathered.events, stories)
    (news,) = news_by_day(stories, links)
    assert [story.headline for story in news.events] == ["Brackwater blast: workers missing"]
    sent = [report["level"] for report in gathered.events if report["story"] in map(int, news.events[0].keys)]
    assert [level for level, _ in news.events[0].levels] == sent
    assert "breaking" in sent
    assert [story.headline for story, _ in news.figures][:1] == ["River fever: twelve dead, dozens ill"]


@pytest.mark.parametrize("title", ["", "Ferry\nBcc: everybody@example.org"])
def test_a_digest_is_one_message_with_the_same_news_in_two_forms(tmp_path: Path, title: str) -> None:
    hostile = item(5, "duplicate", neardup_event="breaking", title='<img src="x" onerror="alert(1)">')
    rows = [
        item(title="--boundary--"),
        item(1, "update"),
        hostile,
        item(8, published=START - 3 * DAY, neardup_story="c" * 16),
    ]
    news_in(rows, tmp_path)
    written = build_digest(gather([tmp_path / "feed.jsonl"], NearDupSettings()), title)
    assert written == build_digest(gather([tmp_path / "feed.jsonl"], NearDupSettings()), title)
    message = email.message_from_bytes(written, policy=policy)
    assert isinstance(message, EmailMessage)
    assert message["Bcc"] is None
    plain, html = (part.get_content() for part in message.iter_parts())
    for text in (plain, html):
        assert "3 items" in text
        assert "people: " in text
        assert "[breaking]" in text
    assert "<img" not in html
    assert "https://paper0.example/0" in plain
