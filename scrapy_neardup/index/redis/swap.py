"""Change keys of Redis in three steps: read, decide in Python, and write if nobody has changed what was read.

The last step is ``commit.lua``. If somebody was faster, all three steps are repeated. Of those who try, one always
wins. redis-py repeats a command whose answer was lost. So a step must recognise in what it reads that it has written
already.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from redis.asyncio import Redis

from scrapy_neardup.exceptions import StoreError
from scrapy_neardup.index.redis import lua
from scrapy_neardup.index.redis.lua import Argument, Call, script

_MOST_ATTEMPTS = 100
_PAUSE, _LONGEST_PAUSE = 0.002, 0.1  # seconds, at most; doubled each time that somebody else was faster
R = TypeVar("R")

Expected = tuple[Call, bytes]
"""A command that reads one key, and the answer that it gave: nothing if there was none."""


class ConflictError(StoreError):
    """Somebody has changed what was read. Read again."""


@dataclass(frozen=True, slots=True)
class Posting:
    """A document to post: arguments of ``post`` in ``commit.lua``, and band hashes, with three arguments for each."""

    document: Sequence[Argument]
    hashes: Sequence[tuple[str, int, bytes, bytes]]  # the own one last


def swap_call(expected: Sequence[Expected], writes: Sequence[Call], posting: Posting | None = None) -> Call:
    """Return the call that does all ``writes``, plain commands for one key each, if all answers are as expected.

    A document is posted before the writes, unless others have posted one that may be its candidate. The answer of the
    call is 1 if it wrote. Writes to the key that is compared come last. So if another key turns out to be of another
    type, all of them can be repeated.
    """
    keys: dict[str | bytes, int] = {}
    arguments: list[Argument] = [len(expected)]

    def add(call: Call) -> None:
        name, (key,), more = call
        assert isinstance(name, str)
        arguments.extend((name, keys.setdefault(key, len(keys) + 1), len(more), *more))

    for call, answer in expected:
        arguments.append(answer)
        add(call)
    if posting is None:
        arguments.append(0)
    else:
        arguments += (len(posting.hashes), *posting.document)
        for name, bits, version, newest in posting.hashes:
            arguments += (keys.setdefault(name, len(keys) + 1), bits, version, newest)
    for call in writes:
        add(call)
    return script("commit"), tuple(keys), arguments


async def swap(client: Redis, expected: Sequence[Expected], writes: Sequence[Call]) -> None:
    """Do all ``writes`` in one step. Raise ConflictError if an answer is not as expected."""
    if await lua.run_or_raise(client, [swap_call(expected, writes)]) != [1]:
        raise ConflictError


async def retried(steps: Callable[[], Awaitable[R]]) -> R:
    """Return the answer of ``steps``, which read, decide and swap. Repeat them if they raise ConflictError.

    Each process waits for another time before it tries again: else they would stop each other again.
    """
    for attempt in range(_MOST_ATTEMPTS):
        try:
            return await steps()
        except ConflictError:  # noqa: PERF203
            await asyncio.sleep(random.uniform(0, min(_LONGEST_PAUSE, _PAUSE * 2**attempt)))
    raise StoreError("other processes change the same data all the time")
