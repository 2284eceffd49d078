"""People look into a window and purge it while eight crawls write: nobody fails, and no story is lost."""

from __future__ import annotations

import asyncio

import pytest
from newsdesk import text

from scrapy_neardup.detector import NearDupDetector
from scrapy_neardup.settings import NearDupSettings
from scrapy_neardup.tools.ask import Ask

pytestmark = pytest.mark.slow

CRAWLS, STORIES = 8, 12


class Crawl:
    """A crawl that prints each story once, and keeps what it is not told to drop."""

    def __init__(self, store: str, namespace: str, number: int) -> None:
        settings = NearDupSettings(store=store, namespace=namespace, action="drop", store_timeout=60)
        self.detector = NearDupDetector(settings, delivers_later=True)
        self.number = number
        self.statuses: set[str] = set()
        self.kept: set[int] = set()

    async def run(self) -> None:
        delivery = self.detector.delivery
        assert delivery is not None
        for step in range(STORIES):
            story = (step + 3 * self.number) % STORIES
            url = f"https://paper{self.number}.example/{story}"
            document = self.detector.document(text(story, 40), url=url, title=f"News of {story}")
            verdict = await self.detector.check(document)
            self.statuses.add(verdict.status)
            if not verdict.would_drop:
                self.kept.add(story)
                delivery.deliver([document.id])
            await self.detector.confirm_events()


async def test_whoever_looks_or_purges_beside_eight_crawls_fails_nobody(shared_url: str, namespace: str) -> None:
    crawls = [Crawl(shared_url, namespace, number) for number in range(CRAWLS)]
    people = Crawl(shared_url, namespace, CRAWLS).detector
    await asyncio.gather(*(each.detector.open() for each in crawls))
    await people.index.open()
    ask, removed, cursor = Ask(people), 0, None
    writing = asyncio.gather(*(each.run() for each in crawls))
    while not writing.done():
        removed += await people.purge(source="paper3.example")
        removed += await people.purge(url="https://paper4.example/2")
        news = await ask.stories(cursor)
        cursor = news["next"]
        assert not news["gap"]
        await people.index.documents.records()
        await people.index.summary()
        await Ask(people).events()
        await asyncio.sleep(0)
    await writing
    await people.index.close()
    await asyncio.gather(*(each.detector.close() for each in crawls))

    assert removed > 0
    assert set.union(*(each.statuses for each in crawls)) == {"original", "duplicate"}
    assert set.union(*(each.kept for each in crawls)) == {*range(STORIES)}
