"""Every store: memory is bounded by what the window holds, and everything expires."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from conftest import OpenIndex
from documents import DAY, HOUR, MINUTE, START, Article, check
from redis import Redis

from scrapy_neardup.index import Index


@pytest.mark.every_store
async def test_what_left_the_window_is_removed(index: Index) -> None:
    for number in range(60):
        await check(index, Article(f"old {number}", at=number))
    for number in range(60):
        await check(index, Article(f"new {number}", at=number * HOUR))
    for number in range(2):
        await check(index, Article(f"newest {number}", at=83 * HOUR))

    hour = START // HOUR
    assert (await index.summary()).documents_per_hour == {hour + 59: 1, hour + 83: 2}


@pytest.mark.parametrize("gap", [3, 30, 3000], ids=lambda days: f"{days} days")
async def test_a_leap_frees_nothing_that_lies_before_it_and_what_follows_goes_on(index: Index, gap: int) -> None:
    """A clock may be wrong, so what lies before is left to the store's own expiry."""
    for hour in range(30):
        await check(index, Article(f"old {hour}", at=hour * HOUR))
    held = (await index.summary()).documents
    for hour in range(50):
        await check(index, Article(f"new {hour}", at=gap * DAY + (30 + hour) * HOUR))

    assert (await index.summary()).documents == held - 1 + 26, (
        "the window, its own hour, and one that two agree is over"
    )


async def test_a_leap_is_forgotten_when_documents_come_back(index: Index) -> None:
    articles = [Article(f"story {number}", at=number * MINUTE) for number in range(20)]
    for article in (*articles, *(Article(f"ahead {number}", at=3 * DAY + number) for number in range(30))):
        await check(index, article)

    for article in articles:
        assert await check(index, article.copy(at=HOUR)) is not None
    for number in range(2):
        await check(index, Article(f"a day on {number}", at=25 * HOUR + number))
    late = await check(index, articles[0].copy(at=HOUR - 1))

    assert late is not None
    assert late.candidate != articles[0].id, "the hour of the first ones is over"


async def test_a_leap_in_memory_is_believed_after_a_thousand_documents(open_index: OpenIndex) -> None:
    index = await open_index("memory://")
    for number in range(20):
        await check(index, Article(f"old {number}", at=number))
    counts = []
    for number in range(1002):
        await check(index, Article(f"new {number}", at=3 * DAY + number, short=True))
        counts.append((await index.summary()).documents)

    assert counts[-2:] == [1021, 1002]


async def test_a_leap_in_a_file_is_believed_after_a_window_of_real_time(
    open_index: OpenIndex, sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Runs by the hour, each of a process of its own, go on where the last one was."""
    counts = []
    for run, hours in enumerate((0, 24 * 3, 24 * 3 + 1, 24 * 4 - 1, 24 * 4)):
        monkeypatch.setattr("time.time", lambda now=START + hours * HOUR: now)
        index = await open_index(sqlite_url)
        for number in range(3):
            await check(index, Article(f"{run} {number}", at=hours * HOUR + number))
        counts.append((await index.summary()).documents)
        await index.close()

    assert counts == [3, 6, 9, 12, 12]


async def test_an_idle_sqlite_namespace_vanishes(
    open_index: OpenIndex, sqlite_file: Path, sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is found idle after a window, and dropped when it still is after another one."""
    idle = await open_index(sqlite_url, namespace="-idle")
    await check(idle, Article())
    await idle.close()

    spaces = []
    for hours in (26, 30, 51):
        with monkeypatch.context() as patch:
            patch.setattr("time.time", _seconds_ahead(hours * HOUR))
            await (await open_index(sqlite_url, namespace="-other")).close()
        with closing(sqlite3.connect(sqlite_file)) as sql:
            spaces.append(sql.execute("SELECT count(*) FROM spaces").fetchone()[0])
            tables = {name for (name,) in sql.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}

    assert spaces == [2, 2, 1]
    assert not {name for name in tables if name.endswith("_1") or name.startswith("postings_1_")}


async def test_a_clock_that_is_wrong_for_a_run_drops_no_namespace(
    open_index: OpenIndex, sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    articles = {name: Article(name) for name in ("-own", "-other")}
    for name, article in articles.items():
        index = await open_index(sqlite_url, namespace=name)
        await check(index, article)
        await index.close()

    with monkeypatch.context() as patch:
        patch.setattr("time.time", _seconds_ahead(3 * DAY))
        index = await open_index(sqlite_url, namespace="-own")
        for number in range(20):
            await check(index, Article(f"ahead {number}", at=3 * DAY + number))
        await index.close()

    for name, article in articles.items():
        assert await check(await open_index(sqlite_url, namespace=name), article.copy(at=HOUR)) is not None


async def test_a_crawl_that_outlived_its_namespace_goes_on_in_a_new_one(
    open_index: OpenIndex, sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    idle = await open_index(sqlite_url, namespace="-idle")
    await check(idle, Article())

    monkeypatch.setattr("time.time", _seconds_ahead(3 * DAY))
    other = await open_index(sqlite_url, namespace="-other")
    await check(other, Article("elsewhere", at=3 * DAY))

    assert await check(idle, Article("elsewhere", at=3 * DAY)) is None
    assert await check(idle, Article("elsewhere", at=3 * DAY)) is not None


async def test_a_flood_out_of_the_window_crowds_nobody_out(index: Index) -> None:
    """A late document is compared with what lies within a window of it, however much lies beyond."""
    original = Article(at=3 * HOUR, short=True)
    await check(index, original)
    for number in range(40):
        await check(index, original.copy(at=26 * HOUR + number))

    match = await check(index, original.copy(at=1 * HOUR))

    assert match is not None
    assert match.original == original.id


async def test_a_thousand_copies_keep_the_cost_of_a_redis_key_bounded(
    open_index: OpenIndex, redis_url: str, redis_keys: Redis, namespace: str
) -> None:
    index = await open_index(redis_url)
    article = Article()

    await asyncio.gather(*(check(index, article.copy()) for _ in range(1000)))

    bands = list(redis_keys.scan_iter(match=f"{{neardup:{namespace}:*:bands:*"))
    assert max(len(value) for name in bands for value in redis_keys.hvals(name)) <= 16 * 8


def _seconds_ahead(seconds: float) -> Callable[[], float]:
    now = time.time
    return lambda: now() + seconds
