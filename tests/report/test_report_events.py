"""Events in the page: their growth, and whether a number is of the last signal or of the end of the feeds."""

from __future__ import annotations

import json
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from newsstand import JudgedSite
from report_items import item

from scrapy_neardup.report import build_report, gather
from scrapy_neardup.report.charts import chart_of_bars, chart_of_growth
from scrapy_neardup.report.events import Count, EventView, Step, events_of
from scrapy_neardup.report.overview import Bar
from scrapy_neardup.report.stories import Links, group_stories
from scrapy_neardup.settings import NearDupSettings

START = 1_700_000_000  # 22:13:20
MINUTE = 60


def report(items: int, *, level: str = "breaking", members: bool = True, **fields: Any) -> dict[str, Any]:
    """Return the special report of an event as its first items raise it."""
    places = [
        {"time": START + 600 * n, "source": f"paper{n}.example", "url": f"https://paper{n}.example/{n}"}
        for n in range(items)
    ]
    return {
        "level": level,
        "story": item()["neardup_story"],
        "time": places[-1]["time"],
        "headline": "Ferry aground",
        "items": items,
        "copies": items - 1,
        "members": places if members else [],
        "sources": [{**place, "owner": place["source"], "items": 1} for place in places],
        "growth": [
            {"time": place["time"] // 600 * 600, "items": 1, "new_sources": 1} for place in places if not members
        ],
    } | fields


def events_in(rows: list[dict[str, Any]], folder: Path, **settings: Any) -> list[EventView]:
    feed = folder / "feed.jsonl"
    feed.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    gathered = gather([feed], NearDupSettings(**settings))
    return events_of(gathered.events, group_stories(gathered.rows, Links(gathered.rows)), gathered.settings)


def event_of(growth: list[Step]) -> EventView:
    levels = [("breaking", growth[-1].time)]
    return EventView("s", "", "", levels, signalled=None, signalled_at=None, in_feeds=None, copies=0, growth=growth)


def test_an_event_grows_at_the_times_of_its_items(judged_day: JudgedSite) -> None:
    gathered = gather([judged_day.verdicts, judged_day.events], NearDupSettings(), [judged_day.documents])
    stories = group_stories(gathered.rows, Links(gathered.rows))
    (event,) = events_of(gathered.events, stories, gathered.settings)
    sent = {each["level"]: each for each in gathered.events}
    sizes = {step.time: step for step in event.growth}
    for level, time in event.levels:
        if level != "ended":  # the size that the report of the level gives is reached at its time, and not before
            assert sizes[time] == (time, sent[level]["items"], sent[level]["measures"]["sources"])
    assert event.growth[-1][1:] == (15, 15)


def test_a_count_of_ten_minutes_is_reached_at_their_end(tmp_path: Path) -> None:
    (event,) = events_in([report(2, members=False)], tmp_path)
    begin = START // 600 * 600
    assert event.growth == [Step(begin + 600, 1, 1), Step(begin + 1200, 2, 2)]


def test_the_sizes_at_the_last_signal_and_in_the_feeds_are_told_apart(tmp_path: Path) -> None:
    items = [item(n, "duplicate" if n else "original") for n in range(5)]
    (event,) = events_in([*items, report(2), report(3, level="update")], tmp_path)
    assert (event.signalled, event.in_feeds) == (Count(3, 3), Count(5, 5))
    assert event.signalled_at == START + 1200
    assert event.growth[-1] == (START + 2400, 5, 5)
    assert [place.source for place in event.sources] == [f"paper{n}.example" for n in range(5)]
    page = build_report(gather([tmp_path / "feed.jsonl"], NearDupSettings())).html
    words = " ".join(page.replace("<strong>", "").replace("</strong>", "").split())
    assert "5 items from 5 independent sources in these feeds." in words
    assert "When last signalled (<time" in words
    assert ": 3 items from 3 independent sources." in words
    assert "4 of the items are copies." in words


def test_a_page_that_came_again_does_not_make_an_event_larger(tmp_path: Path) -> None:
    again = item(3, "duplicate", url=item()["url"], neardup_kind="revisit")
    (event,) = events_in([item(), item(1, "duplicate", neardup_event="breaking"), again], tmp_path)
    assert event.in_feeds == Count(2, 2)


def test_items_without_a_time_are_counted_too(tmp_path: Path) -> None:
    items = [item(n, "duplicate" if n else "original", published=None) for n in range(3)]
    (event,) = events_in([*items, report(2)], tmp_path)
    assert (event.signalled, event.in_feeds) == (Count(2, 2), Count(3, 3))


@pytest.mark.parametrize(
    "rows",
    [
        [item(), item(1, "duplicate")],  # not all items of the report
        [item(n, "duplicate" if n else "original", published=START + 9000 + n) for n in range(5)],  # another clock
    ],
)
def test_a_report_that_does_not_fit_the_items_is_shown_as_it_was_sent(tmp_path: Path, rows: list[Any]) -> None:
    (event,) = events_in([*rows, report(3)], tmp_path)
    assert (event.signalled, event.in_feeds) == (Count(3, 3), Count(len(rows), len(rows)))
    assert event.growth == [Step(START + 600 * n, n + 1, n + 1) for n in range(3)]


@given(st.integers(60, 7 * 86_400), st.integers(0, 2 * 10**9))
def test_labels_of_time_stand_at_round_times(span: int, start: int) -> None:
    event = event_of([Step(start, 1, 1), Step(start + span, 2, 2)])
    chart = chart_of_growth(event)
    end = start + max(600, int(span * 1.04))
    assert 1 <= len(chart.times) <= 8
    for tick in chart.times:
        time = start + tick.place / 100 * (end - start)
        near = round(time / MINUTE) * MINUTE
        assert abs(time - near) <= 1e-5 * (end - start)
        label = datetime.fromtimestamp(near, timezone.utc)
        assert tick.label in (label.strftime("%H:%M"), label.strftime("%d %b").lstrip("0"))


def test_bars_are_labelled_at_whole_hours() -> None:
    chart = chart_of_bars([Bar(START // 3600 * 3600 + 3600 * n, {"original": n}) for n in range(20)], 3600)
    assert [tick.label for tick in chart.times] == ["00:00", "03:00", "06:00", "09:00", "12:00", "15:00", "18:00"]
    assert [tick.date for tick in chart.times] == ["15 Nov", "", "", "", "", "", ""]
    assert [tick.place for tick in chart.times] == [10, 25, 40, 55, 70, 85, 100]
    assert [tick.label for tick in chart.counts] == ["0", "5", "10", "15"]


def test_events_are_those_of_the_special_reports_or_else_of_the_tags(judged_day: JudgedSite) -> None:
    settings = NearDupSettings()
    with_reports = gather([judged_day.verdicts, judged_day.events], settings, [judged_day.documents])
    without = gather([judged_day.verdicts], settings, [judged_day.documents])
    (sent,) = events_of(with_reports.events, group_stories(with_reports.rows, Links(with_reports.rows)), settings)
    (made,) = events_of([], group_stories(without.rows, Links(without.rows)), settings)
    assert sent.headline == made.headline == "Explosion at Brackwater grain terminal"
    assert [level for level, _ in sent.levels] == ["breaking", "update", "ended"]
    assert [level for level, _ in made.levels] == ["breaking", "update"]
    assert sent.growth == made.growth
    assert [place.source for place in sent.sources] == [place.source for place in made.sources]


def test_a_report_of_an_event_with_wrong_values_is_shown_as_far_as_it_goes(tmp_path: Path) -> None:
    wrong = {
        "level": "breaking",
        "members": [],
        "growth": [{"time": "x"}, 5],
        "items": "many",
        "sources": {},
        "story": [],
    }
    assert [event.headline for event in events_in([wrong, item()], tmp_path)] == [""]
    assert "no headline" in build_report(gather([tmp_path / "feed.jsonl"], NearDupSettings())).html


@pytest.mark.parametrize(("liars", "told"), [(2, []), (4, ["42"] * 4)])
def test_a_figure_of_a_feed_of_items_needs_a_third_of_its_sources(tmp_path: Path, liars: int, told: list[str]) -> None:
    papers = [item(), *(item(number, "duplicate") for number in range(1, 7))]
    papers[-1]["neardup_event"] = "breaking"
    (event,) = events_in([*papers, *(item(7 + number, "update") for number in range(liars))], tmp_path)
    assert [change.new for change in event.changes] == told
    assert bool(event.summary) == bool(told)
