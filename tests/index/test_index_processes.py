"""Several real processes on one window."""

from __future__ import annotations

import asyncio
import multiprocessing
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing.synchronize import Barrier
from typing import TypeVar

import pytest
from conftest import CONFIG
from documents import Article, check

from scrapy_neardup.document import Match
from scrapy_neardup.index import Policy, index_from_url

PROCESSES = 4
DOCUMENTS = 100
TIMEOUT = 10.0  # seconds: five times the default, for machines that do other work too

_together: Barrier
R = TypeVar("R")


def _start(barrier: Barrier) -> None:
    global _together
    _together = barrier


def _crawl(url: str, namespace: str, process: int) -> list[Match | None]:
    """The answers for one process's documents."""
    articles = [Article(serial=process * DOCUMENTS + number) for number in range(DOCUMENTS)]

    async def crawl() -> list[Match | None]:
        index = index_from_url(url, namespace=namespace, config=CONFIG, policy=Policy(), timeout=TIMEOUT)
        _together.wait(30)
        await index.open()
        answers = await asyncio.gather(*(check(index, article) for article in articles))
        await index.close()
        return list(answers)

    return asyncio.run(crawl())


@pytest.fixture(scope="module")
def pool() -> Iterator[ProcessPoolExecutor]:
    """Processes that wait for each other before they begin."""
    context = multiprocessing.get_context("spawn")
    barrier = context.Barrier(PROCESSES)
    with ProcessPoolExecutor(PROCESSES, mp_context=context, initializer=_start, initargs=(barrier,)) as running:
        yield running


def _in_processes(pool: ProcessPoolExecutor, crawl: Callable[[str, str, int], R], url: str, namespace: str) -> list[R]:
    """Return the result of each process."""
    crawls = [pool.submit(crawl, url, namespace, process) for process in range(PROCESSES)]
    return [each.result(timeout=120) for each in crawls]


@pytest.mark.slow
def test_processes_that_see_the_same_text_at_once_have_one_original(
    pool: ProcessPoolExecutor, shared_url: str, namespace: str
) -> None:
    results = _in_processes(pool, _crawl, shared_url, namespace)

    answers = [answer for part in results for answer in part]
    assert len(answers) == PROCESSES * DOCUMENTS
    assert answers.count(None) == 1
    assert len({answer.original for answer in answers if answer}) == 1
