"""A server that evicts keys, one whose clock is wrong, and a node of a cluster that fails: no item is lost."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from faults import LOST, Clock
from newsdesk import text
from servers import Cluster, RedisServer, WrongClock

from scrapy_neardup.detector import NearDupDetector
from scrapy_neardup.document import Document
from scrapy_neardup.index import Breaker
from scrapy_neardup.settings import NearDupSettings
from scrapy_neardup.tools.ask import Ask

TIMEOUT = 10.0


async def crawl(store: str) -> NearDupDetector:
    detector = NearDupDetector(NearDupSettings(store=store, store_timeout=TIMEOUT, action="drop"), delivers_later=True)
    await detector.open()
    return detector


def page(detector: NearDupDetector, story: object, source: object) -> Document:
    return detector.document(text(story, 40), url=f"https://{source}.example/{story}", title=f"News of {story}")


@pytest.mark.slow
async def test_a_server_that_evicts_keys_costs_no_item_and_makes_no_false_duplicate(redis_server: RedisServer) -> None:
    with redis_server.client() as client:
        client.config_set("maxmemory-policy", "allkeys-lru")
        client.config_set("maxmemory", client.info("memory")["used_memory"] + 600_000)
        detector, verdicts = await crawl(redis_server.url), Counter[str]()
        printed = set[object]()
        for number in range(400):
            story = number // 2 if number % 4 else number // 4  # half of them new, the others of any age
            document = page(detector, story, f"paper{number}")
            verdict = await detector.check(document)
            verdicts[verdict.status] += 1
            if verdict.would_drop:
                assert verdict.match_url is not None
                assert verdict.match_url.rpartition("/")[2] == str(story)
                assert story in printed
            else:
                assert detector.delivery is not None
                detector.delivery.deliver([document.id])
                printed.add(story)
        assert client.info("stats")["evicted_keys"] > 0
    assert verdicts["duplicate"] > 0
    assert verdicts["original"] > len(printed), "the server has removed what was known"
    await detector.close()


@pytest.fixture
def wrong_clock(tmp_path: Path) -> Iterator[WrongClock]:
    tmp_path.joinpath("redis").mkdir()
    try:
        server = WrongClock(tmp_path / "redis", "+0h")
    except FileNotFoundError as error:
        pytest.skip(str(error))
    yield server
    server.stop()


@pytest.mark.parametrize(("before", "after"), [("+1h", "+1h"), ("+0h", "-1h")])
async def test_crawls_and_those_who_ask_do_not_mind_the_clock_of_the_server(
    wrong_clock: WrongClock, before: str, after: str
) -> None:
    wrong_clock.set_clock(before)
    wrong_clock.start()
    first, second = [await crawl(wrong_clock.url) for _ in range(2)]
    ask = Ask(first)
    await first.check(page(first, "ferry", "a"))
    assert (await second.check(page(second, "ferry", "b"))).would_drop
    cursor = (await ask.stories())["next"]

    wrong_clock.set_clock(after)
    for detector in (first, second) * 2:
        await detector.index.runs.beat()
    await first.check(page(first, "bridge", "a"))
    verdict = await second.check(page(second, "bridge", "b"))
    news = await ask.stories(cursor)

    assert verdict.would_drop, "the first crawl is known to live"
    assert [each["story"] for each in news["stories"]] == [verdict.story]
    with wrong_clock.client() as client:
        assert abs(client.time()[0] - time.time()) > 1800
        assert all(0 < client.ttl(key) <= 9 * 24 * 3600 for key in client.scan_iter())
    for detector in (first, second):
        await detector.close()


@pytest.mark.slow
async def test_a_replica_takes_over_from_a_node_of_a_cluster_that_died(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path).start()
    try:
        detector = await crawl(cluster.url)
        detector.breaker = Breaker(clock := Clock())
        master = cluster.master_of(detector.index.layout.prefix)
        known = [await detector.check(page(detector, number, "a")) for number in range(20)]
        cluster.add_replica(master)
        master.stop()

        deadline = time.monotonic() + 60
        while (verdict := await detector.check(page(detector, "new", "a"))) == LOST:
            clock.now += 60
            await asyncio.sleep(0.02)
            assert time.monotonic() < deadline, "nobody took over"

        copies = [await detector.check(page(detector, number, "b")) for number in range(20)]
        assert {each.status for each in known} == {"original"}
        assert {(each.status, each.would_drop) for each in copies} == {("duplicate", True)}
        assert verdict.status == "original"
        await detector.close()
    finally:
        cluster.stop()
