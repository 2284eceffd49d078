"""Documents that get the same id by chance are told apart by text and url, in every store."""

from __future__ import annotations

from dataclasses import replace

import pytest
from documents import HOUR, START, Article, check
from newsdesk import opened

from scrapy_neardup.document import Document
from scrapy_neardup.index import Index

SECOND = START.to_bytes(4, "big").hex()


def _in_one_second(article: Article, number: int) -> Document:
    """The document of an article with this number in place of the hash."""
    return replace(article.document, id=f"{SECOND}{number:08x}", seen_at=float(START))


@pytest.mark.parametrize("number", [7, 0xFFFF_FFFF])
async def test_two_documents_with_one_id_are_two_documents(index: Index, number: int) -> None:
    fire, storm = Article("fire", url="https://a.example/fire"), Article("storm", url="https://b.example/storm")

    first = await index.check(fire.fingerprint, _in_one_second(fire, number))
    second = await index.check(storm.fingerprint, _in_one_second(storm, number))

    assert (first.match, second.match) == (None, None)
    assert (first.id, second.id) == (f"{SECOND}{number:08x}", f"{SECOND}{(number + 1) % (1 << 32):08x}")
    for article, each in ((fire, first), (storm, second)):
        copy = await check(index, article.copy(at=HOUR, url="https://c.example/"))
        assert copy is not None
        assert (copy.original, copy.url) == (each.id, article.url)
        assert await index.check(article.fingerprint, _in_one_second(article, number)) == each


async def test_stories_and_delivery_go_by_the_id_that_a_verdict_names(shared_url: str, namespace: str) -> None:
    async with opened(store=shared_url, namespace=namespace, action="drop", delivers_later=True) as room:
        lost, kept = (room.article(seed, seed, 0) for seed in ("lost", "kept"))
        kept = replace(kept, id=lost.id)
        copy = room.article("kept", "copy", 1)
        verdicts = [await room.detector.check(each) for each in (lost, kept, copy)]
        delivery = room.detector.delivery
        assert delivery is not None
        assert verdicts[1].id is not None
        delivery.deliver([verdicts[1].id])

    assert [(verdict.status, verdict.would_drop) for verdict in verdicts] == [
        ("original", False),
        ("original", False),
        ("duplicate", True),
    ]
    assert verdicts[0].id == lost.id != verdicts[1].id
    assert [verdict.story for verdict in verdicts] == [lost.id, verdicts[1].id, verdicts[1].id]
    async with opened(store=shared_url, namespace=namespace, run="another") as room:
        members = await room.detector.index.members(verdicts[1].id)
        again = [await room.publish(seed, "later", 60) for seed in ("lost", "kept")]
    assert [member.id for member in members] == [verdicts[1].id, copy.id]
    assert [verdict.status for verdict in again] == ["original", "duplicate"]
