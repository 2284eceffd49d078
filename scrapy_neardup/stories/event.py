"""One level of one event, with the story it belongs to, its draft, and the events that a process has in hand.

An event that is not granted yet is a draft. The store keeps the draft until the event has been passed on.
"""

from __future__ import annotations

import json
import logging
import re
import secrets
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from scrapy_neardup.contracts import StoryStore, UnconfirmedGrant
from scrapy_neardup.document import LEVELS, Claim, Level, Member, Story
from scrapy_neardup.exceptions import StoreError, StoreUnavailable

logger = logging.getLogger(__name__)

_MOST_UNANSWERED = 1024  # claims

_DOCUMENT_ID = re.compile("[0-9a-f]{16}")
_COUNTERS = ("time", "joined", "items", "copies", "sources", "changes", "breaking_over")


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


@dataclass(frozen=True, slots=True)
class Draft:
    """The counters of an event, from which another process can make the same event with the same id."""

    level: Level
    time: int  # Unix seconds
    item: str | None  # document id
    joined: int
    items: int
    copies: int
    sources: int
    changes: int
    breaking_over: int
    lead: str = ""

    @classmethod
    def of(cls, level: Level, time: int, item: str | None, story: Story, breaking_over: int, lead: str = "") -> Draft:
        items, sources, changes = story.extent
        return cls(
            level=level,
            time=time,
            item=item,
            joined=story.joined,
            items=items,
            copies=story.copies,
            sources=sources,
            changes=changes,
            breaking_over=breaking_over,
            lead=lead,
        )

    def pack(self) -> str:
        """Return the draft as text for ``read``."""
        return json.dumps(asdict(self))

    @classmethod
    def read(cls, packed: str) -> Draft:
        """Return the draft that was packed. Raise ValueError if it is no draft of this version."""
        try:
            fields: dict[str, Any] = json.loads(packed)
            draft = cls(**fields)
        except (TypeError, RecursionError) as error:
            raise ValueError(str(error)) from error
        counters = [getattr(draft, name) for name in _COUNTERS]
        is_item = draft.item is None or (isinstance(draft.item, str) and _DOCUMENT_ID.fullmatch(draft.item))
        if draft.level not in LEVELS or not is_item or not isinstance(draft.lead, str):
            raise ValueError("wrong level, document or lead")
        if not all(type(each) is int and 0 <= each < 1 << 32 for each in counters):
            raise ValueError("wrong counters")
        return draft

    def story_then(self, story: Story) -> Story:
        """Return the story roughly as it was when this was drafted, from the story as it is now."""
        return replace(
            story,
            joined=self.joined,
            items=self.items,
            copies=self.copies,
            times=story.times[: self.items],
            sources=story.sources[: self.sources],
            changes=story.changes[: self.changes],
        )


MakeEvent = Callable[[Draft, Story, tuple[Member, ...]], StoryEvent]


@dataclass(slots=True, eq=False)
class _Held:
    """An event, or a claim for one."""

    claim: Claim
    draft: Draft
    story: Story
    event: StoryEvent | None = None  # when the claim is granted
    state: Literal["asked", "unanswered", "granted", "handed out", "passed on"] = "asked"


class Custody:
    """Holds events, so that none is lost and none is granted twice.

    An event is noted first, then claimed, then handed out, and forgotten when the store knows that it has been passed
    on. A claim without an answer is made again with the same token. The store keeps a grant until it is confirmed. If
    that takes too long, another process takes the event over, so that no event dies with its claimant.
    """

    def __init__(self, store: StoryStore, make_event: MakeEvent) -> None:
        self._store = store
        self._make_event = make_event
        self._held: dict[str, _Held] = {}  # by token, in the order of the claims

    async def claim(self, claim: Claim, draft: Draft, story: Story) -> StoryEvent | None:
        """Return the event if the claim is granted. Errors of the store are passed on."""
        held = _Held(replace(claim, token=secrets.token_hex(8), note=draft.pack()), draft, story)
        self._held[held.claim.token] = held
        return await self._ask(held)

    async def claim_again(self) -> list[StoryEvent]:
        """Repeat the claims whose answer was lost, and return the events that are granted now."""
        granted = []
        while unanswered := [each for each in self._held.values() if each.state == "unanswered"]:
            granted.append(await self._ask(unanswered[-1]))
        return [event for event in granted if event]

    async def _ask(self, held: _Held) -> StoryEvent | None:
        held.state = "asked"  # documents under way at the same time do not repeat the claim
        token = held.claim.token
        try:
            granted = await self._store.claim(held.claim)
        except StoreError as error:
            held.state = "unanswered"
            if not isinstance(error, StoreUnavailable):
                del self._held[token]  # the store answers, so asking again would fail again
            elif sum(each.state == "unanswered" for each in self._held.values()) > _MOST_UNANSWERED:
                del self._held[token]
            raise
        if granted is None:
            del self._held[token]
            return None
        self._grant(held, replace(held.story, signalled=granted.signalled), granted.members)
        return held.event

    def _grant(self, held: _Held, story: Story, members: tuple[Member, ...]) -> None:
        """Hold the event. If somebody has muted its story, nobody gets it."""
        held.event = self._make_event(held.draft, story, members)
        held.state = "passed on" if story.is_muted else "granted"

    async def take_over(self, seconds: float) -> None:
        """Take over the events of processes that have not confirmed them for so many seconds."""
        for grant in await self._store.take_over(seconds):
            held = self._held.get(grant.token)
            if held is None or held.event is None:
                await self._take_over(grant)

    async def _take_over(self, grant: UnconfirmedGrant) -> None:
        story = grant.story
        try:
            draft = Draft.read(grant.note)
        except ValueError as error:
            logger.warning("An event of story %s is lost: its draft cannot be read (%s)", story.id, error)
            await self._store.confirm([(story.id, grant.token)])
            return
        logger.info(
            "An event of story %s is passed on now, because the process that raised it ended too early", story.id
        )
        held = self._held[grant.token] = _Held(Claim(story.id, draft.level, token=grant.token), draft, story)
        self._grant(held, draft.story_then(story), grant.members)

    def hand_out(self) -> list[StoryEvent]:
        """Return the events that were granted since the last call, in the order of their times.

        The events of the last call count as passed on.
        """
        self.pass_on()
        events = []
        for held in self._held.values():
            if held.state == "granted" and held.event is not None:
                held.state = "handed out"
                events.append(held.event)
        return sorted(events, key=lambda event: event.time)

    def pass_on(self) -> None:
        """Note that all events that were handed out have been passed on."""
        for held in self._held.values():
            if held.state == "handed out":
                held.state = "passed on"

    async def confirm(self) -> None:
        """Tell the store which events have been passed on, so that no other process passes them on too."""
        grants = {token: held.claim.story for token, held in self._held.items() if held.state == "passed on"}
        if grants:
            await self._store.confirm([(story, token) for token, story in grants.items()])
        for token in grants:
            self._held.pop(token, None)
