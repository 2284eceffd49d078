"""Counts of verdicts for people who watch: added up over all processes, bounded, and forgotten after two hours."""

from __future__ import annotations

import asyncio
import time

import pytest
from conftest import OpenIndex
from redis import Redis
from stored import overwrite, stored

from scrapy_neardup.index import Index
from scrapy_neardup.index.index import COUNTED_MINUTES, MOST_COUNTED
from scrapy_neardup.index.purging import Selection

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
    for start in range(0, 2 * MOST_COUNTED, 100):
        await index.count_verdicts(MINUTE, {"original": 1, **{f"story:{start + n}": 1 for n in range(100)}})
    found = await index.verdict_counts(MINUTE, MINUTE)
    assert len(found[MINUTE]) == MOST_COUNTED
    assert found[MINUTE]["original"] == 2 * MOST_COUNTED / 100, "names that are known are counted on"


async def test_a_purge_of_all_removes_them(index: Index) -> None:
    await index.count_verdicts(MINUTE, {"original": 1})
    await index.purge(Selection())
    assert await index.verdict_counts(MINUTE, MINUTE) == {}


async def test_damaged_counts_are_left_out(open_index: OpenIndex, shared_url: str) -> None:
    index = await open_index(shared_url)
    await index.count_verdicts(MINUTE, {"original": 1})
    (name,) = await stored(index, "verdicts")
    await overwrite(index, name, {b"no minute": b"x", b"%d:odd" % MINUTE: b"x"})
    assert await index.verdict_counts(MINUTE, MINUTE) == {MINUTE: {"original": 1}}


async def test_redis_forgets_them_by_itself(open_index: OpenIndex, redis_url: str, redis_keys: Redis) -> None:
    index = await open_index(redis_url)
    await index.count_verdicts(MINUTE, {"original": 1})
    (name,) = redis_keys.scan_iter(f"{index.layout.prefix}:verdicts:*")
    assert 0 < redis_keys.ttl(name) <= 60 * (COUNTED_MINUTES + 10)


async def test_sqlite_forgets_them_by_the_clock(
    open_index: OpenIndex, sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = await open_index(sqlite_url)
    await index.count_verdicts(MINUTE, {"original": 1})
    now = time.time
    monkeypatch.setattr("time.time", lambda: now() + 60 * (COUNTED_MINUTES + 11))
    assert await index.verdict_counts(0, 2 * MINUTE) == {}
