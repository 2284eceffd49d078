"""One crawl, from its first heartbeat to its last: what it tells the store of its documents, and when."""

import asyncio
import logging
import math
import secrets
import time
from collections import deque
from collections.abc import Callable, Iterable

from scrapy_neardup.index.runs import FORGOTTEN_SECONDS, PATIENCE_SECONDS, Fate, Runs
from scrapy_neardup.index.store import Breaker
from scrapy_neardup.records.life import DELIVERED, LARGEST_RUN, WITHDRAWN

logger = logging.getLogger(__name__)

BEAT_SECONDS = 2.0

_REPORTED_TOGETHER = 64
_MOST_COPIES = 1000  # whose match is remembered as one of another run, until somebody asks for its fate
_END_SECONDS = 4.0  # how long a failing store is tried again at the end
_PAUSE = 0.25
_GONE = (
    "it was emptied, removed or replaced while this crawl runs. The crawl goes on with an empty window. So copies of"
    " earlier articles count as originals, events may be raised again, and events that waited are lost"
)


class Run:
    """One crawl: its heartbeat, and the documents it has delivered.

    While ``breaker`` is open, the store does not answer, and only heartbeats try it.
    """

    def __init__(self, runs: Runs, breaker: Breaker) -> None:
        self._runs = runs
        self._breaker = breaker
        self._queue: list[str] = []
        self._withdrawn: list[str] = []
        # Whether the item of a document has left the pipelines and is not lost, given the id of the document.
        self.is_kept: Callable[[str], bool] = lambda _: True
        self._asked: deque[str] = deque(maxlen=_MOST_COPIES)  # copies of what another run has yet to deliver
        self._reporting = asyncio.Lock()
        self._report: asyncio.Task[None] | None = None
        self._beating: asyncio.Task[None] | None = None
        self._beaten_at = math.inf  # by the clock of the store, in milliseconds
        self._is_over = False

    async def begin(self) -> None:
        """Register documents as those of this run from now on, and find out which other runs live."""
        self._runs.partition.run = secrets.randbelow(LARGEST_RUN) + 1
        await self._tell_of_run()
        self._beating = asyncio.create_task(self._beat())
        for _ in range(round(PATIENCE_SECONDS / _PAUSE)):
            if not await self._breaker.ask(self._runs.waits_for_others()):
                break
            await asyncio.sleep(_PAUSE)

    async def _beat(self) -> None:
        """Send heartbeats on time, however long reports take, and also while the last documents are reported."""
        beat_at = time.monotonic()
        while self._beating is not None:
            beat_at = max(beat_at + BEAT_SECONDS, time.monotonic())
            await asyncio.sleep(beat_at - time.monotonic())
            try:
                is_reporting = self._report is not None and not self._report.done()
                if await self._tell_of_run() and not self._is_over and not is_reporting:
                    self._report = asyncio.create_task(self._exchange())
            except Exception:
                logger.exception("A heartbeat of this crawl failed; the next one follows")

    async def _tell_of_run(self, *, is_over: bool = False) -> bool:
        """Send a heartbeat. Warn if the store has lost the last one. Return whether the store answers."""
        sent = await self._breaker.ask(self._runs.beat(is_over=is_over), "A heartbeat of this crawl")
        if sent is None:
            return False
        now, first = sent
        if self._beaten_at < first and now - self._beaten_at < 1000 * FORGOTTEN_SECONDS:
            self._breaker.warn_once(f"The window in {self._runs.partition.store.location} is gone: {_GONE}")
        self._beaten_at = now
        return True

    async def _exchange(self) -> None:
        await self._breaker.ask(self._runs.answer_others(self.is_kept))
        await self.report(to_lost_store=True)

    def note_asked(self, copy: str) -> None:
        """Note that another run has been asked for the fate of the match of a copy, which is to be dropped."""
        self._asked.append(copy)

    async def fate_of_match(self, copy: str, seconds: float) -> Fate:
        """Return what became of the match of a dropped copy. If another run has it, wait for that run to tell."""
        until = time.monotonic() + seconds
        fate: Fate = "unknown" if copy in self._asked else "kept"
        while fate == "unknown" and time.monotonic() < until and not self._breaker.is_open:
            await asyncio.sleep(BEAT_SECONDS / 2)
            fate = await self._breaker.ask(self._runs.fate_of_match(copy)) or fate
        return fate

    def deliver(self, documents: Iterable[str]) -> None:
        """Note that documents are delivered. The store is told within ``BEAT_SECONDS``."""
        self._queue += documents

    async def report(self, *, to_lost_store: bool = False) -> None:
        """Tell the store which documents are delivered or withdrawn. If that fails, the next heartbeat tries again.

        A store that is lost is asked only with ``to_lost_store``.
        """
        if self._breaker.is_open and not to_lost_store:
            return
        async with self._reporting:
            for queue, life in ((self._withdrawn, WITHDRAWN), (self._queue, DELIVERED)):
                while queue and (to_lost_store or not self._breaker.is_open):
                    batch = queue[:_REPORTED_TOGETHER]
                    if not await self._breaker.ask(self._runs.settle(batch, life), "The delivery of documents"):
                        break
                    del queue[: len(batch)]

    async def withdraw(self, documents: Iterable[str]) -> None:
        """Tell the store that nobody will deliver documents. Copies that were dropped because of them do not count."""
        self._withdrawn += documents
        await self.report()

    async def end(self) -> None:
        """Tell the store which documents are delivered, and that the run is over. Other documents do not count."""
        self._is_over = True
        if self._report is not None:
            await asyncio.wait([self._report], timeout=_END_SECONDS)
            self._report.cancel()
        until = time.monotonic() + _END_SECONDS
        await self.report(to_lost_store=True)
        while (self._queue or self._withdrawn) and time.monotonic() < until:
            await asyncio.sleep(_PAUSE)
            await self.report(to_lost_store=True)
        if self._queue:
            message = "The store was not told that %d documents are delivered: the next crawl takes their pages as new"
            logger.warning(message, len(self._queue))
        if (beating := self._beating) is not None:
            self._beating = None  # the task also ends if a client that is closing a connection swallows the next line
            beating.cancel()
            await asyncio.wait([beating])
        await self._tell_of_run(is_over=True)
