"""Sends events to one receiver. The crawl does not wait for it."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Protocol

from scrapy_neardup.stories.event import StoryEvent

logger = logging.getLogger(__name__)

PAUSES = 1.0, 60.0
"""Seconds from a failure to the next try: the first pause, which doubles each time, and the longest."""

_AWAY = 3  # if this many events fail in a row at the end, the receiver is away
_CLOSING = 5.0  # seconds

Report = dict[str, Any]


class Refused(OSError):
    """The receiver will never take this event."""


class Receiver(Protocol):
    name: str  # for messages
    key: bytes  # by which the store knows it

    async def deliver(self, report: Report) -> None:
        """Raise Refused if the receiver will never take the event, and another error if it may later."""

    async def close(self) -> None: ...


class Sender:
    """Sends events to one receiver in a task of its own, one at a time.

    If one fails it is tried again after the others, or after a pause that grows until one gets through. A receiver may
    get an event twice: it recognises the event by its ``id``. ``note_result`` is told the key of the receiver, the
    token of the event, and whether it is over: the receiver has the event, or will never take it.
    """

    def __init__(
        self,
        receiver: Receiver,
        report: Callable[[StoryEvent], Report],
        note_result: Callable[[bytes, str, bool], None],
        pauses: tuple[float, float] = PAUSES,
    ) -> None:
        self._receiver = receiver
        self._report = report
        self._note_result = note_result
        self._first_pause, self._longest_pause = pauses
        self._waiting: dict[str, tuple[int, StoryEvent]] = {}  # with the number of failures, by token
        self._wake = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._is_closing = False
        self._has_failed = False  # since all events were sent the last time

    def put(self, token: str, event: StoryEvent) -> None:
        """Take an event; return at once."""
        self._waiting[token] = 0, event
        self._wake.set()
        self._task = self._task or asyncio.create_task(self._run())

    def forget(self, token: str) -> None:
        """Do not send an event any more, unless it is being sent."""
        self._waiting.pop(token, None)

    async def close(self) -> None:
        """Try each event that waits once more, for some seconds in all."""
        if self._task is not None:
            self._is_closing = True
            self._wake.set()
            await asyncio.wait({self._task}, timeout=_CLOSING)
            self._task.cancel()
            (error,) = await asyncio.gather(self._task, return_exceptions=True)
            if isinstance(error, Exception):  # a bug of ours: the events stay in the store
                logger.error("The %s gets no more events of this crawl", self._receiver.name, exc_info=error)
        if self._waiting:
            logger.warning("Events that wait for the %s: %d", self._receiver.name, len(self._waiting))
        await self._receiver.close()

    async def _run(self) -> None:
        """Send events until closing: again when there is a new one, and after each pause."""
        pause = self._first_pause
        while not self._is_closing:
            self._wake.clear()
            if not self._waiting:
                await self._wake.wait()
            elif await self._send(self._tokens()[0]):
                pause = self._first_pause
            else:  # not all at the same moment: many crawls may wait for one receiver
                with suppress(asyncio.TimeoutError):
                    await asyncio.wait_for(self._wake.wait(), pause * random.uniform(0.5, 1))
                pause = min(self._longest_pause, 2 * pause)
        failures = 0
        for token in self._tokens():
            if token in self._waiting and failures < _AWAY:
                failures = 0 if await self._send(token) else failures + 1

    def _tokens(self) -> list[str]:
        """Return the tokens of the events that wait, those that failed at the end."""
        return sorted(self._waiting, key=lambda token: (self._waiting[token][0], self._waiting[token][1].order))

    async def _send(self, token: str) -> bool:
        """Send one event. Return whether the receiver takes it or refuses it for good."""
        failures, event = self._waiting[token]
        try:
            await self._receiver.deliver(self._report(event))
        except Refused as error:
            logger.error("The %s refuses event %s: %s. It is not sent again", self._receiver.name, event.id, error)
        except Exception as error:
            if not self._has_failed:
                message = "The %s takes no events; they wait and are tried again. %s: %s"
                logger.warning(message, self._receiver.name, type(error).__name__, error)
            self._has_failed = True
            if token in self._waiting:
                self._waiting[token] = failures + 1, event
            self._note_result(self._receiver.key, token, False)
            return False
        self.forget(token)
        self._has_failed &= bool(self._waiting)
        self._note_result(self._receiver.key, token, True)
        return True
