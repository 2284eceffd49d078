"""Delete the keys that have left the window."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from scrapy_neardup.exceptions import StoreError
from scrapy_neardup.index.layout import SLICE, Span
from scrapy_neardup.index.store import Argument
from scrapy_neardup.index.stories import Stories

logger = logging.getLogger(__name__)


class Expiry:
    """Deletes the keys that have left the window: a replay runs faster than the clock by which they expire.

    The last two documents must agree that a second is over, so one document with a wrong date ends nothing. If time
    leaps by more than a window, a clock may be wrong: what lies before the leap is left to the store, until documents
    come back to that time. Other processes delete the keys that they have written to themselves.
    """

    def __init__(self, stories: Stories) -> None:
        self._stories = stories
        self._window = stories.policy.window
        self._own = set[Span]()  # keys that this process has written to
        self._latest = 0  # second of the document before
        self._horizon = 0  # seconds before this one are over, by the last two documents
        self._kept_before = 0  # seconds before this one are left to the store, whose keys expire
        self._looked_until = 0  # stories were looked through for those that were dead at this second
        self._part: Argument | None = None  # of the stories, where that goes on

    async def unlink_dead(self, seconds: Sequence[int]) -> None:
        """Delete the keys that are over after documents of these seconds, and the stories that are.

        A crawl does not, because others may have a longer window: it only forgets the names of stories that have
        expired.
        """
        names = [name for second in seconds for name in self._note(second)]
        first = max(0, self._kept_before)
        if self._stories.partition.run:
            names = []
            first = self._horizon
        if names or self._horizon > self._looked_until:
            self._looked_until = max(self._horizon, self._looked_until)
            self._part = self._part or 0
        if self._part is None:
            return
        try:  # with each batch of checks a part, so that they do not wait long
            self._part = await self._stories.unlink_dead(names, first, self._horizon, self._part)
        except StoreError as error:  # the checks are done, and the keys expire anyway
            logger.warning("Expired keys are not deleted now: %s", error)

    def _note(self, second: int) -> list[str]:
        """Note a document of this second. Return the keys that have left the window with it."""
        earlier = min(self._latest or second, second)
        before = self._horizon
        self._latest = second
        self._horizon = (earlier - self._window) // SLICE * SLICE
        if self._horizon - before > self._window or self._horizon < self._kept_before:
            self._kept_before = self._horizon
        # The bands of the oldest slice live as long as the slice: a late document may match any document in it.
        self._own |= self._stories.layout.spans_of(second)
        dead = {
            each for each in self._own if self._kept_before <= each.start and each.start + each.seconds <= self._horizon
        }
        self._own -= dead
        return sorted(each.name for each in dead)
