"""Shards on a real Cluster: several processes, slots that move, nodes that are lost."""

from __future__ import annotations

import asyncio
import multiprocessing
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from conftest import CONFIG
from documents import HOUR, Article, check
from fleet import Fleet, Sharded, store_of
from topologies import Cluster

from scrapy_neardup import NearDupSettings
from scrapy_neardup.document import Match
from scrapy_neardup.exceptions import SettingsError, StoreUnavailable
from scrapy_neardup.index import Policy, index_from_url
from scrapy_neardup.index.redis.sharded import Question, ShardedRedisIndex

pytestmark = [pytest.mark.slow, pytest.mark.versions]

if TYPE_CHECKING:
    from conftest import OpenIndex

PROCESSES = 8
TEXTS = 60
SHARDS = 5

_together: Barrier


def _start(barrier: Barrier) -> None:
    global _together
    _together = barrier


def _crawl(url: str, namespace: str, process: int) -> list[tuple[str, str, Match | None]]:
    """Text, document id and match of the same texts in every process."""
    articles = [Article(f"story {number}", serial=process * TEXTS + number) for number in range(TEXTS)]

    async def crawl() -> list[Match | None]:
        index = store_of(url, namespace=namespace, config=CONFIG, policy=Policy(), timeout=20)
        await index.open()
        _together.wait(60)
        answers = await asyncio.gather(*(check(index, article) for article in articles))
        await index.close()
        return answers

    answers = asyncio.run(crawl())
    return [(article.text, article.id, match) for article, match in zip(articles, answers, strict=True)]


def test_eight_processes_have_one_original_of_each_text(fleet: Fleet, namespace: str) -> None:
    url = Sharded(fleet.url("cluster"), SHARDS)
    context = multiprocessing.get_context("spawn")
    barrier = context.Barrier(PROCESSES)
    with ProcessPoolExecutor(PROCESSES, mp_context=context, initializer=_start, initargs=(barrier,)) as pool:
        crawls = [pool.submit(_crawl, url, namespace, process) for process in range(PROCESSES)]
        results = [each for crawl in crawls for each in crawl.result(timeout=120)]

    firsts = {text: key for text, key, match in results if match is None}
    assert len(results) == PROCESSES * TEXTS
    assert Counter(text for text, _, match in results if match is None) == dict.fromkeys(firsts, 1)
    assert len(firsts) == TEXTS
    assert [text for text, _, match in results if match and match.original != firsts[text]] == []


async def test_slots_that_move_while_a_crawl_goes_on(open_index: OpenIndex, tmp_path: Path) -> None:
    """Checks may fail while keys move, and then say so; nothing is a false duplicate and nothing is forgotten."""
    cluster = Cluster(tmp_path).start()
    try:
        index = await open_index(Sharded(cluster.url, SHARDS), timeout=2)
        assert isinstance(index, ShardedRedisIndex)
        stories = [Article(f"story {number}") for number in range(300)]
        before = await asyncio.gather(*(check(index, story) for story in stories))
        prefixes = index.layout.prefixes[:3]
        moving = asyncio.create_task(asyncio.to_thread(lambda: [cluster.move(prefix) for prefix in prefixes]))
        during: list[tuple[Article, Match | BaseException | None]] = []
        rounds = 0
        while rounds < 3 or not moving.done():
            rounds += 1
            copies = [story.copy(at=rounds) for story in stories[:30]]
            copies += [Article(f"news {rounds}/{number}", at=rounds) for number in range(10)]
            answers = await asyncio.gather(*(check(index, copy) for copy in copies), return_exceptions=True)
            during += zip(copies, answers, strict=True)
        await moving
        after = await asyncio.gather(*(check(index, story.copy(at=HOUR)) for story in stories))

        assert before == [None] * len(stories)
        originals = {story.text: story.id for story in stories}
        for copy, answer in during:
            if isinstance(answer, BaseException):
                assert isinstance(answer, StoreUnavailable)
            elif answer is not None:
                assert answer.original == originals[copy.text], "no false duplicate"
        answered = [answer for _, answer in during if not isinstance(answer, BaseException)]
        assert len(answered) > len(during) / 2
        assert [match.original if match else None for match in after] == [story.id for story in stories]
    finally:
        cluster.stop()


async def until_told(cluster: Cluster, index: ShardedRedisIndex) -> None:
    """Until every shard has been told what was decided, which follows the verdict."""
    for name in (f"{prefix}:pending" for prefix in index.layout.prefixes):
        with cluster.master_of(name).client() as client:
            while client.exists(name):  # noqa: ASYNC110  (a server tells no event)
                await asyncio.sleep(0.01)


async def test_a_lost_shard_is_a_lost_store_until_its_replica_takes_over(open_index: OpenIndex, tmp_path: Path) -> None:
    cluster = Cluster(tmp_path).start()
    try:
        index = await open_index(Sharded(cluster.url, SHARDS), timeout=1)
        assert isinstance(index, ShardedRedisIndex)
        story = Article()
        await check(index, story)
        await until_told(cluster, index)
        node = cluster.master_of(index.layout.prefixes[0])
        with node.client() as client:
            client.wait(1, 5000)
        node.stop()

        with pytest.raises(StoreUnavailable):
            await check(index, Article("another"))
        for _ in range(60):
            try:
                match = await check(index, story.copy(at=1))
                break
            except StoreUnavailable:
                await asyncio.sleep(0.2)

        assert match is not None
        assert match.original == story.id
    finally:
        cluster.stop()


async def test_what_a_dead_process_left_undecided_delays_two_and_loses_none(
    open_index: OpenIndex, redis_url: str
) -> None:
    url = Sharded(redis_url, 3)
    dead, index = await open_index(url, timeout=0.4), await open_index(url, timeout=0.4)
    assert isinstance(dead, ShardedRedisIndex)
    article = Article()
    await dead._ask_shards(Question.of(article.fingerprint, article.document, 3, 0.7))

    matches = [await check(index, article.copy(at=number)) for number in range(4)]

    assert matches[0] is None, "nothing is a copy of what was never told"
    assert None not in matches[1:]
    assert len({match.original for match in matches if match}) == 1


async def test_another_number_of_shards_begins_a_new_window(open_index: OpenIndex, redis_url: str) -> None:
    article = Article()
    for shards in (1, 2, 3):
        index = await open_index(Sharded(redis_url, shards))

        assert await check(index, article.copy()) is None
        assert await check(index, article.copy()) is not None
        assert (await index.summary()).documents == 2


def test_only_a_redis_has_shards() -> None:
    for store in ("memory://", "sqlite:///window.sqlite"):
        with pytest.raises(SettingsError, match=r"NEARDUP_SHARDS = 3: must be 1 with NEARDUP_STORE = "):
            NearDupSettings.from_mapping({"NEARDUP_STORE": store, "NEARDUP_SHARDS": 3})
        with pytest.raises(SettingsError, match="NEARDUP_SHARDS"):
            index_from_url(store, namespace="n", config=CONFIG, policy=Policy(), shards=3)
