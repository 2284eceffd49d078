"""Events on their way to another server: none is lost while the server is away, and the crawl does not wait."""

from __future__ import annotations

import asyncio
import contextlib
import heapq
import logging
import random
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

from scrapy_neardup.stories.outbox_files import NotAnEvent, OutboxFiles, name_of

logger = logging.getLogger(__name__)

Deliver = Callable[[dict[str, Any]], Awaitable[None]]
"""Sends one report. Raises Refused if the report must not be sent again, and another error if it may be sent later."""

MOST_EVENTS = 10_000
MOST_BYTES = 100_000_000
# Seconds from a failure to the next try: the first pause, which doubles with each failure, and the longest.
PAUSES = 1.0, 60.0
MOST_IN_MEMORY = 1000  # events that could not be written to disk
_AWAY = 3  # if this many different events fail in a row, the receiver is thought to be away
_LOOK = 60.0  # seconds between two looks for events that a dead process left
_CLOSING = 5.0  # seconds


class Refused(OSError):
    """The receiver will never take this event."""


class Outbox:
    """Delivers reports in a task of its own. Each report is a file in ``folder`` until the receiver has it.

    An event that fails is tried again after a pause, which grows with each failure. Other events do not wait for it. If
    several events fail in a row, the receiver is thought to be away, and one event is tried at a time. When the process
    ends, undelivered reports go to another process that has the folder open, or to the next one that opens it. A report
    may arrive twice: receivers recognise it by its ``id``.
    """

    def __init__(
        self,
        name: str,
        folder: Path,
        deliver: Deliver,
        *,
        pauses: tuple[float, float] = PAUSES,
        most_events: int = MOST_EVENTS,
        most_bytes: int = MOST_BYTES,
    ) -> None:
        self._name = name
        self._files = OutboxFiles(folder)
        self._deliver = deliver
        self._pauses = pauses
        self._limits = most_events, most_bytes
        self._used = [0, 0]  # events and bytes in the folder, as far as this process knows
        self._waiting: dict[str, int] = {}  # how often each event has failed
        self._in_memory: dict[str, dict[str, Any]] = {}  # those of them that could not be written to disk
        self._due: list[tuple[float, str]] = []  # heap of the times at which they are tried
        self._failed: set[str] = set()  # since the last success
        self._away_pauses = 0
        self._away_until = 0.0
        self._is_closing = False
        self._look_at = 0.0
        self._wake = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._is_usable = False
        self._has_warned = self._has_logged_full = False
        self._aside = 0

    async def open(self) -> None:
        """Take over the events that others left, and start."""
        try:
            await asyncio.to_thread(self._files.open)
            self._is_usable = True
            await self._adopt()
        except OSError as error:
            logger.error(
                "Events for the %s cannot be stored in %s: they wait in memory and are lost if this process ends: %s",
                self._name,
                self._files.folder,
                error,
            )
        self._task = asyncio.create_task(self._run())

    def put(self, report: Mapping[str, Any]) -> None:
        """Take an event; return at once."""
        try:
            if not self._is_usable:
                raise OSError("the folder cannot be used")
            name, size = self._files.write(report)
            self._used = [self._used[0] + 1, self._used[1] + size]
            self._trim()
        except OSError as error:
            name = name_of(report)
            logger.error(
                "An event for the %s cannot be stored in %s: it waits in memory and is lost if this process ends: %s",
                *(self._name, self._files.folder, error),
            )
            self._in_memory[name] = dict(report)
            if len(self._in_memory) > MOST_IN_MEMORY:
                self._drop(next(iter(self._in_memory)))
        self._await(name)
        self._wake.set()

    def _await(self, name: str) -> None:
        self._waiting[name] = 0
        heapq.heappush(self._due, (0.0, name))

    async def close(self) -> None:
        """Try each waiting event once more, for some seconds in all. Then leave the rest to the next process."""
        if self._task is None:
            return
        self._is_closing = True
        self._due = [(0.0, name) for name in sorted(self._waiting)]
        self._wake.set()
        await asyncio.wait({self._task}, timeout=_CLOSING)
        self._task.cancel()
        (error,) = await asyncio.gather(self._task, return_exceptions=True)
        if isinstance(error, Exception):  # a bug of ours: the files stay for the next process
            logger.error("The outbox of the %s stopped", self._name, exc_info=error)
        self._task = None
        self._log_what_is_left()
        for name in self._waiting.keys() - self._in_memory.keys():
            self._files.release(name)
        if self._is_usable:
            await asyncio.to_thread(self._files.close)

    async def _run(self) -> None:
        while True:
            now = asyncio.get_running_loop().time()
            if not self._is_closing and now >= self._look_at:
                await self._adopt()
            if (name := self._next_due(now)) is not None:
                await self._send(name)
            elif self._is_closing:
                return
            else:
                await self._rest(now)

    def _next_due(self, now: float) -> str | None:
        """Return the event to try now, if there is one."""
        if self._is_closing and len(self._failed) >= _AWAY:
            return None
        while self._due and self._due[0][1] not in self._waiting:
            heapq.heappop(self._due)
        if not self._due or max(self._due[0][0], self._away_until) > now:
            return None
        return heapq.heappop(self._due)[1]

    async def _rest(self, now: float) -> None:
        until = min(self._look_at, max(self._due[0][0], self._away_until)) if self._due else self._look_at
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self._wake.wait(), max(0.0, until - now))
        self._wake.clear()

    async def _send(self, name: str) -> None:
        try:
            report = self._in_memory.get(name)
            await self._deliver(await asyncio.to_thread(self._files.read, name) if report is None else report)
        except FileNotFoundError:  # somebody cleaned up
            self._drop(name)
        except NotAnEvent as error:
            path = self._files.release(name, ".unreadable")
            self._log_aside(f"{path}, in the outbox of the {self._name}, holds no event and is left out: {error}")
            self._drop(name)
        except Refused as error:
            path = self._files.release(name, ".refused")
            self._log_aside(
                f"The {self._name} refuses an event: {error}. It is set aside as {path}; rename it to "
                f"{name} to have it sent again"
            )
            self._drop(name)
            self._note_answer()
        except Exception as error:
            self._note_failure(name, error)
        else:
            self._files.remove(name)
            self._drop(name)
            self._note_answer()

    def _drop(self, name: str) -> None:
        self._waiting.pop(name, None)
        self._in_memory.pop(name, None)
        self._failed.discard(name)

    def _note_answer(self) -> None:
        """Note that the receiver answers: events that failed while it was away are tried at once."""
        self._failed.clear()
        if self._away_pauses:
            self._away_pauses, self._away_until = 0, 0.0
            self._due = [(0.0, name) for name in sorted(self._waiting)]
        self._has_warned = any(self._waiting.values())

    def _note_failure(self, name: str, error: Exception) -> None:
        if not self._has_warned:
            logger.warning(
                "The %s takes no events; they wait in %s and are tried again. %s: %s",
                *(self._name, self._files.folder, type(error).__name__, error),
            )
        self._has_warned = True
        if name not in self._waiting:  # removed while it was sent, because the outbox is full
            return
        self._waiting[name] += 1
        self._failed.add(name)
        now = asyncio.get_running_loop().time()
        heapq.heappush(self._due, (now + self._pause(self._waiting[name]), name))
        if len(self._failed) >= _AWAY:
            self._away_pauses += 1
            self._away_until = now + self._pause(self._away_pauses)

    def _pause(self, failures: int) -> float:
        first, longest = self._pauses
        # Not all at the same moment: many crawls may wait for one receiver.
        return min(longest, first * 2.0 ** min(failures - 1, 30)) * random.uniform(0.5, 1)

    async def _adopt(self) -> None:
        self._look_at = asyncio.get_running_loop().time() + _LOOK
        if not self._is_usable:
            return
        try:
            for name in await asyncio.to_thread(self._files.adopt):
                self._await(name)
            self._used = list(await asyncio.to_thread(self._files.usage))
            self._trim()
        except OSError as error:
            logger.error("Events for the %s cannot be read in %s: %s", self._name, self._files.folder, error)

    def _trim(self) -> None:
        """Remove the oldest events if there are too many; a tenth at once, so that this is rare."""
        if all(used <= limit for used, limit in zip(self._used, self._limits, strict=True)):
            return
        most_events, most_bytes = (limit * 9 // 10 for limit in self._limits)
        removed = self._files.trim(max(1, most_events), most_bytes)
        self._used = list(self._files.usage())
        for name in removed:
            self._drop(name)
        if removed and not self._has_logged_full:
            logger.error(
                "The outbox of the %s in %s is full (at most %d events, %d bytes): the oldest %d events were removed",
                *(self._name, self._files.folder, *self._limits, len(removed)),
            )
            self._has_logged_full = True

    def _log_aside(self, message: str) -> None:
        """Log the first event that is set aside. The number of the others is logged at the end."""
        self._aside += 1
        logger.log(logging.ERROR if self._aside == 1 else logging.DEBUG, "%s", message)

    def _log_what_is_left(self) -> None:
        if self._aside > 1:
            logger.error("%d events for the %s are set aside in %s", self._aside, self._name, self._files.folder)
        if self._waiting:
            logger.warning("Events that wait for the %s: %d, in %s", self._name, len(self._waiting), self._files.folder)
