"""Stories of two shards become one in two steps; a process may die between them."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import pytest
from conftest import OpenIndex
from documents import HOUR, MINUTE
from fleet import Sharded
from joins import beginning, joining
from redis import Redis

from scrapy_neardup.document import Claim, Member
from scrapy_neardup.exceptions import StoreError, StoreUnavailable
from scrapy_neardup.index.redis.sharded import ShardedRedisIndex

SHARDS = 2


@pytest.fixture
async def index(open_index: OpenIndex, redis_url: str) -> ShardedRedisIndex:
    index = await open_index(Sharded(redis_url, SHARDS))
    assert isinstance(index, ShardedRedisIndex)
    return index


def firsts_in_turn(index: ShardedRedisIndex, count: int) -> list[Member]:
    """First documents of stories, each in another shard than the one before."""
    found: list[Member] = []
    for number in itertools.count():
        first = beginning(f"first {number}", number)
        prefix = index.layout.prefix_of_story(bytes.fromhex(first.id))
        if not found or index.layout.prefix_of_story(bytes.fromhex(found[-1].id)) != prefix:
            found.append(first)
        if len(found) == count:
            return found
    raise AssertionError


async def die_while_uniting(index: ShardedRedisIndex, story: Member, other: Member) -> None:
    """Mark the later story as a part of the earlier one, and go no further."""
    stories = index._stories
    write = stories._write

    async def die(*arguments: object) -> bool:
        if len(arguments) == 3 and arguments[1].key == bytes.fromhex(max(story.id, other.id)):  # type: ignore[attr-defined]
            return await write(*arguments)  # type: ignore[arg-type]  # it is kept before it is marked
        raise StoreUnavailable("the process died")

    stories._write = die  # type: ignore[method-assign,assignment]
    with pytest.raises(StoreUnavailable):
        await index.unite(story.id, other)
    stories._write = write  # type: ignore[method-assign]


@pytest.mark.parametrize("joins", [(0, 1), (0,), (1,)], ids=["two stories", "one document moves", "one document stays"])
async def test_the_next_join_takes_the_step_that_is_missing(index: ShardedRedisIndex, joins: Sequence[int]) -> None:
    firsts = firsts_in_turn(index, 2)
    for number in joins:
        await index.join(joining(firsts[number], f"a {number}", MINUTE))
        await index.join(joining(firsts[number], f"b {number}", MINUTE))
    asks, other = (firsts[joins[0]], firsts[1 - joins[0]])
    if joins == (1,):
        await index.join(joining(other, "c", MINUTE))  # else it would be kept first
    await die_while_uniting(index, asks, other)

    final = await index.final_stories([each.id for each in firsts])
    story = await index.join(joining(firsts[1], "d", HOUR))
    again = await index.join(joining(firsts[1], "d", HOUR))

    assert final == {firsts[1].id: firsts[0].id}
    members = await index.members(firsts[0].id)
    assert story == again
    assert (story.id, story.united) == (firsts[0].id, (firsts[1].id,))
    assert story.items == len(story.sources) == len(members) == {2: 7, 1: 5}[len(joins)] + (joins == (1,))
    assert {each.number for each in members} == {*range(1, len(members) + 1)}


async def test_who_unites_them_again_takes_the_step_that_is_missing(index: ShardedRedisIndex) -> None:
    firsts = firsts_in_turn(index, 2)
    for first in firsts:
        await index.join(joining(first, f"of {first.title}", MINUTE))
    await die_while_uniting(index, *firsts)

    story = await index.unite(firsts[1].id, firsts[0])

    assert (story.items, story.united) == (4, (firsts[1].id,))
    assert await index.unite(firsts[0].id, firsts[1]) == story


async def test_a_step_is_made_up_for_in_a_story_that_moved_meanwhile(index: ShardedRedisIndex) -> None:
    """The third story was about to become a part of the second one when that became a part of the first."""
    firsts = firsts_in_turn(index, 3)
    for first in firsts:
        await index.join(joining(first, f"of {first.title}", MINUTE))
    await die_while_uniting(index, firsts[1], firsts[2])
    await index.unite(firsts[0].id, firsts[1])

    story = await index.join(joining(firsts[2], "d", HOUR))

    assert (story.id, story.items) == (firsts[0].id, 7)
    assert set(story.united) == {firsts[1].id, firsts[2].id}


async def test_a_story_that_was_marked_has_no_events_of_its_own(index: ShardedRedisIndex) -> None:
    firsts = firsts_in_turn(index, 2)
    for first in firsts:
        await index.join(joining(first, f"of {first.title}", MINUTE))
    await index.claim(Claim(firsts[1].id, "watch"))
    await die_while_uniting(index, *firsts)

    assert await index.open_events() == []
    assert await index.claim(Claim(firsts[1].id, "breaking")) is None
    assert (await index.join(joining(firsts[1], "d", HOUR))).levels == ("watch",)
    assert [each.id for each in await index.open_events()] == [firsts[0].id]


# Damage


@pytest.mark.parametrize("field", ["moved", "united"])
@pytest.mark.parametrize("value", [b"x", b"\xff" * 8, b"\xff" * 7, b"own key", b"\0" * 400])
@pytest.mark.parametrize("shards", [1, SHARDS])
async def test_damage_to_a_story_stops_no_other(
    open_index: OpenIndex, redis_url: str, namespace: str, field: str, value: bytes, shards: int
) -> None:
    """A damaged story may be an error; it never hangs, and other stories stay as they are."""
    index = await open_index(Sharded(redis_url, shards) if shards > 1 else redis_url)
    damaged, other = beginning("damaged", 10), beginning("other", 20)
    for first in (damaged, other):
        await index.join(joining(first, f"of {first.title}", MINUTE))
    await index.claim(Claim(damaged.id, "watch", token="0123456789abcdef"))
    with Redis.from_url(redis_url) as client:
        (name,) = client.scan_iter(match=f"{{neardup:{namespace}*:story:{damaged.id}")
        client.hset(name, field, bytes.fromhex(damaged.id) if value == b"own key" else value)

    for step in (
        index.join(joining(damaged, "new", HOUR)),
        index.unite(damaged.id, other),
        index.unite(other.id, damaged),
        index.claim(Claim(damaged.id, "breaking")),
    ):
        try:
            await step
        except StoreError as error:  # noqa: PERF203
            assert damaged.id in str(error)  # noqa: PT017
    for question in (index.open_events(), index.take_over(0), index.members(damaged.id), index.summary()):
        await question
    final = await index.final_stories([damaged.id, other.id, "00" * 8])
    assert set(final) <= {damaged.id, other.id}
    last = beginning("last", 30)
    assert (await index.join(joining(last, "x", HOUR))).items == 2
    if field == "moved":
        assert (await index.join(joining(other, "new", HOUR))).items == 3
        assert (await index.unite(other.id, last)).items == 5
