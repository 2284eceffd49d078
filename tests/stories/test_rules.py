"""Rules decide which stories are events; owners decide which sources are independent."""

import random
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import product
from operator import gt
from pathlib import Path

import pytest
from documents import digest
from hypothesis import given
from hypothesis import strategies as st
from newsdesk import HOUR, MINUTE, Newsroom, opened, text

from scrapy_neardup.detector import NearDupDetector
from scrapy_neardup.evidence.figures.counted import FigureKind
from scrapy_neardup.exceptions import SettingsError
from scrapy_neardup.records.stories import owner_in
from scrapy_neardup.settings import NearDupSettings
from scrapy_neardup.settings.values import owners as read_owners
from scrapy_neardup.stories.rules import (
    DAY,
    RULES,
    breaking_threshold,
    bursts_of,
    count,
    load_rule,
    most_within,
    sources,
)
from scrapy_neardup.story import EventSources, Ledger, PrintedFigure, Story


def story(
    first_times: Sequence[int] = (), times: Sequence[int] = (), languages: Sequence[str] = (), dead: int | None = None
) -> Story:
    at = tuple(sorted(first_times))
    items = tuple(sorted(times or first_times))
    printed = PrintedFigure(FigureKind.DEAD, dead or 0, dead or 0, "exact", False, b"own1", b"document", 0)
    ledger = Ledger() if dead is None else Ledger([printed])
    counts = len(items), len(items), 0, items, at
    return Story("00" * 8, *counts, ledger=ledger, source_languages=tuple(languages), begins_with_harm=True)


def minutes(*values: float) -> list[int]:
    return [int(value * MINUTE) for value in values]


def test_five_new_sources_within_forty_minutes_or_six_within_an_hour_break_and_two_thirds_are_a_watch() -> None:
    assert sources(story(minutes(0, 10, 20, 30, 40)), 40 * MINUTE, 5) == "watch"
    assert sources(story(minutes(0, 10, 20, 30, 40, 59)), 59 * MINUTE, 5) == "breaking"
    assert sources(story(minutes(0, 10, 20, 30, 40, 60)), 60 * MINUTE, 5) == "watch"
    assert sources(story(minutes(0, 9, 18, 27, 39)), 39 * MINUTE, 5) == "breaking"
    assert sources(story(minutes(0, 9, 18, 27, 40)), 40 * MINUTE, 5) == "watch"
    assert sources(story(minutes(0, 9, 18, 27, 39)), 39 * MINUTE, 6) == "watch"
    assert sources(story(minutes(0, 10, 20)), 20 * MINUTE, 5) is None
    assert sources(story(minutes(0, 10, 20, 30)), 30 * MINUTE, 5) == "watch"
    assert sources(story(minutes(0, 10, 20, 61)), 61 * MINUTE, 5) is None


def test_three_sources_within_an_hour_break_if_people_were_harmed() -> None:
    assert sources(story(minutes(0, 30, 59), dead=2), 59 * MINUTE, 5) == "breaking"
    assert sources(story(minutes(0, 30, 60), dead=2), 60 * MINUTE, 5) is None
    assert sources(story(minutes(0, 30, 59), dead=0), 59 * MINUTE, 5) is None, "nobody was"
    assert sources(replace(story(minutes(0, 30, 59), dead=2), begins_with_harm=False), 59 * MINUTE, 5) is None
    assert sources(story(minutes(0, 20, 40, 59), dead=2), 59 * MINUTE, 8) is None
    assert sources(story(minutes(0, 15, 30, 45, 59), dead=2), 59 * MINUTE, 8) == "breaking"


def test_where_few_papers_print_three_within_two_hours_break_and_two_if_people_were_harmed() -> None:
    assert sources(story(minutes(0, 60, 119)), 119 * MINUTE, 3) == "breaking"
    assert sources(story(minutes(0, 60, 120)), 120 * MINUTE, 3) is None
    assert sources(story(minutes(0, 1439), dead=2), 1439 * MINUTE, 3) == "breaking"
    assert sources(story(minutes(0, 1440), dead=2), 1440 * MINUTE, 3) is None
    assert sources(story(minutes(0, 60)), 60 * MINUTE, 3) is None


def known(language: str, papers: int, first: float, last: float) -> dict[bytes, tuple[int, int]]:
    return {owner_in(language, f"{number}.example"): (int(first), int(last)) for number in range(papers)}


async def test_how_many_papers_print_in_a_language_decides_how_many_are_a_burst() -> None:
    bursts = {n: bursts_of(known("ta", n, 0, 7 * DAY), 7 * DAY)["ta"] for n in (1, 4, 15, 16, 80, 81, 100)}
    assert bursts == {1: 3, 4: 3, 15: 3, 16: 4, 80: 4, 81: 5, 100: 5}
    assert bursts_of(known("ta", 4, 1, 7 * DAY), 7 * DAY) == {}, "it has not been known for a week"
    old_and_new = known("ta", 20, 0, DAY) | known("ta", 4, 0, 9 * DAY)
    assert bursts_of(old_and_new, 9 * DAY) == {"ta": 3}, "the others print no more"
    assert bursts_of(known("LK", 25, DAY, DAY), DAY) == {"LK": 4}, "a country counts at once"
    assert bursts_of(known("RU", 100, 1, 7 * DAY) | known("RU", 64, 0, 7 * DAY), 7 * DAY) == {"RU": 6}, "the old ones"
    async with opened(store="memory://") as room:
        await room.detector.index.events.note_owners(known("en", 100, 0, 0), 0)
        for n in range(32):
            await room.detector.stories.advance(room.article("fire", "s0", 7 * DAY + n), "")
        room.detector.stories.breaking_over = 8
        assert room.detector.stories.current(story([0], languages=["en"]), ()).breaking_over == 8, "the budget counts"


@pytest.mark.parametrize(
    ("domains", "begins", "breaks"),
    [("de", "", 8), ("at de", "", 5), ("com de", "", 5), ("de com de", "", 8), ("de", "3 people were killed.", 3),
     ("de", "The 6 people on board were killed when a plane crashed.", 3), ("de", "A quake of magnitude 6.9 hit.", 5),
     ("de", "He said the 6 deaths caused by the fires were a judgement.", 8),
     ("de", "Six people were killed on Monday. The 6 deaths were the first this year.", 3)],
)  # fmt: skip
async def test_news_of_one_country_needs_many_of_its_papers_unless_people_were_harmed(
    domains: str, begins: str, breaks: int
) -> None:
    async with opened(store="memory://", event_rule="sources", events_min_sources=5) as room:
        for n in range(122):
            await room.publish(f"other {n}", n, n * MINUTE, url=f"https://www.paper{n}.de/{n}")
        for n, domain in zip(range(9), domains.split() * 9, strict=False):
            more = {"url": f"https://www.s{n}.{domain}/fire", "text": f"{begins}\n{text('fire')}"}
            verdict = await room.publish("fire", n, (125 + n) * MINUTE, **more)
            assert (verdict.event == "breaking") is (n + 1 == breaks)


async def test_three_papers_break_in_a_language_that_has_four_once_it_is_known_for_a_week(
    store_url: str, namespace: str
) -> None:
    settings = {"store": store_url, "namespace": namespace, "event_rule": "sources", "events_min_sources": 5}

    async def a_day(room: Newsroom, day: int) -> list[str | None]:
        for n in range(40):
            await room.publish(f"{day} {n}", n % 4, day * DAY + n * MINUTE, language="ta")
        story = [
            await room.publish(f"{day} fire", n, day * DAY + (40 + 30 * n) * MINUTE, language="ta") for n in range(3)
        ]
        return [verdict.event for verdict in story]

    async with opened(**settings) as room:
        assert await a_day(room, 0) == [None] * 3
        assert await a_day(room, 6) == [None] * 3
        await room.detector.finish()
        if store_url == "memory://":
            assert await a_day(room, 8) == [None, None, "breaking"]
            return
    async with opened(**settings) as room:
        assert await a_day(room, 8) == [None, None, "breaking"]
        assert room.events[-1].breaking_over == 3


@pytest.mark.parametrize(
    ("languages", "level"),
    [("ru ru ru ru ru ru", "breaking"), ("id ru ha en it bg", None), ("en en fr de it en", "watch"),
     ("en ? en ? en ?", "breaking"),
     ("# # # # # #", None), ("en en en # # #", "watch"), ("en en en en # # # #", "breaking"),
     ("en en fr de it en en en", "breaking"), ("en en fr en en de", "breaking"),
     ("en en fr en de it", "watch"), ("ar bg cs de el en es fr id it ja", "breaking"),
     ("uk uk ru ru ru", "breaking"), ("uk en ru ru ru", "watch"),
     ("en EN en en EN", "watch"), ("en EN EN EN EN", "breaking")],
)  # fmt: skip
def test_of_other_languages_figures_and_copies_every_second_counts(languages: str, level: str | None) -> None:
    told = languages.replace("?", "").split(" ")
    assert sources(story(minutes(*range(0, 5 * len(told), 5)), languages=told), 0, 5) == level


def test_one_source_more_never_makes_fewer_count() -> None:
    counted = {}
    for numbers in product(range(6), range(6), range(2), range(2)):
        told = [*Counter(dict(zip(("en", "EN", "FR", "#"), numbers, strict=True))).elements()]
        at_once = story([0] * len(told), languages=told)
        counted[numbers] = sum(sources(at_once, 0, least) == "breaking" for least in range(1, len(told) + 1))
    for numbers, most in product(counted, counted):
        assert counted[numbers] <= counted[most] or any(map(gt, numbers, most)), (numbers, most)
    copies = {n: [counted[n, copies, 0, 0] for copies in range(6)] for n in (0, 1, 3, 5)}
    assert copies == {0: [0, 1, 2, 3, 4, 5], 1: [1, 2, 3, 4, 5, 6], 3: [3, 3, 4, 6, 7, 8], 5: [5, 5, 6, 7, 8, 10]}
    assert [counted[1, 0, 1, 0], counted[5, 0, 1, 0]] == [1, 5]


def test_two_papers_of_which_one_tells_of_a_disaster_break_also_in_two_languages_and_late() -> None:
    near, late = minutes(0, 60), minutes(0, 60 * 20)
    assert sources(story(near, languages="ab", dead=3), 60 * MINUTE, 3) == "breaking"
    assert sources(story(late, languages="ab", dead=3), late[-1], 3) == "breaking"
    assert sources(story(near, languages="ab", dead=2), 60 * MINUTE, 3) is None


@pytest.mark.parametrize(("breaks", "levels"), [(2, ["breaking"] * 3), (3, [None, "breaking", "breaking"])])
def test_two_sources_are_no_watch_however_few_may_break(breaks: int, levels: list[str | None]) -> None:
    assert [sources(story(minutes(*range(n))), 0, breaks) for n in (2, 3, 4)] == levels
    assert sources(story([0]), 0, breaks) is None


def test_a_story_that_goes_on_as_before_is_watched_and_one_that_moves_breaks_also_at_night() -> None:
    all_day = minutes(*range(0, 700, 10))  # six new sources an hour
    assert sources(story(all_day), 690 * MINUTE, 5) == "watch"
    assert sources(story([*all_day, *minutes(*range(750, 757))]), 756 * MINUTE, 5) == "watch"
    assert sources(story([*all_day, *minutes(*range(750, 758))]), 757 * MINUTE, 5) == "breaking"
    morning, night = minutes(*range(0, 300, 5)), minutes(*range(900, 906))
    assert sources(story([*morning, *night]), 905 * MINUTE, 5) == "breaking"


def test_a_late_document_completes_its_hour_and_one_dated_ahead_hides_nothing() -> None:
    times = minutes(0, 10, 20, 30, 40, 50)
    ahead = [*times, 20 * HOUR]
    assert sources(story(times), 10 * MINUTE, 5) == "breaking"
    assert sources(story(ahead), 50 * MINUTE, 5) == "breaking"
    assert sources(story(ahead), 20 * HOUR, 5) is None


def test_count_breaks_at_the_sixteenth_item_within_four_hours() -> None:
    assert count(story(times=minutes(*range(0, 225, 15))), 210 * MINUTE, 5) is None
    assert count(story(times=minutes(*range(0, 240, 15))), 225 * MINUTE, 5) == "breaking"
    assert count(story(times=minutes(*range(0, 272, 17))), 255 * MINUTE, 5) is None


@given(st.lists(st.integers(0, 24 * HOUR), min_size=1, max_size=60), st.data())
def test_most_within_a_span_is_what_counting_says(times: list[int], data: st.DataObject) -> None:
    at = data.draw(st.sampled_from(times))
    ordered = tuple(sorted(times))
    spans = [end for end in times if at <= end < at + HOUR]
    assert most_within(ordered, HOUR, at) == max(sum(end - HOUR < time <= end for time in times) for end in spans)


def burst(at: float, owners: Iterable[object]) -> EventSources:
    """Return an event whose sources all came at this time."""
    return tuple(sorted((int(at), digest(f"{owner}", 4), "en") for owner in owners))


NOON = 20_000 * 24 * HOUR + 12 * HOUR


@given(st.lists(st.integers(1, 30), max_size=300), st.floats(1, 7), st.floats(0, 50))
def test_the_threshold_keeps_the_alarm_budget_and_is_never_under_5(peaks: list[int], days: float, a_day: float) -> None:
    began = int(NOON - days * DAY)
    events = [burst(NOON - 60, (f"{number} {n}" for n in range(peak))) for number, peak in enumerate(peaks)]
    peaks = [*peaks, 700]  # so many sources are known that they do not limit the threshold
    threshold = breaking_threshold([*events, burst(began, range(700))], NOON, a_day)
    allowed = int(a_day * (NOON - began) / DAY)
    assert threshold >= 5
    assert sum(peak > threshold for peak in peaks) <= allowed or threshold == 35
    assert threshold == 5 or sum(peak > threshold - 1 for peak in peaks) > allowed


def test_events_of_the_same_few_sources_do_not_raise_the_threshold() -> None:
    known = burst(NOON - DAY, range(700))

    def threshold(*hosts: Iterable[object]) -> int:
        return breaking_threshold([known, *(burst(NOON - 60, each) for each in hosts)], NOON, 17)

    draw = random.Random(7)
    assert threshold(*(range(n, n + 13) for n in range(0, 1300, 13))) == 13
    assert threshold(*([range(13)] * 100)) == 5
    assert threshold(*(draw.sample(range(30), 13) for _ in range(100))) == 5
    # Nor do they if each of their pages joins a real event.
    assert threshold(*([*range(13), *range(n, n + 7)] for n in range(100, 800, 7))) <= 10


def test_the_threshold_is_at_most_a_share_of_the_sources_known_before_today_and_never_below_the_setting() -> None:
    assert breaking_threshold([], 0, 17, min_sources=3) == 3
    assert breaking_threshold([], 0, 17, min_sources=10) == 10
    events = [burst(NOON - 60, range(n, n + 13)) for n in range(0, 1300, 13)]
    assert breaking_threshold(events, NOON, 17) == 5
    assert breaking_threshold([*events, burst(NOON - DAY, range(160))], NOON, 17) == 8


def says_update(story: Story, time: float, breaking_over: int) -> str | None:
    return "update"


def fails(story: Story, time: float, breaking_over: int) -> str | None:
    raise ZeroDivisionError


def test_a_rule_is_a_row_of_the_table_or_an_import_path() -> None:
    assert load_rule("count") is RULES["count"]
    assert load_rule(f"{__name__}.says_update") is says_update
    for wrong in ("cuont", f"{__name__}.nothing", f"{__name__}.START", "no.such.module"):
        with pytest.raises(SettingsError, match="NEARDUP_EVENT_RULE"):
            load_rule(wrong)


def test_owners_name_their_sources() -> None:
    assert read_owners({"Press": ["A.example", "b.example"]}) == {"a.example": "Press", "b.example": "Press"}


async def test_a_rule_that_fails_or_says_anything_else_costs_no_verdict(caplog: pytest.LogCaptureFixture) -> None:
    async with opened(store="memory://", event_rule=f"{__name__}.fails") as room:
        verdicts = [await room.publish("fire", f"s{n}", n) for n in range(5)]
    assert [verdict.status for verdict in verdicts] == ["original"] + ["duplicate"] * 4
    assert len([record for record in caplog.records if "NEARDUP_EVENT_RULE" in record.message]) == 1
    async with opened(store="memory://", event_rule=f"{__name__}.says_update") as room:
        verdicts = [await room.publish("fire", f"s{n}", n) for n in range(5)]
    assert [verdict.event for verdict in verdicts] == [None] * 5
    assert "'update' is not 'watch', 'breaking' or None" in caplog.text


async def test_a_small_team_is_told_of_three_sources() -> None:
    settings = NearDupSettings.from_mapping({"NEARDUP_EVENTS_MIN_SOURCES": "3", "NEARDUP_STORE": "memory://"})
    async with opened(store="memory://", event_rule="sources", events_min_sources=settings.events_min_sources) as room:
        for n in range(4):
            await room.publish("fire", f"s{n}", n * MINUTE)
    told = [(event.level, event.story.extent.sources, event.breaking_over) for event in room.events]
    assert told == [("breaking", 3, 3)]


@pytest.mark.parametrize(("began", "levels"), [(0, []), (2, []), (4, ["watch", "breaking"])])
async def test_a_crawl_with_a_young_window_does_not_ring_for_what_took_hours(
    tmp_path: Path, began: int, levels: list[str]
) -> None:
    now = 1_700_000_000.0
    settings = NearDupSettings(store=f"sqlite:///{tmp_path}/window.sqlite")
    first = NearDupDetector(settings, clock=lambda: now - began * HOUR, delivers_later=True)
    second = NearDupDetector(settings, clock=lambda: now, delivers_later=True)
    await first.open()
    await first.close()
    await second.open()
    for hours in range(7):
        url, published = f"https://paper{hours}.example/fire", now - (7 - hours) * HOUR
        await second.check(second.document(text("fire"), url=url, seen_at=published, counts_now=True))
    assert [event.level for event in second.take_events()] == levels
    await second.close()


@pytest.mark.parametrize(("hour", "levels"), [(3, ["watch"]), (5, ["watch", "breaking"])])
async def test_a_burst_of_hours_ago_is_a_watch(hour: int, levels: list[str]) -> None:
    async with opened(store="memory://", event_rule="sources") as room:
        await room.pass_time(7 * HOUR, 7 * HOUR + 32 * MINUTE)
        for minute in range(6):
            await room.publish("fire", f"s{minute}", hour * HOUR + minute * MINUTE)
        assert room.levels == levels
