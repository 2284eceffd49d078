"""Which keys of Redis a check reads and writes, and which of them are over.

Under one hash tag, all of them expire:

``…:records:<hour>``     HASH document key -> packed record, until the hour's end + window
``…:bands:<generation>`` HASH shard -> postings, until the generation's end + window
``…:runs``               HASH number of a run -> its first and last heartbeat, until two windows after the last one
``…:frequencies``        document frequencies of features, where a preset learns them, until a window after the last
"""

from __future__ import annotations

import math
import struct
from typing import get_args

from scrapy_neardup.index.base import HOUR, Policy
from scrapy_neardup.index.record import IS_DROPPED
from scrapy_neardup.index.runs import DEAD_SECONDS, LATE_SECONDS
from scrapy_neardup.index.verification import IDENTITY_WEIGHT, MAX_CANDIDATES, MOST_LINKS, NEWEST
from scrapy_neardup.measures import (
    LEAST_FIGURES,
    LEAST_NAMES,
    LEAST_OTHER_FIGURES,
    LEAST_SHARED_NAMES,
    LIKE_TITLES,
    OTHER_TITLE_SCORE,
    SAME_FIGURES,
    SAME_NAMES,
    SAME_TITLE_SCORE,
    SAME_TITLES,
    STRONG_EVIDENCE,
    Measure,
)

GENERATION = 1 << 16  # seconds: a posting has 2 bytes for the second within its generation
_MOST_DEAD = 2000  # hours removed at once at either end; the longest window has 744
_NUMBERS = struct.Struct(">37d")
_MEASURES = {measure: number for number, measure in enumerate(get_args(Measure))}
_SCOPES = {"all": 0, "same-source": 1, "cross-source": 2}
_BITS_OF_EMPTY_WINDOW = 18  # 100,000 documents a day leave 16 postings a shard


class RedisLayout:
    """``parts``: over how many hash tags, of which ``prefix`` is one, the documents' keys are spread."""

    def __init__(self, prefix: str, policy: Policy, parts: int = 1) -> None:
        self.prefix = prefix
        self.runs = f"{prefix}:runs"
        self._policy = policy
        self._bits = max(16, _BITS_OF_EMPTY_WINDOW - round(math.log2(parts)))
        self._kept: tuple[object, tuple[bytes, ...], tuple[float, ...]] | None = None
        self._previous_second: int | None = None
        self._first_live: tuple[int, int] | None = None  # hour, generation

    def keys_and_numbers(self, second: int) -> tuple[tuple[bytes, ...], tuple[float, ...]]:
        """KEYS of ``window.lua``, and the last 35 of its numbers.

        Most documents of a crawl are of one hour, and of one span of generations and hours.
        """
        window, length = self._policy.window, GENERATION
        spans = (second - window) // length, (second + window) // length, second // length
        hours = (second - window) // HOUR, (second + window) // HOUR
        if self._kept is None or self._kept[0] != (spans, hours):
            first, last, own = spans
            keys = [f"{self.prefix}:bands:{number}" for number in range(first, last + 1)]
            keys += [self.records(number) for number in range(hours[0], hours[1] + 1)]
            keys.append(self.runs)
            policy = self._policy
            numbers = (
                *(last - first + 1, hours[1] - hours[0] + 1, own - first + 1, first, length, hours[0], window),
                *(policy.threshold, policy.related_threshold, _MEASURES[policy.measure], _SCOPES[policy.scope]),
                *(NEWEST, MAX_CANDIDATES, IDENTITY_WEIGHT, self._bits),
                *(LEAST_NAMES, SAME_NAMES, LEAST_FIGURES, SAME_FIGURES, policy.collisions),
                *(policy.topic_threshold, LEAST_SHARED_NAMES),
                *(SAME_TITLES, SAME_TITLE_SCORE, OTHER_TITLE_SCORE, STRONG_EVIDENCE, LEAST_OTHER_FIGURES),
                *(policy.keep_updates, policy.by_titles, LIKE_TITLES),
                *(policy.drops, LATE_SECONDS, DEAD_SECONDS, MOST_LINKS, IS_DROPPED),
            )
            self._kept = (spans, hours), tuple(map(str.encode, keys)), numbers
        return self._kept[1:]

    @staticmethod
    def pack_numbers(identities: int, least_dropped: float, numbers: tuple[float, ...]) -> bytes:
        """ARGV[4] of ``window.lua``."""
        return _NUMBERS.pack(identities, least_dropped, *numbers)

    def records(self, hour: int) -> str:
        return f"{self.prefix}:records:{hour}"

    def dead_after(self, second: int) -> tuple[list[str], int] | None:
        """Keys that left the window with a document of this second, and the second before which stories are over.

        Two documents in a row must agree that an hour is over: one with a wrong date does not empty the window.
        """
        agreed = second if self._previous_second is None else min(second, self._previous_second)
        self._previous_second = second
        horizon = agreed - self._policy.window
        hour = horizon // HOUR
        # A late document may match whatever the oldest hour holds, and find it by the bands of all of that hour.
        live = hour, hour * HOUR // GENERATION
        if self._first_live is None or live < self._first_live:
            self._first_live = live
        elif live > self._first_live:
            hours, generations = (_between(*ends) for ends in zip(self._first_live, live, strict=True))
            self._first_live = live
            dead = [*map(self.records, hours), *(f"{self.prefix}:bands:{number}" for number in generations)]
            return dead, hour * HOUR
        return None


def _between(first: int, last: int) -> list[int]:
    """The numbers from ``first`` to before ``last``; of a leap over years the ends, where the documents are."""
    numbers = range(first, last)
    return [*numbers[:_MOST_DEAD], *numbers[_MOST_DEAD:][-_MOST_DEAD:]]
