"""Several real processes on one window, and crawls beside people who look and purge: nothing is lost or twice."""

import asyncio
import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from multiprocessing.synchronize import Barrier
from typing import Any

import pytest
from conftest import CONFIG
from documents import Article, ScriptedJudge, check
from newsdesk import text

from scrapy_neardup.detector import NearDupDetector
from scrapy_neardup.index import Policy, index_from_url
from scrapy_neardup.rules.match import Match
from scrapy_neardup.settings import NearDupSettings
from scrapy_neardup.tools.ask import Ask

pytestmark = pytest.mark.slow

PROCESSES = 4
COPIES = 25  # of each process
TIMEOUT = 30.0  # seconds: much more than the default, for machines that do other work too

_together: Barrier


def _start(barrier: Barrier) -> None:
    global _together
    _together = barrier


async def _check_copies(url: str, namespace: str, process: int) -> list[Match | None]:
    index = index_from_url(url, namespace=namespace, config=CONFIG, judge=ScriptedJudge(Policy()), timeout=TIMEOUT)
    _together.wait(120)
    await index.open()
    articles = [Article(serial=process * COPIES + number) for number in range(COPIES)]
    answers = await asyncio.gather(*(check(index, article) for article in articles))
    await index.close()
    return answers


def _run(*arguments: Any) -> list[Match | None]:
    return asyncio.run(_check_copies(*arguments))


def test_processes_that_see_the_same_text_at_once_have_one_original(shared_url: str, namespace: str) -> None:
    context = multiprocessing.get_context("spawn")
    barrier = context.Barrier(PROCESSES)
    with ProcessPoolExecutor(PROCESSES, mp_context=context, initializer=_start, initargs=(barrier,)) as pool:
        found = pool.map(_run, [shared_url] * PROCESSES, [namespace] * PROCESSES, range(PROCESSES))
        answers = [answer for each in found for answer in each]
    assert len(answers) == PROCESSES * COPIES
    assert answers.count(None) == 1
    assert len({answer.original for answer in answers if answer}) == 1


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
