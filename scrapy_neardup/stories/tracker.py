"""Follows the stories that documents join, and raises each level of an event once, whatever the number of processes."""

import logging
import math
import time
from collections import Counter, deque
from dataclasses import replace

from scrapy_neardup.document import HOUR, LAST_SECOND, Document
from scrapy_neardup.evidence.sources import Newest, country_of
from scrapy_neardup.exceptions import StoreError, StoreUnavailable
from scrapy_neardup.index.events import Events
from scrapy_neardup.index.stories import Stories
from scrapy_neardup.records.stories import owner_in
from scrapy_neardup.settings.values import MIN_SOURCES
from scrapy_neardup.stories.event import Outbox, StoryEvent, event_of
from scrapy_neardup.stories.rules import (
    DAY,
    HISTORY,
    JUMP,
    JUMPED,
    NEWS_AGE,
    QUIET,
    Rule,
    breaking_threshold,
    bursts_of,
    load_rule,
    only_country,
)
from scrapy_neardup.story import Claim, Extent, Join, Level, Member, Story

logger = logging.getLogger(__name__)

_SWEEP = 600  # seconds on the documents' clock between two looks for events that have ended
_AGREED = 32  # the clock reaches a time when this many documents in a row are at least as late
_ASKED_TOGETHER = 4096  # stories; many more would take longer than the timeout of a store
_UNCONFIRMED = 60.0  # seconds after which others take over the events of a process without heartbeats


class StoryTracker:
    """Tracks the stories of one process. Errors of the store are passed on.

    If a process that is no crawl does not confirm an event within ``unconfirmed_after`` seconds, another process takes
    it over.
    """

    def __init__(
        self,
        stories: Stories,
        events: Events,
        rule: str = "sources",
        events_per_day: float = 17,
        *,
        min_sources: int = MIN_SOURCES,
    ) -> None:
        self._stories = stories
        self._events = events
        self.unconfirmed_after = _UNCONFIRMED
        self._look_at = time.monotonic()
        self.outbox = Outbox(events, rule)
        self._rule_name = rule
        self.rule: Rule = load_rule(rule)
        self._events_per_day = events_per_day
        self._min_sources = min_sources
        self.breaking_over = min_sources
        self._owners = set[bytes]()  # that printed since the store was told
        self._bursts = dict[str, int]()  # how many sources are a burst, by country, and by language if it is well known
        self._recent: deque[int] = deque(maxlen=_AGREED)
        self._swept = 0
        self._threshold_hour = 0
        self._rule_failed = False
        # Stories that documents joined -> what they are a part of. So many are remembered, for the end of the crawl.
        self._final = Newest[str, str](1 << 17)

    async def joined(self, join: Join, story: Story) -> StoryEvent | None:
        """Return the event if a document tips its story to a level, or if a running event warrants an update.

        ``story`` is the story just after the document joined it. Documents that travel together have all joined before
        the first of them claims, but they claim one after the other. The events are then the same as if each document
        had come alone.
        """
        if join.also is not None and self.final_story(join.also.id) != story.id:
            try:
                story = await self._stories.unite(story.id, join.also)
            except StoreUnavailable:
                raise
            except StoreError as error:
                logger.warning("Story %s stays apart from story %s: %s", story.id, join.also.id, error)
            if join.also.id in (story.id, *story.united):  # else one of them has too many parts already
                self._note_final(join.also.id, story.id)
        self._note_final(join.story, story.id)
        if story.is_muted:
            return None
        return await self._signal(self._due(story, join.time), story, join)

    def final_story(self, story: str) -> str:
        """Return the story that a story became a part of, as far as this process knows; else the story itself."""
        while (final := self._final.get(story, story)) != story:
            story = final
        return story

    async def final_stories(self) -> dict[str, str]:
        """Return the stories that this process has met and that became a part of another one, with that other one."""
        known = self.known_final_stories()  # the store forgets a story that has become a part of another one
        asked = list(self._final)
        stored: dict[str, str] = {}
        for start in range(0, len(asked), _ASKED_TOGETHER):
            stored |= await self._stories.final_stories(asked[start : start + _ASKED_TOGETHER])
        return {story: stored.get(final, final) for story, final in (known | stored).items()}

    def known_final_stories(self) -> dict[str, str]:
        """Return what ``final_stories`` returns, as far as this process knows."""
        return {story: final for story in self._final if (final := self.final_story(story)) != story}

    def _note_final(self, story: str, final: str) -> None:
        self._final[final] = self._final.get(final, final)  # it may have become a part of another story meanwhile
        if story != final:
            self._final[story] = final

    async def _signal(self, level: Level | None, story: Story, join: Join) -> StoryEvent | None:
        if level is None or level in story.levels or (level == "watch" and story.levels):
            level = "update"
            # A document that came together with those that raised the event knows of no signal.
            is_told = story.signalled != Extent() and not story.extent.warrants_update(story.signalled)
            if is_told or not story.is_running:
                return None
        claim = replace(self._claim(level, join.time, story), item=join.member.id)
        event = await self.outbox.claim(claim, story)
        if event is None and level != "update":  # others have raised it since the document joined
            levels = tuple(each for each in (*story.levels, level) if each != "ended")
            return await self._signal(level, replace(story, levels=levels), join)
        return event

    def _claim(self, level: Level, time: int, story: Story) -> Claim:
        return Claim(
            story.id,
            level,
            last_source=_newest(story),
            extent=story.extent,
            signalled=story.signalled,
            time=time,
            joined=story.joined,
            copies=story.copies,
            breaking_over=self._threshold_for(story),
        )

    def current(self, story: Story, members: tuple[Member, ...]) -> StoryEvent:
        """Return a running event as it was at its newest source."""
        level: Level = "breaking" if "breaking" in story.levels else "watch"
        return event_of(self._claim(level, _newest(story), story), story, members, self._rule_name)

    async def _note_owners(self, now: int) -> None:
        self._bursts = bursts_of(await self._events.note_owners(self._owners, now), now)
        self._owners.clear()

    def _threshold_for(self, story: Story) -> int:
        """Return the threshold of ``breaking`` in the commonest language of a story, of two the higher one.

        It is higher if only one country has the story, see ``only_country``.
        """
        counts = Counter(each.lower() for each in story.source_languages if each.isalpha()).most_common()
        common = (language for language, count in counts if count == counts[0][1])
        of_language = max((self._bursts.get(each, MIN_SOURCES) for each in common), default=MIN_SOURCES)
        if of_language < MIN_SOURCES:
            return min(self.breaking_over, max(2, math.ceil(of_language * self._min_sources / MIN_SOURCES)))
        of_country = self._bursts.get(only_country(story), 0)
        return max(self.breaking_over, math.ceil(of_country * self._min_sources / MIN_SOURCES))

    async def advance(self, document: Document, owner: str) -> None:
        """Note who printed a document, and end events by the documents' own clock.

        How many print in a language and country decides how many make an event. A few documents in a row must agree on
        the time: neither one dated ahead nor a late one moves the clock.
        """
        self._owners.update(
            owner_in(code, owner) for code in (document.language, country_of(document.source)) if code and owner
        )
        self._recent.append(document.counted_second)
        now = min(self._recent) * (len(self._recent) == _AGREED)
        await self.outbox.confirm()
        await self._pass_on_overdue()
        if now // _SWEEP <= self._swept:
            return
        self._swept = now // _SWEEP  # set first: documents under way at the same time need not sweep too
        await self._end_quiet(now - QUIET)
        await self._note_owners(now)
        if now // HOUR > self._threshold_hour:
            self._threshold_hour = now // HOUR
            threshold, warning = await self.threshold(now)
            if warning and threshold > self.breaking_over:
                logger.warning("%s", warning)
            self.breaking_over = threshold

    async def finish(self, *, all_over: bool = False) -> None:
        """End the events that are over by the last readings of the clock, or all if no document will come any more."""
        self._look_at = time.monotonic()
        await self._pass_on_overdue()
        if self._recent:
            await self._note_owners(min(self._recent))
        if all_over or self._recent:
            await self._end_quiet(LAST_SECOND if all_over else min(self._recent) - QUIET)

    async def _pass_on_overdue(self) -> None:
        """Take over events of processes that died before all receivers had them."""
        if self.outbox.has_lost_answer or time.monotonic() >= self._look_at:
            self._look_at = time.monotonic() + _UNCONFIRMED
            await self.outbox.take_over(self.unconfirmed_after)

    async def _end_quiet(self, quiet_since: int) -> None:
        for story in sorted(await self._events.quiet(quiet_since), key=_newest):
            # An event that has ended, and goes on with news of its sources, ends again later.
            end = min(LAST_SECOND, max(_newest(story) + QUIET, story.last))
            await self.outbox.claim(self._claim("ended", end, story), story)

    async def threshold(self, now: int) -> tuple[int, str]:
        """Return the threshold of ``breaking`` at a time of the documents' clock, in Unix seconds.

        Also return a warning if it has risen by much since the day before, else "".
        """
        events = await self._events.ended(max(0, now - HISTORY - DAY))
        threshold = breaking_threshold(events, now, self._events_per_day, self._min_sources)
        day_before = breaking_threshold(events, now - DAY, self._events_per_day, self._min_sources)
        return threshold, JUMPED % (threshold, day_before) if threshold >= day_before + JUMP else ""

    def _due(self, story: Story, at: int) -> Level | None:
        try:
            level = self.rule(story=story, time=at, breaking_over=self._threshold_for(story))
            if level not in (None, "watch", "breaking"):
                raise ValueError(f"{level!r} is not 'watch', 'breaking' or None")
            # Two of the newest must agree on the time: one may be dated ahead.
            return "watch" if level and at < min(sorted(self._recent)[-2:], default=0) - NEWS_AGE else level
        except Exception:  # an error in a user's own rule must not stop the crawl
            if not self._rule_failed:
                logger.exception("NEARDUP_EVENT_RULE = %r failed; no event is raised when it fails", self._rule_name)
            self._rule_failed = True
            return None


def _newest(story: Story) -> int:
    return max(story.sources or story.times, default=0)
