"""Every store: documents match when their own times are at most a window apart."""

from __future__ import annotations

import pytest
from conftest import OpenIndex
from documents import DAY, HOUR, MINUTE, START, Article, check

from scrapy_neardup.index import Index, Policy


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
@pytest.mark.parametrize("offset", [0, HOUR - 1])
async def test_documents_at_most_a_window_apart_match(
    index: Index, apart: int, matches: bool, order: str, offset: int
) -> None:
    first, second = Article(at=offset), Article(at=offset + apart)
    if order == "late":
        first, second = second, first

    assert await check(index, first) is None
    found = await check(index, second)

    assert (found is not None) is matches


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
