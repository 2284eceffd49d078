"""Whoever changes a story reads it, decides, and swaps: nothing is lost or counted twice, whatever others do."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

import numpy as np
import pytest
from conftest import OpenIndex
from documents import MINUTE, Article, check
from joins import FIRST, beginning, join, joined, joining
from redis import Redis

from scrapy_neardup.contracts import KnownBoilerplate
from scrapy_neardup.document import Claim, Extent
from scrapy_neardup.index import Index
from scrapy_neardup.index.redis.store import RedisStore
from scrapy_neardup.index.store import Call, Commit
from scrapy_neardup.records.feature_counts import NOTHING, SLOTS, pack_counted, unpack_sum

OTHER = beginning("other", 20)


class Interrupted:
    """Lets somebody else in before each of the first swaps, or loses their answers."""

    def __init__(self, *others: Callable[[], Awaitable[object]], loses_answers: int = 0) -> None:
        self.others = list(others)
        self.lost = loses_answers
        self.swaps: list[object] = []  # the answers

    def of(self, index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
        """Interrupt this index, and no other."""
        assert isinstance(index.store, RedisStore)
        assert index.store.client is not None
        self._run = index.store.client.run
        monkeypatch.setattr(index.store.client, "run", self.run)

    async def run(self, calls: Sequence[Call | Commit]) -> list[object]:
        swaps = [number for number, call in enumerate(calls) if isinstance(call, Commit)]
        if swaps and self.others:
            await self.others.pop(0)()
        answers = await self._run(calls)
        if swaps and self.lost:  # as redis-py, which sends the command again
            self.lost -= 1
            answers = await self._run(calls)
        self.swaps += [1 if answers[number] == 1 else None for number in swaps]
        return answers


async def interrupted(
    open_index: OpenIndex,
    url: str,
    interruptions: Interrupted,
    monkeypatch: pytest.MonkeyPatch,
) -> Index:
    index = await open_index(url)
    interruptions.of(index, monkeypatch)
    return index


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scrapy_neardup.index.store._PAUSE", 0.0)


@pytest.mark.parametrize("change", ["join", "claim", "unite", "vanish"])
@pytest.mark.parametrize("step", ["join", "claim", "unite"])
async def test_a_story_that_others_change_is_read_again(
    open_index: OpenIndex,
    redis_url: str,
    redis_keys: Redis,
    step: str,
    change: str,
    at_once: None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    other = await open_index(redis_url)
    await joined(other, join("a", MINUTE, "a.example"))
    await joined(other, joining(OTHER, "b", MINUTE, "b.example"))

    async def changed() -> None:
        if change == "join":
            await joined(other, join("c", MINUTE, "c.example"))
        elif change == "claim":
            assert await other.claim(Claim(FIRST.id, "watch", extent=Extent(2, 2)))
        elif change == "unite":
            await other.unite(FIRST.id, beginning("third", 30))
        else:
            redis_keys.delete(f"{other.layout.prefix}:story:{FIRST.id}")

    interruptions = Interrupted(changed)
    index = await interrupted(open_index, redis_url, interruptions, monkeypatch)
    gone = change == "vanish"
    before = 3 if change in ("join", "unite") else 2
    if step == "join":
        story = await joined(index, join("d", MINUTE, "d.example"))
        assert story.items == before + 1 - gone  # it begins with its first document again
        titles = {each.title for each in await index.members(FIRST.id)}
        assert titles >= ({"first", "c", "d"} if change == "join" else {"first", "d"})
    elif step == "claim":
        granted = await index.claim(Claim(FIRST.id, "watch", extent=Extent(2, 2), token="0" * 16))
        assert (granted is None) == (change == "claim" or gone)
        assert granted is None or len(granted.members) == before
    else:
        story = await index.unite(FIRST.id, OTHER)
        assert story.items == before + 2 - (2 if gone else 0)
        assert OTHER.id in story.united
    assert interruptions.swaps == ([None] if step == "claim" and (change == "claim" or gone) else [None, 1])
    kept = await index.open_events()
    assert [each.levels for each in kept] == (
        [("watch",)] if change == "claim" or (step == "claim" and not gone) else []
    )


async def test_a_swap_whose_answer_was_lost_counts_once(
    open_index: OpenIndex,
    redis_url: str,
    at_once: None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    interruptions = Interrupted(loses_answers=99)
    index = await interrupted(open_index, redis_url, interruptions, monkeypatch)
    joins = [join(str(number), MINUTE, f"{number}.example") for number in range(5)]

    stories = await asyncio.gather(*(joined(index, each) for each in joins))
    united = await index.unite(FIRST.id, OTHER)
    claim = Claim(FIRST.id, "breaking", extent=united.extent, token="0" * 16)
    granted = await index.claim(claim)

    assert [story.items for story in stories] == [2, 3, 4, 5, 6]
    assert (united.items, united.joined) == (7, 7)
    assert granted is not None
    assert granted == await index.claim(claim)
    assert interruptions.swaps == [None] * (len(joins) + 2)


async def test_a_beat_and_a_delivery_are_repeated_if_others_change_what_they_read(
    open_index: OpenIndex,
    redis_url: str,
    redis_keys: Redis,
    at_once: None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    index, other = await open_index(redis_url), await open_index(redis_url)
    index.run, other.run = 1, 2
    await other.beat()
    article = Article()
    await check(index, article)

    interruptions = Interrupted(other.end_run)
    interruptions.of(index, monkeypatch)
    await index.beat(alive=[2])
    assert set(redis_keys.hgetall(f"{index.layout.prefix}:runs")) == {b"1"}, "the run that ended stays dead"
    interruptions.others.append(lambda: other.withdraw([article.id]))
    await index.deliver([article.id])
    assert await index.records() == [], "a record that was removed stays removed"
    assert interruptions.swaps == [None, 1, None]


async def test_what_was_learned_and_counted_is_added_once_if_its_answer_was_lost(
    open_index: OpenIndex, redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = await interrupted(open_index, redis_url, Interrupted(loses_answers=99), monkeypatch)
    counted = pack_counted(3, np.bincount([7], minlength=SLOTS).astype(np.uint32))
    learned = KnownBoilerplate((b"line",), (b"document",))

    await index.count_verdicts(5, {"original": 2})

    assert unpack_sum(await index.add_frequencies("x", counted))[0] == 3
    assert unpack_sum(await index.add_frequencies("x", NOTHING))[0] == 3
    assert await index.exchange_boilerplate({b"site": learned}) == {b"site": learned}
    assert await index.verdict_counts(5, 5) == {5: {"original": 2}}


async def test_grants_that_nobody_confirms_are_not_kept_without_end(
    index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("scrapy_neardup.index.stories.MOST_GRANTS", 1)
    await joined(index, join("a", MINUTE, "a.example"))
    for level, token in (("watch", "a"), ("breaking", "b")):
        assert await index.claim(Claim(FIRST.id, level, token=token)) is not None  # type: ignore[arg-type]

    assert [each.token for each in await index.take_over(0)] == ["a"]
