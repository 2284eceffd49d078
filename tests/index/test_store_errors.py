"""What a store that is damaged, away, hung or locked costs: a clear error, and never the crawl."""

import asyncio
import random
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from conftest import OpenIndex
from documents import Article, check
from faults import LOST, Clock, detector_on
from servers import RedisServer, free_port

from scrapy_neardup.detector import NearDupDetector
from scrapy_neardup.exceptions import StoreError, StoreUnavailable
from scrapy_neardup.index import Breaker
from scrapy_neardup.index.redis.store import RedisStore
from scrapy_neardup.settings import NearDupSettings

TEXT = "The bridge over the river was closed on Monday after engineers had found cracks in two of its piers. " * 3


async def test_a_file_that_is_no_sqlite_file_is_named(open_index: OpenIndex, tmp_path: Path) -> None:
    file = tmp_path / "window.sqlite"
    file.write_bytes(random.Random(1).randbytes(20_000))
    with pytest.raises(StoreError, match=r"window\.sqlite.*damaged or not a SQLite file.*move it away"):
        await open_index(f"sqlite:///{file}")


async def test_a_file_that_cannot_be_opened_is_unavailable(open_index: OpenIndex, tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailable, match=r"unable to open.*must be able to read and write"):
        await open_index(f"sqlite:///{tmp_path}")  # a folder


async def test_a_file_locked_for_longer_than_the_timeout_is_unavailable(open_index: OpenIndex, tmp_path: Path) -> None:
    file = tmp_path / "window.sqlite"
    index = await open_index(f"sqlite:///{file}", timeout=0.02)
    with closing(sqlite3.connect(file, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        answers = await asyncio.gather(*(check(index, Article()) for _ in range(20)), return_exceptions=True)
        other.execute("ROLLBACK")
    assert {type(answer) for answer in answers} == {StoreUnavailable}
    assert "another process held the file for over 0.02 s" in str(answers[0])
    assert await check(index, Article()) is None


@pytest.fixture
def guarded_server(tmp_path: Path) -> Iterator[RedisServer]:
    server = RedisServer(tmp_path, password="right-secret").start()
    yield server
    server.stop()


@pytest.mark.versions
@pytest.mark.parametrize("credentials", ["", ":wrong-secret@", "somebody:wrong-secret@"])
async def test_a_wrong_password_names_the_mend_and_is_not_shown(
    open_index: OpenIndex, guarded_server: RedisServer, credentials: str
) -> None:
    with pytest.raises(StoreError, match="check user and password in NEARDUP_STORE") as caught:
        await open_index(f"redis://{credentials}127.0.0.1:{guarded_server.port}/0")
    assert not isinstance(caught.value, StoreUnavailable)
    assert "secret" not in str(caught.value)


@pytest.mark.versions
@pytest.mark.parametrize("scheme", ["redis", "unix"])
async def test_no_server_is_unavailable_and_named(open_index: OpenIndex, tmp_path: Path, scheme: str) -> None:
    where = f"127.0.0.1:{free_port()}" if scheme == "redis" else f"{tmp_path}/no.sock"
    with pytest.raises(StoreUnavailable, match=where):
        await open_index(f"{scheme}://{where}")


@pytest.mark.versions
async def test_a_cancelled_open_leaves_the_store_closed(open_index: OpenIndex, redis_server: RedisServer) -> None:
    index = await open_index(redis_server.url)
    await index.close()
    redis_server.pause()
    with pytest.raises(asyncio.TimeoutError):
        await asyncio.wait_for(index.open(), 0.05)
    redis_server.resume()
    redis_server.stop()
    with pytest.raises(StoreUnavailable):
        await index.open()


async def test_documents_that_wait_together_try_a_lost_store(redis_server: RedisServer, clock: Clock) -> None:
    detector = await detector_on(redis_server.url, clock)
    redis_server.stop()
    await detector.check(detector.document(TEXT))
    redis_server.start()
    clock.now += 60
    verdicts = await asyncio.gather(*(detector.check(detector.document(TEXT)) for _ in range(10)))
    assert verdicts.count(LOST) == 0
    assert (await detector.check(detector.document(TEXT))).status == "duplicate"
    await detector.close()


@pytest.mark.versions
async def test_a_cancelled_try_does_not_keep_the_store_away(redis_server: RedisServer, clock: Clock) -> None:
    detector = await detector_on(redis_server.url, clock)
    redis_server.pause()
    assert await detector.check(detector.document(TEXT)) == LOST
    clock.now += 60
    with pytest.raises(asyncio.TimeoutError):
        await asyncio.wait_for(detector.check(detector.document(TEXT)), 0.05)
    redis_server.resume()
    clock.now += 60
    await detector.check(detector.document(TEXT))
    assert (await detector.check(detector.document(TEXT))).status == "duplicate"
    await detector.close()


def test_the_client_of_a_loop_that_was_closed_has_lost_its_store(redis_server: RedisServer) -> None:
    store = RedisStore(redis_server.url)
    asyncio.run(store.open("key"))
    with pytest.raises(StoreUnavailable, match="loop is closed"):
        asyncio.run(store.ask(lambda client: client.names("key")))


async def test_a_store_that_was_away_at_the_start_is_used_once_it_is_there(
    redis_server: RedisServer, clock: Clock
) -> None:
    redis_server.stop()
    with pytest.raises(StoreUnavailable):
        await detector_on(redis_server.url, clock)
    detector = NearDupDetector(NearDupSettings(store=redis_server.url))
    detector.breaker = Breaker(clock)
    assert await detector.check(detector.document(TEXT)) == LOST
    redis_server.start()
    clock.now += 60
    assert (await detector.check(detector.document(TEXT))).status == "original"
    await detector.close()


def test_the_breaker_waits_longer_each_time_up_to_a_quarter_of_a_minute(clock: Clock) -> None:
    breaker = Breaker(clock)
    breaker.failed(StoreUnavailable("away"))
    pauses = []
    for _ in range(8):
        lost = clock.now
        while not breaker.allows():
            clock.now += 0.25
        pauses.append(clock.now - lost)
        breaker.failed(StoreUnavailable("away"))
    assert pauses == [0.5, 1, 2, 4, 8, 15, 15, 15]
