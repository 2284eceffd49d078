"""Events on their way to another server: none is lost while the server is away, and the crawl does not wait."""

from __future__ import annotations

import asyncio
import logging
import math
import random
from collections.abc import Awaitable, Callable, Collection, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from scrapy_neardup.stories.outbox_files import MOST_BYTES, MOST_EVENTS, NotAnEvent, OutboxFiles, name_of

logger = logging.getLogger(__name__)

Deliver = Callable[[dict[str, Any]], Awaitable[None]]
"""Sends one report. Raises Refused if the report must not be sent again, and another error if it may be sent later."""

# Seconds from a failure to the next try: the first pause, which doubles each time, and the longest.
PAUSES = 1.0, 60.0
MOST_IN_MEMORY = 1000  # events that could not be written to disk
_AWAY = 3  # if this many events fail in a row, the receiver is thought to be away
_LOOK = 60.0  # seconds between two looks for events that a dead process left
_CLOSING = 5.0  # seconds


class Refused(OSError):
    """The receiver will never take this event."""


class Outbox:
    """Delivers reports in a task of its own. Each report is a file in ``folder`` until the receiver has it.

    Events that fail go to the end of the queue. They are tried again with the next event, or after a pause that grows
    until one gets through. If several events fail in a row, the receiver is thought to be away: then one event is tried
    after each pause, and new events wait. When the process ends, undelivered reports go to another process that has the
    folder open, or to the next one that opens it. A report may arrive twice: receivers recognise it by its ``id``.
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
        self._files = OutboxFiles(folder, most_events, most_bytes)
        self._deliver = deliver
        self._first_pause, self._longest_pause = pauses
        # The events by name, in the order in which they are sent: the report if it could not be written to disk.
        self._waiting: dict[str, dict[str, Any] | None] = {}
        self._in_a_row = 0  # failures since the last success
        self._look_at = math.inf  # if the folder can be used: when to look for events that a dead process left
        self._is_closing = False
        self._wake = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._has_warned = self._has_logged_full = False
        self._aside = 0

    async def open(self) -> None:
        """Take over the events that others left, and start."""
        try:
            await asyncio.to_thread(self._files.open)
        except OSError as error:
            logger.error(
                "Events for the %s cannot be stored in %s: they wait in memory and are lost if this process ends: %s",
                *(self._name, self._files.folder, error),
            )
        else:
            await self._adopt()
        self._task = asyncio.create_task(self._run())

    def put(self, report: Mapping[str, Any]) -> None:
        """Take an event; return at once."""
        try:
            removed = self._files.write(report)
            self._waiting[name_of(report)] = None
            self._forget(removed)
        except OSError as error:
            logger.error(
                "An event for the %s cannot be stored in %s: it waits in memory and is lost if this process ends: %s",
                *(self._name, self._files.folder, error),
            )
            self._waiting[name_of(report)] = dict(report)
            in_memory = [name for name, kept in self._waiting.items() if kept is not None]
            for name in in_memory[:-MOST_IN_MEMORY]:
                del self._waiting[name]
        self._wake.set()

    async def close(self) -> None:
        """Try each waiting event once more, for some seconds in all. Then leave the rest to the next process."""
        if self._task is None:
            return
        self._is_closing = True
        self._wake.set()
        await asyncio.wait({self._task}, timeout=_CLOSING)
        self._task.cancel()
        (error,) = await asyncio.gather(self._task, return_exceptions=True)
        if isinstance(error, Exception):  # a bug of ours: the files stay for the next process
            logger.error("The outbox of the %s stopped", self._name, exc_info=error)
        self._task = None
        if self._aside > 1:
            logger.error("%d events for the %s are set aside in %s", self._aside, self._name, self._files.folder)
        if self._waiting:
            logger.warning("Events that wait for the %s: %d, in %s", self._name, len(self._waiting), self._files.folder)
        for name in self._waiting:
            self._files.release(name)
        await asyncio.to_thread(self._files.close)

    async def _run(self) -> None:
        """Send the events that wait: again when there is a new one, and after each pause."""
        loop, pause = asyncio.get_running_loop(), self._first_pause
        while not self._is_closing:
            if await self._send_all() or not self._waiting:
                pause = self._first_pause
            # Not all at the same moment: many crawls may wait for one receiver.
            until = loop.time() + (min(pause, _LOOK) * random.uniform(0.5, 1) if self._waiting else _LOOK)
            pause = min(self._longest_pause, 2 * pause)
            while not self._is_closing and loop.time() < until:
                with suppress(asyncio.TimeoutError):
                    await asyncio.wait_for(self._wake.wait(), until - loop.time())
                self._wake.clear()
                if self._in_a_row < _AWAY:
                    break
            self._in_a_row = min(self._in_a_row, _AWAY - 1)
            if loop.time() >= self._look_at:
                await self._adopt()
        self._in_a_row = 0
        await self._send_all()

    async def _send_all(self) -> bool:
        """Send the events that wait, until the receiver is thought to be away. Return whether it answered at all."""
        has_answered = False
        for name in list(self._waiting):
            if self._in_a_row >= _AWAY:
                break
            if name in self._waiting:  # else it was removed meanwhile, because the outbox is full
                has_answered |= await self._send(name)
        return has_answered

    async def _send(self, name: str) -> bool:
        """Send one event. Return whether the receiver answered that it takes or refuses it."""
        try:
            report = self._waiting[name]
            await self._deliver(await asyncio.to_thread(self._files.read, name) if report is None else report)
        except FileNotFoundError:  # somebody cleaned up
            self._waiting.pop(name, None)
            return False
        except NotAnEvent as error:
            path = self._files.release(name, ".unreadable")
            self._log_aside(f"{path}, in the outbox of the {self._name}, holds no event and is left out: {error}")
            self._waiting.pop(name, None)
            return False
        except Refused as error:
            path = self._files.release(name, ".refused")
            self._log_aside(
                f"The {self._name} refuses an event: {error}. It is set aside as {path}; rename it to "
                f"{name} to have it sent again"
            )
        except Exception as error:
            self._note_failure(name, error)
            return False
        else:
            self._files.remove(name)
        self._waiting.pop(name, None)
        self._in_a_row = 0
        self._has_warned &= bool(self._waiting)
        return True

    def _note_failure(self, name: str, error: Exception) -> None:
        if not self._has_warned:
            logger.warning(
                "The %s takes no events; they wait in %s and are tried again. %s: %s",
                *(self._name, self._files.folder, type(error).__name__, error),
            )
        self._has_warned = True
        self._in_a_row += 1
        if name in self._waiting:  # else it was removed while it was sent, because the outbox is full
            self._waiting[name] = self._waiting.pop(name)  # at the end of the queue

    async def _adopt(self) -> None:
        self._look_at = asyncio.get_running_loop().time() + _LOOK
        try:
            self._waiting.update(dict.fromkeys(await asyncio.to_thread(self._files.adopt)))
        except OSError as error:
            logger.error("Events for the %s cannot be read in %s: %s", self._name, self._files.folder, error)

    def _forget(self, names: Collection[str]) -> None:
        """Forget events whose files were removed because there are too many."""
        for name in names:
            self._waiting.pop(name, None)
        if names and not self._has_logged_full:
            logger.error(
                "The outbox of the %s in %s is full (at most %d events, %d bytes): the oldest events are removed",
                *(self._name, self._files.folder, self._files.most_events, self._files.most_bytes),
            )
            self._has_logged_full = True

    def _log_aside(self, message: str) -> None:
        """Log the first event that is set aside. The number of all is logged at the end."""
        self._aside += 1
        if self._aside == 1:
            logger.error("%s", message)
