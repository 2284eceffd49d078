"""What every store keeps: the properties of ``index/base.py``, one test each, run over all of them."""

from __future__ import annotations

import asyncio
import itertools
import logging
import pickle
import random
import sqlite3
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, closing
from dataclasses import replace
from pathlib import Path
from typing import Literal

import pytest
from conftest import CONFIG, OpenIndex
from documents import DAY, HOUR, LANES, MINUTE, START, Article, band_keys, check, estimate, lanes, specifics
from fleet import Sharded, open_client, store_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from redis import Redis

from scrapy_neardup.document import Match, Neighbour
from scrapy_neardup.index import Index, Policy, Scope
from scrapy_neardup.index.redis.sharded import ShardedRedisIndex
from scrapy_neardup.index.sqlite.postings import key_of as key_of_number
from scrapy_neardup.similarity.likeness import containment, share_of_larger

WIRE = "https://wire.example/a"


# 1. Atomic: of documents alike exactly one is the original.


@pytest.mark.every_store
@pytest.mark.parametrize("count", [20, 200])
async def test_of_identical_documents_at_once_exactly_one_is_the_original(index: Index, count: int) -> None:
    article = Article()

    matches = await asyncio.gather(*(check(index, article.copy()) for _ in range(count)))

    assert matches.count(None) == 1
    assert len({match.original for match in matches if match}) == 1


@pytest.mark.every_store
async def test_near_copies_at_once_have_exactly_one_original(index: Index) -> None:
    copies = [Article(f"edit {number}", like="wire", equal=110) for number in range(20)]

    matches = await asyncio.gather(*(check(index, copy) for copy in copies))

    assert matches.count(None) == 1


@pytest.mark.every_store
async def test_identical_documents_over_two_connections_have_exactly_one_original(
    open_index: OpenIndex, shared_url: str
) -> None:
    indexes = [await open_index(shared_url) for _ in range(2)]
    article = Article()

    matches = await asyncio.gather(*(check(index, article.copy()) for index in indexes * 50))

    assert matches.count(None) == 1


async def test_checks_that_arrive_together_are_answered_each_for_itself(index: Index) -> None:
    texts = [f"story {number}" for number in range(100)]

    await asyncio.gather(*(check(index, Article(text, title=text)) for text in texts))
    again = await asyncio.gather(*(check(index, Article(text)) for text in texts))

    assert [match.title for match in again if match] == texts


# 2. The window, by the documents' own time.


@pytest.mark.parametrize(
    ("apart", "matches"),
    [
        (0, True),
        (23 * HOUR + 59 * MINUTE, True),
        (DAY, True),
        (DAY + 1, False),
        (DAY + MINUTE, False),
        (3 * DAY, False),
    ],
)
@pytest.mark.parametrize("order", ["in order", "late"])
@pytest.mark.parametrize("offset", [0, 1, HOUR - 1, 11 * HOUR + 1234])
async def test_documents_at_most_a_window_apart_match(
    index: Index, apart: int, matches: bool, order: str, offset: int
) -> None:
    first, second = Article(at=offset), Article(at=offset + apart)
    if order == "late":
        first, second = second, first

    assert await check(index, first) is None
    found = await check(index, second)

    assert (found is not None) is matches


async def test_parts_of_a_second_do_not_count(index: Index) -> None:
    await check(index, Article(at=0.9))

    assert await check(index, Article(at=DAY + 0.1)) is not None


@pytest.mark.parametrize("window", [2 * HOUR, 7 * DAY, 31 * DAY])
async def test_the_window_is_a_setting(open_index: OpenIndex, store_url: str, window: int) -> None:
    index = await open_index(store_url, Policy(window=window))
    await check(index, Article(at=5))

    assert await check(index, Article("inside", like="wire", equal=LANES, at=5 + window)) is not None
    assert await check(index, Article(at=5 + 2 * window + 1)) is None


@pytest.mark.parametrize("at", [-START, 0xFFFF_FFFF - START])
async def test_the_first_and_the_last_second_there_are_can_be_judged(index: Index, at: int) -> None:
    assert await check(index, Article(at=at)) is None
    assert await check(index, Article(at=at)) is not None


async def test_a_document_with_a_wrong_date_does_not_empty_the_window(index: Index) -> None:
    articles = [Article(f"story {number}", at=number) for number in range(20)]
    for article in articles:
        await check(index, article)

    await check(index, Article("from the future", at=1000 * DAY))

    for article in articles:
        assert await check(index, article.copy(at=100)) is not None


async def test_a_wrong_date_as_the_first_of_a_process_does_not_touch_the_window(
    open_index: OpenIndex, shared_url: str
) -> None:
    first = await open_index(shared_url)
    article = Article()
    await check(first, article)

    restarted = await open_index(shared_url)
    await check(restarted, Article("from the future", at=1000 * DAY))

    assert await check(restarted, article.copy(at=MINUTE)) is not None


async def test_a_late_document_finds_what_is_left_of_the_oldest_hour(open_index: OpenIndex, store_url: str) -> None:
    """Also where a generation of bands ended within that hour."""
    index = await open_index(store_url, Policy(window=2 * HOUR))
    first = Article(at=4468)
    assert (START + 4468) // 65536 < (START + 11840 - 2 * HOUR) // 65536
    for article in (first, *(Article("later", at=11840) for _ in range(2))):
        await check(index, article)

    match = await check(index, Article(at=11668))

    assert match is not None
    assert match.original == first.id


# 3. Memory is bounded.


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


async def test_every_redis_key_expires_and_carries_the_prefix(
    open_index: OpenIndex, redis_url: str, redis_keys: Redis, namespace: str
) -> None:
    index = await open_index(redis_url)
    before = set(redis_keys.scan_iter())
    for hour in range(72):
        await check(index, Article(f"story {hour}", at=hour * HOUR))

    names = {name for name in redis_keys.scan_iter() if name not in before and namespace.encode() in name}
    assert all(name.startswith(f"{{neardup:{namespace}:{CONFIG}}}:".encode()) for name in names)
    assert all(0 < redis_keys.ttl(name) <= 36 * HOUR for name in names)
    hours = sorted(int(name.rsplit(b":")[-1]) for name in names if b":records:" in name)
    now = (START + 71 * HOUR) // HOUR
    assert hours == list(range(now - 25, now + 1)), "the window, its own hour, and one that two documents agree is over"
    assert len(names) - len(hours) <= 4


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


async def test_a_namespace_idles_by_its_own_window(
    open_index: OpenIndex, sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    weekly = await open_index(sqlite_url, Policy(window=7 * DAY), namespace="-weekly")
    await check(weekly, Article())
    await weekly.close()

    monkeypatch.setattr("time.time", _seconds_ahead(3 * DAY))
    await open_index(sqlite_url, Policy(window=2 * HOUR), namespace="-other")
    weekly = await open_index(sqlite_url, Policy(window=7 * DAY), namespace="-weekly")

    assert await check(weekly, Article(at=3 * DAY)) is not None


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


async def test_a_thousand_copies_still_name_the_original(index: Index) -> None:
    original = Article(title="The first of all", url=WIRE)
    await check(index, original)

    matches = await asyncio.gather(*(check(index, original.copy(at=n, url="", title="")) for n in range(1000)))

    assert {(match.original, match.title) for match in matches if match} == {(original.id, original.title)}
    assert None not in matches


async def test_a_thousand_copies_keep_the_cost_of_a_redis_key_bounded(
    open_index: OpenIndex, redis_url: str, redis_keys: Redis, namespace: str
) -> None:
    index = await open_index(redis_url)
    article = Article()

    await asyncio.gather(*(check(index, article.copy()) for _ in range(1000)))

    bands = list(redis_keys.scan_iter(match=f"{{neardup:{namespace}:*:bands:*"))
    assert max(len(value) for name in bands for value in redis_keys.hvals(name)) <= 16 * 8


# 4. A repeat is the same check.


@pytest.mark.every_store
@pytest.mark.parametrize("what", ["original", "duplicate", "related"])
async def test_the_same_document_again_gets_the_same_answer(index: Index, what: str) -> None:
    await check(index, Article(at=0))
    article = {
        "original": Article("unlike"),
        "duplicate": Article("edited", like="wire", equal=100, at=HOUR),
        "related": Article("loosely", like="wire", equal=30, at=HOUR),
    }[what]
    first = await check(index, article)
    await check(index, Article("edited", like="wire", equal=101, at=2 * HOUR))

    assert await check(index, article) == first
    assert (first is None) is (what == "original")


async def test_a_repeat_registers_nothing(index: Index) -> None:
    article = Article(url=WIRE)

    await asyncio.gather(*(check(index, article) for _ in range(10)))

    assert (await index.summary()).documents == 1


# 5. Star, never chain.


async def test_a_copy_of_a_copy_names_the_original(index: Index) -> None:
    original = Article(url=WIRE, title="First")
    await check(index, original)
    await check(index, Article("edited", like="wire", equal=80, at=MINUTE, title="Second"))

    match = await check(index, Article("edited twice", like="wire", equal=79, at=2 * MINUTE))

    assert match is not None
    assert (match.original, match.url, match.title) == (original.id, WIRE, "First")


@pytest.mark.every_store
async def test_a_link_outlives_the_original(index: Index) -> None:
    original = Article(url=WIRE, title="First")
    await check(index, original)
    copy = Article(at=20 * HOUR, title="Second", url="https://other.example/b")
    await check(index, copy)
    for minute in range(30):
        await check(index, Article(f"filler {minute}", at=40 * HOUR - HOUR + minute))

    match = await check(index, Article(at=40 * HOUR, title="Third"))

    assert match is not None
    assert (match.original, match.url, match.title, match.story) == (original.id, WIRE, "First", original.id)
    assert match.candidate == copy.id


@pytest.mark.every_store
@pytest.mark.parametrize(("equal", "answer"), [(8, "copy"), (5, "none")])
async def test_a_handful_of_lanes_tells_no_containment(index: Index, equal: int, answer: str) -> None:
    """Of a text forty times as long: by the sizes alone either would be all of the shorter one."""
    await check(index, Article(size=12_000))

    match = await check(index, Article("short", like="wire", equal=equal, size=300))

    assert ("none" if match is None else "related" if match.related else "copy") == answer


@pytest.mark.every_store
async def test_the_best_of_another_story_is_named_beside_the_match(index: Index) -> None:
    fire = Article("fire", url="https://a.example/fire", title="A fire")
    copy = fire.copy(url="https://b.example/fire", title="Our fire", at=MINUTE)
    wire = Article("wire", url="https://a.example/wire", title="A wire", at=2 * MINUTE)
    for each in (fire, copy, wire):
        await check(index, each)
    both = Article("of both", at=3 * MINUTE)
    signature = lanes("wire")[:70] + lanes("fire")[70:]
    fingerprint = replace(both.fingerprint, signature=signature, band_keys=band_keys(signature))

    match = await index.check(fingerprint, both.document)
    alone = await check(index, wire.copy(at=4 * MINUTE))

    assert match is not None
    assert match.original == wire.id
    assert match.neighbour == Neighbour(fire.id, "https://a.example/fire", "A fire")
    assert alone is not None
    assert alone.neighbour is None


@pytest.mark.every_store
async def test_related_documents_share_the_story_and_are_originals_of_their_own_kind(index: Index) -> None:
    original = Article()
    related = Article("loosely", like="wire", equal=30, title="Another report")
    await check(index, original)
    await check(index, related)

    match = await check(index, related.copy(title=""))

    assert match is not None
    assert (match.original, match.title, match.story) == (related.id, "Another report", original.id)


# 6. What is read back is checked.

GARBAGE = {
    "empty": b"",
    "short": b"\x01\x00",
    "zeros": bytes(400),
    "noise": random.Random(1).randbytes(400),
    "cut": None,
    "pickle": pickle.dumps({"original": "anything"}),
}


@pytest.mark.parametrize("garbage", GARBAGE.values(), ids=GARBAGE)
async def test_damaged_records_are_no_candidates(
    open_index: OpenIndex,
    shared_url: str,
    namespace: str,
    garbage: bytes | None,
    caplog: pytest.LogCaptureFixture,
) -> None:
    index = await open_index(shared_url)
    article = Article()
    await check(index, article)
    await check(index, article.copy(at=1))

    await index.close()  # what is still under way would mend the records
    _overwrite_records(shared_url, namespace, garbage)
    await index.open()

    assert await check(index, article.copy(at=2)) is None
    assert await check(index, article.copy(at=3)) is not None
    assert await check(index, article) is None
    (warning,) = (record for record in caplog.records if record.levelno >= logging.WARNING)
    assert "a record is damaged" in warning.getMessage()


async def test_a_repeat_whose_original_is_damaged_stops_nothing(
    open_index: OpenIndex, shared_url: str, namespace: str
) -> None:
    index = await open_index(shared_url)
    original, copy = Article(), Article(at=1)
    await check(index, original)
    await check(index, copy)

    await index.close()
    _overwrite_records(shared_url, namespace, b"noise", only=original.id)
    await index.open()
    answers = await asyncio.gather(check(index, copy), check(index, Article("unlike")), return_exceptions=True)

    assert list(answers) == [None, None]


async def test_damaged_postings_are_no_candidates(open_index: OpenIndex, redis_url: str, redis_keys: Redis) -> None:
    index = await open_index(redis_url)
    await check(index, Article())
    for name in redis_keys.scan_iter(match="*:bands:*"):
        for number, field in enumerate(redis_keys.hkeys(name)):
            redis_keys.hset(name, field, random.Random(number).randbytes(number))

    assert await check(index, Article()) is None
    assert await check(index, Article()) is not None


@pytest.mark.parametrize("title", ["", "x" * 500, "é" * 119, "終" * 90, "\x00", "\ud800"])
@pytest.mark.parametrize("url", ["", "https://wire.example/" + "a" * 3000, "https://wire.example/\ud800?ü"])
async def test_any_title_and_url_can_be_kept(index: Index, title: str, url: str) -> None:
    await check(index, Article(title=title, url=url))

    match = await check(index, Article())

    assert match is not None
    kept = title.encode("utf-8", "replace")[:120].decode("utf-8", "ignore")
    assert (match.title, match.url) == (kept, url.encode("utf-8", "replace")[:2000].decode())


# What is a match: measures, thresholds, scope, precedence.


def _at(equal: int, size: int = 300, other: int = 300) -> float:
    return containment(estimate(equal), size, other)


@pytest.mark.parametrize(
    ("measure", "threshold", "related_threshold"),
    [("resemblance", estimate(64), estimate(32)), ("containment", _at(64), _at(32)), ("larger", _at(64), _at(32))],
)
@pytest.mark.parametrize(("equal", "answer"), [(64, "copy"), (63, "related"), (32, "related"), (31, "none")])
async def test_thresholds_are_reached_at_their_very_value(
    open_index: OpenIndex,
    store_url: str,
    measure: Literal["containment", "resemblance", "larger"],
    threshold: float,
    related_threshold: float,
    equal: int,
    answer: str,
) -> None:
    policy = Policy(measure=measure, threshold=threshold, related_threshold=related_threshold)
    index = await open_index(store_url, policy)
    await check(index, Article())

    match = await check(index, Article("other", like="wire", equal=equal))

    assert ("none" if match is None else "related" if match.related else "copy") == answer


async def test_an_excerpt_is_no_copy_by_the_share_of_the_larger(open_index: OpenIndex, store_url: str) -> None:
    index = await open_index(store_url, Policy(measure="larger", threshold=0.5, related_threshold=0.5))
    await check(index, Article(size=300))
    excerpt = Article("excerpt", like="wire", equal=40, size=140)

    assert share_of_larger(estimate(40), 300, 140) < 0.5 < _at(40, 300, 140)
    assert await check(index, excerpt) is None
    again = await check(index, excerpt.copy())
    assert again is not None
    assert again.original == excerpt.id


async def test_similarity_and_containment_are_both_told(index: Index) -> None:
    await check(index, Article(size=300))

    match = await check(index, Article("abridged", like="wire", equal=40, size=100))

    assert match is not None
    assert match.similarity == estimate(40)
    assert match.containment == containment(estimate(40), 100, 300)


async def test_an_abridged_copy_matches_by_containment_and_not_by_resemblance(
    open_index: OpenIndex, store_url: str
) -> None:
    abridged = Article("abridged", like="wire", equal=38, size=100)
    for measure, related in (("containment", False), ("resemblance", True)):
        index = await open_index(store_url, Policy(measure=measure), namespace=measure)
        await check(index, Article(size=330))

        match = await check(index, abridged.copy())

        assert match is not None
        assert match.related is related


@pytest.mark.parametrize(
    ("scope", "same_source", "other_source", "no_source"),
    [("all", True, True, True), ("same-source", True, False, False), ("cross-source", False, True, True)],
)
async def test_scope_says_which_sources_are_compared(
    open_index: OpenIndex, store_url: str, scope: Scope, same_source: bool, other_source: bool, no_source: bool
) -> None:
    for source, matches in (("wire.example", same_source), ("other.example", other_source), ("", no_source)):
        index = await open_index(store_url, Policy(scope=scope), namespace=source)
        await check(index, Article(source="wire.example"))

        match = await check(index, Article(source=source))

        assert (match is not None) is matches


async def test_documents_without_a_source_are_not_of_one_source(open_index: OpenIndex, store_url: str) -> None:
    index = await open_index(store_url, Policy(scope="same-source"))
    await check(index, Article())

    assert await check(index, Article()) is None


@pytest.mark.parametrize("scope", ["all", "same-source", "cross-source"])
async def test_scope_never_hides_the_page_itself(open_index: OpenIndex, store_url: str, scope: Scope) -> None:
    index = await open_index(store_url, Policy(scope=scope))
    await check(index, Article(url=WIRE, source="wire.example"))

    match = await check(index, Article(url=WIRE, source="wire.example"))

    assert match is not None
    assert match.same_url


PAGE = "https://page.example/p"
PRECEDENCE = {
    "the page itself unchanged": Article("wire", url=PAGE),
    "the same text elsewhere": Article("wire", url="https://elsewhere.example/"),
    "the page itself changed": Article("another text", url=PAGE),
    "a copy": Article("a copy", like="wire", equal=120),
    "a looser copy": Article("a looser copy", like="wire", equal=100),
    "a related one": Article("a related one", like="wire", equal=30),
    "one of the same topic": Article("another report", names="abcdefxy"),
    "one of much the same topic": Article("one more report", names="abcghuvw"),
}


@pytest.mark.parametrize(("better", "worse"), list(itertools.pairwise(PRECEDENCE)))
@pytest.mark.parametrize("better_is_first", [True, False])
async def test_precedence(
    open_index: OpenIndex, store_url: str, better: str, worse: str, better_is_first: bool
) -> None:
    index = await open_index(store_url)
    order = (better, worse) if better_is_first else (worse, better)
    articles = {name: PRECEDENCE[name].copy(at=number) for number, name in enumerate(order)}
    for name in order:
        await check(index, articles[name])

    match = await check(index, Article("wire", url=PAGE, names="abcdefgh", at=MINUTE))

    assert match is not None
    assert match.candidate == articles[better].id


async def test_of_equal_candidates_the_oldest_matches(index: Index) -> None:
    articles = [Article(at=at) for at in (500, 100, 300)]
    for article in articles:
        await check(index, article)

    match = await check(index, Article(at=600))

    assert match is not None
    assert match.candidate == articles[1].id


async def test_a_changed_page_matches_however_different(index: Index) -> None:
    await check(index, Article("morning", url=WIRE))

    match = await check(index, Article("evening", url=WIRE))

    assert match is not None
    assert (match.same_url, match.same_text, match.related, match.similarity) == (True, False, False, 0.0)


async def test_pages_without_a_url_are_not_one_page(index: Index) -> None:
    await check(index, Article("morning"))

    assert await check(index, Article("evening")) is None


# Rewritten coverage: nothing in common but what it is about.


@pytest.mark.parametrize(
    ("one", "other", "matches"),
    [
        ("abcde", "abcde", True),
        ("abcd", "abcd", False),  # too few to tell
        ("abcdefghijkl", "abcdemnopqrst", True),  # 5 of 12 and of 13 are 0.4
        ("abcdefghijklm", "abcdenopqrstu", False),
        ("efghijkl", "abcdefgh", False),  # no two of the first four in common: never compared
        ("", "abcdefgh", False),
    ],
)
async def test_a_report_on_the_same_names_is_related(index: Index, one: str, other: str, matches: bool) -> None:
    await check(index, Article("wire", names=one))

    match = await check(index, Article("own report", names=other))

    assert (match is not None) is matches
    assert match is None or (match.related, match.score < Policy().related_threshold) == (True, True)


async def test_a_topic_is_asked_from_its_very_threshold_on(open_index: OpenIndex, store_url: str) -> None:
    for threshold, matches in ((0.625, True), (0.626, False)):
        index = await open_index(store_url, Policy(topic_threshold=threshold), namespace=f"{threshold}")
        await check(index, Article("wire", names="abcdefgh"))

        match = await check(index, Article("own report", names="abcdeijk"))

        assert (match is not None) is matches


async def test_a_topic_joins_what_the_story_began_with_alone(index: Index) -> None:
    """Copies of the first document are what it was; a rewrite of it may be about something else already."""
    first = Article("wire", names="abcdefgh")
    await check(index, first)
    rewrite = Article("rewrite", names="abcdefxy")
    by_rewrite = await check(index, rewrite)
    of_rewrite = await check(index, Article("rewrite of the rewrite", names="abcxyz"))
    copy = Article("copy", like="wire", equal=100, names="abcdtuvw")
    await check(index, copy)
    by_copy = await check(index, Article("own report", names="abtuvw"))

    assert by_rewrite is not None
    assert (by_rewrite.original, by_rewrite.story, by_rewrite.candidate) == (first.id, first.id, first.id)
    assert of_rewrite is None
    assert by_copy is not None
    assert (by_copy.original, by_copy.story, by_copy.candidate) == (first.id, first.id, copy.id)


@pytest.mark.parametrize(("source", "matches"), [("wire.example", False), ("other.example", True), ("", True)])
async def test_one_source_writes_of_the_same_names_day_by_day(index: Index, source: str, matches: bool) -> None:
    await check(index, Article("wire", source="wire.example", names="abcdefgh"))

    match = await check(index, Article("own report", source=source, names="abcdefgh"))

    assert (match is not None) is matches


async def test_a_copy_is_related_to_nothing_by_its_topic(index: Index) -> None:
    original = Article("wire")
    for article in (Article("another report", names="abcdefgh"), original):
        await check(index, article)

    match = await check(index, Article("copy", like="wire", equal=100, names="abcdefgh"))

    assert match is not None
    assert (match.original, match.related) == (original.id, False)


async def test_reports_of_one_template_are_not_joined_by_their_topic(index: Index) -> None:
    await check(index, Article("wire", names="abcdefgh", specifics=specifics("AB", "123")))

    assert await check(index, Article("report", names="abcdefgh", specifics=specifics("CD", "456"))) is None


# What fills a template, and what fills it in another report.
FILLED: list[tuple[str, ...]] = [
    ("AB", "123"),
    ("CD", "456"),
    ("AB", "456"),
    ("AD", "123"),
    ("", "12345"),
    ("", "67890"),
    ("", "12390"),
]
FILLED += [("AB", "1", "A"), ("AB", "1", "BC"), ("", "", "ABC"), ("", "", "D")]


@pytest.mark.parametrize(
    ("one", "other", "matches"),
    [
        (("AB", "123"), ("CD", "456"), False),  # another report
        (("AB", "123"), ("AB", "456"), True),  # the report with other figures
        (("AB", "123"), ("AD", "123"), True),  # a name put right
        (("AB", "123"), ("CD", "123"), False),  # three of five is not enough
        (("ABC", "123"), ("ABD", "124"), True),
        (("A", "1"), ("B", "2"), True),  # too few to tell
        (("", "12345"), ("", "67890"), False),  # of a script without case
        (("", "12345"), ("", "17890"), False),
        (("", "12345"), ("", "12890"), True),
        (("", "1234"), ("", "5678"), True),
        (("AB", "123"), ("", ""), True),
        (("", "", "A"), ("", "", "B"), False),  # a few lines about somebody else
        (("", "", "AB"), ("", "", "CDB"), True),
        (("", "", "ABC"), ("", "", "DEF"), False),
        (("", "", "A"), ("AB", "123"), True),  # only one of the two is short
    ],
)
@pytest.mark.parametrize("equal", [110, 30], ids=["a copy", "a related one"])
async def test_another_report_of_one_template_is_no_match(
    index: Index, one: tuple[str, ...], other: tuple[str, ...], matches: bool, equal: int
) -> None:
    await check(index, Article(specifics=specifics(*one)))

    match = await check(index, Article("other", like="wire", equal=equal, specifics=specifics(*other)))

    assert (match is not None) is matches


async def test_a_template_never_hides_the_page_itself_or_its_very_text(index: Index) -> None:
    await check(index, Article(url=WIRE, specifics=specifics("AB", "123")))

    assert await check(index, Article("changed", url=WIRE, specifics=specifics("CD", "456"))) is not None
    assert await check(index, Article(specifics=specifics("CD", "456"))) is not None


async def test_texts_too_short_match_by_exact_text_alone(index: Index) -> None:
    await check(index, Article("Watch the video", short=True))

    same = await check(index, Article("Watch the video", short=True))
    other = await check(index, Article("Watch the pictures", short=True))

    assert same is not None
    assert (same.same_text, same.similarity) == (True, 1.0)
    assert other is None


# 7. Stores agree; namespaces and configurations do not meet; the summary counts.


@pytest.mark.parametrize("what", ["namespace", "config"])
async def test_two_namespaces_and_two_configurations_never_meet(
    open_index: OpenIndex, store_url: str, what: str
) -> None:
    index = await open_index(store_url)
    other = await (
        open_index(store_url, namespace="-2") if what == "namespace" else open_index(store_url, config="00000002")
    )
    await check(index, Article())

    assert await check(other, Article()) is None
    assert ((await index.summary()).documents, (await other.summary()).documents) == (1, 1)


@pytest.mark.every_store
async def test_the_summary_counts_documents_by_the_hour(index: Index, namespace: str) -> None:
    for at in (0, 1, HOUR - 1, HOUR, 5 * HOUR):
        await check(index, Article(at=at))

    summary = await index.summary()

    hour = START // HOUR
    assert summary.documents_per_hour == {hour: 3, hour + 1: 1, hour + 5: 1}
    assert (summary.documents, summary.namespace, summary.config) == (5, namespace, CONFIG)
    assert summary.bytes


@pytest.mark.every_store
async def test_an_index_is_closed_twice_and_opened_again(open_index: OpenIndex, shared_url: str) -> None:
    index = await open_index(shared_url)
    await check(index, Article())
    await index.close()
    await index.close()

    await index.open()

    assert await check(index, Article()) is not None


@pytest.mark.every_store
async def test_closing_waits_for_the_checks_under_way(open_index: OpenIndex, store_url: str) -> None:
    index = await open_index(store_url)
    checks = [asyncio.create_task(check(index, Article())) for _ in range(100)]
    await asyncio.sleep(0)

    await index.close()

    assert (await asyncio.gather(*checks)).count(None) == 1


Printed = tuple[str, str, str, str]
PRINTED: list[Printed] = [
    # terms of the title, figures, article number, language
    ("", "", "", ""),
    ("abcde", "4 12 300 7 8 9", "1", "en"),
    ("abcdx", "5 12 300 7 8 9", "1", "en"),
    ("axyz", "1 2 3", "1", "de"),
    ("vwxyz", "11 22 33 7 8 9", "", "en"),
    ("ab", "4 120000 5.25 3-1", "2", ""),
]


def _articles(late: int) -> st.SearchStrategy[list[Article]]:
    """Sequences of a few texts and their edits. ``late``: by how many seconds a document may come after its time."""
    step = st.tuples(
        st.sampled_from("abc"),  # base text
        st.sampled_from([LANES, LANES, 120, 100, 60, 43, 30, 20]),  # lanes it keeps
        st.sampled_from([300, 300, 90]),  # size
        st.sampled_from(["", "", "https://one.example/1", "https://two.example/2"]),
        st.booleans(),  # too short to have a signature
        st.one_of(st.integers(0, HOUR), st.integers(0, 20 * HOUR)),  # since the one before
        st.one_of(st.just(0), st.integers(0, late)) if late else st.just(0),
        st.sampled_from([b"", b"", *(specifics(*filled) for filled in FILLED)]),
        st.sampled_from(["", "abcdefgh", "abcdefxy", "abcxyz", "abcdeijklmno"]),
        st.sampled_from(PRINTED),
    )

    def articles(steps: list[tuple[str, int, int, str, bool, int, int, bytes, str, Printed]]) -> list[Article]:
        clock, made = 0, []
        for number, (base, equal, size, url, short, passed, delay, filling, names, printed) in enumerate(steps):
            clock = min(clock + passed, 60 * HOUR)
            text = base if equal == LANES else f"{base}{number}"
            source = url.removeprefix("https://")[:3] if url else "wir"
            made.append(
                Article(
                    *(text, max(0, clock - delay), url, source, f"title {number}"),
                    like=base,
                    equal=equal,
                    size=size,
                    short=short,
                    specifics=filling,
                    names="" if short else names,
                    headline=printed[0],
                    figures=printed[1],
                    number=printed[2],
                    language=printed[3],
                    edition=len(printed[1]) % 3,
                    serial=number,
                )
            )
        return made

    return st.lists(step, min_size=2, max_size=14).map(articles)


@asynccontextmanager
async def _opened(url: str, namespace: str, policy: Policy) -> AsyncIterator[Index]:
    index = store_of(url, namespace=namespace, config=CONFIG, policy=policy, timeout=5)
    await index.open()
    try:
        yield index
    finally:
        await index.close()


async def _answers(url: str, namespace: str, policy: Policy, articles: list[Article]) -> list[Match | None]:
    answers = []
    async with _opened(url, namespace, policy) as index:
        for article in articles:
            answers.append(await check(index, article))
            if isinstance(index, ShardedRedisIndex):
                # Of candidates that are quite alike it takes one that is decided, which the last one may not be yet.
                await index._decisions.join()
    return answers


_namespaces = itertools.count()
_POLICIES = st.builds(
    Policy,
    measure=st.sampled_from(["containment", "resemblance", "larger"]),
    scope=st.sampled_from(["all", "all", "same-source", "cross-source"]),
    window=st.sampled_from([DAY, DAY, 2 * HOUR, 5 * HOUR + 17]),
    by_titles=st.booleans(),
    keep_updates=st.booleans(),
    drop_share=st.sampled_from([0.6, 0.7, 0.95]),
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(articles=_articles(late=60 * HOUR), policy=_POLICIES)
def test_all_stores_give_the_same_answers(
    articles: list[Article], policy: Policy, redis_url: str, sqlite_url: str, namespace: str
) -> None:
    own = f"{namespace}-{next(_namespaces)}"

    urls = ("memory://", sqlite_url, redis_url, Sharded(redis_url, 3))
    by_memory, by_sqlite, by_redis, by_shards = (asyncio.run(_answers(url, own, policy, articles)) for url in urls)

    assert by_memory == by_sqlite
    assert by_sqlite == by_redis
    assert by_redis == by_shards


@settings(max_examples=100, deadline=None)
@given(articles=_articles(late=0))
def test_of_identical_documents_in_a_window_exactly_one_is_first(articles: list[Article]) -> None:
    # A few words under two headlines of one source are two documents.
    articles = [replace(article, headline="") for article in articles]
    matches = asyncio.run(_answers("memory://", "laws", Policy(), articles))

    for number, (article, match) in enumerate(zip(articles, matches, strict=True)):
        earlier = [each for each in articles[:number] if each.text == article.text and article.at - each.at <= DAY]
        assert (match is not None and match.same_text) is bool(earlier)


@settings(max_examples=100, deadline=None)
@given(articles=_articles(late=60 * HOUR))
def test_an_original_is_never_a_duplicate_of_another(articles: list[Article]) -> None:
    matches = asyncio.run(_answers("memory://", "laws", Policy(), articles))

    by_id = dict(zip((article.id for article in articles), matches, strict=True))
    for match in filter(None, matches):
        answer = by_id[match.original]
        assert answer is None or answer.related


# What the tests look into the stores with.


@pytest.fixture
def sqlite_file(tmp_path: Path) -> Path:
    return tmp_path / "window.sqlite"


@pytest.fixture
def sqlite_url(sqlite_file: Path) -> str:
    return f"sqlite:///{sqlite_file}"


@pytest.fixture
def redis_keys(redis_url: str) -> Iterator[Redis]:
    with closing(Redis.from_url(redis_url)) as client:
        yield client


def _overwrite_records(url: str, namespace: str, garbage: bytes | None, *, only: str = "") -> None:
    """``None`` cuts the last byte off."""
    if url.startswith("sqlite"):
        with closing(sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None)) as sql:
            for key, record in sql.execute("SELECT key, record FROM documents_1").fetchall():
                if only and key_of_number(key).hex() != only:
                    continue
                value = record[:-1] if garbage is None else garbage
                sql.execute("UPDATE documents_1 SET record = ? WHERE key = ?", (value, key))
        return
    with closing(open_client(url)) as client:
        for name in client.scan_iter(match=f"{{neardup:{namespace}:*:records:*"):
            for key, record in client.hgetall(name).items():
                if only and key.hex() != only:
                    continue
                client.hset(name, key, record[:-1] if garbage is None else garbage)


def _seconds_ahead(seconds: float) -> Callable[[], float]:
    now = time.time
    return lambda: now() + seconds
