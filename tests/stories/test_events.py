"""Events: when a story becomes one, when it ends, and that coverage is counted once."""

from __future__ import annotations

import pytest
from documents import DAY
from joins import end_event
from newsdesk import HOUR, MINUTE, START, Newsroom, opened
from redis import Redis


async def test_the_item_that_tips_a_story_carries_the_event(newsroom: Newsroom) -> None:
    verdicts = [await newsroom.publish("fire", f"s{n}", n * MINUTE) for n in range(10)]

    assert [verdict.event for verdict in verdicts] == [None] * 5 + ["breaking"] + [None] * 4
    (event,) = newsroom.events
    assert (event.level, event.time, event.story.id) == ("breaking", START + 5 * MINUTE, verdicts[0].story)
    assert len(event.members) == 6


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


async def test_the_alarm_budget_raises_the_threshold(
    store_url: str, namespace: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with opened(store=store_url, namespace=namespace, events_per_day=2, event_rule="sources") as room:
        for number in range(23):  # more events than the budget allows
            await end_event(room.detector.index, f"{number}", -DAY, sources=8)
        await room.pass_time(0, HOUR)
        assert room.detector.stories.breaking_over == 8
        assert caplog.text.count("An event is breaking only with more than 8 new sources within an hour") == 1

        verdicts = [await room.publish("quake", f"s{n}", HOUR + n) for n in range(10)]
        assert [verdict.event for verdict in verdicts if verdict.event] == ["watch", "breaking"]
        assert verdicts[8].event == "breaking"

    async with opened(store=store_url, namespace=namespace, events_per_day=2, event_rule="sources") as room:
        if store_url != "memory://":
            await room.pass_time(2 * HOUR, 3 * HOUR)
            assert room.detector.stories.breaking_over == 8


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
