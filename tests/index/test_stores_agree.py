"""All stores give the same answers in floods, with late documents and over generations of postings."""

from __future__ import annotations

import pytest
from conftest import CONFIG
from documents import DAY, HOUR
from floods import answers, flood

from scrapy_neardup.document import Match
from scrapy_neardup.index import Policy, index_from_url


async def _answers(url: str, namespace: str, window: int, count: int) -> list[Match | None]:
    index = index_from_url(url, namespace=namespace, config=CONFIG, policy=Policy(window=window), timeout=30)
    await index.open()
    try:
        return await answers(index, list(flood(count, 5, window)))
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
