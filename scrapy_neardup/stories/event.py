"""One level of one event, with the story it belongs to, and the events that a process has in hand."""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from scrapy_neardup.document import CRAWL, LEVELS, Claim, Level, Member, Story
from scrapy_neardup.exceptions import StoreUnavailable
from scrapy_neardup.index.stories import Granted, Stories

logger = logging.getLogger(__name__)

MOST_IN_HAND = 256
"""How many events that wait for a receiver one process remembers. More of them are only in the store."""


@dataclass(frozen=True, slots=True)
class StoryEvent:
    """A level that a story has reached, or an update, with the counters at the document that tipped it."""

    level: Level
    time: int  # Unix seconds, UTC, on the documents' own clock
    rule: str  # NEARDUP_EVENT_RULE
    story: Story
    members: tuple[Member, ...]  # in the order they joined; the first is the story's first document
    item: str | None = None  # id of the document that tipped it; None for an end
    breaking_over: int = 0  # the threshold of ``breaking`` at that time
    lead: str = ""  # the first sentence of that document
    claimed_by: str = ""  # id of the story that reached the level, if it has become a part of ``story`` since

    @property
    def order(self) -> tuple[int, int]:
        """Return the place of the event among others: ``watch`` comes before ``breaking``."""
        return self.time, LEVELS.index(self.level)

    @property
    def id(self) -> str:
        """Return the id, the same in every process: receivers use it to discard an event that arrives twice.

        It has at most 64 characters, in the form that ``docs/event.schema.json`` gives. A story reaches ``watch`` and
        ``breaking`` once, so their ids hold no time: if the store lost the story and it is raised again, the id is the
        same. The id of an update holds the document that tipped it.
        """
        detail = {"update": f"-{self.item}", "ended": f"-{self.time}"}
        return f"{self.claimed_by or self.story.id}-{self.level}{detail.get(self.level, '')}"


def event_of(claim: Claim, story: Story, members: Sequence[Member], rule: str) -> StoryEvent:
    """Return the event of a granted claim. ``story`` is the story as the claimant saw it."""
    # Others may have joined since: the event is about the story as it was.
    known = tuple(member for member in members if member.number <= story.joined)
    return StoryEvent(
        claim.level,
        claim.time,
        rule,
        replace(story, signalled=claim.signalled),
        known,
        item=claim.item,
        breaking_over=claim.breaking_over,
        lead=claim.lead,
        claimed_by=claim.story,
    )


def story_then(claim: Claim, story: Story) -> Story:
    """Return the story roughly as it was when somebody made this claim, from the story as it is now."""
    items, sources, changes = claim.extent
    return replace(
        story,
        joined=claim.joined,
        items=items,
        copies=claim.copies,
        times=story.times[:items],
        sources=story.sources[:sources],
        changes=story.changes[:changes],
    )


@dataclass(slots=True)
class _InHand:
    event: StoryEvent
    left: set[bytes]  # receivers that have not got it
    stored: set[bytes]  # the same, as the store has it
    has_failed: bool = False  # so the store has to know who has got it already


class EventSender(Protocol):
    """Sends events to one receiver, see ``stories/sender.py``."""

    def put(self, token: str, event: StoryEvent) -> None: ...

    def forget(self, token: str) -> None: ...

    async def close(self) -> None: ...


class Outbox:
    """The events that a process has in hand: none is lost, and none is granted twice.

    The store keeps an event until it is confirmed that all its receivers have it. One of them is the crawl itself, with
    its feed and its signals. If the process dies, another one takes the event over. If the answer to its claim was
    lost, the process itself does.
    """

    def __init__(self, store: Stories, rule: str) -> None:
        self._store = store
        self._rule = rule
        self._levels: Collection[str] = LEVELS
        self._senders: dict[bytes, EventSender] = {}
        self.has_lost_answer = False  # of a claim, so the store may have an event that nobody knows of
        self._in_hand: dict[str, _InHand] = {}  # by token
        self._handed_out = set[str]()

    def send_to(self, senders: Mapping[bytes, EventSender], levels: Collection[str]) -> None:
        """Send the events of these levels from now on. Senders are given by the keys of their receivers."""
        self._senders, self._levels = dict(senders), levels

    def note_result(self, receiver: bytes, token: str, is_over: bool) -> None:
        """Note that a receiver has an event, or will never take it. If not ``is_over``, it may take it later."""
        if held := self._in_hand.get(token):
            held.left -= {receiver} if is_over else set()
            held.has_failed |= not is_over

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
        for granted in await self._store.take_over(seconds, (CRAWL, *self._senders), self._in_hand):
            claim = granted.claim
            if claim.token not in self._in_hand:
                logger.info("An event of story %s that waited is sent now", claim.story)
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
        return sorted(events.values(), key=lambda event: event.order)

    def pass_on(self) -> None:
        """Note that all events that were handed out have been passed on."""
        for token in self._handed_out:
            self.note_result(CRAWL, token, True)
        self._handed_out.clear()

    async def confirm(self) -> None:
        """Tell the store who has got which events."""
        if tokens := [token for token, held in self._in_hand.items() if not held.left]:
            await self._store.confirm(tokens)
        for token in tokens:
            self._in_hand.pop(token, None)
        waiting = [token for token, held in self._in_hand.items() if CRAWL not in held.left]
        too_many = set(waiting[: max(0, len(waiting) - MOST_IN_HAND)])
        for token, held in [*self._in_hand.items()]:
            if not held.left:  # since a moment ago
                continue
            left, is_own = {*held.left}, token not in too_many and not held.left.isdisjoint((CRAWL, *self._senders))
            if not is_own or (held.has_failed and left != held.stored):
                await self._store.hand_on(token, left, keep=is_own)
                held.stored = left
            if not is_own and held.left:
                self._let_go(token)

    def _let_go(self, token: str) -> None:
        """Leave an event to whoever takes it over."""
        for sender in self._senders.values():
            sender.forget(token)
        self._in_hand.pop(token, None)

    async def close(self) -> None:
        """Try each event that waits once more, for some seconds in all. The rest is left to others."""
        await asyncio.gather(*(sender.close() for sender in self._senders.values()))
        self._senders.clear()
