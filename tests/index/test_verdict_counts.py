"""Counts of verdicts for people who watch: added up over all processes, bounded, and forgotten after two hours."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from conftest import OpenIndex
from redis import Redis

from scrapy_neardup.index import Index, Selection
from scrapy_neardup.index.base import COUNTED_MINUTES, MOST_COUNTED

MINUTE = 28_333_333


@pytest.mark.every_store
async def test_counts_of_all_processes_are_added_up(open_index: OpenIndex, shared_url: str) -> None:
    first, second = await open_index(shared_url), await open_index(shared_url)
    await asyncio.gather(
        *(index.count_verdicts(MINUTE, {"original": 2, "story:Ü:1": 1}) for index in (first, second) for _ in range(5))
    )
    await second.count_verdicts(MINUTE + 9, {"duplicate": 1})

    counts = {MINUTE: {"original": 20, "story:Ü:1": 10}, MINUTE + 9: {"duplicate": 1}}
    assert await first.verdict_counts(MINUTE - 60, MINUTE + 9) == counts
    assert await first.verdict_counts(MINUTE + 1, MINUTE + 8) == {}


async def test_the_number_of_names_is_bounded(index: Index) -> None:
    for start in range(0, 20 * MOST_COUNTED, 100):
        await index.count_verdicts(MINUTE, {"original": 1, **{f"story:{start + n}": 1 for n in range(100)}})
    found = await index.verdict_counts(MINUTE, MINUTE)
    # Redis counts the names of ten minutes together.
    assert len(found[MINUTE]) in (MOST_COUNTED, 10 * MOST_COUNTED)
    assert found[MINUTE]["original"] == 20 * MOST_COUNTED / 100, "names that are known are counted on"


async def test_a_purge_of_all_removes_them(index: Index) -> None:
    await index.count_verdicts(MINUTE, {"original": 1})
    await index.purge(Selection())
    assert await index.verdict_counts(MINUTE, MINUTE) == {}


async def test_redis_forgets_them_by_itself(open_index: OpenIndex, redis_url: str, redis_keys: Redis) -> None:
    index = await open_index(redis_url)
    await index.count_verdicts(MINUTE, {"original": 1})
    (name,) = redis_keys.scan_iter(f"{index.layout.prefix}:verdicts:*")  # type: ignore[attr-defined]
    assert 0 < redis_keys.ttl(name) <= 60 * (COUNTED_MINUTES + 10)
    redis_keys.hset(name, "no minute", "x")
    assert await index.verdict_counts(MINUTE, MINUTE) == {MINUTE: {"original": 1}}


async def test_sqlite_forgets_them_with_later_ones(open_index: OpenIndex, sqlite_url: str, sqlite_file: Path) -> None:
    index = await open_index(sqlite_url)
    await index.count_verdicts(MINUTE, {"original": 1})
    await index.count_verdicts(MINUTE + COUNTED_MINUTES + 1, {"original": 1})
    with closing(sqlite3.connect(sqlite_file)) as sql:
        assert sql.execute("SELECT minute FROM verdicts_1").fetchall() == [(MINUTE + COUNTED_MINUTES + 1,)]
        sql.execute("UPDATE verdicts_1 SET count = 'damaged'")
        sql.commit()
    assert await index.verdict_counts(0, 2 * MINUTE) == {}
