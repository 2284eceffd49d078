"""The levels of events: one of them with its story, how it is sent, and those that a process has in hand."""

import asyncio
import logging
import random
import secrets
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from scrapy_neardup.exceptions import StoreUnavailable
from scrapy_neardup.index.events import Events, Granted, OutboxEntry
from scrapy_neardup.settings.values import SECTIONS
from scrapy_neardup.story import CRAWL, LEVELS, Claim, Level, Member, Story

logger = logging.getLogger(__name__)

MOST_IN_HAND = 256  # events that wait for a receiver; more of them are only in the store

_CLOSING = 5.0  # seconds in which one of the events that wait at the end has to be taken
_LONGEST_CLOSING = 60.0  # seconds for all of them, and to load what sends them

SpecialReport = dict[str, Any]  # see ``docs/event.schema.json``


@dataclass(frozen=True, slots=True)
class StoryEvent:
    """A level that a story has reached, or an update, with the counters after the document that raised it."""

    level: Level
    time: int  # Unix seconds, UTC, on the documents' own clock
    rule: str  # NEARDUP_EVENT_RULE
    story: Story
    members: tuple[Member, ...]  # in the order they joined; the first is the story's first document
    item: str | None = None  # id of the document that tipped it; None for an end
    breaking_over: int = 0  # the threshold of ``breaking`` at that time
    claimed_by: str = ""  # id of the story that reached the level, if it has become a part of ``story`` since

    @property
    def order(self) -> tuple[int, int]:
        """Return the place of the event among others: ``watch`` comes before ``breaking``."""
        return self.time, LEVELS.index(self.level)

    @property
    def section(self) -> str:
        """Return the commonest section of the members that count, "" if less than half of them name it."""
        sections = [each.section for each in self.members if each.is_counted]
        common = max(filter(None, sections), key=sections.count, default="")
        return common * (2 * sections.count(common) >= len(sections))

    @property
    def id(self) -> str:
        """Return the id, the same in every process: receivers use it to discard an event that arrives twice.

        It has at most 64 characters, in the form that ``docs/event.schema.json`` gives. A story reaches ``watch`` and
        ``breaking`` at most once, also if its event ended in between, so their ids hold no time: if the store lost the
        story and it is raised again, the id is the same. The id of an update holds the document that tipped it.
        """
        detail = {"update": f"-{self.item}", "ended": f"-{self.time}"}
        return f"{self.claimed_by or self.story.id}-{self.level}{detail.get(self.level, '')}"


def event_of(claim: Claim, story: Story, members: Sequence[Member], rule: str) -> StoryEvent:
    """Return the event of a granted claim. ``story`` is the story as the claimant saw it."""
    return StoryEvent(
        claim.level,
        claim.time,
        rule,
        replace(story, signalled=claim.signalled),
        # Others may have joined since: the event is about the story as it was.
        tuple(member for member in members if member.number <= story.joined),
        item=claim.item,
        breaking_over=claim.breaking_over,
        claimed_by=claim.story,
    )


class Refused(OSError):
    """The receiver will never take this event."""


class Receiver:
    name: str  # for messages
    setting: str  # that names it
    key: bytes  # by which the store knows it

    async def prepare(self) -> None:
        """Load what sends events. How long this takes depends on the machine, not on the receiver."""

    async def deliver(self, report: SpecialReport) -> None:
        """Raise Refused if the receiver will never take the event, and another error if it may later."""
        raise NotImplementedError

    async def close(self) -> None:
        """Release every resource."""


class Sender:
    """Sends events to one receiver in a task of its own, one at a time.

    If one fails it is tried again after the others, or after a pause that grows until one gets through. A receiver may
    get an event twice: it recognises the event by its ``id``. ``note_result`` is told the token of an event, and the
    key of the receiver that has it now, or will never take it. ``pauses`` are the first and the longest pause, in
    seconds; the first one doubles with each failure.
    """

    def __init__(
        self,
        receiver: Receiver,
        report: Callable[[StoryEvent], SpecialReport],
        note_result: Callable[[OutboxEntry], None],
        pauses: tuple[float, float] = (1.0, 60.0),
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
        if self._is_closing:  # the store keeps it for the next crawl
            return
        self._waiting[token] = 0, event
        self._wake.set()
        self._task = self._task or asyncio.create_task(self._run())

    def forget(self, token: str) -> None:
        self._waiting.pop(token, None)

    async def close(self) -> None:
        """Try each event that waits once more, until the receiver takes none for some seconds."""
        self._is_closing = True
        if self._task is not None:
            self._wake.set()
            with suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self._finish(self._task), _LONGEST_CLOSING)
            self._task.cancel()
            (error,) = await asyncio.gather(self._task, return_exceptions=True)
            if isinstance(error, Exception):  # a bug of ours: the events stay in the store
                logger.error("The %s gets no more events of this crawl", self._receiver.name, exc_info=error)
        if self._waiting:
            logger.warning("Events that wait for the %s: %d", self._receiver.name, len(self._waiting))
        await self._receiver.close()

    async def _finish(self, task: asyncio.Task[None]) -> None:
        if self._waiting:
            with suppress(Exception):  # the next try meets the same error
                await self._receiver.prepare()
        waiting = None
        while not task.done() and waiting != len(self._waiting):
            waiting = len(self._waiting)
            await asyncio.wait({task}, timeout=_CLOSING)

    async def _run(self) -> None:
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
            if token in self._waiting and failures < 3:  # else the receiver is away
                failures = 0 if await self._send(token) else failures + 1

    def _tokens(self) -> list[str]:
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
                logger.warning(
                    "The %s takes no events; they wait and are tried again. %s: %s",
                    *(self._receiver.name, type(error).__name__, error),
                )
            self._has_failed = True
            if token in self._waiting:
                self._waiting[token] = failures + 1, event
            return False
        self.forget(token)
        self._has_failed &= bool(self._waiting)
        self._note_result((token, self._receiver.key))
        return True


class Outbox:
    """The events that a process has in hand: none is lost, and none is granted twice.

    The store keeps an event for each receiver until it is confirmed that this one has it. One of them is the crawl
    itself, with its feed and its signals. If the process dies, another one takes the event over. If the answer to its
    claim was lost, the process itself does.
    """

    def __init__(self, store: Events, rule: str) -> None:
        self._store = store
        self._rule = rule
        self._levels: Collection[str] = LEVELS
        self._sections: Collection[str] = SECTIONS
        self._senders: dict[bytes, Sender] = {}
        self.has_lost_answer = False  # of a claim, so the store may have an event that nobody knows of
        self._in_hand: dict[OutboxEntry, StoryEvent] = {}
        self._over = set[OutboxEntry]()  # the receiver has the event or refuses it, and the store is yet to be told
        self._handed_out = set[OutboxEntry]()  # by the last call of ``hand_out``

    def send_to(
        self, senders: Mapping[bytes, Sender], levels: Collection[str], sections: Collection[str] = SECTIONS
    ) -> None:
        """Send the events of these levels and sections from now on, and those without a section.

        Senders are given by the keys of their receivers.
        """
        self._senders = dict(senders)
        self._levels = levels
        self._sections = sections

    def note_result(self, entry: OutboxEntry) -> None:
        """Note that a receiver has an event, or will never take it."""
        if self._in_hand.pop(entry, None):
            self._over.add(entry)

    async def claim(self, claim: Claim, story: Story) -> StoryEvent | None:
        """Return the event if the claim is granted. Errors of the store are passed on."""
        receivers = (CRAWL, *(self._senders if claim.level in self._levels else ()))
        claim = replace(claim, token=secrets.token_hex(8), receivers=receivers)
        try:
            granted = await self._store.claim(claim)
        except StoreUnavailable:
            self.has_lost_answer = True
            raise
        return self._take(granted, story) if granted else None

    async def take_over(self, seconds: float) -> None:
        """Take over the events that no living crawl has in hand, and those whose answer was lost."""
        self.has_lost_answer = False
        if len(self._in_hand) >= MOST_IN_HAND:
            return
        own = self._in_hand.keys() | self._over
        for granted in await self._store.take_over(seconds, (CRAWL, *self._senders), own):
            logger.info("An event of story %s that waited is sent now", granted.claim.story)
            items, sources, states, developments = granted.claim.extent
            story_then = replace(  # roughly as it was when somebody made this claim
                granted.story,
                joined=granted.claim.joined,
                items=items,
                copies=granted.claim.copies,
                times=granted.story.times[:items],
                sources=granted.story.sources[:sources],
                ledger=granted.story.ledger.until(states),
                developments=developments,
            )
            self._take(granted, story_then)

    def _take(self, granted: Granted, story: Story) -> StoryEvent:
        """Take an event in hand, and send it. If somebody has muted its story, nobody gets it."""
        event = event_of(granted.claim, story, granted.members, self._rule)
        section = event.section  # of all members, so ask once
        for key in granted.claim.receivers:
            entry = granted.claim.token, key
            if entry in self._over or entry in self._in_hand:
                continue  # another task has taken it meanwhile
            self._in_hand[entry] = event
            if story.is_muted or (key != CRAWL and section and section not in self._sections):
                self.note_result(entry)
            elif key in self._senders:
                self._senders[key].put(granted.claim.token, event)
        return event

    def hand_out(self) -> list[StoryEvent]:
        """Return the events since the last call, by their times and levels. Those of the last call are passed on."""
        self.pass_on()
        events = {entry: event for entry, event in self._in_hand.items() if entry[1] == CRAWL}
        self._handed_out = set(events)
        return sorted(events.values(), key=lambda event: event.order)

    def pass_on(self) -> None:
        for entry in self._handed_out:
            self.note_result(entry)
        self._handed_out.clear()

    async def confirm(self) -> None:
        """Tell the store which events are over. Leave it to the store to remember more than ``MOST_IN_HAND``."""
        if over := [*self._over]:
            await self._store.confirm(over)
            self._over.difference_update(over)
        waiting = [entry for entry in self._in_hand if entry[1] != CRAWL]
        for token, key in waiting[:-MOST_IN_HAND]:
            self._senders[key].forget(token)
            del self._in_hand[token, key]

    async def close(self) -> None:
        """Try each event that waits once more, for a minute at most. The rest is left to others."""
        await asyncio.gather(*(sender.close() for sender in self._senders.values()))
