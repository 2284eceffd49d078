"""Every store: what is read back is checked, and any title and url can be kept."""

import logging
import pickle
import random

import pytest
from conftest import OpenIndex
from documents import FIRST, Article, check, join, joined, overwrite, stored
from redis import Redis

from scrapy_neardup.exceptions import StoreError
from scrapy_neardup.index import Index
from scrapy_neardup.records.stories import StoryCounters
from scrapy_neardup.story import Claim

GARBAGE = {
    "empty": b"",
    "short": b"\x01\x00",
    "zeros": bytes(400),
    "noise": random.Random(1).randbytes(400),
    "cut": None,
    "pickle": pickle.dumps({"original": "anything"}),
}


async def overwrite_all(index: Index, kind: str, name: str, value: bytes) -> None:
    """Give a field of all hashes of a kind another value."""
    for key in await stored(index, kind):
        await overwrite(index, key, {name.encode(): value})


async def overwrite_records(index: Index, garbage: bytes | None) -> None:
    """Damage all records. ``None`` cuts the last byte off."""
    for key, fields in (await stored(index, "records")).items():
        changed = {field: value[:-1] if garbage is None else garbage for field, value in fields.items()}
        await overwrite(index, key, changed)


@pytest.mark.parametrize("garbage", GARBAGE.values(), ids=GARBAGE)
async def test_damaged_records_are_no_candidates(
    open_index: OpenIndex, shared_url: str, garbage: bytes | None, caplog: pytest.LogCaptureFixture
) -> None:
    index = await open_index(shared_url)
    article = Article()
    await check(index, article)
    await check(index, article.copy(at=1))
    await overwrite_records(index, garbage)
    first = article.copy(at=2)
    assert await check(index, first) is None
    assert await check(index, article.copy(at=3)) is not None
    again = await check(index, article)
    assert again.original == first.id
    (warning,) = (record for record in caplog.records if record.levelno >= logging.WARNING)
    assert "a record is damaged" in warning.getMessage()


async def test_damaged_postings_are_no_candidates(open_index: OpenIndex, redis_url: str, redis_keys: Redis) -> None:
    index = await open_index(redis_url)
    await check(index, Article())
    for name in redis_keys.scan_iter(match="*:bands:*"):
        for number, field in enumerate(redis_keys.hkeys(name)):
            redis_keys.hset(name, field, random.Random(number).randbytes(number))
    assert await check(index, Article()) is None
    assert await check(index, Article()) is not None


@pytest.mark.in_memory
@pytest.mark.parametrize(
    ("title", "kept"),
    [
        ("", ""),
        ("x" * 500, "x" * 149 + "…"),
        ("é" * 119, "é" * 119),
        ("終" * 90, "終" * 90),
        ("\x00", "\ufffd"),
        ("\ud800", "\ufffd"),
    ],
    ids=["none", "long", "accents", "Chinese", "control", "surrogate"],
)
@pytest.mark.parametrize("url", ["", "https://wire.example/" + "a" * 3000, "https://wire.example/\ud800?ü"])
async def test_any_title_and_url_can_be_kept(index: Index, title: str, kept: str, url: str) -> None:
    await check(index, Article(title=title, url=url))
    match = await check(index, Article())
    assert (match.original_title, match.original_url) == (kept, url.encode("utf-8", "replace")[:2000].decode())


async def test_damaged_counters_of_a_story_cost_one_warning(
    open_index: OpenIndex, shared_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    index = await open_index(shared_url)
    await joined(index, join("copy", 60, "copy.example"))
    await index.events.claim(Claim(FIRST.id, "watch"))
    await overwrite_all(index, "story", "counts", b"\1")
    assert await index.events.running() == await index.events.running() == []
    with pytest.raises(StoreError, match="story"):
        await joined(index, join("another", 61, "another.example"))
    (warning,) = (record for record in caplog.records if record.levelno >= logging.WARNING)
    assert "a story is damaged" in warning.getMessage()
    await overwrite_all(index, "story", "counts", StoryCounters(joined=2**32 - 1).pack())
    with pytest.raises(StoreError, match="damaged"):
        await joined(index, join("another", 62, "another.example"))


async def test_a_bug_of_ours_is_no_fault_of_the_store(open_index: OpenIndex, shared_url: str) -> None:
    with pytest.raises(ValueError, match="not in tuple"):
        await joined(await open_index(shared_url), join("copy", status="unheard of"))
