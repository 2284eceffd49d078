"""Every store: a check repeated gives the same answer, and every copy links to its original."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from documents import HOUR, MINUTE, WIRE, Article, band_keys, check, lanes

from scrapy_neardup.document import Neighbour
from scrapy_neardup.index import Index


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

    match = (await index.check(fingerprint, both.document)).match
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
