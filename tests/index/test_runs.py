"""Documents of runs that live, end, die and come back: what counts as seen in every store."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import OpenIndex
from documents import Article, check, checked, decision_on, silence, stored
from news_site import article as text
from servers import RedisServer

from scrapy_neardup.detector import NearDupDetector
from scrapy_neardup.document import Document
from scrapy_neardup.exceptions import StoreUnavailable
from scrapy_neardup.index import Index, Policy
from scrapy_neardup.index import runs as rules
from scrapy_neardup.index.store import Call
from scrapy_neardup.records.documents import DELIVERED, WITHDRAWN
from scrapy_neardup.rules.match import Match
from scrapy_neardup.settings import NearDupSettings

FIRST, SECOND, THIRD = 1, 2, 3
DEAD_SECONDS = 1500.0
PAGE = Article(url="https://wire.example/a", source="wire.example")
COPY = PAGE.copy(url="https://other.example/b", source="other.example")
DROPPING = Policy(drops=True)


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let runs die after minutes, so that no test depends on how fast the machine is."""
    monkeypatch.setattr(rules, "DEAD_SECONDS", DEAD_SECONDS)


async def begin(index: Index, *runs: int) -> None:
    """Let runs send a heartbeat after the last of them has begun."""
    for index.partition.run in runs * 2:
        await index.runs.beat()


async def check_as(index: Index, run: int, article: Article) -> Match | None:
    """Check a document as a run that has sent a heartbeat already, or sends its first one now."""
    index.partition.run = run
    if run not in (FIRST, SECOND, THIRD):
        await index.runs.beat()
    return await check(index, article)


async def end(index: Index, run: int) -> None:
    index.partition.run = run
    await index.runs.beat(is_over=True)


def is_seen(match: Match | None) -> bool:
    return match is not None and match.pair.is_seen


async def test_a_crawl_that_begins_again_counts_what_others_left_once_they_beat(open_store: OpenIndex) -> None:
    """The crawl may be the one that was killed a moment ago."""
    index = await open_store(DROPPING)
    await begin(index, FIRST)
    await check_as(index, FIRST, PAGE)
    await silence(index, FIRST, 1)
    index.partition.run = SECOND
    await index.runs.beat()
    assert not is_seen(await check(index, COPY.copy()))
    index.partition.run = FIRST
    await index.runs.beat()
    match = await check_as(index, SECOND, COPY.copy(url="https://third.example/c", source="third.example"))
    assert (match.pair.is_seen, match.kept_share) == (True, 1.0)


@pytest.mark.parametrize("lives", [True, False])
async def test_a_clock_that_is_set_back_ends_no_crawl_and_revives_none(open_store: OpenIndex, lives: bool) -> None:
    """Or a cluster fails over to a node whose clock is behind."""
    index = await open_store(DROPPING)
    await begin(index, FIRST, SECOND)
    await check_as(index, FIRST, PAGE)
    for run in (FIRST, SECOND):
        await silence(index, run, -3600)
    await begin(index, *[FIRST] * lives, SECOND)
    assert is_seen(await check_as(index, SECOND, COPY.copy())) is lives


async def test_a_copy_is_not_dropped_for_a_question_that_the_store_has_lost(open_store: OpenIndex) -> None:
    """A server that evicts keys removes a whole hash, with all that one crawl asks another."""
    index = await open_store(DROPPING)
    await begin(index, FIRST, SECOND)
    await check_as(index, FIRST, PAGE)
    copies = [COPY.copy(url=f"https://other.example/{name}") for name in "ab"]
    for copy in copies:
        await check_as(index, SECOND, copy)
    index.partition.run = FIRST
    await index.runs.answer_others(lambda document: True)
    assert [await index.runs.fate_of_match(each.id) for each in copies] == ["kept", "kept"]
    await index.store.ask(lambda client: client.send([Call("UNLINK", index.layout.asked(FIRST))]))
    assert [await index.runs.fate_of_match(each.id) for each in copies] == ["unknown", "unknown"]


async def test_nothing_waits_for_a_store_that_is_away(tmp_path: Path) -> None:
    detector = NearDupDetector(NearDupSettings(store=f"sqlite:///{tmp_path}/window.sqlite"), delivers_later=True)
    await detector.open()
    document = detector.document("Seven fishermen were rescued off the coast. " * 10, url=PAGE.url)
    await detector.check(document)
    detector.breaker.failed(StoreUnavailable("away"))
    await detector.delivery.withdraw([document.id])
    assert len(await detector.index.documents.records()) == 1
    detector.breaker.succeeded()
    await detector.delivery.report()
    assert await detector.index.documents.records() == []
    await detector.close()


async def test_a_copy_that_is_kept_does_not_follow_its_match(open_store: OpenIndex) -> None:
    index = await open_store(Policy(drops=True, keep_sources=frozenset({"other.example"})))
    await begin(index, FIRST, SECOND, THIRD)
    await check_as(index, FIRST, PAGE)
    await check_as(index, SECOND, COPY)
    await end(index, FIRST)
    index.partition.run = THIRD
    decision = await decision_on(index, PAGE.copy())
    found = decision.match.pair.is_seen, decision.match.id, decision.join.earlier_of_page
    assert found == (True, COPY.id, PAGE.id)


@pytest.mark.parametrize("was_delivered", [True, False])
async def test_a_copy_outlives_its_match_if_that_was_delivered_before(
    open_store: OpenIndex, was_delivered: bool
) -> None:
    index = await open_store(DROPPING)
    await begin(index, FIRST, SECOND, THIRD)
    await check_as(index, FIRST, PAGE)
    if was_delivered:
        await index.runs.settle([PAGE.id], DELIVERED)
    await check_as(index, SECOND, COPY)
    await end(index, SECOND)
    name, key = index.layout.records(bytes.fromhex(PAGE.id)), bytes.fromhex(PAGE.id)
    await index.store.ask(lambda client: client.send([Call("HDEL", name, (key,))]))
    assert is_seen(await check_as(index, THIRD, PAGE.copy())) == was_delivered


async def test_a_check_that_is_repeated_asks_again_for_the_fate_of_the_match(open_store: OpenIndex) -> None:
    index = await open_store(DROPPING)
    await begin(index, FIRST, SECOND)
    await check_as(index, FIRST, PAGE)
    index.partition.run = SECOND
    found = [await checked(index, COPY.fingerprint, COPY.document) for _ in range(2)]
    assert [each.asks_other_run for each in found] == [True, True]


@pytest.mark.parametrize("is_withdrawn", [True, False])
async def test_lost_copies_do_not_hide_what_was_delivered(open_store: OpenIndex, is_withdrawn: bool) -> None:
    index = await open_store()
    await begin(index, FIRST)
    await check_as(index, FIRST, PAGE)
    await index.runs.settle([PAGE.id], DELIVERED)
    for run in range(10, 30):
        copy = COPY.copy()
        match = await check_as(index, run, copy)
        assert (match.pair.is_seen, match.original) == (True, PAGE.id), run
        await (index.runs.settle([copy.id], WITHDRAWN) if is_withdrawn else end(index, run))


async def test_of_copies_at_once_by_runs_that_come_and_go_one_counts(open_store: OpenIndex) -> None:
    index = await open_store(DROPPING)
    await begin(index, FIRST, SECOND, THIRD)
    for run in range(10, 15):
        await check_as(index, run, PAGE.copy())
        await end(index, run)
    index.partition.run = FIRST
    await index.runs.beat()
    matches = await asyncio.gather(*(check(index, PAGE.copy()) for _ in range(20)))
    assert sum(not is_seen(match) for match in matches) == 1


@pytest.fixture
def crawl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], NearDupDetector]:
    """Makes detectors of crawls over one file, which tell each other soon what they deliver."""
    monkeypatch.setattr(rules, "BEAT_SECONDS", 0.05)
    settings = NearDupSettings(store=f"sqlite:///{tmp_path}/window.sqlite", action="drop", store_timeout=5)
    return lambda: NearDupDetector(settings, delivers_later=True)


def page_of(crawl: NearDupDetector, source: str) -> Document:
    return crawl.document(text("a"), url=f"https://{source}.example/a")


async def test_a_document_that_is_delivered_twice_does_not_hold_up_the_others(
    crawl: Callable[[], NearDupDetector],
) -> None:
    """And a run that begins again beats once."""
    for status in ("original", "duplicate"):
        detector = crawl()
        await detector.open()
        assert detector.delivery is not None
        await detector.delivery.begin()
        verdict = await detector.check(page_of(detector, "a"))
        detector.delivery.deliver([verdict.id] * 2)
        assert verdict.status == status
        assert sum("_beat" in repr(each) for each in asyncio.all_tasks()) == 1
        await detector.close()
    assert not any("_beat" in repr(each) for each in asyncio.all_tasks())


@pytest.mark.parametrize("is_over", [True, False])
async def test_what_is_dropped_is_delivered_with_its_match(crawl: Callable[[], NearDupDetector], is_over: bool) -> None:
    """By its own crawl or by another one, which may deliver it before or after the crawl of the copy has ended."""
    first, second, third = (crawl() for _ in range(3))
    for each in (first, second, third):
        await each.open()
    original = page_of(first, "a")
    copies = [page_of(each, name) for each, name in ((first, "b"), (second, "c"))]
    await first.check(original)
    assert (await first.check(copies[0])).would_drop
    if not is_over:
        assert (await second.check(copies[1])).would_drop
        await second.close()
    first.delivery.deliver([original.id])
    await first.close()
    if is_over:
        assert (await second.check(copies[1])).would_drop
        await second.close()

    again = [await third.check(third.document(text("a"), url=copy.url)) for copy in copies]
    await third.close()
    assert [(verdict.kind, verdict.match) for verdict in again] == [("revisit", copy.id) for copy in copies]


@pytest.mark.parametrize("fate", ["kept", "lost", "unknown"])
async def test_a_copy_learns_what_became_of_its_match_in_another_crawl(
    crawl: Callable[[], NearDupDetector], fate: str
) -> None:
    first, second = crawl(), crawl()
    first.delivery.is_kept = lambda document: fate == "kept"
    for each in (first, second):
        await each.open()
    original, copy = page_of(first, "a"), page_of(second, "b")
    await first.check(original)
    await second.check(copy)
    if fate == "lost":
        await first.delivery.withdraw([original.id])

    assert await second.delivery.fate_of_match(copy.id, 0.2 if fate == "unknown" else 60) == fate
    for each in (first, second):
        await each.close()


async def test_a_crawl_lives_while_a_report_takes_long_and_until_its_last_one_is_done(
    crawl: Callable[[], NearDupDetector],
) -> None:
    detector = crawl()
    await detector.open()

    async def wait_for_heartbeats() -> None:
        for _ in range(3):
            before = await stored(detector.index, "runs")
            while await stored(detector.index, "runs") == before:
                pass

    async with detector.delivery._reporting:
        await asyncio.wait_for(wait_for_heartbeats(), 30)
        closing = asyncio.create_task(detector.close())
        await asyncio.wait_for(wait_for_heartbeats(), 30)
    await closing


@pytest.mark.parametrize("lives", [True, False])
async def test_a_crawl_that_begins_finds_out_which_others_live(
    crawl: Callable[[], NearDupDetector], monkeypatch: pytest.MonkeyPatch, lives: bool
) -> None:
    """Workers that start together know each other, and what a killed crawl left does not count."""
    monkeypatch.setattr(rules, "PATIENCE_SECONDS", 60 if lives else 0.25)
    first, second = crawl(), crawl()
    await first.open()
    assert (await first.check(page_of(first, "a"))).status == "original"
    if not lives:
        first.delivery._beating.cancel()
    await second.open()
    verdict = await second.check(page_of(second, "b"))
    assert verdict.status == ("duplicate" if lives else "original")
    await first.close()
    await second.close()


async def test_a_run_says_once_that_its_window_is_gone(
    tmp_path: Path, redis_server: RedisServer, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rules, "BEAT_SECONDS", 0.01)
    file = tmp_path / "window.sqlite"

    def empty_server() -> None:
        with redis_server.client() as client:
            client.flushall()

    for store, remove in ((f"sqlite:///{file}", file.unlink), (redis_server.url, empty_server)):
        caplog.clear()
        detector = await opened(store)
        await detector.check(detector.document(text("fire"), url="https://wire.example/a"))
        assert "is gone" not in caplog.text
        remove()
        copy = detector.document(text("fire"), url="https://other.example/b")
        await asyncio.wait_for(told(caplog, "is gone"), 60)
        assert (await detector.check(copy)).status == "original"
        detector.delivery.deliver([copy.id])
        await detector.close()
        (warning,) = [each.getMessage() for each in caplog.records if "is gone" in each.message]
        assert warning.startswith(f"The window in {detector.index.store.location} is gone: ")
        assert "copies of earlier articles count as originals" in warning

        other = await opened(store)
        again = other.document(text("fire"), url="https://third.example/c")
        assert (await other.check(again)).match_url == copy.url, "the run goes on in the new window"
        await other.close()


async def told(caplog: pytest.LogCaptureFixture, words: str) -> None:
    while words not in caplog.text:  # noqa: ASYNC110  of a log
        await asyncio.sleep(0.01)


async def opened(store: str) -> NearDupDetector:
    detector = NearDupDetector(NearDupSettings(store=store), delivers_later=True)
    await detector.open()
    return detector
