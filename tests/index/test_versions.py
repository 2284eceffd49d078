"""Two versions of the package on one store: each has a window of its own, and neither disturbs the other."""

from __future__ import annotations

import pytest
from texts import article, opened

from scrapy_neardup import NearDupDetector, detector
from scrapy_neardup.index import RECORD_VERSIONS
from scrapy_neardup.index.purging import Selection

NEXT = tuple(version + 1 for version in RECORD_VERSIONS)
FIRE = article("fire")


async def statuses(checker: NearDupDetector, *urls: str) -> list[str]:
    return [(await checker.check(checker.document(FIRE, url=url))).status for url in urls]


async def test_two_versions_never_read_each_others_records(
    shared_url: str, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The window of a new version begins empty, that of the old one goes on, and a purge removes both."""
    async with opened("news", shared_url, namespace) as old:
        monkeypatch.setattr(detector, "RECORD_VERSIONS", NEXT)
        async with opened("news", shared_url, namespace) as new:
            assert await statuses(old, "https://a.example/", "https://b.example/") == ["original", "duplicate"]
            assert await statuses(new, "https://a.example/", "https://b.example/") == ["original", "duplicate"]
            assert await statuses(old, "https://c.example/") == ["duplicate"]

            olds, news = await old.summary(), await new.summary()
            assert (olds.documents, news.documents) == (3, 2)
            assert olds.config in " ".join(news.other_configs)
            assert news.config in " ".join(olds.other_configs)

            assert await new.index.purge(Selection()) == 5
            assert (await old.summary()).documents == 0
