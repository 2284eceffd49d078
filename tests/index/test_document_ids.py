"""Documents that get the same id by chance are told apart by text and url, in every store."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from conftest import OpenIndex
from documents import HOUR, START, Article, check
from floods import flood
from newsdesk import opened

from scrapy_neardup.document import Document, Match
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


def _renamed(answer: Match | None, places: dict[str, int]) -> Match | None:
    """The answer with the places of articles instead of ids."""
    if answer is None:
        return None
    neighbour = answer.neighbour and replace(answer.neighbour, story=str(places[answer.neighbour.story]))
    names = ("original", "story", "candidate", "registered_before")
    ids = {name: str(places.get(getattr(answer, name), "")) for name in names}
    return replace(answer, neighbour=neighbour, **ids)  # type: ignore[arg-type]


async def _answers(index: Index, articles: Sequence[Article], numbers: Sequence[int]) -> list[Match | None]:
    """Check articles, each with a number in place of the hash, and every fifth of them again."""
    places: dict[str, int] = {}
    answers = []
    for place, (article, number) in enumerate(zip(articles, numbers, strict=True)):
        document = _in_one_second(article, number)
        for _ in range(2 if place % 5 == 0 else 1):
            checked = await index.check(article.fingerprint, document)
            assert places.setdefault(checked.id, place) == place, "two documents have one id"
            answers.append(_renamed(checked.match, places))
    return answers


async def test_verdicts_are_the_same_if_all_documents_of_a_second_have_one_id(
    open_index: OpenIndex, store_url: str
) -> None:
    articles = list({(each.text, each.url): each for each in flood(150, 5, 24 * HOUR)}.values())

    apart = await _answers(await open_index(store_url, namespace="-apart"), articles, range(len(articles)))
    together = await _answers(await open_index(store_url, namespace="-together"), articles, [0] * len(articles))

    assert sum(answer is not None for answer in apart) > 50
    assert together == apart


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
