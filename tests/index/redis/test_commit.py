"""A check reads, decides and commits: what others register between the first and the last step is not overlooked."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

import pytest
from conftest import OpenIndex
from documents import HOUR, Article, check

from scrapy_neardup.document import Match
from scrapy_neardup.index import Index
from scrapy_neardup.index.redis.store import RedisClient, RedisStore
from scrapy_neardup.index.store import Call, Commit

Meanwhile = Callable[[], Awaitable[object]]


def interrupt(index: Index, monkeypatch: pytest.MonkeyPatch, *steps: Meanwhile) -> list[object]:
    """Before each of the next commits of this index, take a step. Return the answers of all commits."""
    client = client_of(index)
    left, answers, run = list(steps), list[object](), client.run

    async def run_later(calls: Sequence[Call | Commit]) -> list[object]:
        commits = [number for number, call in enumerate(calls) if isinstance(call, Commit)]
        if commits and left:
            await left.pop(0)()
        found = await run(calls)
        answers.extend(found[number] for number in commits)
        return found

    monkeypatch.setattr(client, "run", run_later)
    return answers


def client_of(index: Index) -> RedisClient:
    assert isinstance(index.store, RedisStore)
    assert index.store.client is not None
    return index.store.client


async def together(index: Index, *articles: Article) -> list[Match | None]:
    return await asyncio.gather(*(check(index, each) for each in articles))


@pytest.mark.parametrize("hours", [0, 20])
async def test_a_copy_that_others_register_before_the_commit_is_seen(
    open_index: OpenIndex, redis_url: str, monkeypatch: pytest.MonkeyPatch, hours: int
) -> None:
    ours, theirs = [await open_index(redis_url) for _ in range(2)]
    first = Article(at=HOUR)
    answers = interrupt(ours, monkeypatch, lambda: check(theirs, first))

    match = await check(ours, first.copy(at=HOUR + hours * HOUR))

    assert match is not None
    assert match.original == first.id
    assert answers == [0, 1]


async def test_others_without_a_common_key_stop_nobody(
    open_index: OpenIndex, redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours, theirs = [await open_index(redis_url) for _ in range(2)]
    await together(ours, Article("known"))
    await together(theirs, Article("to them too"))
    answers = interrupt(ours, monkeypatch, lambda: check(theirs, Article("another")))

    assert await check(ours, Article()) is None
    assert answers == [1]


async def test_each_of_several_documents_sees_what_others_register(
    open_index: OpenIndex, redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first of them has no key in common with the other's document, and is registered; the second has."""
    ours, theirs = [await open_index(redis_url) for _ in range(2)]
    await together(ours, Article("known"))
    copied = Article("copied")
    answers = interrupt(ours, monkeypatch, lambda: check(theirs, copied))

    found = await together(ours, Article("a"), Article("b"), copied.copy(), Article("c"), copied.copy())

    assert [match and match.original for match in found] == [None, None, copied.id, None, copied.id]
    assert answers == [1, 1, 0, 1, 0, 1, 1]


async def test_many_checks_whose_commits_always_come_too_late_are_tried_in_smaller_groups(
    open_index: OpenIndex, redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody registers another copy each time that more than two of them are under way."""
    ours, theirs = [await open_index(redis_url) for _ in range(2)]
    copied, copies = Article("copied"), 0
    client = client_of(ours)
    run = client.run

    async def run_late(calls: Sequence[Call | Commit]) -> list[object]:
        nonlocal copies
        if sum(isinstance(call, Commit) for call in calls) > 2:
            copies += 1
            await check(theirs, copied.copy())
        return await run(calls)

    monkeypatch.setattr(client, "run", run_late)

    found = await together(ours, *(copied.copy() for _ in range(16)))

    assert 0 < copies < 16  # it does not go on until each of them was first once
    assert len({match.original for match in found if match}) == 1
    assert sum(match is None for match in found) == 0


async def test_a_commit_whose_answer_was_lost_counts_once(
    open_index: OpenIndex, redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = await open_index(redis_url)
    client = client_of(index)
    run = client.run

    async def run_twice(calls: Sequence[Call | Commit]) -> list[object]:
        await run(calls)  # redis-py sends a command again if the connection broke before the answer
        return await run(calls)

    monkeypatch.setattr(client, "run", run_twice)
    first, copy = Article(), Article()

    assert await check(index, first) is None
    match = await check(index, copy)
    assert match is not None
    assert match.original == first.id
    assert (await index.summary()).documents == 2


async def test_a_copy_of_a_document_that_has_to_be_tried_again_is_tried_again_too(
    open_index: OpenIndex, redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours, theirs = [await open_index(redis_url) for _ in range(2)]
    await together(ours, Article("known"))
    first, page = Article("copied"), Article("copied", url="https://a.example/1")
    answers = interrupt(ours, monkeypatch, lambda: check(theirs, first))

    found = await together(ours, page, page, page.copy())

    assert [match and match.original for match in found] == [first.id] * 3
    assert len({each for each in answers if each != 0}) == 1
