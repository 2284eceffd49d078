"""A document that fits two stories makes one of them, and their events are one from then on."""

import json
import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest
from conftest import STORES
from documents import overwrite
from json_lines import read_lines, write_lines
from newsdesk import BOTH as OF_BOTH
from newsdesk import BUDGET, MINUTE, STRIKE, Newsroom, opened, text
from scrapy_processes import run_scrapy
from servers import RedisServer

from scrapy_neardup.document import Document, Verdict
from scrapy_neardup.records.stories import StoryCounters
from scrapy_neardup.stories.report import special_report
from scrapy_neardup.story import Story

FIRST, SECOND, BOTH = range(8), range(6, 14), range(1, 13)
"""The names of three reports: two in common, which is too few, and six, which is enough."""


def report(seed: object, names: Sequence[int], event: object = "") -> str:
    """Return words of its own in which names stand, the same for the same event."""
    draw = random.Random(f"{seed}{event}")
    words = text((seed, event), 60).split()
    for number in names:
        name = "".join(random.Random(f"{event}{number}").choices("abdegiklmnoprstuv", k=8)).capitalize()
        words.insert(draw.randrange(1, len(words)), name)
    return " ".join(words)


async def publish(room: Newsroom, seed: str, names: Sequence[int], at: float, copies: int = 0) -> list[Verdict]:
    """A report by one source, and copies of it by others, one a minute."""
    body = report(seed, names)
    return [await room.publish(seed, f"{seed}{copy}", at + copy * MINUTE, text=body) for copy in range(copies + 1)]


async def test_a_document_that_fits_two_stories_makes_them_one(newsroom: Newsroom) -> None:
    (first,) = await publish(newsroom, "first", FIRST, 0)
    second, copy = await publish(newsroom, "second", SECOND, 10 * MINUTE, copies=1)
    (both,) = await publish(newsroom, "both", BOTH, 20 * MINUTE)
    (late,) = await publish(newsroom, "second", SECOND, 30 * MINUTE)
    assert (second.status, copy.status) == ("original", "duplicate")
    assert second.story == copy.story != first.story
    assert (both.status, both.story) == ("related", first.story)
    assert late.story == first.story
    assert await newsroom.detector.final_stories() == {second.story: first.story}


async def test_the_first_document_of_each_story_is_in_the_ledger_with_its_lead(newsroom: Newsroom) -> None:
    leads = ["12 people died at the harbour.", "17 people were injured at the harbour."]
    for at, (names, lead) in enumerate(zip((FIRST, SECOND, BOTH), (*leads, ""), strict=True)):
        verdict = await newsroom.publish("people", at, at * MINUTE, text=f"{lead}\n{report(at, names)}")
    key = bytes.fromhex(verdict.story or "")
    found, members = (await newsroom.detector.index.stories.whole([key]))[key]
    assert [each.words for each in found.ledger.printed] == ["12", "17"]
    assert [news for each in members for news in each.news] == leads


async def test_a_state_of_the_story_that_moves_is_told(newsroom: Newsroom) -> None:
    for seed, names, lead, copies in (("first", FIRST, "3 people died.", 6), ("second", SECOND, "12 were injured.", 1)):
        for n in range(copies + 1):
            await newsroom.publish(seed, f"{seed}{n}", n * MINUTE, text=f"{lead}\n{report(seed, names)}")
    await newsroom.publish("both", "both", 20 * MINUTE, text=report("both", BOTH))
    await newsroom.publish("both", "late", 21 * MINUTE, text=report("late", BOTH))
    told = [fact["words"] for each in newsroom.events for fact in special_report(each)["facts"] if fact["is_new"]]
    assert told == ["3 dead", "12 injured"]


@pytest.mark.parametrize("copies", [6, 1], ids=["both were events", "the later one was an event"])
async def test_no_level_is_raised_twice(newsroom: Newsroom, copies: int) -> None:
    """From the union on there is one event, which doubles and ends once."""
    await publish(newsroom, "first", FIRST, 0, copies=copies)
    await publish(newsroom, "second", SECOND, 10 * MINUTE, copies=6)
    assert newsroom.levels == ["breaking"] * (1 + (copies == 6))
    before = len(newsroom.events)
    await publish(newsroom, "both", BOTH, 20 * MINUTE)
    await publish(newsroom, "first", FIRST, 21 * MINUTE + 7, copies=3)
    for number in range(20):
        await newsroom.publish("second", f"more{number}", 30 * MINUTE + number, text=report("second", SECOND))
    await newsroom.detector.finish(all_over=True)
    events = newsroom.events + newsroom.detector.take_events()
    assert {event.story.id for event in events[before:]} == {min(event.story.id for event in events)}
    assert "breaking" not in {event.level for event in events[before:]}
    assert Counter(event.level for event in events)["ended"] == 1
    assert len({event.id for event in events}) == len(events)


MOVED_TO_LATER = StoryCounters(joined=2, moved=b"\xff" * 8).pack()


def six_sources(*, story: Story, time: float, breaking_over: int) -> str | None:
    return "breaking" if len(story.sources) >= 6 else None


@pytest.mark.parametrize("counters", [b"", b"damaged", b"\0" * 400, MOVED_TO_LATER])
async def test_a_damaged_story_does_not_hold_up_the_one_it_belongs_to(tmp_path: Path, counters: bytes) -> None:
    file = tmp_path / "window.sqlite"
    async with opened(store=f"sqlite:///{file}", event_rule=f"{__name__}.six_sources") as room:
        (first, *_) = await publish(room, "first", FIRST, 0, copies=4)
        (second, *_) = await publish(room, "second", SECOND, 10 * MINUTE, copies=1)
        key = room.detector.index.layout.story(bytes.fromhex(second.story))
        await overwrite(room.detector.index, key, {b"counts": counters})
        (both,) = await publish(room, "both", BOTH, 20 * MINUTE)
        assert (both.status, both.story, both.event) == ("related", first.story, "breaking")
        assert first.story not in (await room.detector.final_stories()).values()


def _stream(room: Newsroom, seed: int) -> list[Document]:
    draw = random.Random(seed)
    made = []
    for event in range(6):
        for number in range(8):
            names = draw.choice((FIRST, SECOND, BOTH))
            at = draw.uniform(0, 90 * MINUTE)
            made.append(
                (
                    at,
                    room.article(
                        f"{event} {number}", f"s{draw.randrange(20)}", at, text=report(number % 5, names, event)
                    ),
                )
            )
    return [article for _, article in sorted(made, key=lambda each: each[0])]


async def _judged(seed: int, **settings: object) -> object:
    async with opened(**settings) as room:
        verdicts = [await room.detector.check(article) for article in _stream(room, seed)]
        await room.detector.finish(all_over=True)
        events = [(each.level, each.time, each.story, each.members) for each in room.detector.take_events()]
        return verdicts, events, await room.detector.final_stories()


async def test_a_replay_says_the_same_every_time_and_over_every_store(
    request: pytest.FixtureRequest, namespace: str
) -> None:
    seed = 0
    said = await _judged(seed, store="memory://", run="")
    assert said == await _judged(seed, store="memory://", run="")
    assert said[2]  # type: ignore[index]  # final stories
    for name in ("sqlite", "redis"):
        assert said == await _judged(seed, store=STORES[name](request), namespace=f"{namespace}-{seed}", run=""), name


async def publish_three(room: Newsroom) -> list[str | None]:
    texts = {"a": BUDGET, "b": STRIKE, "c": OF_BOTH}
    verdicts = [await room.publish(name, name, MINUTE, text=each) for name, each in texts.items()]
    return [verdict.story for verdict in verdicts]


async def test_a_store_that_is_gone_leaves_what_this_process_knows(
    redis_server: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    async with opened(store=redis_server.url, store_timeout=3) as room:
        await publish_three(room)
        expected = await room.detector.final_stories()
        redis_server.stop()
        assert await room.detector.final_stories() == expected != {}
    assert len([record for record in caplog.records if "final stories cannot be read" in record.message]) == 1


def test_a_replay_gives_final_stories_in_ids_of_the_input(tmp_path: Path) -> None:
    # Documents that are judged together share their final stories, so other documents stand between these.
    others = [(f"other {number}", text(number)) for number in range(256)]
    rows = [
        {"id": name, "url": f"https://{name}.example/news", "time": 1_700_000_000 + number, "text": body}
        for number, (name, body) in enumerate((("budget", BUDGET), ("strike", STRIKE), *others, ("both", OF_BOTH)))
    ]
    write_lines(tmp_path / "in.jsonl", rows)
    command = ("neardup", "replay", "in.jsonl", "-O", "out.jsonl", "--stories", "stories.jsonl")
    done = run_scrapy(tmp_path, *command, "--json")
    assert done.returncode == 0, done.stderr
    stories = {row["id"]: row["story"] for row in read_lines(tmp_path / "out.jsonl") if "other" not in row["id"]}
    assert stories == {"budget": "budget", "strike": "strike", "both": "budget"}
    assert read_lines(tmp_path / "stories.jsonl") == [{"story": "strike", "final_story": "budget"}]
    assert json.loads(done.stdout)["stories_united"] == 1
    assert "became a part" in run_scrapy(tmp_path, *command).stdout
    assert run_scrapy(tmp_path, *command[:-1], "in.jsonl").returncode == 2
