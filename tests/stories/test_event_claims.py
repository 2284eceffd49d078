"""Claims of events: asked for twice, lost on the way, and left by processes that died."""

import asyncio
import re
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from conftest import OpenIndex
from documents import START, joined, members_in, overwrite, stored
from documents import member as made_member
from faults import Clock, Network
from json_lines import read_lines
from news_site import article
from newsdesk import MINUTE, opened
from redis import Redis
from scrapy import Spider
from scrapy.utils.test import get_crawler
from servers import RedisServer

from scrapy_neardup.exceptions import StoreError
from scrapy_neardup.index import Breaker, Index
from scrapy_neardup.index.events import Granted
from scrapy_neardup.pipeline import NearDupPipeline
from scrapy_neardup.records.stories import pack_claim
from scrapy_neardup.signals import story_event
from scrapy_neardup.stories.report import special_report
from scrapy_neardup.story import CRAWL, Claim, Extent, Join, Member

ITEM = "2a" * 8
TOKENS = ["0123456789abcdef", "fedcba9876543210"]
LEVELS = ["watch", "breaking", "update", "ended"]


def member(number: int) -> Member:
    return made_member(f"Title {number}", number, f"s{number}.example")


async def begin_story(index: Index, members: int = 12) -> str:
    for number in range(1, members):
        await joined(index, Join(member(0), member(number)))
    return member(0).id


async def claims_of(index: Index, story: str, level: str, token: str) -> Claim:
    if level in ("update", "ended"):
        await index.events.claim(Claim(story, "breaking", extent=Extent(6, 6)))
    return Claim(story, level, START + 60, extent=Extent(12, 12), token=token, item=ITEM)  # type: ignore[arg-type]


@pytest.mark.in_memory
@pytest.mark.parametrize("level", LEVELS)
async def test_who_asks_again_gets_the_same_grant_and_nobody_else_does(index: Index, level: str) -> None:
    story = await begin_story(index)
    claim = await claims_of(index, story, level, TOKENS[0])
    first = await index.events.claim(claim)
    again = await index.events.claim(claim)
    other = await index.events.claim(Claim(story, claim.level, START + 60, extent=claim.extent, token=TOKENS[1]))
    assert len(first.members) == 12
    assert again == replace(first, claim=replace(first.claim, last_source=0))
    assert other is None


async def test_a_grant_that_nobody_confirms_is_taken_over_once(open_index: OpenIndex, shared_url: str) -> None:
    indexes = [await open_index(shared_url) for _ in range(3)]
    story = await begin_story(indexes[0])
    await indexes[0].events.claim(await claims_of(indexes[0], story, "update", TOKENS[0]))
    assert await indexes[1].events.take_over(3600) == []
    (untold,) = await indexes[1].events.take_over(0)
    assert (untold.claim.token, untold.claim.item, untold.story.id) == (TOKENS[0], ITEM, story)
    assert untold.claim.signalled == Extent(6, 6)
    assert len(untold.members) == untold.story.items == 12
    assert await indexes[2].events.take_over(3600) == []  # it is in the hands of the one before
    await indexes[1].events.confirm([(TOKENS[0], CRAWL)])
    assert await indexes[2].events.take_over(0) == []


async def test_an_event_is_taken_over_once_its_crawl_is_over(open_index: OpenIndex, shared_url: str) -> None:
    """Others get what no receiver has confirmed, if they have one of these receivers."""
    crawl, other, third = [await open_index(shared_url) for _ in range(3)]
    for number, each in enumerate((crawl, other, third)):
        each.partition.run = number + 7
    for each in (crawl, other, crawl):  # so the crawl lives when the other one has begun
        await each.runs.beat()
    claim = await claims_of(crawl, await begin_story(crawl), "watch", TOKENS[0])
    await crawl.events.claim(replace(claim, receivers=(CRAWL, b"hook")))

    assert await other.events.take_over(0) == []
    await crawl.runs.beat(is_over=True)
    (taken,) = await other.events.take_over(0)
    assert (taken.claim.run, taken.claim.receivers) == (8, (CRAWL,))
    assert await third.events.take_over(0, [CRAWL, b"chat"]) == []
    (left,) = await third.events.take_over(0, [CRAWL, b"hook"])
    assert (left.claim.run, left.claim.receivers) == (9, (b"hook",))
    assert await third.events.take_over(0, [b"hook"], [(TOKENS[0], b"hook")]) == []


@pytest.mark.in_memory
async def test_an_event_whose_story_has_expired_is_forgotten(index: Index) -> None:
    """So crawls that are shorter than the window leave nothing behind. A story that has not expired stays."""
    story = await begin_story(index)
    await index.events.claim(await claims_of(index, story, "watch", TOKENS[0]))
    await overwrite(index, index.layout.events, {bytes(8): b"", bytes.fromhex(story): b""})
    assert await index.events.quiet(START - 1) == []
    (events,) = (await stored(index, "events")).values()
    assert [*events] == [bytes.fromhex(story)]


async def test_a_claimant_whose_clock_is_ahead_keeps_its_event(
    open_index: OpenIndex, redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    claimant, other = [await open_index(redis_url) for _ in range(2)]
    story = await begin_story(claimant)
    with monkeypatch.context() as ahead:
        now = time.time()
        ahead.setattr(time, "time", lambda: now + 61)
        assert await claimant.events.claim(await claims_of(claimant, story, "breaking", TOKENS[0]))
    assert await other.events.take_over(60) == []


async def test_claims_that_are_damaged_or_older_than_a_window_are_left_out(
    open_index: OpenIndex, redis_url: str
) -> None:
    index = await open_index(redis_url)
    name = index.layout.outbox
    claim = await claims_of(index, await begin_story(index), "breaking", TOKENS[0])
    with Redis.from_url(redis_url) as client:
        now = client.time()[0]
        for token, hours in zip(TOKENS, (23, 25), strict=True):
            client.hset(name, token.encode() + CRAWL, pack_claim(now - hours * 3600, claim))
        gone = pack_claim(1, Claim("00" * 8, "watch"))
        for number, damaged in enumerate([b"", b"\xff", b"1 2 3", gone[:-1], gone + b"x", gone]):
            client.hset(name, f"{number:016x}".encode() + CRAWL, damaged)
        assert [each.claim.token for each in await index.events.take_over(0)] == [TOKENS[0]]
        assert client.hkeys(name) == [TOKENS[0].encode() + CRAWL]


@pytest.mark.parametrize(("arriving", "lost"), [(1, 3), (0, 2)])
async def test_an_event_is_told_though_the_answer_to_its_claim_was_lost(
    redis_server: RedisServer, namespace: str, arriving: int, lost: int
) -> None:
    """The first answer is what the claim reads, the second that it is granted.

    The client asks twice. Then the process looks into the store, and the next document claims the level for itself if
    nobody was granted it.
    """
    network = Network(redis_server.port)
    async with opened(store=network.url, namespace=namespace, store_timeout=30, delivers_later=True) as room:
        index, clock = room.detector.index, Clock()
        claim = index.events.claim
        await claim(Claim("00" * 8, "watch"))  # the server has learned the script
        room.detector.breaker = Breaker(clock)
        asked: list[Claim] = []

        async def lose_answers(each: Claim) -> Granted | None:
            asked.append(each)
            if len(asked) == 1:
                network.lose_answers(lost, arriving)
            return await claim(each)

        index.events.claim = lose_answers  # type: ignore[method-assign,assignment]
        for n in range(9):
            clock.now += 60  # the breaker tries again
            await room.publish("fire", f"s{n}", n * MINUTE)

    assert room.levels == ["breaking"]
    was_granted = arriving > 0 or lost == 1
    assert len(room.events[0].members) == (6 if was_granted else 7)
    assert len({each.token for each in asked if each.level == "breaking"}) == (1 if was_granted else 2)


async def test_an_event_outlives_the_process_that_claimed_it(sqlite_url: str, namespace: str) -> None:
    """It was granted events, and has told nobody."""
    room_of = partial(opened, store=sqlite_url, namespace=namespace)
    async with room_of() as silent:
        for n in range(12):
            await silent.detector.check(silent.article("fire", f"s{n}", n * MINUTE))
        granted = [event.id for event in silent.detector.take_events()]
        assert [each.split("-")[1] for each in granted] == ["breaking", "update"]
        async with room_of() as early:
            await early.publish("other", "a", 30 * MINUTE)
            assert early.levels == []  # the process may live
        async with room_of() as room:
            room.detector.stories.unconfirmed_after = 0
            await room.publish("more", "b", 31 * MINUTE)
            assert sorted(event.id for event in room.events) == sorted(granted)
            reports = {event.level: special_report(event) for event in room.events}
            assert len(reports["breaking"]["members"]) == reports["breaking"]["items"] == 6
            assert reports["breaking"]["time"] == "2023-11-14T22:18:20Z"
            assert reports["breaking"]["item"] == reports["breaking"]["members"][-1]["id"]
            assert reports["update"]["update"]["items_before"] == 6
            await room.detector.confirm_events()
        async with room_of() as late:
            late.detector.stories.unconfirmed_after = 0
            await late.publish("even more", "c", 32 * MINUTE)
            assert late.levels == []


async def test_events_that_are_taken_and_followed_by_others_count_as_passed_on(shared_url: str, namespace: str) -> None:
    async with opened(store=shared_url, namespace=namespace) as room:
        await room.spread("fire", range(8))
    async with opened(store=shared_url, namespace=namespace) as next_room:
        next_room.detector.stories.unconfirmed_after = 0
        await next_room.publish("other", "a", 30 * MINUTE)
        await next_room.detector.finish()
        assert (room.levels, next_room.levels, next_room.detector.take_events()) == (["breaking"], [], [])


async def test_a_process_does_not_take_over_from_itself() -> None:
    async with opened(store="memory://") as room:
        room.detector.stories.unconfirmed_after = 0
        for n in range(6):
            await room.detector.check(room.article("fire", f"s{n}", n * MINUTE))
        await room.detector.finish()
        assert [event.level for event in room.detector.take_events()] == ["breaking"]


async def test_events_raised_before_the_store_fails_are_not_lost() -> None:
    """Two events end in one sweep, and the second claim fails."""
    async with opened(store="memory://") as room:
        for name in ("fire", "flood"):
            for n in range(6):
                await room.publish(name, f"s{n}", n * MINUTE)
        claim = room.detector.index.events.claim
        failures = [True]

        async def fail_once(each: Claim) -> object:
            if each.story == max(event.story.id for event in room.events) and failures:
                failures.clear()
                raise StoreError("damaged")
            return await claim(each)

        room.detector.index.events.claim = fail_once  # type: ignore[method-assign,assignment]
        await room.detector.finish(all_over=True)
        await room.detector.finish(all_over=True)
        assert [event.level for event in room.detector.take_events()] == ["ended", "ended"]


@pytest.mark.parametrize("lost", [":story:", ":"], ids=["the story", "all but the records"])
async def test_an_event_of_an_evicted_story_has_the_same_id_again(redis_url: str, namespace: str, lost: str) -> None:
    async def publish(begin: int) -> dict[str, str]:
        """Return the ids of events, by level, that a process of its own raises over the next seven sources."""
        async with opened(store=redis_url, namespace=namespace) as room:
            for number in range(begin, begin + 7):
                await room.publish("fire", f"s{number}", number * MINUTE)
            return {event.level: event.id for event in room.events}

    first = await publish(0)
    with Redis.from_url(redis_url) as client:
        keys = client.scan_iter(match=f"{{neardup:{namespace}:*", count=1000)
        client.unlink(*(key for key in keys if lost.encode() in key and not re.search(b":(records|bands):", key)))
    again = await publish(7)
    assert list(first) == list(again) == ["breaking"]
    assert again == first


async def crawled(feed: str | None) -> NearDupPipeline:
    """Return a pipeline over twelve copies of an article, whose events are not sent yet."""
    crawler = get_crawler(Spider, {"NEARDUP_STORE": "memory://", "NEARDUP_EVENTS_FEED": feed})
    crawler.spider = Spider("news")
    pipeline = NearDupPipeline.from_crawler(crawler)
    await pipeline.open_spider()
    for number in range(12):
        document = pipeline.detector.document(article("fire"), url=f"https://www.s{number}.example/", title="Fire")
        await pipeline.detector.check(document)
    return pipeline


async def test_an_event_that_cannot_be_reported_takes_no_other_with_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    pipeline = await crawled(f"{tmp_path}/events.jsonl")
    events = pipeline.detector.stories.outbox._in_hand
    first = next(iter(events))
    events[first] = replace(events[first], time=1 << 62)  # in no calendar
    await pipeline.close_spider()
    await pipeline._close_detector()
    assert [row["level"] for row in read_lines(tmp_path / "events.jsonl")] == ["breaking", "update"]
    assert caplog.text.count("a bug in scrapy-neardup") == 1


async def test_an_event_keeps_its_id_when_its_story_has_become_a_part_of_another(
    shared_url: str, namespace: str
) -> None:
    async with (
        opened(store=shared_url, namespace=namespace) as room,
        opened(store=shared_url, namespace=namespace) as other,
    ):
        for n in range(6):
            for fire in ("fire", "blaze"):
                await room.detector.check(room.article(fire, f"s{n}", n * MINUTE))
        events = room.detector.take_events()
        older, newer = sorted(event.story.id for event in events)
        (first,) = [each for each in await members_in(room.detector.index, newer) if each.id == newer]
        await room.detector.index.stories.unite(older, first)
        other.detector.stories.unconfirmed_after = 0
        await other.detector.finish()
        assert {each.id for each in other.detector.take_events()} == {each.id for each in events}


async def test_the_store_keeps_an_event_until_all_signals_are_sent() -> None:
    """Also if another item asks for its events meanwhile."""
    pipeline = await crawled(None)
    waiting = []

    async def note_waiting() -> None:
        others.append(asyncio.create_task(pipeline.announcer.send_events()))
        for _ in range(20):
            await asyncio.sleep(0)
        waiting.append((await pipeline.detector.index.summary()).waiting)

    others: list[asyncio.Task[None]] = []
    pipeline.crawler.signals.connect(note_waiting, story_event)
    await pipeline.announcer.send_events()
    await asyncio.gather(*others)
    waiting.append((await pipeline.detector.index.summary()).waiting)
    await pipeline.close_spider()
    await pipeline._close_detector()
    assert waiting == [3, 3, 3, 0]
