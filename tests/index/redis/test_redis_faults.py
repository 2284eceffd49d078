"""Whatever happens to a Redis: no item waits long, none is a false duplicate, and the store is found again."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from faults import FAULTS, LOST, Clock, Network, detector_on, recovered, unlike_text
from newsdesk import MINUTE, opened
from servers import RedisServer, free_port
from topologies import Sentinels

from scrapy_neardup.detector import NearDupDetector
from scrapy_neardup.document import Story
from scrapy_neardup.exceptions import StoreUnavailable
from scrapy_neardup.settings import NearDupSettings

pytestmark = pytest.mark.versions

if TYPE_CHECKING:
    from conftest import OpenIndex

TIMEOUT = 3.0  # seconds: enough for a busy machine


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def network(redis_server: RedisServer) -> Iterator[Network]:
    network = Network(redis_server.port)
    yield network
    network.flow()
    network.cut()


@pytest.mark.parametrize("fault", FAULTS)
async def test_a_lost_store_costs_verdicts_and_nothing_else(
    fault: str, redis_server: RedisServer, network: Network, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    lose, mend, remembers = FAULTS[fault]
    detector = await detector_on(network.url, clock, TIMEOUT)
    assert [await _status(detector, unlike_text(number)) for number in range(5)] == ["original"] * 5

    lose(redis_server, network)
    verdicts = await asyncio.gather(*(detector.check(detector.document(unlike_text(n % 50))) for n in range(200)))
    verdicts += [await detector.check(detector.document(unlike_text(n))) for n in range(200)]

    assert set(verdicts) == {LOST}
    assert [record.message.split(";")[0] for record in caplog.records] == ["The store is lost"]

    mend(redis_server, network)
    known = await recovered(detector, clock, unlike_text(0))
    new = [await _status(detector, unlike_text(("new", number))) for number in range(20)]
    copies = [await _status(detector, unlike_text(("new", number))) for number in range(20)]

    assert known.status == ("duplicate" if remembers else "original")
    assert (new, copies) == (["original"] * 20, ["duplicate"] * 20)
    assert len(caplog.records) == 2
    assert "The store is back" in caplog.records[1].message
    await detector.close()


async def _status(detector: object, words: str) -> str:
    return (await detector.check(detector.document(words))).status  # type: ignore[attr-defined, no-any-return]


_to_pause: list[RedisServer] = []


def pauses_the_server(story: Story, at: float, breaking_over: int) -> str:
    """A rule of events that is asked between a join and its claim."""
    while _to_pause:
        _to_pause.pop().pause()
    return "breaking"


async def test_a_store_that_hangs_before_a_claim_is_waited_for_once(redis_server: RedisServer) -> None:
    settings = NearDupSettings(
        store=redis_server.url, store_timeout=TIMEOUT, event_rule=f"{__name__}.pauses_the_server"
    )
    detector = NearDupDetector(settings)
    await detector.open()
    _to_pause.append(redis_server)

    verdicts = await detector.check_in_order([detector.document(unlike_text("fire")) for _ in range(16)])
    assert detector.breaker.is_open
    redis_server.resume()

    assert [verdict.status for verdict in verdicts] == ["original"] + ["duplicate"] * 15
    await detector.close()


# Failover


@pytest.mark.slow
async def test_sentinels_name_another_master(tmp_path: Path, clock: Clock, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, logger="scrapy_neardup")
    sentinels = Sentinels(tmp_path).start()
    try:
        detector = await detector_on(sentinels.url, clock)
        await detector.check(detector.document(unlike_text("before")))
        with sentinels.master.client() as client:
            client.wait(2, 5000)

        sentinels.master.stop()
        verdicts = await asyncio.gather(*(detector.check(detector.document(unlike_text(n))) for n in range(50)))
        assert set(verdicts) == {LOST}
        sentinels.fail_over()

        assert (await recovered(detector, clock, unlike_text("before"))).status == "duplicate"
        assert await _status(detector, unlike_text("after")) == "original"
        assert [record.message.split(";")[0] for record in caplog.records[:1]] == ["The store is lost"]
        assert len(caplog.records) == 2
        await detector.close()
    finally:
        sentinels.stop()


async def test_a_store_that_never_was_there_is_unavailable(open_index: OpenIndex) -> None:
    hosts = ",".join(f"127.0.0.1:{free_port()}" for _ in range(2))
    for url in (f"redis+cluster://{hosts}", f"redis+sentinel://{hosts}/news"):
        with pytest.raises(StoreUnavailable):
            await open_index(url, timeout=0.5)


@pytest.mark.parametrize(("right", "warnings"), [("+info", 1), ("-info", 0)])
async def test_the_log_warns_once_of_a_server_that_evicts(
    open_index: OpenIndex,
    redis_server: RedisServer,
    caplog: pytest.LogCaptureFixture,
    right: str,
    warnings: int,
) -> None:
    redis_server.execute("CONFIG", "SET", "maxmemory", "100mb")
    redis_server.execute("CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
    redis_server.execute("ACL", "SETUSER", "default", right)
    index = await open_index(redis_server.url)
    await index.open()

    assert [record.levelname for record in caplog.records] == ["WARNING"] * warnings
    assert caplog.text.count("Use noeviction") == warnings


@pytest.mark.parametrize("answers", range(10))
async def test_a_copy_is_registered_with_its_story_or_not_at_all(
    redis_server: RedisServer, namespace: str, answers: int
) -> None:
    """The store goes away after so many answers to the crawler that judges the copy."""
    network = Network(redis_server.port)
    async with opened(store=redis_server.url, namespace=namespace) as room:
        original = await room.publish("fire", "wire", 0)
        async with opened(store=network.url, namespace=namespace) as other:
            network.lose_answers(99, after=answers)
            await other.publish("fire", "copier", MINUTE)
            network.lose_answers(0)
        registered = len(await room.detector.index.records()) == 2
        members = await room.detector.index.members(original.story or "")

    assert [each.source for each in members] == (["wire.example", "copier.example"] if registered else [])
