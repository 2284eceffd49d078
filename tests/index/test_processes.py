"""Several real processes on one window: one original, no member lost, each level granted once, whoever comes first."""

from __future__ import annotations

import asyncio
import multiprocessing
import random
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing.synchronize import Barrier

import pytest
from conftest import CONFIG, OpenIndex
from documents import HOUR, MINUTE, Article, ScriptedJudge, beginning, check, joined, joining, members_in

from scrapy_neardup.index import Index, Policy, index_from_url
from scrapy_neardup.rules.match import Match
from scrapy_neardup.story import Claim, Join, Member

pytestmark = pytest.mark.slow

PROCESSES = 4
COPIES, JOINS_OF_TWO = 25, 12  # of each process
TIMEOUT = 30.0  # seconds: much more than the default, for machines that do other work too
RING = [beginning(f"first {number}", number) for number in range(6)]

_together: Barrier


def _start(barrier: Barrier) -> None:
    global _together
    _together = barrier


@pytest.fixture(scope="module")
def pool() -> Iterator[ProcessPoolExecutor]:
    context = multiprocessing.get_context("spawn")
    barrier = context.Barrier(PROCESSES)
    with ProcessPoolExecutor(PROCESSES, mp_context=context, initializer=_start, initargs=(barrier,)) as running:
        yield running


class InProcesses:
    """Calls a function in all processes at once, each with an index of its own and its number. Returns all answers."""

    def __init__(self, pool: ProcessPoolExecutor, url: str, namespace: str) -> None:
        self._pool, self._url, self._namespace = pool, url, namespace

    async def __call__(self, work: Callable[..., Awaitable[list[object]]], *arguments: object) -> list[object]:
        running = [
            self._pool.submit(_run, work, self._url, self._namespace, process, *arguments)
            for process in range(PROCESSES)
        ]
        return [each for one in await asyncio.gather(*map(asyncio.wrap_future, running)) for each in one]


def _run(work: Callable[..., Awaitable[list[object]]], url: str, namespace: str, *arguments: object) -> list[object]:
    async def run() -> list[object]:
        index = index_from_url(url, namespace=namespace, config=CONFIG, judge=ScriptedJudge(Policy()), timeout=TIMEOUT)
        _together.wait(120)
        await index.open()
        answers = await work(index, *arguments)
        await index.close()
        return answers

    return asyncio.run(run())


@pytest.fixture
def in_processes(pool: ProcessPoolExecutor, shared_url: str, namespace: str) -> InProcesses:
    return InProcesses(pool, shared_url, namespace)


async def _check_copies(index: Index, process: int) -> list[Match | None]:
    articles = [Article(serial=process * COPIES + number) for number in range(COPIES)]
    return await asyncio.gather(*(check(index, article) for article in articles))


async def test_processes_that_see_the_same_text_at_once_have_one_original(in_processes: InProcesses) -> None:
    answers = await in_processes(_check_copies)
    assert len(answers) == PROCESSES * COPIES
    assert answers.count(None) == 1
    assert len({answer.original for answer in answers if answer}) == 1  # type: ignore[attr-defined]


def _joins(process: int, firsts: list[Member]) -> list[Join]:
    names = [f"{process}-{number}" for number in range(JOINS_OF_TWO)]
    return [
        joining(firsts[number % len(firsts)], name, MINUTE + process, f"{name}.example")
        for number, name in enumerate(names)
    ]


def _uniting(process: int, first: Member) -> Join:
    """The join of the document that fits two stories."""
    return joining(first, f"{process} unites {first.title}", MINUTE, f"{process}-{first.id}.example")


async def _unite(index: Index, process: int, stories: int) -> list[str]:
    """Join documents to stories and unite each story with the next one, in any order. Return the stories granted."""
    firsts = RING[:stories]
    steps: list[Join | tuple[Member, Member]] = [*_joins(process, firsts)]
    steps += [(one, firsts[(number + 1) % stories]) for number, one in enumerate(firsts)]
    random.Random(process).shuffle(steps)

    async def take(step: Join | tuple[Member, Member]) -> list[str]:
        if isinstance(step, Join):
            story = await joined(index, step)
        else:
            story = await joined(index, _uniting(process, step[0]))
            story = await index.stories.unite(story.id, step[1])
        return [story.id] if await index.events.claim(Claim(story.id, "watch", extent=story.extent)) else []

    return [story for each in await asyncio.gather(*map(take, steps)) for story in each]


@pytest.mark.parametrize("stories", [2, len(RING)], ids=["a pair", "a ring"])
async def test_processes_unite_stories_exactly_once(
    in_processes: InProcesses, open_index: OpenIndex, shared_url: str, stories: int
) -> None:
    granted = await in_processes(_unite, stories)

    index = await open_index(shared_url, timeout=TIMEOUT)
    story = await joined(index, joining(RING[stories - 1], "the last one", HOUR))
    members = await members_in(index, story.id)
    expected = {join.member.id for process in range(PROCESSES) for join in _joins(process, RING[:stories])}
    expected |= {each.id for each in RING[:stories]}
    expected |= {_uniting(process, first).member.id for process in range(PROCESSES) for first in RING[:stories]}
    expected.add(joining(RING[0], "the last one", HOUR).member.id)
    assert story.id == RING[0].id
    assert sorted(story.united) == sorted(each.id for each in RING[1:stories])
    assert {each.id for each in members} == expected
    assert len(story.times) == len(story.sources) == story.items == len(expected)
    assert {each.number for each in members} <= {*range(1, story.joined + 1)}
    # A level may be raised in several stories before they are one, but no more in the united story.
    assert granted
    assert len(granted) == len(set(granted))
    assert await index.events.claim(Claim(story.id, "watch", extent=story.extent)) is None
    assert [each.id for each in await index.events.running()] == [story.id]
