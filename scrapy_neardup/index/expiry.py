"""Delete keys that have left the window: a replay runs faster than the clock by which they expire."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from scrapy_neardup.exceptions import StoreError
from scrapy_neardup.index.layout import Layout
from scrapy_neardup.index.store import Argument
from scrapy_neardup.index.stories import Stories
from scrapy_neardup.rules.policy import HOUR

logger = logging.getLogger(__name__)


class Expiry:
    """Knows which keys of this process have expired by the times of the documents.

    The last two documents must agree that a second is over, so one document with a wrong date ends nothing. If time
    leaps by more than a window, a clock may be wrong: what lies before the leap is left to the store, until documents
    come back to that time. Other processes delete the keys that they have written to themselves.
    """

    def __init__(self, layout: Layout, window: int) -> None:
        self._layout = layout
        self._window = window
        self._own = set[tuple[str, int, int]]()  # keys that this process has written to, with start and end
        self._latest = 0  # second of the document before
        self._horizon = 0  # seconds before this one are over, by the last two documents
        self._kept_before = 0  # seconds before this one are left to the store, whose keys expire
        self._looked_until = 0  # stories were looked through for those that were dead at this second
        self._part: Argument | None = None  # of the stories, where that goes on

    async def unlink_dead(self, seconds: Sequence[int], stories: Stories, *, is_crawl: bool) -> None:
        """Delete the keys that are over after documents of these seconds, and the stories that are.

        A crawl does not, because others may have a longer window: it only forgets the names of stories that have
        expired.
        """
        names = [name for second in seconds for name in self._note(second)]
        first, end = max(0, self._kept_before), self._horizon
        if is_crawl:
            names, first = [], end
        if names or end > self._looked_until:
            self._looked_until, self._part = max(end, self._looked_until), self._part or 0
        if self._part is None:
            return
        try:  # with each batch of checks a part, so that they do not wait long
            self._part = await stories.unlink_dead(names, first, end, self._part)
        except StoreError as error:  # the checks are done, and the keys expire anyway
            logger.warning("Expired keys are not deleted now: %s", error)

    def _note(self, second: int) -> list[str]:
        """Note a document of this second. Return the keys that have left the window with it."""
        earlier, self._latest = min(self._latest or second, second), second
        before, self._horizon = self._horizon, (earlier - self._window) // HOUR * HOUR
        if self._horizon - before > self._window or self._horizon < self._kept_before:
            self._kept_before = self._horizon
        # The bands of the oldest slice live as long as the slice: a late document may match any document in it.
        self._own |= self._layout.spans_of(second)
        dead = {each for each in self._own if self._kept_before <= each[1] and each[2] <= self._horizon}
        self._own -= dead
        return sorted(name for name, _, _ in dead)
