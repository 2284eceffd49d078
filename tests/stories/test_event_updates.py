"""Updates of events: told once, when coverage doubles or enough sources confirm a changed figure."""

import asyncio
import json
from typing import Any

import pytest
from newsdesk import BUDGET_NAMES, HOUR, MINUTE, Newsroom, made_up, opened, report, toll

from scrapy_neardup.document import Document, Status
from scrapy_neardup.index import Index
from scrapy_neardup.index.batch import CheckedDocument
from scrapy_neardup.records.documents import StoredText
from scrapy_neardup.records.stories import WATCH, StoryCounters
from scrapy_neardup.rules.membership import begin_story, count_join
from scrapy_neardup.stories.report import special_report
from scrapy_neardup.stories.summary import message_of
from scrapy_neardup.story import Join, Ledger, Member


async def test_an_event_that_doubles_is_told_again(newsroom: Newsroom) -> None:
    verdicts = [await newsroom.publish("fire", f"s{n}", n * MINUTE) for n in range(30)]
    said = {number: verdict.event for number, verdict in enumerate(verdicts, 1) if verdict.event}
    assert said == {6: "breaking", 12: "update", 24: "update"}
    report = special_report(newsroom.events[1])
    assert report["update"] == {"level": "breaking", "items_before": 6, "sources_before": 6, "figures": []}
    assert (report["items"], report["item"]) == (12, newsroom.events[1].item)
    assert special_report(newsroom.events[0])["update"] is None
    assert len({event.id for event in newsroom.events}) == 3


async def test_a_figure_that_changed_is_told_once_enough_sources_print_it(newsroom: Newsroom) -> None:
    """Of seven papers and four later ones these are a third."""
    await newsroom.spread("fire", range(7), text=toll(4))
    first = await newsroom.publish("fire", "news", 8 * MINUTE, text=toll(12))
    sources = ("news", "other", "more", "fourth", "fifth")
    later = [await newsroom.publish("fire", source, n * MINUTE, text=toll(12)) for n, source in enumerate(sources, 9)]
    assert (first.status, first.changes) == ("update", ("dead: 4 -> 12",))
    assert [verdict.event for verdict in (first, *later)] == [None, None, None, None, "update", None]
    (change,) = special_report(newsroom.events[-1])["update"]["figures"]
    assert (change["figure"], change["old"], change["new"]) == ("dead", "4", "12")
    assert change["source"] == "news.example"
    assert special_report(newsroom.events[-1])["summary"] == (
        "12 dead, was 4: four sources say so, "
        "news.example at 22:21, other.example at 22:23, more.example at 22:24 UTC and 1 more."
    )
    assert special_report(newsroom.events[0])["summary"].startswith("4 dead: six sources say so")


async def test_a_figure_of_two_liars_is_in_no_report(newsroom: Newsroom) -> None:
    """They do not speak for the paper whose path they print at."""
    papers = [(f"s{n}", 4) for n in range(7)]
    for n, (source, dead) in enumerate([*papers, ("liar1", 400), ("liar2", 400), *[(f"t{n}", 4) for n in range(4)]]):
        path = {"s0": "fire-33480510", "liar1": "fire-33480510", "liar2": "fire-33480510"}.get(source, source)
        await newsroom.publish("fire", source, n * MINUTE, text=toll(dead), url=f"https://{source}.example/{path}")
    await newsroom.detector.finish(all_over=True)
    reports = [special_report(event) for event in newsroom.events + newsroom.detector.take_events()]
    assert [report["level"] for report in reports] == ["breaking", "update", "ended"]  # twelve sources are twice six
    assert "400" not in json.dumps([{**report, "members": [], "facts": [], "summary": ""} for report in reports])
    assert reports[-1]["facts"][0]["against"] == [{"value": "400", "sources": 2}], "it contradicts, and is no state"


async def test_what_has_been_told_is_not_told_again_by_the_next_process(shared_url: str, namespace: str) -> None:
    async with opened(store=shared_url, namespace=namespace) as room:
        for n in range(9):
            await room.publish("fire", f"s{n}", n * MINUTE, text=toll(4 if n < 6 else 12))
        assert room.levels == ["breaking", "update"]
    async with opened(store=shared_url, namespace=namespace) as room:
        await room.spread("fire", range(9, 17), text=toll(12))
        assert room.levels == []
        await room.publish("fire", "s17", 17 * MINUTE, text=toll(12))
        assert room.levels == ["update"]


async def test_pages_of_a_crawl_that_died_raise_nothing_when_they_come_again(shared_url: str, namespace: str) -> None:
    """They rejoin their story, which counts none of them twice."""
    crawl = {"store": shared_url, "namespace": namespace, "delivers_later": True}
    async with opened(run="first", **crawl) as room:
        await room.spread("fire", range(8))
        assert room.levels == ["breaking"]  # at the sixth
        story = room.events[0].story.id
    async with opened(run="second", **crawl) as room:  # nothing was delivered
        verdicts = [await room.publish("fire", f"s{n}", n * MINUTE) for n in range(8)]
        assert [verdict.status for verdict in verdicts] == ["original"] + ["duplicate"] * 7
        assert {verdict.story for verdict in verdicts} == {story}
        await room.spread("fire", range(8, 11))
        assert room.levels == []
        await room.publish("fire", "s11", 11 * MINUTE)
        assert room.levels == ["update"]  # twelve sources are twice six


@pytest.mark.in_memory
async def test_what_ended_as_a_watch_and_breaks_goes_on(store_url: str, namespace: str) -> None:
    async with opened(store=store_url, namespace=namespace, event_rule="sources") as room:
        room.detector.stories.breaking_over = 8
        await room.spread("fire", range(7))
        await room.detector.finish(all_over=True)
        room.events += room.detector.take_events()
        for n in range(7, 40):
            await room.publish("fire", f"s{n}", HOUR // 2 + n * MINUTE)
    assert room.levels == ["watch", "ended", "breaking", "update", "update"]


async def test_a_toll_that_rises_brings_an_event_back_that_has_ended(store_url: str, namespace: str) -> None:
    async with opened(store=store_url, namespace=namespace) as room:
        await room.spread("fire", range(6), text=toll(4))
        await room.detector.finish(all_over=True)
        for n in range(6):
            await room.publish("fire", f"s{n}", (n + 200) * MINUTE, text=toll(12 if n < 5 else 4))
        await room.detector.finish(all_over=True)
        room.events += room.detector.take_events()
    assert room.levels == ["breaking", "ended", "update", "ended"]
    assert len({event.id for event in room.events}) == 4, "receivers pass over an id that they know"


class Held:
    """Checks that are made and whose answers wait: a process that the machine has no time for."""

    def __init__(self, index: Index) -> None:
        self.joined: asyncio.Queue[CheckedDocument] = asyncio.Queue()
        self.go = asyncio.Event()
        self._check = index.documents.check
        index.documents.check = self  # type: ignore[method-assign,assignment]

    async def __call__(self, *question: Any) -> CheckedDocument:
        checked = await self._check(*question)
        self.joined.put_nowait(checked)
        await self.go.wait()
        return checked


async def test_an_update_is_told_by_a_process_that_came_late_for_the_level(shared_url: str, namespace: str) -> None:
    async with (
        opened(store=shared_url, namespace=namespace) as one,
        opened(store=shared_url, namespace=namespace) as two,
    ):
        await one.spread("fire", range(5))
        first, second = Held(one.detector.index), Held(two.detector.index)
        sixth = asyncio.create_task(one.publish("fire", "s5", 5 * MINUTE))
        await first.joined.get()
        others = [asyncio.create_task(two.publish("fire", f"t{n}", 6 * MINUTE + n)) for n in range(8)]
        await second.joined.get()
        first.go.set()
        assert (await sixth).event == "breaking"
        second.go.set()
        assert [(await each).event for each in others].count("update") == 1


async def test_a_flood_of_one_source_updates_nothing(newsroom: Newsroom) -> None:
    await newsroom.spread("fire", range(7))
    for n in range(100):
        await newsroom.publish("fire", "s1", 10 * MINUTE + n, url=f"https://www.s1.example/again/{n}")
    assert newsroom.levels == ["breaking"]


ARREST = "Inspector Halvorsen arrested Quillfeather for the fire near Tarnfield on Tuesday evening."
DENIAL = "Premier Ravensbourne told the parliament of Ostermark that he never met Quillfeather."
IN_OTHER_WORDS = "In the parliament of Ostermark he denied that he met Quillfeather, Ravensbourne told us."
HELP = "The churches of Skerrow collect blankets, bandages and medicine."
DEBATE = "Councillors debate tonight whether Lintworth must resign."
BACKGROUND = "Before the fire Mayor Oldershaw opened the harbour of Brackenmoor together with Governor Lintworth."


async def test_a_development_that_a_burst_of_owners_tells_is_told_once(newsroom: Newsroom) -> None:
    """Also in other words, and after the event has ended. What all tell at first or far below is no development."""

    async def publish(source: str, minute: float, told: str = "", below: str = "", language: str = "en") -> None:
        body = f"{told}\n{report(BUDGET_NAMES, (source, minute))}\n{below}"
        await newsroom.publish(told or "budget", source, minute * MINUTE, text=body, language=language)

    for n in range(9):
        await publish(f"s{n}", n, ARREST if n > 5 else "")
    for n in range(3):
        await publish(f"s{n}", 50 + n, BACKGROUND, language="da")
        await publish(f"s{n}", 60 + n, below=BACKGROUND)
    await newsroom.detector.finish(all_over=True)
    for n, told in enumerate((DENIAL, DENIAL, IN_OTHER_WORDS, DENIAL)):
        await publish("s1", 300 + n, told)
        await publish(f"s{2 + n}", 300 + n, told)
    assert newsroom.levels == ["breaking", "ended", "update"]
    message = special_report(newsroom.events[-1])
    assert (message_of(message).title, message["lead"]) == ("Update: news that several sources tell", DENIAL)


def test_a_development_is_told_by_three_owners_and_is_not_the_first_news() -> None:
    """Two owners that each tell something with a third one do not count, however much has been told since."""
    counters = StoryCounters(levels=WATCH)
    first = Member("00000000" * 2, "", ARREST, "a.example", "a.example", "original", language="en")
    begin_story(counters, Ledger(), first, StoredText(ARREST, ""))

    def tell(minute: int, told: str, sources: str = "bcd", status: Status = "related") -> int:
        for n, source in enumerate(sources):
            document = Document(f"{minute * MINUTE:08x}{n:08x}", "", source, told, "", minute * MINUTE)
            member = Member(document.id, "", told, source, source, status, language="en")
            count_join(counters, Ledger(), Join(first, member, document=document, language="en"), ())
        return counters.developments

    assert [tell(50, HELP, "b"), tell(51, DEBATE, "c"), tell(52, f"{HELP} {DEBATE}", "d")] == [0, 0, 0]
    assert [tell(60 + n, " ".join(made_up(n, 40)), "e", "duplicate") for n in range(20)] == [0] * 20
    assert [tell(81, ARREST), tell(82, DENIAL, "bc"), tell(83, DENIAL, "b"), tell(84, DENIAL, "d")] == [0, 0, 0, 1]
