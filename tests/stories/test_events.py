"""Events: when a story becomes one, that it is raised once, and what is said of it."""

from __future__ import annotations

import asyncio
import json
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from conftest import USUAL
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from redis import Redis

from scrapy_neardup.detector import NearDupDetector
from scrapy_neardup.document import Document, Join, Story, Verdict
from scrapy_neardup.exceptions import SettingsError
from scrapy_neardup.index import Index
from scrapy_neardup.settings import NearDupSettings
from scrapy_neardup.stories import RULES, StoryEvent, load_rule, read_owners, special_report
from scrapy_neardup.stories.rules import calibrated, count, most_within, peak, sources

START = 1_700_000_000
MINUTE = 60
HOUR = 3600
DAY = 24 * HOUR


def story(first_times: Sequence[int] = (), times: Sequence[int] = ()) -> Story:
    at = tuple(sorted(first_times))
    items = tuple(sorted(times or first_times))
    return Story("00" * 8, len(items), len(items), 0, items, at)


def minutes(*values: float) -> list[int]:
    return [int(value * MINUTE) for value in values]


# Rules


def test_six_new_sources_within_an_hour_break() -> None:
    assert sources(story(minutes(0, 10, 20, 30, 40)), 40 * MINUTE, 5) is None
    assert sources(story(minutes(0, 10, 20, 30, 40, 59)), 59 * MINUTE, 5) == "breaking"
    assert sources(story(minutes(0, 10, 20, 30, 40, 60)), 60 * MINUTE, 5) is None


def test_below_the_calibrated_threshold_an_event_is_a_watch() -> None:
    assert sources(story(minutes(*range(8))), 7 * MINUTE, 8) == "watch"
    assert sources(story(minutes(*range(9))), 8 * MINUTE, 8) == "breaking"


def test_a_story_that_has_run_all_day_is_watched_but_does_not_break() -> None:
    slow = minutes(*range(0, 600, 60))

    assert sources(story([*slow, *minutes(*range(700, 714))]), 713 * MINUTE, 5) == "watch"
    assert sources(story([*slow, *minutes(*range(700, 715))]), 714 * MINUTE, 5) == "breaking"


def test_a_late_document_completes_the_hour_it_belongs_to() -> None:
    times = minutes(0, 10, 20, 30, 40, 50)

    assert sources(story(times), 10 * MINUTE, 5) == "breaking"


def test_a_document_dated_ahead_does_not_hide_the_others() -> None:
    times = [*minutes(0, 10, 20, 30, 40, 50), 20 * HOUR]

    assert sources(story(times), 50 * MINUTE, 5) == "breaking"
    assert sources(story(times), 20 * HOUR, 5) is None


def test_count_breaks_at_the_sixteenth_item_within_four_hours() -> None:
    assert count(story(times=minutes(*range(0, 225, 15))), 210 * MINUTE, 5) is None
    assert count(story(times=minutes(*range(0, 240, 15))), 225 * MINUTE, 5) == "breaking"
    assert count(story(times=minutes(*range(0, 272, 17))), 255 * MINUTE, 5) is None


@given(st.lists(st.integers(0, DAY), min_size=1, max_size=60), st.data())
def test_most_within_a_span_is_what_counting_says(times: list[int], data: st.DataObject) -> None:
    at = data.draw(st.sampled_from(times))
    ordered = tuple(sorted(times))

    spans = [end for end in times if at <= end < at + HOUR]

    assert most_within(ordered, HOUR, at) == max(sum(end - HOUR < time <= end for time in times) for end in spans)


def test_the_peak_is_of_the_hour_in_which_most_was_new() -> None:
    assert peak(minutes(0, 10, 20, 200, 201, 202, 203)) == 3
    assert peak(minutes(0, 200, 201, 202, 203)) == 4
    assert peak(()) == 0


@given(st.lists(st.integers(1, 500), max_size=300), st.floats(1, 7), st.floats(0, 50))
def test_the_threshold_keeps_the_alarm_budget_and_is_never_under_5(peaks: list[int], days: float, a_day: float) -> None:
    threshold = calibrated(peaks, days, a_day)

    assert threshold >= 5
    assert sum(peak > threshold for peak in peaks) <= a_day * days
    assert threshold == 5 or sum(peak > threshold - 1 for peak in peaks) > a_day * days


def every_third(story: Story, time: float, breaking_over: int) -> str | None:
    return "breaking" if story.items >= 3 else None


def says_update(story: Story, at: float, breaking_over: int) -> str | None:
    return "update"


def fails(story: Story, at: float, breaking_over: int) -> str | None:
    raise ZeroDivisionError


def test_a_rule_is_a_row_of_the_table_or_an_import_path() -> None:
    assert load_rule("count") is RULES["count"]
    assert load_rule(f"{__name__}.every_third") is every_third
    for wrong in ("cuont", f"{__name__}.nothing", f"{__name__}.START", "no.such.module"):
        with pytest.raises(SettingsError, match="NEARDUP_EVENT_RULE"):
            load_rule(wrong)


def with_keywords(*, breaking_over: int, time: float, story: Story) -> str | None:
    return "breaking" if (story.items, time, breaking_over) == (2, 60.0, 7) else None


def with_other_names(found: Story, second: float, limit: int, /) -> str | None:
    return with_keywords(story=found, time=second, breaking_over=limit)


@pytest.mark.parametrize("name", ["with_keywords", "with_other_names"])
def test_a_rule_gets_keywords_if_its_parameters_have_these_names(name: str) -> None:
    rule = load_rule(f"{__name__}.{name}")
    assert rule(story=story([0, 60]), time=60.0, breaking_over=7) == "breaking"


# Owners


def test_owners_are_read_either_way_round_and_from_a_file(tmp_path: Path) -> None:
    either = {"a.example": "Press", "b.example": "Press"}
    path = tmp_path / "owners.json"
    path.write_text(json.dumps({"Press": ["A.example", "b.example"]}))

    assert read_owners(either) == read_owners({"Press": ["a.example", "b.example"]}) == read_owners(str(path)) == either


@pytest.mark.parametrize(
    "wrong", ["no/such/file", 7, {"a": 1}, {"a": [1]}, {"Press": ["a.example"], "a.example": "Other"}, {"": "x"}]
)
def test_wrong_owners_are_named(wrong: object) -> None:
    with pytest.raises(SettingsError, match="NEARDUP_SOURCE_OWNERS"):
        NearDupSettings.from_mapping({"NEARDUP_SOURCE_OWNERS": wrong})


# Documents to events


def text(seed: object, size: int = 150) -> str:
    letters = random.Random(repr(seed))
    words = ["".join(letters.choices("abdegiklmnoprstuv", k=7)) for _ in range(size)]
    return "\n".join(" ".join(words[start : start + 30]) for start in range(0, size, 30))


class Newsroom:
    """A detector, and the events of what was published."""

    def __init__(self, detector: NearDupDetector) -> None:
        self.detector = detector
        self.events: list[StoryEvent] = []

    def article(self, seed: object, source: object, at: float, **more: Any) -> Document:
        url = more.pop("url", f"https://www.{source}.example/{seed}/{at}")
        body = more.pop("text", text(seed))
        return self.detector.document(body, url=url, title=f"News of {seed}", seen_at=START + at, **more)

    async def publish(self, seed: object, source: object, at: float, **more: Any) -> Verdict:
        verdict = await self.detector.check(self.article(seed, source, at, **more))
        self.events += self.detector.take_events()
        return verdict

    async def pass_time(self, begin: float, end: float) -> None:
        """Unrelated news, one a minute."""
        for minute in range(int(begin // MINUTE), int(end // MINUTE)):
            await self.publish(f"other {minute}", f"other{minute}", minute * MINUTE)

    @property
    def levels(self) -> list[str]:
        return [event.level for event in self.events]


@pytest.fixture
async def newsroom(store_url: str, namespace: str) -> Any:
    async with opened(store=store_url, namespace=namespace) as room:
        yield room


class opened:  # noqa: N801  read as a verb
    def __init__(self, *, run: str = "test", delivers_later: bool = False, **settings: Any) -> None:
        self.room = Newsroom(NearDupDetector(NearDupSettings(**settings), run=run, delivers_later=delivers_later))

    async def __aenter__(self) -> Newsroom:
        await self.room.detector.open()
        return self.room

    async def __aexit__(self, *exception: object) -> None:
        await self.room.detector.close()


async def test_the_item_that_tips_a_story_carries_the_event(newsroom: Newsroom) -> None:
    verdicts = [await newsroom.publish("fire", f"s{n}", n * MINUTE) for n in range(10)]

    assert [verdict.event for verdict in verdicts] == [None] * 5 + ["breaking"] + [None] * 4
    (event,) = newsroom.events
    assert (event.level, event.time, event.story.id) == ("breaking", START + 5 * MINUTE, verdicts[0].story)
    assert len(event.members) == 6


async def test_copies_that_arrive_at_once_say_what_they_say_one_by_one(newsroom: Newsroom) -> None:
    documents = [newsroom.article("fire", f"s{n}", n) for n in range(100)]

    verdicts = await newsroom.detector.check_in_order(documents)

    said = {number: verdict.event for number, verdict in enumerate(verdicts) if verdict.event}
    assert said == {5: "breaking", 11: "update", 23: "update", 47: "update", 95: "update"}
    for event, items in zip(newsroom.detector.take_events(), (6, 12, 24, 48, 96), strict=True):
        assert [member.number for member in event.members] == list(range(1, items + 1))


async def test_an_event_ends_when_no_new_source_came_for_two_hours(newsroom: Newsroom) -> None:
    for n in range(8):
        await newsroom.publish("fire", f"s{n}", n * MINUTE)
    await newsroom.pass_time(10 * MINUTE, HOUR)
    await newsroom.publish("fire", "s1", HOUR, url="https://www.s1.example/again")
    assert newsroom.levels == ["breaking"]

    await newsroom.pass_time(HOUR, 3 * HOUR)

    assert newsroom.levels == ["breaking", "ended"]
    assert newsroom.events[-1].time == START + 7 * MINUTE + 2 * HOUR
    assert newsroom.events[-1].item is None


async def test_what_is_still_running_ends_when_all_is_over(newsroom: Newsroom) -> None:
    for n in range(8):
        await newsroom.publish("fire", f"s{n}", n * MINUTE)

    await newsroom.detector.finish()
    assert newsroom.detector.take_events() == []

    await newsroom.detector.finish(all_over=True)
    assert [event.level for event in newsroom.detector.take_events()] == ["ended"]
    assert await newsroom.detector.index.open_events() == []


# Updates


def toll(dead: int) -> str:
    body = f"Rescue workers said that {dead} people were dead after the great fire in the old harbour."
    return f"{text('fire', 200)}\n{body}"


async def test_an_event_that_doubles_is_told_again(newsroom: Newsroom) -> None:
    verdicts = [await newsroom.publish("fire", f"s{n}", n * MINUTE) for n in range(30)]

    said = {number: verdict.event for number, verdict in enumerate(verdicts, 1) if verdict.event}
    assert said == {6: "breaking", 12: "update", 24: "update"}
    report = special_report(newsroom.events[1])
    assert report["update"] == {"level": "breaking", "items_before": 6, "sources_before": 6, "figures": []}
    assert (report["items"], report["item"]) == (12, newsroom.events[1].item)
    assert special_report(newsroom.events[0])["update"] is None
    assert len({event.id for event in newsroom.events}) == 3


async def test_a_figure_that_changed_is_told_once_a_second_source_prints_it(newsroom: Newsroom) -> None:
    for n in range(7):
        await newsroom.publish("fire", f"s{n}", n * MINUTE, text=toll(4))

    first = await newsroom.publish("fire", "news", 8 * MINUTE, text=toll(12))
    again = await newsroom.publish("fire", "news", 9 * MINUTE, text=toll(12))
    second = await newsroom.publish("fire", "other", 10 * MINUTE, text=toll(12))
    third = await newsroom.publish("fire", "more", 11 * MINUTE, text=toll(12))

    assert (first.status, first.changes) == ("update", ("people: 4 -> 12",))
    assert [verdict.event for verdict in (first, again, second, third)] == [None, None, "update", None]
    (change,) = special_report(newsroom.events[-1])["update"]["figures"]
    assert (change["figure"], change["old"], change["new"]) == ("people", "4", "12")
    assert change["source"] == "news.example"
    assert special_report(newsroom.events[-1])["summary"] == (
        'Two sources now say "people: 12" (before: 4): news.example at 22:21, other.example at 22:23 UTC.'
    )
    assert special_report(newsroom.events[0])["summary"] == ""


async def test_an_older_version_that_comes_late_is_no_news(newsroom: Newsroom) -> None:
    for n in range(7):
        await newsroom.publish("fire", f"s{n}", n * MINUTE, text=toll(4))
    for n in range(7, 9):
        await newsroom.publish("fire", f"s{n}", n * MINUTE, text=toll(12))
    for n in range(9, 11):
        await newsroom.publish("fire", f"s{n}", n * MINUTE, text=toll(4))

    assert newsroom.levels == ["breaking", "update"]


async def test_what_has_been_told_is_not_told_again_by_the_next_process(shared_url: str, namespace: str) -> None:
    async with opened(store=shared_url, namespace=namespace) as room:
        for n in range(8):
            await room.publish("fire", f"s{n}", n * MINUTE, text=toll(4 if n < 6 else 12))
        assert room.levels == ["breaking", "update"]
    async with opened(store=shared_url, namespace=namespace) as room:
        for n in range(8, 14):
            await room.publish("fire", f"s{n}", n * MINUTE, text=toll(12))
        assert room.levels == []
        await room.publish("fire", "s14", 14 * MINUTE, text=toll(12))
        await room.publish("fire", "s15", 15 * MINUTE, text=toll(12))
        assert room.levels == ["update"]


async def test_pages_of_a_crawl_that_died_raise_nothing_when_they_come_again(shared_url: str, namespace: str) -> None:
    """They rejoin their story, which counts none of them twice."""
    crawl = {"store": shared_url, "namespace": namespace, "delivers_later": True}
    async with opened(run="first", **crawl) as room:
        for n in range(8):
            await room.publish("fire", f"s{n}", n * MINUTE)
        assert room.levels == ["breaking"]  # at the sixth
        story = room.events[0].story.id
    async with opened(run="second", **crawl) as room:  # nothing was delivered
        verdicts = [await room.publish("fire", f"s{n}", n * MINUTE) for n in range(8)]
        assert [verdict.status for verdict in verdicts] == ["original"] + ["duplicate"] * 7
        assert {verdict.story for verdict in verdicts} == {story}
        for n in range(8, 11):
            await room.publish("fire", f"s{n}", n * MINUTE)
        assert room.levels == []
        await room.publish("fire", "s11", 11 * MINUTE)
        assert room.levels == ["update"]  # twelve sources are twice six


async def test_what_has_ended_is_updated_no_more(newsroom: Newsroom) -> None:
    for n in range(7):
        await newsroom.publish("fire", f"s{n}", n * MINUTE, text=toll(4))
    await newsroom.pass_time(10 * MINUTE, 3 * HOUR)
    for n in range(7, 30):
        await newsroom.publish("fire", f"s{n}", 3 * HOUR + n * MINUTE, text=toll(12))

    assert newsroom.levels == ["breaking", "ended"]


async def test_what_ended_as_a_watch_and_breaks_goes_on(store_url: str, namespace: str) -> None:
    async with opened(store=store_url, namespace=namespace) as room:
        room.detector.stories.breaking_over = 8
        for n in range(7):
            await room.publish("fire", f"s{n}", n * MINUTE)
        await room.detector.finish(all_over=True)
        room.events += room.detector.take_events()
        for n in range(7, 40):
            await room.publish("fire", f"s{n}", HOUR // 2 + n * MINUTE)

    assert room.levels == ["watch", "ended", "breaking", "update", "update"]


class Held:
    """Joins that are made and whose answers wait: a process that the machine has no time for."""

    def __init__(self, index: Index) -> None:
        self.joined: asyncio.Queue[Story] = asyncio.Queue()
        self.go = asyncio.Event()
        self._join = index.join
        index.join = self  # type: ignore[method-assign,assignment]

    async def __call__(self, join: Join) -> Story:
        story_ = await self._join(join)
        self.joined.put_nowait(story_)
        await self.go.wait()
        return story_


async def test_an_update_is_told_by_a_process_that_came_late_for_the_level(shared_url: str, namespace: str) -> None:
    async with (
        opened(store=shared_url, namespace=namespace) as one,
        opened(store=shared_url, namespace=namespace) as two,
    ):
        for n in range(5):
            await one.publish("fire", f"s{n}", n * MINUTE)
        first, second = Held(one.detector.index), Held(two.detector.index)
        sixth = asyncio.create_task(one.publish("fire", "s5", 5 * MINUTE))
        await first.joined.get()
        others = [asyncio.create_task(two.publish("fire", f"t{n}", 6 * MINUTE + n)) for n in range(8)]
        for _ in others:
            await second.joined.get()

        first.go.set()
        assert (await sixth).event == "breaking"
        second.go.set()
        assert [(await each).event for each in others].count("update") == 1


async def test_a_flood_of_one_source_updates_nothing(newsroom: Newsroom) -> None:
    for n in range(7):
        await newsroom.publish("fire", f"s{n}", n * MINUTE)
    for n in range(100):
        await newsroom.publish("fire", "s1", 10 * MINUTE + n, url=f"https://www.s1.example/again/{n}")

    assert newsroom.levels == ["breaking"]


async def test_a_rule_of_ones_own_says_watch_breaking_or_nothing(caplog: pytest.LogCaptureFixture) -> None:
    async with opened(store="memory://", event_rule=f"{__name__}.says_update") as room:
        verdicts = [await room.publish("fire", f"s{n}", n) for n in range(5)]

    assert [verdict.event for verdict in verdicts] == [None] * 5
    assert "'update' is not 'watch', 'breaking' or None" in caplog.text


async def test_the_language_of_a_story_is_in_its_report(newsroom: Newsroom) -> None:
    for n in range(7):
        await newsroom.publish("fire", f"s{n}", n * MINUTE, language="de-AT" if n % 2 else "no language")

    report = special_report(newsroom.events[0])
    assert report["languages"] == [{"language": "de", "items": 3}]
    assert [member["language"] for member in report["members"]] == ["", "de", "", "de", "", "de"]


async def test_the_first_document_counts_among_the_languages(newsroom: Newsroom) -> None:
    for n in range(25):
        await newsroom.publish("fire", f"s{n}", n * MINUTE, language="de" if n else "en")

    languages = {each["language"]: each["items"] for each in special_report(newsroom.events[-1])["languages"]}
    assert languages == {"de": 23, "en": 1}
    assert special_report(newsroom.events[0])["members"][0]["language"] == "en"


async def test_stories_that_share_a_document_are_related(newsroom: Newsroom) -> None:
    flood = await newsroom.publish("flood", "wire", 0)
    for n in range(6):
        body = text("fire", 200) + "\n" + text("flood", 100) if n == 3 else text("fire", 200)
        await newsroom.publish("fire", f"s{n}", n * MINUTE, text=body)

    (related,) = special_report(newsroom.events[0])["related"]
    assert related == {"story": flood.story, "url": "https://www.wire.example/flood/0", "title": "News of flood"}


async def test_a_flood_of_one_source_is_no_event(newsroom: Newsroom) -> None:
    for n in range(200):
        await newsroom.publish("fixture list", "club", n * 7, url=f"https://club.example/{n}")

    assert newsroom.events == []


async def test_sources_of_one_owner_are_one_voice(store_url: str, namespace: str) -> None:
    owners = {f"s{n}.example": "Press Ltd" for n in range(20)}
    async with opened(store=store_url, namespace=namespace, source_owners=owners) as room:
        for n in range(20):
            await room.publish("fire", f"s{n}", n)
        assert room.events == []
        for n in range(20, 25):
            await room.publish("fire", f"s{n}", n)
        assert room.levels == ["breaking"]


async def test_one_page_seen_often_counts_once(newsroom: Newsroom) -> None:
    for n in range(20):
        changed = text("fire") + "\n" + text(n, 20)
        await newsroom.publish("fire", "s1", n, url="https://www.s1.example/fire", text=changed)

    await newsroom.publish("fire", "s2", 30)
    (story_,) = [await newsroom.detector.index.members(v.story) for v in [await newsroom.publish("fire", "s3", 31)]]  # type: ignore[arg-type]
    assert Counter(member.status for member in story_)["duplicate"] == 2
    assert newsroom.events == []


async def test_copies_of_a_notice_are_no_coverage(newsroom: Newsroom) -> None:
    for n in range(20):
        await newsroom.publish("notice", f"s{n}", n, text="Please switch on your browser's scripts to read this page.")

    assert newsroom.events == []


async def test_a_clock_that_jumps_ends_nothing(newsroom: Newsroom) -> None:
    for n in range(8):
        await newsroom.publish("fire", f"s{n}", n * MINUTE)
    for n in range(40):
        await newsroom.publish(f"ahead {n}", "ahead", 20 * HOUR if n % 8 == 0 else HOUR + n)

    assert newsroom.levels == ["breaking"]


@pytest.mark.parametrize("together", [1, 200])
async def test_what_ends_does_not_depend_on_how_many_documents_come_at_once(newsroom: Newsroom, together: int) -> None:
    """Also where the last of them are late."""
    for n in range(8):
        await newsroom.publish("fire", f"s{n}", n * MINUTE)
    times = [*range(HOUR, 20 * HOUR, 8 * MINUTE), *[30 * MINUTE] * 40]
    later = [newsroom.article(f"other {n}", f"other{n}", at) for n, at in enumerate(times)]
    for start in range(0, len(later), together):
        await newsroom.detector.check_in_order(later[start : start + together])
        newsroom.events += newsroom.detector.take_events()

    assert newsroom.levels == ["breaking", "ended"]


async def test_count_is_raised_at_the_sixteenth_item(store_url: str, namespace: str) -> None:
    async with opened(store=store_url, namespace=namespace, event_rule="count") as room:
        verdicts = [await room.publish("fire", "one", n, url=f"https://one.example/{n}") for n in range(20)]

    assert [number for number, verdict in enumerate(verdicts, 1) if verdict.event] == [16]


async def test_a_users_own_rule_is_asked(store_url: str, namespace: str) -> None:
    async with opened(store=store_url, namespace=namespace, event_rule=f"{__name__}.every_third") as room:
        verdicts = [await room.publish("fire", "one", n, url=f"https://one.example/{n}") for n in range(5)]

    assert [verdict.event for verdict in verdicts] == [None, None, "breaking", None, None]


async def test_a_rule_that_fails_costs_no_verdict(caplog: pytest.LogCaptureFixture) -> None:
    async with opened(store="memory://", event_rule=f"{__name__}.fails") as room:
        verdicts = [await room.publish("fire", f"s{n}", n) for n in range(5)]

    assert [verdict.status for verdict in verdicts] == ["original"] + ["duplicate"] * 4
    assert len([record for record in caplog.records if "NEARDUP_EVENT_RULE" in record.message]) == 1


async def test_the_alarm_budget_raises_the_threshold(store_url: str, namespace: str) -> None:
    async with opened(store=store_url, namespace=namespace, events_per_day=2) as room:
        for number in range(8):  # more events than the budget allows, each of 7 sources
            for n in range(7):
                await room.publish(f"fire {number}", f"s{n}", number * 30 * MINUTE + n)
        await room.pass_time(4 * HOUR, 8 * HOUR)
        assert room.detector.stories.breaking_over == 7

        verdicts = [await room.publish("quake", f"s{n}", 8 * HOUR + n) for n in range(10)]
        assert [verdict.event for verdict in verdicts if verdict.event] == ["watch", "breaking"]
        assert verdicts[7].event == "breaking"

    async with opened(store=store_url, namespace=namespace, events_per_day=2) as room:
        if store_url != "memory://":
            await room.pass_time(10 * HOUR, 11 * HOUR)
            assert room.detector.stories.breaking_over == 7


async def test_a_story_that_cannot_be_kept_costs_no_verdict(redis_url: str, namespace: str) -> None:
    """A user who may check but not join."""
    with Redis.from_url(redis_url) as admin:
        keys = [f"{{neardup:{namespace}*:{kind}" for kind in ("records:*", "bands:*", "runs")]
        admin.acl_setuser(namespace, enabled=True, passwords=["+secret"], keys=keys, categories=["+@all"])
        try:
            url = redis_url.replace("redis://", f"redis://{namespace}:secret@")
            async with opened(store=url, namespace=namespace) as room:
                verdicts = [await room.publish("fire", f"s{n}", n) for n in range(8)]
        finally:
            admin.acl_deluser(namespace)

    assert [verdict.status for verdict in verdicts] == ["original"] + ["duplicate"] * 7
    assert room.events == []


async def test_stores_raise_the_same_events(request: pytest.FixtureRequest, namespace: str) -> None:
    stream = []
    chance = random.Random(3)
    for number in range(40):
        begin, pace = chance.uniform(0, 20 * HOUR), chance.choice((60, 600, 3600))
        times = [begin] + [begin + chance.expovariate(1 / pace) for _ in range(chance.randrange(24))]
        stream += [(at, number, f"s{chance.randrange(60)}") for at in times]
    stream.sort()

    answers = []
    for name, url in USUAL.items():
        async with opened(store=url(request), namespace=namespace + name) as room:
            verdicts = []
            for start in range(0, len(stream), 50):
                documents = [room.article(*row[1:], row[0]) for row in stream[start : start + 50]]
                verdicts += await room.detector.check_in_order(documents)
            await room.detector.finish(all_over=True)
            answers.append((verdicts, [special_report(event) for event in room.detector.take_events()]))

    assert answers[0] == answers[1] == answers[2]
    assert Counter(report["level"] for report in answers[0][1])["breaking"] > 3


# The report


async def test_the_report_says_who_when_how_fast_and_what_of(newsroom: Newsroom) -> None:
    fire = text("fire", 200)
    for n in range(7):
        dead = 4 if n < 4 else 12
        body = f"{fire}\nRescue workers said that {dead} people were dead after the great fire in the old harbour."
        await newsroom.publish("fire", f"s{n}", n * 5 * MINUTE, text=body)

    report = special_report(newsroom.events[0])

    assert json.loads(json.dumps(report)) == report
    assert (report["version"], report["level"], report["headline"]) == (1, "breaking", "News of fire")
    assert report["time"] == "2023-11-14T22:38:20Z"
    assert report["first"] == {"time": "2023-11-14T22:13:20Z", "source": "s0.example",
                               "url": "https://www.s0.example/fire/0"}  # fmt: skip
    assert [source["source"] for source in report["sources"]] == [f"s{n}.example" for n in range(6)]
    assert [(slot["items"], slot["new_sources"]) for slot in report["growth"]] == [(2, 2), (2, 2), (2, 2)]
    assert report["items"] == len(report["members"]) == 6
    assert report["measures"] == {"sources": 6, "new_sources_in_an_hour": 6, "items_in_4_hours": 6, "breaking_over": 5}
    assert [change["new"] for change in report["figures"]][:1] == ["12"]


def test_sources_that_disagree_are_set_side_by_side() -> None:
    from scrapy_neardup.document import Member

    def member(number: int, source: str, *changes: str) -> Member:
        key = (START + number).to_bytes(4, "big").hex() + f"{number:08x}"
        return Member(key, "", "", source, source, "update", changes=changes, number=number)

    members = (member(1, "a"), member(2, "b", "dead: 4 -> 12", "hurt: 1 -> 2"), member(3, "c", "dead: 4 -> 11"))
    event = StoryEvent("breaking", START, "sources", story(), members)

    assert special_report(event)["disagreements"] == [
        {"figure": "dead", "values": [{"source": "b", "value": "12"}, {"source": "c", "value": "11"}]}
    ]
    agreed = replace(event, members=(*members[:2], member(3, "c", "dead: 4 -> 12")))
    assert special_report(agreed)["disagreements"] == []


@pytest.fixture(scope="session")
def schema() -> Draft202012Validator:
    text_ = (Path(__file__).parents[2] / "docs/event.schema.json").read_text(encoding="utf-8")
    Draft202012Validator.check_schema(json.loads(text_))
    return Draft202012Validator(json.loads(text_))


async def test_every_report_keeps_the_schema(schema: Draft202012Validator) -> None:
    async with opened(store="memory://", source_owners={"s1.example": "Press"}) as room:
        for n in range(12):
            more = {"url": ""} if n % 4 == 3 else {}
            more["language"] = "en" if n % 2 else ""
            await room.publish("fire", f"s{n}", n * MINUTE, text=toll(4 if n < 8 else 12), **more)
        await room.detector.finish(all_over=True)
        reports = [special_report(event) for event in room.events + room.detector.take_events()]

    assert [each["level"] for each in reports] == ["breaking", "update", "ended"]
    assert reports[1]["update"]["figures"]
    for each in reports:
        schema.validate(each)
        assert set(each) == set(schema.schema["properties"])
    assert not schema.is_valid({**reports[0], "level": "broken"})


async def test_ids_keep_their_form_however_often_a_figure_changes(schema: Draft202012Validator) -> None:
    async with opened(store="memory://") as room:
        for n in range(6):
            await room.publish("fire", f"s{n}", n * MINUTE, text=toll(4))
        for n in range(20):
            for source in (f"t{n}", f"u{n}"):
                await room.publish("fire", source, (10 + n) * MINUTE, text=toll(5 + n))

    updates = [special_report(event) for event in room.events if event.level == "update"]
    assert len({each["id"] for each in updates}) == len(updates) > 10
    for each in updates:
        schema.validate(each)


# Processes


def write_stream(path: Path, seed: int, clusters: int, share: float = 1.0) -> list[dict[str, Any]]:
    """Clusters of copies over six hours, shuffled."""
    chance = random.Random(seed)
    rows = []
    for number in range(clusters):
        begin = random.Random(number).uniform(0, 3 * HOUR)
        for n in range(30):
            at = START + begin + random.Random(n).uniform(0, 40 * MINUTE)
            rows.append(
                {"id": f"{number}-{n}", "url": f"https://s{n}.example/{number}", "title": f"Story {number}",
                 "time": at, "text": text(number)}
            )  # fmt: skip
    rows = chance.sample(rows, int(len(rows) * share))
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return rows


def start_replay(folder: Path, name: str, *arguments: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "scrapy", "neardup", "replay", f"{name}.jsonl", "--events", f"{name}.events"]
    return subprocess.Popen([*command, "--json", "--workers", "1", *arguments], cwd=folder, stdout=subprocess.DEVNULL)


def test_eight_processes_raise_each_level_of_each_event_once(tmp_path: Path, shared_url: str, namespace: str) -> None:
    arguments = ("--store", shared_url, "-s", f"NEARDUP_NAMESPACE={namespace}", "-s", "NEARDUP_STORE_TIMEOUT=60")
    for number in range(8):
        write_stream(tmp_path / f"half{number}.jsonl", number, clusters=12, share=0.5)
    processes = [start_replay(tmp_path, f"half{number}", *arguments) for number in range(8)]
    assert [process.wait(timeout=120) for process in processes] == [0] * 8

    raised = Counter(
        (event["headline"], event["level"], (event["update"] or {}).get("sources_before"))
        for path in tmp_path.glob("*.events")
        for event in map(json.loads, path.read_text().splitlines())
    )

    assert set(raised.values()) == {1}
    assert {headline for headline, level, _ in raised if level == "breaking"} == {f"Story {n}" for n in range(12)}


def test_a_replay_says_the_same_every_time_and_speaks_of_the_ids_of_its_input(tmp_path: Path) -> None:
    rows = write_stream(tmp_path / "one.jsonl", 1, clusters=4)
    (tmp_path / "two.jsonl").write_bytes((tmp_path / "one.jsonl").read_bytes())
    for name in ("one", "two"):
        assert start_replay(tmp_path, name, "-O", f"{name}.out").wait(timeout=60) == 0

    assert (tmp_path / "one.events").read_bytes() == (tmp_path / "two.events").read_bytes()
    events = [json.loads(line) for line in (tmp_path / "one.events").read_text().splitlines()]
    verdicts = [json.loads(line) for line in (tmp_path / "one.out").read_text().splitlines()]
    ids = {row["id"] for row in rows}
    assert {event["level"] for event in events} == {"breaking", "update", "ended"}
    assert all(member["id"] in ids for event in events for member in event["members"])
    assert all(event["story"] in ids for event in events)
    tipped = {verdict["id"]: verdict["event"] for verdict in verdicts if verdict["event"]}
    assert tipped == {event["item"]: event["level"] for event in events if event["item"]}


async def test_a_crash_between_join_and_claim_loses_no_event(newsroom: Newsroom) -> None:
    """The document that is checked again, as after a lost answer, raises what was due."""
    documents = [newsroom.article("fire", f"s{n}", n) for n in range(6)]
    await newsroom.detector.check_in_order(documents[:5])
    rule, newsroom.detector.stories.rule = newsroom.detector.stories.rule, lambda **_: None
    await newsroom.detector.check(documents[5])
    newsroom.detector.stories.rule = rule

    verdict = await asyncio.wait_for(newsroom.detector.check(documents[5]), 10)

    assert verdict.event == "breaking"
