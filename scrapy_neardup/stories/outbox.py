"""Events on their way: the store keeps each until all its receivers have it, and the crawl does not wait for them."""

from __future__ import annotations

import asyncio
import logging
import random
import secrets
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Protocol

from scrapy_neardup.document import CRAWL, LEVELS, Claim, Story
from scrapy_neardup.exceptions import StoreUnavailable
from scrapy_neardup.index.stories import Granted, Stories
from scrapy_neardup.stories.event import StoryEvent, event_of, story_then

logger = logging.getLogger(__name__)

MOST_IN_HAND = 256
"""How many events that wait for a receiver one process remembers. More of them are only in the store."""

# Seconds from a failure to the next try: the first pause, which doubles each time, and the longest.
PAUSES = 1.0, 60.0

_MOST_UNANSWERED = 1024  # claims
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


@dataclass(slots=True)
class _InHand:
    event: StoryEvent
    left: set[bytes]  # receivers that have not got it
    stored: set[bytes]  # the same, as the store has it
    has_failed: bool = False  # so the store has to know who has got it already


class Outbox:
    """The events that a process has in hand: none is lost, and none is granted twice.

    A claim without an answer is made again with the same token. The store keeps an event until it is confirmed that all
    its receivers have it. One of them is the crawl itself, with its feed and its signals. If the process dies, another
    one takes the event over.
    """

    def __init__(self, store: Stories, rule: str) -> None:
        self._store = store
        self._rule = rule
        self._levels: Collection[str] = LEVELS
        self._senders: dict[bytes, Sender] = {}
        # All by token:
        self._unanswered: dict[str, tuple[Claim, Story]] = {}
        self._in_hand: dict[str, _InHand] = {}
        self._handed_out = set[str]()

    def send_to(
        self, receivers: Collection[Receiver], levels: Collection[str], report: Callable[[StoryEvent], Report]
    ) -> None:
        """Send reports of the events of these levels to these receivers from now on."""
        self._levels = levels
        self._senders = {each.key: Sender(each, report, self._note_result) for each in receivers}

    def _note_result(self, receiver: bytes, token: str, is_over: bool) -> None:
        if held := self._in_hand.get(token):
            held.left -= {receiver} if is_over else set()
            held.has_failed |= not is_over

    async def claim(self, claim: Claim, story: Story) -> StoryEvent | None:
        """Return the event if the claim is granted. Errors of the store are passed on."""
        receivers = (CRAWL, *(self._senders if claim.level in self._levels else ()))
        return await self._ask(replace(claim, token=secrets.token_hex(8), receivers=receivers), story)

    async def claim_again(self) -> list[StoryEvent]:
        """Repeat the claims whose answer was lost, and return the events that are granted now."""
        granted = []
        while self._unanswered:  # one after the other: documents under way at the same time may repeat the others
            _, (claim, story) = self._unanswered.popitem()
            granted.append(await self._ask(claim, story))
        return [event for event in granted if event]

    async def _ask(self, claim: Claim, story: Story) -> StoryEvent | None:
        try:
            granted = await self._store.claim(claim)
        except StoreUnavailable:
            if len(self._unanswered) < _MOST_UNANSWERED:
                self._unanswered[claim.token] = claim, story
            raise
        return self._take(granted, story) if granted else None

    async def take_over(self, seconds: float) -> None:
        """Take over the events that no living crawl has in hand."""
        if len(self._in_hand) >= MOST_IN_HAND:
            return
        for granted in await self._store.take_over(seconds, (CRAWL, *self._senders), self._in_hand):
            claim = granted.claim
            if claim.token not in self._in_hand:
                logger.info("An event of story %s is sent now: the process that had it is gone", claim.story)
                self._unanswered.pop(claim.token, None)
                self._take(granted, story_then(claim, granted.story))

    def _take(self, granted: Granted, story: Story) -> StoryEvent:
        """Take an event in hand, and send it. If somebody has muted its story, nobody gets it."""
        event, token = event_of(granted.claim, story, granted.members, self._rule), granted.claim.token
        if token not in self._in_hand:
            receivers = set(granted.claim.receivers)
            self._in_hand[token] = _InHand(event, set() if story.is_muted else {*receivers}, receivers)
            for key in self._in_hand[token].left & self._senders.keys():
                self._senders[key].put(token, event)
        return event

    def hand_out(self) -> list[StoryEvent]:
        """Return the events since the last call, by their times and levels. Those of the last call are passed on."""
        self.pass_on()
        events = {token: held.event for token, held in self._in_hand.items() if CRAWL in held.left}
        self._handed_out = set(events)
        return sorted(events.values(), key=_order)

    def pass_on(self) -> None:
        """Note that all events that were handed out have been passed on."""
        for token in self._handed_out:
            self._note_result(CRAWL, token, True)
        self._handed_out.clear()

    async def confirm(self) -> None:
        """Tell the store who has got which events."""
        if tokens := [token for token, held in self._in_hand.items() if not held.left]:
            await self._store.confirm(tokens)
        for token in tokens:
            self._in_hand.pop(token, None)
        for token, held in [*self._in_hand.items()]:
            left, is_own = {*held.left}, not held.left.isdisjoint((CRAWL, *self._senders))
            if left != held.stored and (held.has_failed or not is_own):
                await self._store.hand_on(token, left, run=self._store.run if is_own else 0)
                held.stored = left
            if not is_own:
                self._in_hand.pop(token, None)
        waiting = [token for token, held in self._in_hand.items() if CRAWL not in held.left]
        for token in waiting[: max(0, len(waiting) - MOST_IN_HAND)]:  # this process takes it up again when it can
            for sender in self._senders.values():
                sender.forget(token)
            self._in_hand.pop(token, None)

    async def close(self) -> None:
        """Try each event that waits once more, for some seconds in all. The rest is left to the next crawl."""
        await asyncio.gather(*(sender.close() for sender in self._senders.values()))
        for held in self._in_hand.values():
            held.has_failed = True


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
            failures = 0 if await self._send(token) else failures + 1
            if failures == _AWAY:
                break

    def _tokens(self) -> list[str]:
        """Return the tokens of the events that wait, those that failed at the end."""
        return sorted(self._waiting, key=lambda token: (self._waiting[token][0], *_order(self._waiting[token][1])))

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


def _order(event: StoryEvent) -> tuple[int, int]:
    return event.time, LEVELS.index(event.level)
