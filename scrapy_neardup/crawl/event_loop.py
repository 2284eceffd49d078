"""Keep the event loop free: by turns, by holding responses back, and by leaving modules out of garbage collection."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Iterator
from contextlib import contextmanager

MOST_WAITING = 32
"""While this many pages wait for extraction, or items for verdicts, no response is passed on. They keep all busy."""


class FairTurns:
    """Gives each task that awaits ``yield_turn`` its own round of the event loop.

    Responses arrive in bursts, and checks are answered in batches. Thirty pages for which a spider takes 5 ms each, all
    in one round, would keep timers and sockets waiting for 150 ms.
    """

    def __init__(self) -> None:
        self._turn = asyncio.Lock()  # passes to the tasks in the order in which they ask

    async def yield_turn(self) -> None:
        """Wait for a round of the event loop in which no other waiting task goes on."""
        await self._turn.acquire()
        asyncio.get_running_loop().call_soon(self._turn.release)  # in the next round


class Backlog:
    """Counts the pages that wait for extraction or are extracted, or the items that wait for their verdicts.

    Scrapy keeps ``CONCURRENT_ITEMS`` tasks for each response that it has passed to the spider. With hundreds of
    responses each full garbage collection would visit all these tasks, and block the event loop for 100 ms. Thousands
    of small responses would take 700 MB. A response that is held back still counts as one of ``CONCURRENT_REQUESTS``,
    so no further page is requested meanwhile. Responses wait for nothing but extractions and verdicts, because these
    are certain to end.
    """

    def __init__(self) -> None:
        self._waiting = 0
        self._has_room = asyncio.Event()
        self._has_room.set()

    @contextmanager
    def counted(self) -> Iterator[None]:
        """Count a page or an item in this context."""
        self._waiting += 1
        if self._waiting >= MOST_WAITING:
            self._has_room.clear()
        try:
            yield
        finally:
            self._waiting -= 1
            if self._waiting < MOST_WAITING:
                self._has_room.set()

    async def wait_for_room(self) -> None:
        await self._has_room.wait()


_holders = 0
_is_ours = False


def freeze() -> None:
    """Exclude all present objects from garbage collection, until ``unfreeze`` has been called as often.

    Otherwise each full collection would visit the objects of all modules again, and block the event loop for 100 ms.
    Freezing affects the whole process. So several crawlers share one freeze, and nothing is done if the program itself
    has frozen objects already.
    """
    global _holders, _is_ours
    _holders += 1
    if not gc.get_freeze_count():
        gc.freeze()
        _is_ours = True


def unfreeze() -> None:
    global _holders, _is_ours
    _holders -= 1
    if not _holders and _is_ours:
        gc.unfreeze()
        _is_ours = False
