"""Every store: documents at most a window apart match, link to their original, and are told apart by text and url."""

from dataclasses import replace

import pytest
from conftest import OpenIndex
from documents import DAY, HOUR, MINUTE, START, WIRE, Article, check, checked, members_in
from newsdesk import opened

from scrapy_neardup.document import Document
from scrapy_neardup.index import Index, Policy


@pytest.mark.parametrize("window", [DAY, 31 * DAY])
@pytest.mark.parametrize(("more", "matches"), [(0, True), (1, False), (2 * DAY, False)])
@pytest.mark.parametrize("order", ["in order", "late"])
@pytest.mark.parametrize("offset", [0, HOUR - 1])
async def test_documents_at_most_a_window_apart_match(
    open_store: OpenIndex, window: int, more: int, matches: bool, order: str, offset: int
) -> None:
    index = await open_store(Policy(window=window))
    first, second = Article(at=offset), Article(at=offset + window + more)
    if order == "late":
        first, second = second, first
    assert await check(index, first) is None
    found = await check(index, second)
    assert (found is not None) is matches


@pytest.mark.parametrize("at", [-START, 0xFFFF_FFFF - START])
async def test_the_first_and_the_last_second_there_are_can_be_judged(index: Index, at: int) -> None:
    assert await check(index, Article(at=at)) is None
    assert await check(index, Article(at=at)) is not None


async def test_a_wrong_date_as_the_first_of_a_process_does_not_touch_the_window(
    open_index: OpenIndex, shared_url: str
) -> None:
    first = await open_index(shared_url)
    article = Article()
    await check(first, article)
    restarted = await open_index(shared_url)
    await check(restarted, Article("from the future", at=1000 * DAY))
    assert await check(restarted, article.copy(at=MINUTE)) is not None


async def test_a_late_document_finds_what_is_left_of_the_oldest_hour(open_store: OpenIndex) -> None:
    """Also where a generation of bands ended within that hour."""
    index = await open_store(Policy(window=2 * HOUR))
    first = Article(at=4468)
    assert (START + 4468) // 65536 < (START + 11840 - 2 * HOUR) // 65536
    for article in (first, *(Article("later", at=11840) for _ in range(2))):
        await check(index, article)
    match = await check(index, Article(at=11668))
    assert match.original == first.id


async def test_a_link_outlives_the_original(index: Index) -> None:
    original = Article(url=WIRE, title="First")
    await check(index, original)
    copy = Article(at=20 * HOUR, title="Second", url="https://other.example/b")
    await check(index, copy)
    for minute in range(30):
        await check(index, Article(f"filler {minute}", at=40 * HOUR - HOUR + minute))
    match = await check(index, Article(at=40 * HOUR, title="Third"))
    assert (match.original, match.original_url, match.original_title, match.story) == (
        original.id,
        WIRE,
        "First",
        original.id,
    )
    assert match.id == copy.id


async def test_related_documents_share_the_story_and_are_originals_of_their_own_kind(index: Index) -> None:
    original = Article()
    related = Article("loosely", like="wire", equal=30, title="Another report")
    await check(index, original)
    await check(index, related)
    match = await check(index, related.copy(title=""))
    assert (match.original, match.original_title, match.story) == (related.id, "Another report", original.id)


SECOND = START.to_bytes(4, "big").hex()


def _in_one_second(article: Article, number: int) -> Document:
    """The document of an article with this number in place of the hash."""
    return replace(article.document, id=f"{SECOND}{number:08x}", seen_at=float(START))


@pytest.mark.parametrize("number", [7, 0xFFFF_FFFF])
async def test_two_documents_with_one_id_are_two_documents(index: Index, number: int) -> None:
    fire, storm = Article("fire", url="https://a.example/fire"), Article("storm", url="https://b.example/storm")
    first = await checked(index, fire.fingerprint, _in_one_second(fire, number))
    second = await checked(index, storm.fingerprint, _in_one_second(storm, number))
    assert (first.decision.match, second.decision.match) == (None, None)
    assert (first.key.hex(), second.key.hex()) == (f"{SECOND}{number:08x}", f"{SECOND}{(number + 1) % (1 << 32):08x}")
    for article, each in ((fire, first), (storm, second)):
        copy = await check(index, article.copy(at=HOUR, url="https://c.example/"))
        assert (copy.original, copy.pair.old.url.decode()) == (each.key.hex(), article.url)
        assert (await checked(index, article.fingerprint, _in_one_second(article, number))).key == each.key


async def test_stories_and_delivery_go_by_the_id_that_a_verdict_names(shared_url: str, namespace: str) -> None:
    async with opened(store=shared_url, namespace=namespace, action="drop", delivers_later=True) as room:
        lost, kept = (room.article(seed, seed, 0) for seed in ("lost", "kept"))
        kept = replace(kept, id=lost.id)
        copy = room.article("kept", "copy", 1)
        verdicts = [await room.detector.check(each) for each in (lost, kept, copy)]
        delivery = room.detector.delivery
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
        members = await members_in(room.detector.index, verdicts[1].id)
        again = [await room.publish(seed, "later", 60) for seed in ("lost", "kept")]
    assert [member.id for member in members] == [verdicts[1].id, copy.id]
    assert [verdict.status for verdict in again] == ["original", "duplicate"]
