"""Events and news: one number for each event, one clock, changed figures in words, days, and the digest."""

import email
import re
from email.message import EmailMessage
from email.policy import default as policy
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from json_lines import write_lines
from report_items import JudgedSite, item
from scrapy_processes import neardup

from scrapy_neardup.settings import NearDupSettings
from scrapy_neardup.tools.report.feed_stories import FeedStory, Period
from scrapy_neardup.tools.report.gathering import gather
from scrapy_neardup.tools.report.news import PeriodNews, news_of, periods_of, tell
from scrapy_neardup.tools.report.page import build_digest, build_report, stories_of

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


def news_in(
    rows: list[dict[str, Any]], folder: Path, since: Period | None = None, zone: str = "UTC", **settings: Any
) -> list[PeriodNews]:
    feed = folder / "feed.jsonl"
    write_lines(feed, rows)
    gathered = gather([feed], NearDupSettings(**settings))
    links, stories = stories_of(gathered)
    periods = periods_of(stories, ZoneInfo(zone), since)
    return [news_of(period, tell(period, stories).values(), links) for period in periods]


def page_of(folder: Path, **settings: Any) -> str:
    return " ".join(build_report(gather([folder / "feed.jsonl"], NearDupSettings(**settings))).html.split())


def events_in(rows: list[dict[str, Any]], folder: Path, **settings: Any) -> list[FeedStory]:
    return news_in(rows, folder, **settings)[0]["events"]


def figures_in(rows: list[dict[str, Any]], folder: Path) -> list[tuple[str, list[str], str, int]]:
    ((_, figures),) = news_in(rows, folder)[0]["figures"]
    return [(figure.label, figure.values, figure.first.source, figure.papers) for figure in figures]


def test_an_event_has_one_number_of_items_and_of_sources(tmp_path: Path) -> None:
    items = [item(n, "duplicate" if n else "original") for n in range(5)]
    (story,) = events_in([*items, event(2), event(3, "update")], tmp_path)
    assert story.words == "5 papers; 4 reprint the same text"
    assert "3 papers" not in page_of(tmp_path)


def test_members_that_the_feeds_lack_are_part_of_their_story_but_not_of_the_items(tmp_path: Path) -> None:
    (story,) = events_in([item(), event(4)], tmp_path)
    assert story.words == "4 papers; 3 reprint the same text"
    assert build_report(gather([tmp_path / "feed.jsonl"], NearDupSettings())).news["verdicts"] == {"original": 1}
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
    states = [{"figure": "dead", "old": old, "new": new, "url": item()["url"]} for old, new in (("", "3"), ("3", "7"))]
    assert figures_in([event(3, figures=states)], tmp_path) == [("dead", ["3", "7"], "paper0.example", 1)]


def test_each_day_has_its_own_news(tmp_path: Path) -> None:
    second = {"neardup_story": "b" * 16, "neardup_match": item(10)["url"], "neardup_original": item(10)["url"]}
    rows = [
        item(),
        item(1, "duplicate"),
        item(10, published=START + DAY, **second | {"neardup_match": None, "neardup_original": None}),
        item(11, "update", published=START + DAY + 60, **second),
    ]
    everything, later, earlier = news_in(rows, tmp_path)
    assert [news["period"].name for news in (everything, later, earlier)] == ["all days", "2023-11-15", "2023-11-14"]
    assert [len(news["rows"]) for news in (everything, later, earlier)] == [4, 2, 2]
    assert [len(news["figures"]) for news in (everything, later, earlier)] == [1, 1, 0]
    assert [story.headline for story in later["largest"]] == ["Ferry runs aground, report 11"]


def test_the_news_tell_what_a_drop_would_lose_and_nothing_of_revisits(tmp_path: Path) -> None:
    rows = [
        item(),
        item(1, "duplicate", neardup_share=0.72),
        item(2, "duplicate", neardup_share=1.0),
        item(3, "duplicate", url=item()["url"], neardup_kind="revisit", neardup_share=0.5),
    ]
    (news,) = news_in(rows, tmp_path)
    assert (len(news["rows"]), news["would_drop"]) == (3, 2)
    assert news["lost"] == pytest.approx(0.28)


def test_every_event_of_the_day_is_in_the_news(judged_day: JudgedSite) -> None:
    gathered = gather([judged_day.verdicts, judged_day.events], NearDupSettings(), [judged_day.documents])
    links, stories = stories_of(gathered)
    news = news_of(Period("all days"), stories, links)
    assert [story.headline for story in news["events"]] == ["Explosion at Brackwater grain terminal"]
    sent = [report["level"] for report in gathered.events if report["story"] in map(int, news["events"][0].keys)]
    assert [signal.level for signal in news["events"][0].signals] == sent
    assert "breaking" in sent
    assert [story.headline for story, _ in news["figures"]][:1] == ["River fever: twelve dead, dozens ill"]


# Nothing ends silently


def many_scores_and_one_toll(number: int = 35) -> list[dict[str, Any]]:
    """Large stories whose match scores change, a small one with a toll, and one with an amount of money."""
    rows = []
    for story in range(number):
        key = {"neardup_story": f"{story:016x}", "published": START + DAY + story}
        own = [item(100 * story + 1000 + n, "update" if n else "original", **key) for n in range(4)]
        for row in own[1:]:
            row |= {"neardup_match": own[0]["url"], "neardup_changes": "score: 1-0 -> 2-0"}
        rows += own
    for at, changes in ((10, "$: 5 -> 7"), (20, "dead: 4 -> 9")):
        key = {"neardup_story": f"{at:015x}f", "published": START + 60}
        rows += [item(at, **key), item(at + 1, "update", **key, neardup_match=item(at)["url"], neardup_changes=changes)]
    return rows


def test_what_happened_to_people_comes_before_large_stories_and_what_is_left_out_is_counted(tmp_path: Path) -> None:
    (news, *_) = news_in(many_scores_and_one_toll(), tmp_path)
    told = ["9 dead, was 4", "7 $, was 5", "score: 2-0, was 1-0"]
    assert [figures[0].words for _, figures in news["figures"]][:3] == told
    digest = digest_of(tmp_path, now=START + DAY + 50).get_content()
    assert re.findall(r"\* [^:]+: (.+) \(first", digest)[:3] == told
    assert "7 more stories with changed figures: --most 37" in digest
    firsts = [figures[0].first.time or 0 for _, figures in news["figures"][2:]]
    assert firsts == sorted(firsts, reverse=True)
    page = page_of(tmp_path)
    assert 'changed figures in <a href="#figures-0">37 stories</a>' in page
    assert '7 more stories: <a href="#stories/figures">see all</a>' in page
    assert page.index("9 dead, was 4") < page.index("score: 2-0")


@pytest.mark.parametrize("since", [None, Period("since then", START)])
def test_the_number_of_events_is_the_true_one_and_tolls_come_first(tmp_path: Path, since: Period | None) -> None:
    rows = [
        item(n, neardup_story=f"{n:016x}", neardup_event="breaking", title=f"Team {n} wins the cup")
        for n in range(1, 51)
    ]
    rows += [item(60, neardup_story="b" * 16, neardup_event="watch", title="Plague kills nine", published=START)]
    news, *_ = news_in(rows, tmp_path, since)
    assert len(news["events"]) == 51
    assert news["events"][0].headline == "Plague kills nine"
    page = " ".join(build_report(gather([tmp_path / "feed.jsonl"], NearDupSettings()), since=since).html.split())
    assert page.count("51 events, ") >= 1
    assert '21 more events: <a href="#stories/events">see all</a>' in page


def test_stories_that_are_in_no_list_are_counted(tmp_path: Path) -> None:
    rows = [item(10 * n + m, neardup_story=f"{n:016x}") for n in range(20) for m in range(2)]
    news, *_ = news_in(rows, tmp_path)
    assert news["unlisted"] == 10
    assert '10 more stories of several items: <a href="#stories/all">see all</a>' in page_of(tmp_path)


def test_days_that_cannot_be_chosen_are_counted(tmp_path: Path) -> None:
    rows = [item(n, neardup_story=f"{n:016x}", published=START + n * DAY) for n in range(20)]
    news_in(rows, tmp_path)
    assert "the 14 days with most items, of 20" in page_of(tmp_path)
    news_in(rows[:14], tmp_path)
    assert "days with most items" not in page_of(tmp_path)


# What an event tells

FACT = {"words": "9 dead, was 4", "is_new": True}
LEAD = "The night ferry ran aground off Skerrow on Tuesday evening."


def test_an_event_tells_its_lead_the_toll_and_what_its_last_alert_said(tmp_path: Path) -> None:
    rows = [item(), item(1, "update", neardup_changes="dead: 4 -> 9"), event(2, lead=LEAD, facts=[])]
    grown = event(2, "update", lead=LEAD, facts=[], update={"level": "breaking", "sources_before": 1})
    news_in([*rows, grown, event(2, "update", lead=LEAD, facts=[FACT])], tmp_path)
    page = page_of(tmp_path)
    assert f"<bdi>{LEAD}</bdi>" in page
    assert '<span class="figure-value">9 dead, was 4</span> <span class="meta">in 1 paper</span>' in page
    assert re.search("Last alert: update, .{,90}: <strong><bdi>9 dead, was 4</bdi></strong>", page)


def test_an_event_without_a_report_has_its_lead_from_a_text_and_its_news_from_the_tags(tmp_path: Path) -> None:
    text = "Home\nThe night ferry ran aground off Skerrow on Tuesday and nine people died, the coast guard said.\n"
    changed = {"neardup_changes": "dead: 4 -> 9", "neardup_event": "update", "text": text}
    news_in([item(), item(1, "update", title="Nine dead as ferry runs aground off Skerrow", **changed)], tmp_path)
    page = page_of(tmp_path)
    assert "<bdi>The night ferry ran aground off Skerrow on Tuesday and nine people died" in page
    assert re.search("Last alert: update, .{,90}: <strong><bdi>9 dead, was 4</bdi></strong>", page)


@pytest.mark.parametrize("wrong", [{"facts": [5]}, {"facts": [{}]}, {"measures": 3}, {"lead": ["a"]}, {"summary": {}}])
def test_a_report_that_cannot_be_read_is_an_event_all_the_same(tmp_path: Path, wrong: dict[str, Any]) -> None:
    (story,) = events_in([item(), event(2, **wrong)], tmp_path)
    assert story.level == "breaking"
    assert "Ferry" in page_of(tmp_path)


def test_watch_comes_before_breaking_if_one_item_raised_both(tmp_path: Path) -> None:
    (story,) = events_in([item(), event(3), event(3, "watch", time=START + DAY + 60)], tmp_path)
    assert [signal.level for signal in story.signals] == ["watch", "breaking"]


def test_a_day_has_the_headline_the_size_and_the_toll_that_it_had(tmp_path: Path) -> None:
    rows = [
        item(title="Four dead as ferry runs aground"),
        item(1, "duplicate", title="Four dead as ferry runs aground"),
    ]
    for number in (2, 3):
        changed = {"neardup_changes": "dead: 4 -> 9", "published": START + DAY + 60 * number}
        rows.append(item(number, "update", title="Nine dead as ferry runs aground", **changed))
    everything, later, earlier = (news["largest"][0] for news in news_in(rows, tmp_path))
    assert everything.headline == later.headline == "Nine dead as ferry runs aground"
    assert (earlier.headline, earlier.size) == ("Four dead as ferry runs aground", 2)


def test_days_are_those_of_the_time_zone(tmp_path: Path) -> None:
    rows = [item(), item(1, "duplicate", published=START + 7200)]  # 22:13 and 0:13 UTC
    assert [news["period"].name for news in news_in(rows, tmp_path)] == ["all days", "2023-11-15", "2023-11-14"]
    assert [news["period"].name for news in news_in(rows, tmp_path, zone="Asia/Tokyo")] == ["all days"]
    assert ">2023-11-15 07:13</time>" in page_of(tmp_path, events_timezone="Asia/Tokyo")


def test_a_known_event_is_told_as_a_whole_and_only_its_update_is_new(tmp_path: Path) -> None:
    known = [item(), item(1, "duplicate"), event(2)]
    update = event(3, "update", facts=[FACT])
    write_lines(tmp_path / "feed.jsonl", [*known, item(2, "update", neardup_changes="dead: 4 -> 9"), update])
    neardup(tmp_path, "report", "feed.jsonl", "--since", "2023-11-14T22:30").check_returncode()
    page = " ".join((tmp_path / "report.html").read_text(encoding="utf-8").split())
    card = page[page.index("New since 2023-11-14 22:30: 0 events, news of 1 earlier event") :][:4000]
    assert "Not a new event. New: update, 1 item." in card
    assert re.search("3 papers; 1 reprints the same text · first: [^·]*paper0.example", card)
    digest = neardup(tmp_path, "report", "feed.jsonl", "--digest", "--since", "2023-11-14T22:30")
    assert "9 dead, was 4 (not a new event). 3 papers; 1 reprints" in digest.stdout.replace("=\n", "")


# The digest


def digest_of(folder: Path, title: str = "", now: float = START + 3600, **settings: Any) -> EmailMessage:
    written = build_digest(gather([folder / "feed.jsonl"], NearDupSettings(**settings)), title, now=now)
    message = email.message_from_bytes(written, policy=policy)
    assert isinstance(message, EmailMessage)
    return message


@pytest.mark.parametrize("title", ["", "Ferry\nBcc: everybody@example.org"])
def test_a_digest_has_one_line_of_news_for_each_story_in_the_words_of_the_alerts(tmp_path: Path, title: str) -> None:
    changed = {"neardup_changes": "dead: 4 -> 9"}
    rows = [
        item(title="Ferry aground, four dead"),
        item(1, "update", title="Ferry aground, nine dead", **changed),
        item(2, neardup_story="c" * 16),
        item(3, "update", neardup_story="c" * 16, neardup_match=item(2)["url"]),
        item(4, "duplicate", neardup_story="c" * 16, neardup_match=item(2)["url"], neardup_share=0.2),
        item(8, published=START - 3 * DAY, neardup_story="d" * 16),
        event(2, "update", facts=[FACT]),
    ]
    news_in(rows, tmp_path)
    message = digest_of(tmp_path, title, events_timezone="Europe/Berlin", now=START + DAY)
    assert message["Bcc"] is None
    assert title or message["Subject"] == "News digest, 2023-11-14 23:13 to 2023-11-15 23:13 CET"
    lines = [line for line in message.get_content().split("\n") if line.startswith("*")]
    assert lines == [
        "* [watch] Ferry aground, nine dead: 9 dead, was 4. 2 papers, first paper0.example, 2023-11-14 23:13",
        "* Ferry runs aground, report 4: 42 people, was 40 (first paper3.example, 2023-11-14 23:43)."
        " 3 papers; 1 reprints the same text",
    ]
    assert "https://paper0.example/0" in message.get_content()


def links_of(message: EmailMessage) -> list[list[str]]:
    """Return the links below each line of a digest."""
    return [part.split()[-part.count("  http") :] for part in message.get_content().split("\n* ")[1:]]


def test_a_digest_links_the_first_page_that_prints_the_new_value(tmp_path: Path) -> None:
    changes = "dead: 4 -> 9"
    rows = [
        item(),
        item(1, "duplicate"),
        item(2, "update", neardup_changes=changes),
        item(3, "update", neardup_changes=f"{changes}; injured: 1 -> 2"),
        item(4, "update", neardup_changes=changes),
    ]
    news_in(rows, tmp_path)
    message = digest_of(tmp_path)
    assert links_of(message) == [["https://paper2.example/2", "https://paper3.example/3"]]
    assert "same text\n  https://paper2.example/2\n  https://paper3.example/3\n" in message.get_content()
    told = "9 dead, was 4 (first paper2.example, 2023-11-14 22:33); 2 injured, was 1 (first paper3.example,"
    assert told in message.get_content()

    fact = {**FACT, "url": "https://paper2.example/2"}
    news_in([*rows, event(4, "update", facts=[fact])], tmp_path)
    message = digest_of(tmp_path)
    assert links_of(message) == [["https://paper2.example/2"]]
    assert "9 dead, was 4 (first paper2.example, 2023-11-14 22:33). 5 papers" in message.get_content()

    known = {"figure": "dead", "old": "4", "new": "9", "sources": 3, "url": fact["url"]}
    news_in([*rows, event(4, facts=[known])], tmp_path)  # an alert without a new figure
    message = digest_of(tmp_path)
    assert "9 dead, was 4 (first paper2.example" in message.get_content()
    assert re.search(r"\[breaking\] [^:]+: 9 dead, was 4\. 5 papers", message.get_content())


def test_a_digest_counts_what_it_does_not_list_and_names_the_option(tmp_path: Path) -> None:
    others = [item(5000 + 10 * n + m, neardup_story=f"e{n:015x}", published=START) for n in range(20) for m in range(2)]
    write_lines(tmp_path / "feed.jsonl", [*many_scores_and_one_toll(), *others])
    shown = email.message_from_bytes(
        neardup(tmp_path, "report", "feed.jsonl", "--digest", "--since", "2023-11-01").stdout.encode(), policy=policy
    ).get_content()
    assert shown.index("9 dead, was 4") < shown.index("score: 2-0")
    assert "7 more stories with changed figures: --most 37 lists all." in shown
    unlisted = 57 - 37 - shown.partition("OTHER STORIES")[2].count("* ")
    assert f"{unlisted} more stories of several items" in shown
    every = neardup(tmp_path, "report", "feed.jsonl", "--digest", "--since", "2023-11-01", "--most", "37").stdout
    assert "--most" not in every


def test_hostile_news_is_one_quoted_line_of_a_digest(tmp_path: Path) -> None:
    hostile = f"Hale \x1b[2J\u202e said {'Donaudampfschiff' * 40}\nBcc: everybody@example.org"
    rows = [item(), item(1, "update", neardup_news=hostile, neardup_changes="dead: 4 -> 9", language="\x1b[2J")]
    news_in(rows, tmp_path)
    message = digest_of(tmp_path)
    assert message["Bcc"] is None
    (line,) = [each for each in message.get_content().split("\n") if "Hale" in each]
    assert not set(line) & set("\x1b\u202e")
    assert len(line) < 400
    assert ' "Hale' in line


def test_a_digest_reaches_up_to_now(tmp_path: Path) -> None:
    news_in([item(), item(1, "duplicate", title="--boundary--\nBcc: x")], tmp_path)
    assert "1 story of several items" in digest_of(tmp_path).get_content()
    late = digest_of(tmp_path, now=START + 3 * DAY).get_content()
    assert "Nothing new: the newest item is of 2023-11-14 22:23." in late
    assert "*" not in late
