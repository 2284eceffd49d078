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

    Events that fail are tried again after a pause, which grows until one gets through. New events do not wait for them,
    unless several events failed in a row: then the receiver is thought to be away, and one event is tried at a time.
    When the process ends, undelivered reports go to another process that has the folder open, or to the next one that
    opens it. A report may arrive twice: receivers recognise it by its ``id``.
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
        self._pauses = pauses
        self._waiting: dict[str, dict[str, Any] | None] = {}  # the report if it could not be written to disk
        self._failed: set[str] = set()  # those of them that wait for the next try
        self._in_a_row = 0  # failures since the last success
        self._pauses_made = 0  # since no event has failed
        self._retry_at = math.inf
        self._look_at = 0.0
        self._is_closing = False
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
                *(self._name, self._files.folder, error),
            )
        self._task = asyncio.create_task(self._run())

    def put(self, report: Mapping[str, Any]) -> None:
        """Take an event; return at once."""
        name, in_memory = name_of(report), None
        try:
            if not self._is_usable:
                raise OSError("the folder cannot be used")
            self._forget_trimmed(self._files.write(report))
        except OSError as error:
            logger.error(
                "An event for the %s cannot be stored in %s: it waits in memory and is lost if this process ends: %s",
                *(self._name, self._files.folder, error),
            )
            in_memory = dict(report)
        self._waiting[name] = in_memory
        held = [each for each, kept in self._waiting.items() if kept is not None] if in_memory else []
        if len(held) > MOST_IN_MEMORY:
            self._drop(held[0])
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
        if self._is_usable:
            await asyncio.to_thread(self._files.close)

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        while not self._is_closing:
            await self._send_all()
            with suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self._wake.wait(), max(0.0, min(self._retry_at, self._look_at) - loop.time()))
            self._wake.clear()
            if loop.time() >= self._retry_at:
                self._try_again()
            if loop.time() >= self._look_at:
                await self._adopt()
        self._try_again()
        self._in_a_row = 0
        await self._send_all()

    def _try_again(self) -> None:
        """Let the events that failed be tried once more; only one of them if the receiver is away."""
        self._failed.clear()
        self._retry_at, self._in_a_row = math.inf, min(self._in_a_row, _AWAY - 1)
        self._pauses_made += 1

    async def _send_all(self) -> None:
        """Send the events that wait, the oldest first, until the receiver is thought to be away."""
        for name in sorted(self._waiting.keys() - self._failed):
            if self._in_a_row >= _AWAY:
                return
            if name in self._waiting:  # else it was removed meanwhile, because the outbox is full
                await self._send(name)

    async def _send(self, name: str) -> None:
        try:
            report = self._waiting[name]
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
            self._note_answer(name)
        except Exception as error:
            self._note_failure(name, error)
        else:
            self._files.remove(name)
            self._note_answer(name)

    def _drop(self, name: str) -> None:
        self._waiting.pop(name, None)
        self._failed.discard(name)

    def _note_answer(self, name: str) -> None:
        """Note that the receiver answers and need not get this event again."""
        self._drop(name)
        self._in_a_row = 0
        if not self._failed:
            self._has_warned, self._pauses_made = False, 0

    def _note_failure(self, name: str, error: Exception) -> None:
        if not self._has_warned:
            logger.warning(
                "The %s takes no events; they wait in %s and are tried again. %s: %s",
                *(self._name, self._files.folder, type(error).__name__, error),
            )
        self._has_warned = True
        self._in_a_row += 1
        if name in self._waiting:  # else it was removed while it was sent, because the outbox is full
            self._failed.add(name)
        if self._retry_at == math.inf:
            first, longest = self._pauses
            # Not all at the same moment: many crawls may wait for one receiver.
            pause = min(longest, first * 2.0 ** min(self._pauses_made, 30)) * random.uniform(0.5, 1)
            self._retry_at = asyncio.get_running_loop().time() + pause

    async def _adopt(self) -> None:
        self._look_at = asyncio.get_running_loop().time() + _LOOK
        if not self._is_usable:
            return
        try:
            names, trimmed = await asyncio.to_thread(self._files.adopt)
            self._waiting.update(dict.fromkeys(names))
            self._forget_trimmed(trimmed)
        except OSError as error:
            logger.error("Events for the %s cannot be read in %s: %s", self._name, self._files.folder, error)

    def _forget_trimmed(self, names: Collection[str]) -> None:
        """Forget events whose files were removed because there are too many."""
        for name in names:
            self._drop(name)
        if names and not self._has_logged_full:
            logger.error(
                "The outbox of the %s in %s is full (at most %d events, %d bytes): the oldest %d events were removed",
                *(self._name, self._files.folder, self._files.most_events, self._files.most_bytes, len(names)),
            )
            self._has_logged_full = True

    def _log_aside(self, message: str) -> None:
        """Log the first event that is set aside. The number of all is logged at the end."""
        self._aside += 1
        if self._aside == 1:
            logger.error("%s", message)
