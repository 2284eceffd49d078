"""All stores give the same answers in floods, with late documents and over generations of postings."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
from conftest import CONFIG
from documents import DAY, HOUR, LANES, MINUTE, Article, check, specifics

from scrapy_neardup.document import Match
from scrapy_neardup.index import Policy, index_from_url

_EQUAL = (LANES, LANES, LANES, 127, 120, 100, 60, 43, 30, 20)
_FILLED = (b"", b"", b"", specifics("AB", "123"), specifics("CD", "456"), specifics("", "", "A"))


def flood(count: int, seed: int, window: int) -> Iterator[Article]:
    """Yield documents of a few texts and their edits, in the order of arrival.

    Many more than 16 share a key, many more than 32 are candidates. One in five is late, by seconds or by days; a few
    are days ahead, alone or in a row. The clock goes on by less than a window at a time.
    """
    chance = random.Random(seed)
    clock, left, base = 3.0 * DAY, 0, ""
    early, alone = 0, True
    for serial in range(count):
        if not left:
            left, base = chance.choice((1, 3, 20, 60, 200)), f"text {chance.randrange(12)}"
        left -= 1
        clock += chance.choice((0, 1, 5, MINUTE, MINUTE, 10 * MINUTE))
        if chance.random() < 0.002:
            clock += chance.uniform(0, window - 2 * HOUR)
        at = clock
        if chance.random() < 0.2:
            at -= chance.choice((MINUTE, HOUR, chance.uniform(0, window), chance.uniform(0, 3 * window)))
        if early:
            at, early = at + 3 * window, early - 1
        elif alone and chance.random() < 0.003:
            early = chance.choice((0, 0, 1, 3))
            at += 3 * window if early else window // 2
            alone = False
        else:
            alone = True
        equal = chance.choice(_EQUAL)
        page = chance.choice(("", "", "", "https://one.example/1", "https://two.example/2"))
        short = chance.random() < 0.05
        yield Article(
            base if equal == LANES else f"{base}, edit {serial}",
            max(0.0, at),
            page,
            page.removeprefix("https://")[:3] or chance.choice(("", "wir", "new")),
            like=base,
            equal=equal,
            size=chance.choice((300, 300, 90)),
            short=short,
            specifics=chance.choice(_FILLED),
            topic="" if short else chance.choice(("", "ABCdefgh", "ABCdefxy", "ABwxyz")),
            headline=chance.choice(("", "", "abcde", "axyz")),
            figures=chance.choice(("", "4 12 300 7 8 9", "5 12 300 7 8 9")),
            number=chance.choice(("", "", "1")),
            serial=serial,
        )


async def _answers(url: str, namespace: str, window: int, count: int) -> list[Match | None]:
    index = index_from_url(url, namespace=namespace, config=CONFIG, policy=Policy(window=window), timeout=30)
    await index.open()
    try:
        return [await check(index, article) for article in flood(count, 5, window)]
    finally:
        await index.close()


@pytest.mark.parametrize("window", [2 * HOUR, 7 * DAY], ids=["2 hours", "a week"])
@pytest.mark.slow
async def test_floods_and_late_documents_are_judged_alike(
    redis_url: str, tmp_path: object, namespace: str, window: int
) -> None:
    urls = ("memory://", f"sqlite:///{tmp_path}/window.sqlite", redis_url)
    by_memory, by_sqlite, by_redis = [await _answers(url, namespace, window, 400) for url in urls]

    assert sum(match is not None for match in by_memory) > 300
    assert by_sqlite == by_memory
    assert by_redis == by_memory
