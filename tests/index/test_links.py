"""Every store: a check repeated gives the same answer, and every copy links to its original."""

from __future__ import annotations

from dataclasses import replace

from documents import HOUR, MINUTE, WIRE, Article, band_keys, check, lanes

from scrapy_neardup.document import Neighbour
from scrapy_neardup.index import Index


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


async def test_related_documents_share_the_story_and_are_originals_of_their_own_kind(index: Index) -> None:
    original = Article()
    related = Article("loosely", like="wire", equal=30, title="Another report")
    await check(index, original)
    await check(index, related)

    match = await check(index, related.copy(title=""))

    assert match is not None
    assert (match.original, match.title, match.story) == (related.id, "Another report", original.id)
