"""Every store: memory is bounded by what the window holds, and everything expires."""

import asyncio
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest
from conftest import OpenIndex
from documents import (
    DAY,
    FIRST,
    HOUR,
    MINUTE,
    START,
    Article,
    beginning,
    check,
    join,
    joined,
    joining,
    members_in,
    overwrite,
    stored,
)
from redis import Redis

from scrapy_neardup.index import Index, Policy
from scrapy_neardup.index.upkeep import Selection
from scrapy_neardup.records.packing import join_entries


@pytest.mark.every_store
async def test_what_left_the_window_is_removed(index: Index) -> None:
    for number in range(60):
        await check(index, Article(f"old {number}", at=number))
    for number in range(60):
        await check(index, Article(f"new {number}", at=number * HOUR))
    for number in range(2):
        await check(index, Article(f"newest {number}", at=83 * HOUR))
    hour = START // HOUR
    summary = await index.summary()
    assert summary.documents_per_slice == {hour + 59: 1, hour + 83: 2}
    assert summary.store.bytes


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
    assert late.id != articles[0].id, "the hour of the first ones is over"


async def test_a_replay_removes_stories_a_window_after_their_last_member(index: Index) -> None:
    later = beginning("later", 20 * HOUR)
    await joined(index, join("copy", HOUR), joining(later, "another", 21 * HOUR))
    for number in range(2):
        await check(index, Article(f"next day {number}", at=27 * HOUR))
    assert [*await stored(index, "story:")] == [index.layout.story(bytes.fromhex(later.id))]


async def test_a_purge_of_a_page_keeps_what_its_source_taught(index: Index) -> None:
    await check(index, Article("wire"))
    ((_, record),) = await index.documents.records()
    key, lines = index.layout.learned(record.source_hash), {b"lines": join_entries([b"line" + record.source_hash])}
    await overwrite(index, key, lines)
    await index.purge(Selection(url_hash=record.url_hash, is_named=lambda name: False))
    assert await index.documents.records() == []
    assert (await stored(index, "learned"))[key] == lines


async def test_an_idle_sqlite_namespace_vanishes(
    open_index: OpenIndex, sqlite_file: Path, sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever writes into the file frees what has expired, of whatever namespace."""
    idle = await open_index(sqlite_url, namespace="-idle")
    await check(idle, Article())
    await joined(idle, join("copy", 60, "copy.example"))
    await idle.close()

    kept = []
    for hours in (20, 60):
        with monkeypatch.context() as patch:
            patch.setattr("time.time", lambda seconds=time.time() + hours * HOUR: seconds)  # noqa: B008
            other = await open_index(sqlite_url, namespace="-other")
            await other.runs.beat()
            await other.close()
        with closing(sqlite3.connect(sqlite_file)) as sql:
            entries = sql.execute(
                "SELECT count(*) FROM entries WHERE key IN (SELECT id FROM keys WHERE name LIKE '%-idle%')"
            )
            kept.append(entries.fetchone()[0] > 0)
            assert sql.execute("SELECT count(*) FROM entries WHERE key NOT IN (SELECT id FROM keys)").fetchone()[0] == 0

    assert kept == [True, False]


async def test_a_crawl_with_a_shorter_window_ends_no_key_sooner(
    open_index: OpenIndex, sqlite_file: Path, sqlite_url: str, redis_url: str, redis_keys: Redis, namespace: str
) -> None:
    def in_sqlite() -> dict[str, float]:
        with closing(sqlite3.connect(sqlite_file)) as sql:
            return dict(sql.execute("SELECT name, expires FROM keys"))

    def in_redis() -> dict[bytes, float]:
        return {name: time.time() + redis_keys.ttl(name) for name in redis_keys.scan_iter(f"{{neardup:{namespace}:*")}

    for url, expiries in ((sqlite_url, in_sqlite), (redis_url, in_redis)):
        await check(await open_index(url), Article())
        before = expiries()
        await check(await open_index(url, Policy(window=2 * HOUR)), Article("another"))
        assert all(expiries()[name] > seconds - MINUTE for name, seconds in before.items())
        assert len(before) >= 2


async def test_a_crawl_with_a_shorter_window_ends_no_document_or_story_of_another(
    open_index: OpenIndex, sqlite_url: str, redis_url: str
) -> None:
    for url in (sqlite_url, redis_url):
        index, other = await open_index(url), await open_index(url, Policy(window=2 * HOUR))
        other.partition.run = 1
        await joined(index, join("copy", 60, "copy.example"))
        for hour in range(8):
            await check(other, Article(f"new {hour}", at=hour * HOUR))
        assert len(await members_in(index, FIRST.id)) == 2
        assert len(await index.documents.records()) == 9


async def test_many_copies_keep_the_cost_of_a_redis_key_bounded(
    open_index: OpenIndex, redis_url: str, redis_keys: Redis, namespace: str
) -> None:
    index = await open_index(redis_url)
    article = Article()
    await asyncio.gather(*(check(index, article.copy()) for _ in range(200)))
    bands = list(redis_keys.scan_iter(match=f"{{neardup:{namespace}:*:bands:*"))
    assert max(len(value) for name in bands for value in redis_keys.hvals(name)) <= 16 * 8
