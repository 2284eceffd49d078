"""Sixteen processes join one story and claim its levels: no member is lost, and each level is granted once."""

from __future__ import annotations

import asyncio
import multiprocessing
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from multiprocessing.synchronize import Barrier

import pytest
from conftest import CONFIG, OpenIndex
from documents import HOUR, MINUTE
from joins import FIRST, join, joined

from scrapy_neardup.document import Claim, Join, Story
from scrapy_neardup.index import Policy, index_from_url

PROCESSES = 16
DOCUMENTS = 40  # of each process
TIMEOUT = 30.0  # seconds: much more than the default, for machines that do other work too

_together: Barrier


def _start(barrier: Barrier) -> None:
    global _together
    _together = barrier


def _joins(process: int) -> list[Join]:
    names = [f"{process} {number}" for number in range(DOCUMENTS)]
    return [join(name, MINUTE + process, f"{name}.example".replace(" ", "-")) for name in names]


def _work(url: str, namespace: str, process: int) -> list[str]:
    """Join documents one after the other or a few at a time, and claim after each. Return the levels granted."""
    waiting = iter(_joins(process))
    granted = []

    async def crawl() -> None:
        index = index_from_url(url, namespace=namespace, config=CONFIG, policy=Policy(), timeout=TIMEOUT)

        async def one_after_the_other() -> None:
            for each in waiting:
                story: Story = await joined(index, each)
                if await index.claim(Claim(story.id, "watch", extent=story.extent)):
                    granted.append("watch")
                if await index.claim(Claim(story.id, "breaking", extent=story.extent)):
                    granted.append("breaking")

        _together.wait(120)
        await index.open()
        await asyncio.gather(*(one_after_the_other() for _ in range(1 + process % 4)))
        await index.close()

    asyncio.run(crawl())
    return granted


@pytest.mark.slow
async def test_sixteen_processes_join_one_story(open_index: OpenIndex, shared_url: str, namespace: str) -> None:
    fast = "forkserver" in multiprocessing.get_all_start_methods()  # not on Windows
    context = multiprocessing.get_context("forkserver" if fast else "spawn")
    if fast:
        context.set_forkserver_preload(
            [__name__, "scrapy_neardup.index.redis.store", "scrapy_neardup.index.sqlite.store"]
        )
    barrier = context.Barrier(PROCESSES)
    with ProcessPoolExecutor(PROCESSES, mp_context=context, initializer=_start, initargs=(barrier,)) as pool:
        running = [pool.submit(_work, shared_url, namespace, process) for process in range(PROCESSES)]
        results = await asyncio.gather(*map(asyncio.wrap_future, running))

    index = await open_index(shared_url, timeout=TIMEOUT)
    story = await joined(index, join("the last one", HOUR, "last.example"))
    members = await index.members(FIRST.id)
    expected = 2 + PROCESSES * DOCUMENTS
    assert (story.joined, story.items) == (expected, expected)
    assert Counter(level for each in results for level in each) == {"watch": 1, "breaking": 1}
    assert len(story.sources) == len(story.times) == 512
    assert sorted(each.number for each in members) == [*range(1, len(members) + 1)]
    assert len(members) == 512, "after 200, the first of each further source that is counted"
