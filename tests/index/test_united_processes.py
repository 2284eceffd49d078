"""Eight processes unite stories while others join them: each document is counted once, whoever comes first."""

from __future__ import annotations

import asyncio
import multiprocessing
import random
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing.synchronize import Barrier

import pytest
from conftest import CONFIG, OpenIndex
from documents import HOUR, MINUTE
from joins import beginning, joined, joining

from scrapy_neardup.document import Claim, Join, Member
from scrapy_neardup.index import Index, Policy, index_from_url

PROCESSES = 8
DOCUMENTS = 12  # of each process
TIMEOUT = 30.0  # seconds: much more than the default, for machines that do other work too

RING = [beginning(f"first {number}", number) for number in range(6)]
PAIR = RING[:2]

_together: Barrier


def _start(barrier: Barrier) -> None:
    global _together
    _together = barrier


def _joins(process: int, firsts: list[Member]) -> list[Join]:
    names = [f"{process} {number}" for number in range(DOCUMENTS)]
    return [
        joining(firsts[number % len(firsts)], name, MINUTE + process, f"{name}.example".replace(" ", "-"))
        for number, name in enumerate(names)
    ]


def _uniting(process: int, first: Member) -> Join:
    """The join of the document that fits two stories."""
    return joining(first, f"{process} unites {first.title}", MINUTE, f"{process}-{first.id}.example")


def _unite(url: str, namespace: str, process: int, stories: int) -> list[str]:
    """Join documents to stories and unite each story with the next one, in any order. Return the levels granted."""
    firsts, draw = RING[:stories], random.Random(process)
    steps: list[Join | tuple[Member, Member]] = [*_joins(process, firsts)]
    steps += [(one, firsts[(number + 1) % stories]) for number, one in enumerate(firsts)]
    draw.shuffle(steps)

    async def take(index: Index, step: Join | tuple[Member, Member]) -> list[str]:
        if isinstance(step, Join):
            story = await joined(index, step)
        else:
            story = await joined(index, _uniting(process, step[0]))
            story = await index.unite(story.id, step[1])
        return [story.id] if await index.claim(Claim(story.id, "watch", extent=story.extent)) else []

    async def work() -> list[str]:
        index = index_from_url(url, namespace=namespace, config=CONFIG, policy=Policy(), timeout=TIMEOUT)
        _together.wait(60)
        await index.open()
        granted = await asyncio.gather(*(take(index, step) for step in steps))
        await index.close()
        return [story for each in granted for story in each]

    return asyncio.run(work())


@pytest.fixture(scope="module")
def pool() -> Iterator[ProcessPoolExecutor]:
    """Processes that wait for each other before they begin."""
    context = multiprocessing.get_context("spawn")
    barrier = context.Barrier(PROCESSES)
    with ProcessPoolExecutor(PROCESSES, mp_context=context, initializer=_start, initargs=(barrier,)) as running:
        yield running


def _in_processes(pool: ProcessPoolExecutor, work: Callable[..., list[str]], *arguments: object) -> list[str]:
    running = [pool.submit(work, *arguments[:2], process, *arguments[2:]) for process in range(PROCESSES)]
    return [each for one in running for each in one.result(timeout=120)]


@pytest.mark.parametrize("stories", [len(PAIR), len(RING)], ids=["a pair", "a ring"])
@pytest.mark.slow
async def test_processes_unite_stories_exactly_once(
    pool: ProcessPoolExecutor, open_index: OpenIndex, shared_url: str, namespace: str, stories: int
) -> None:
    granted = await asyncio.to_thread(_in_processes, pool, _unite, shared_url, namespace, stories)

    index = await open_index(shared_url, timeout=TIMEOUT)
    story = await joined(index, joining(RING[stories - 1], "the last one", HOUR))
    members = await index.members(story.id)
    expected = {join.member.id for process in range(PROCESSES) for join in _joins(process, RING[:stories])}
    expected |= {each.id for each in RING[:stories]}
    expected |= {_uniting(process, first).member.id for process in range(PROCESSES) for first in RING[:stories]}
    expected.add(joining(RING[0], "the last one", HOUR).member.id)
    assert story.id == RING[0].id
    assert sorted(story.united) == sorted(each.id for each in RING[1:stories])
    assert {each.id for each in members} == expected
    assert len(story.times) == story.items == len(expected)
    assert len(story.sources) == story.items
    assert {each.number for each in members} <= {*range(1, story.joined + 1)}
    # A level may be raised in several stories before they are one, but no more in the united story.
    assert len(granted) == len(set(granted))
    assert granted
    assert await index.claim(Claim(story.id, "watch", extent=story.extent)) is None
    assert [each.id for each in await index.open_events()] == [story.id]
