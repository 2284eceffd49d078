"""One level of one event, with the story it belongs to, and the events that a process has in hand."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace

from scrapy_neardup.document import Claim, Level, Member, Story
from scrapy_neardup.exceptions import StoreUnavailable
from scrapy_neardup.index.stories import Granted, Stories

logger = logging.getLogger(__name__)

_MOST_UNANSWERED = 1024  # claims


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

    @property
    def id(self) -> str:
        """Return the id, the same in every process: receivers use it to discard an event that arrives twice.

        It has at most 64 characters, in the form that ``docs/event.schema.json`` gives. A story reaches ``watch`` and
        ``breaking`` once, so their ids hold no time: if the store lost the story and it is raised again, the id is the
        same. The id of an update holds the numbers of items and confirmed changes. At least one of the two numbers is
        higher at the next update.
        """
        detail = {"update": f"-{self.story.items}-{len(self.story.changes)}", "ended": f"-{self.time}"}
        return f"{self.story.id}-{self.level}{detail.get(self.level, '')}"


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


class Custody:
    """Holds events, so that none is lost and none is granted twice.

    A claim without an answer is made again with the same token. The store keeps a grant until it is confirmed that its
    event has been passed on. If that takes too long, another process takes the event over, so that no event dies with
    its claimant.
    """

    def __init__(self, store: Stories, rule: str) -> None:
        self._store = store
        self._rule = rule
        # All by token:
        self._unanswered: dict[str, tuple[Claim, Story]] = {}
        self._events: dict[str, StoryEvent] = {}  # granted, and not confirmed yet
        self._handed_out = set[str]()
        self._passed_on = set[str]()

    async def claim(self, claim: Claim, story: Story) -> StoryEvent | None:
        """Return the event if the claim is granted. Errors of the store are passed on."""
        return await self._ask(replace(claim, token=secrets.token_hex(8)), story)

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
        return self._hold(granted, story) if granted else None

    def _hold(self, granted: Granted, story: Story) -> StoryEvent:
        """Hold the event of a grant. If somebody has muted its story, nobody gets it."""
        event = event_of(granted.claim, story, granted.members, self._rule)
        self._events.setdefault(granted.claim.token, event)
        if story.is_muted:
            self._passed_on.add(granted.claim.token)
        return event

    async def take_over(self, seconds: float) -> None:
        """Take over the events of processes that have not confirmed them for so many seconds."""
        for granted in await self._store.take_over(seconds):
            claim = granted.claim
            if claim.token not in self._events:
                logger.info("An event of story %s is passed on now: the process that raised it is gone", claim.story)
                self._unanswered.pop(claim.token, None)
                self._hold(granted, story_then(claim, granted.story))

    def hand_out(self) -> list[StoryEvent]:
        """Return the events that were granted since the last call, in the order of their times.

        The events of the last call count as passed on.
        """
        self.pass_on()
        events = {token: event for token, event in self._events.items() if token not in self._passed_on}
        self._handed_out = set(events)
        return sorted(events.values(), key=lambda event: event.time)

    def pass_on(self) -> None:
        """Note that all events that were handed out have been passed on."""
        self._passed_on |= self._handed_out
        self._handed_out.clear()

    async def confirm(self) -> None:
        """Tell the store which events have been passed on, so that no other process passes them on too."""
        tokens = list(self._passed_on)
        if tokens:
            await self._store.confirm(tokens)
        self._passed_on.difference_update(tokens)
        for token in tokens:
            self._events.pop(token, None)
