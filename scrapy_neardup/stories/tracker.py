"""Joins documents to their stories and raises each level of an event once, whatever the number of processes."""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict, deque
from dataclasses import replace
from typing import Protocol
from weakref import WeakValueDictionary

from scrapy_neardup.document import LEVELS, Claim, Extent, Granted, Join, Level, Member, Story
from scrapy_neardup.exceptions import StoreError
from scrapy_neardup.stories.event import StoryEvent
from scrapy_neardup.stories.rules import DAY, HISTORY, HOUR, QUIET, WATCH_OVER, Rule, calibrated, load_rule, peak

logger = logging.getLogger(__name__)

_SWEEP = 600  # seconds on the documents' clock between two looks for events that have ended
_AGREED = 32  # documents that must all be past a time before it has come
_MOST_RAISED = 1024  # stories that may have documents under way since they were signalled
_LAST_SECOND = 0xFFFF_FFFF


class StoryStore(Protocol):
    """What a tracker asks of a store; see ``index/base.py``."""

    async def join(self, join: Join) -> Story: ...

    async def claim(self, claim: Claim) -> Granted | None: ...

    async def open_events(self, quiet_since: int | None = None) -> list[Story]: ...

    async def peaks(self, since: int) -> dict[str, int]: ...


class _Turn:
    """Of the documents of one story. Once the store has failed one, those that wait are not to wait for it as well."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.error: StoreError | None = None


class StoryTracker:
    """One a process. Raises what its store raises; what has been joined can be joined again."""

    def __init__(self, store: StoryStore, rule: str = "sources", events_per_day: float = 17) -> None:
        self._store = store
        self._rule_name = rule
        self._rule: Rule = load_rule(rule)
        self._events_per_day = events_per_day
        self.breaking_over = WATCH_OVER
        self._recent: deque[int] = deque(maxlen=_AGREED)
        self._swept = self._calibrated = 0
        self._rule_failed = False
        self._raised: OrderedDict[str, tuple[tuple[Level, ...], Extent]] = (
            OrderedDict()
        )  # by story; what was told of it
        self._turns: WeakValueDictionary[str, _Turn] = WeakValueDictionary()

    async def join(self, join: Join) -> StoryEvent | None:
        """The event where this document tips its story to a level, or is news of a running event."""
        story = await self._store.join(join)
        level = self._due(story, join.member.seen_at)
        is_known = story.is_running or story.id in self._raised or story.id in self._turns
        if level is None and not is_known:
            return None
        # Documents that travel together have all joined before the first of them claims: one after the other, each
        # with what the one before it raised, they say what they would have said alone.
        turn = self._turns.setdefault(story.id, _Turn())
        async with turn.lock:
            if turn.error is not None:
                raise turn.error
            try:
                return await self._signal(level, self._with_raised(story), join)
            except StoreError as error:
                turn.error = error
                raise

    async def _signal(self, level: Level | None, story: Story, join: Join) -> StoryEvent | None:
        if level is None or level in story.levels or (level == "watch" and story.levels):
            level = "update"
            # What another process has told since the document joined is not known here; the store knows.
            is_news = story.told == Extent() or story.extent.is_news_after(story.told)
            if not story.is_running or not is_news:
                return None
        granted = await self._store.claim(Claim(story.id, level, extent=story.extent))
        self._note_raised(story, level, is_told=granted is not None)
        if granted is None:
            return None if level == "update" else await self._signal(level, self._with_raised(story), join)
        event = self._event(level, join.member.seen_at, replace(story, told=granted.told), granted.members)
        return replace(event, item=join.member.id)

    def _with_raised(self, story: Story) -> Story:
        """With what this process knows to have been raised since the document joined."""
        levels, told = self._raised.get(story.id, ((), Extent()))
        is_stale = not set(levels) <= set(story.levels)
        return replace(story, levels=levels if is_stale else story.levels, told=Extent(*map(max, story.told, told)))

    def _note_raised(self, story: Story, level: Level, *, is_told: bool) -> None:
        # What has ended and breaks goes on.
        levels = tuple(each for each in LEVELS if each in (*story.levels, level) and each not in ("update", "ended"))
        told = Extent(*map(max, story.told, story.extent)) if is_told else story.told
        self._raised[story.id] = levels, told
        self._raised.move_to_end(story.id)
        if len(self._raised) > _MOST_RAISED:
            self._raised.popitem(last=False)

    def current(self, story: Story, members: tuple[Member, ...]) -> StoryEvent:
        """An event that has not ended, at its newest source."""
        level: Level = "breaking" if "breaking" in story.levels else "watch"
        return self._event(level, (story.sources or story.times)[-1], story, members)

    async def advance(self, *seconds: int) -> list[StoryEvent]:
        """Events that ended by the documents' own clock, of which ``seconds`` are the newest readings.

        A few documents in a row must agree on the time: neither one dated ahead nor a late one moves the clock.
        """
        now = 0
        for second in seconds:
            self._recent.append(second)
            if len(self._recent) == _AGREED:
                now = max(now, min(self._recent))
        return await self._sweep(now) if now // _SWEEP > self._swept else []

    async def finish(self, *, all_over: bool = False) -> list[StoryEvent]:
        """Events that ended by the last readings of the clock; all of them where no document will come any more."""
        if all_over:
            return await self._end_quiet(_LAST_SECOND)
        return await self._end_quiet(min(self._recent) - QUIET) if self._recent else []

    async def _sweep(self, now: int) -> list[StoryEvent]:
        self._swept = now // _SWEEP  # first of all: documents under way at the same time need not sweep as well
        events = await self._end_quiet(now - QUIET)
        if now // HOUR > self._calibrated:
            self._calibrated = now // HOUR
            await self._calibrate(now)
        return events

    async def _end_quiet(self, quiet_since: int) -> list[StoryEvent]:
        events = []
        for story in await self._store.open_events(quiet_since):
            newest = (story.sources or story.times)[-1]
            granted = await self._store.claim(Claim(story.id, "ended", newest, peak(story.sources)))
            if granted is not None:
                events.append(self._event("ended", newest + QUIET, story, granted.members))
        return sorted(events, key=lambda event: (event.time, event.story.id))

    async def _calibrate(self, now: int) -> None:
        peaks = await self._store.peaks(max(0, now - HISTORY))
        # Of the days seen so far, at least one: a store that has just begun has no history to divide by.
        began = min((int(story[:8], 16) for story in peaks), default=now)
        self.breaking_over = calibrated(peaks.values(), max(1.0, (now - began) / DAY), self._events_per_day)

    def _due(self, story: Story, at: int) -> Level | None:
        try:
            level = self._rule(story, at, self.breaking_over)
            if level not in (None, "watch", "breaking"):
                raise ValueError(f"{level!r} is not 'watch', 'breaking' or None")
            return level
        except Exception:  # a user's own rule is about this story, not about the crawl
            if not self._rule_failed:
                logger.exception("NEARDUP_EVENT_RULE = %r failed; no event is raised where it does", self._rule_name)
            self._rule_failed = True
            return None

    def _event(self, level: Level, at: int, story: Story, members: tuple[Member, ...]) -> StoryEvent:
        # Others may have joined since: the report is of the story as it stood.
        known = tuple(member for member in members if member.number <= story.joined)
        return StoryEvent(level, at, self._rule_name, story, known, breaking_over=self.breaking_over)
