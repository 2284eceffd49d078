"""Which keys of Redis a check reads and writes, and which of them are over.

Under one hash tag, all of them expire:

``…:records:<slice>``    HASH document key -> packed record, until the slice's end + window
``…:bands:<generation>`` HASH shard -> postings, until the generation's end + window
``…:runs``               HASH number of a run -> its first and last heartbeat, until two windows after the last one
``…:frequencies``        document frequencies of features, where a preset learns them, until a window after the last

A slice is an hour, and a generation 65,536 s, and their names are numbers. If the window is over two days, both are
longer, and their names say how much: ``<number>x<hours>``, ``<number>x<times 65,536 s>``.
"""

from __future__ import annotations

import math
import struct
import time
from typing import get_args

from scrapy_neardup.index.horizon import FOR_EVER, ExpiredSpan, Horizon
from scrapy_neardup.index.runs import DEAD_SECONDS, LATE_SECONDS
from scrapy_neardup.index.spans import GENERATION, generation_seconds, slice_seconds
from scrapy_neardup.records.documents import IS_DROPPED
from scrapy_neardup.similarity.likeness import (
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
from scrapy_neardup.similarity.policy import HOUR, Policy
from scrapy_neardup.similarity.verification import IDENTITY_WEIGHT, MAX_CANDIDATES, MOST_LINKS, NEWEST

_NUMBERS = struct.Struct(">38d")
_MEASURES = {measure: number for number, measure in enumerate(get_args(Measure))}
_SCOPES = {"all": 0, "same-source": 1, "cross-source": 2}
_BITS_OF_EMPTY_WINDOW = 18  # 100,000 documents a day leave 16 postings a shard


class RedisLayout:
    """``parts``: over how many hash tags, of which ``prefix`` is one, the documents' keys are spread."""

    def __init__(self, prefix: str, policy: Policy, parts: int = 1) -> None:
        self.prefix = prefix
        self.runs = f"{prefix}:runs"
        self._policy = policy
        self._slice = slice_seconds(policy.window)
        self._generation = generation_seconds(policy.window)
        self._bits = max(16, _BITS_OF_EMPTY_WINDOW - round(math.log2(parts)))
        self._kept: tuple[object, tuple[bytes, ...], tuple[float, ...]] | None = None
        self._horizon = Horizon(policy.window, self._slice, FOR_EVER, time.time)
        # What this process has written to, late documents too; the rest is another's, or expires.
        self._own_slices: set[int] = set()
        self._own_generations: set[int] = set()

    def keys_and_numbers(self, second: int) -> tuple[tuple[bytes, ...], tuple[float, ...]]:
        """KEYS of ``window.lua``, and the last 36 of its numbers.

        Most documents of a crawl are of one slice, and of one span of generations and slices.
        """
        window, length = self._policy.window, self._generation
        spans = (second - window) // length, (second + window) // length, second // length
        slices = (second - window) // self._slice, (second + window) // self._slice
        if self._kept is None or self._kept[0] != (spans, slices):
            first, last, own = spans
            keys = [self._bands(number) for number in range(first, last + 1)]
            keys += [self._records(number) for number in range(slices[0], slices[1] + 1)]
            keys.append(self.runs)
            policy = self._policy
            numbers = (
                *(last - first + 1, slices[1] - slices[0] + 1, own - first + 1, first, length),
                *(slices[0], self._slice, window),
                *(policy.threshold, policy.related_threshold, _MEASURES[policy.measure], _SCOPES[policy.scope]),
                *(NEWEST, MAX_CANDIDATES, IDENTITY_WEIGHT, self._bits),
                *(LEAST_NAMES, SAME_NAMES, LEAST_FIGURES, SAME_FIGURES, policy.collisions),
                *(policy.topic_threshold, LEAST_SHARED_NAMES),
                *(SAME_TITLES, SAME_TITLE_SCORE, OTHER_TITLE_SCORE, STRONG_EVIDENCE, LEAST_OTHER_FIGURES),
                *(policy.keep_updates, policy.by_titles, LIKE_TITLES),
                *(policy.drops, LATE_SECONDS, DEAD_SECONDS, MOST_LINKS, IS_DROPPED),
            )
            self._kept = (spans, slices), tuple(map(str.encode, keys)), numbers
        return self._kept[1:]

    @staticmethod
    def pack_numbers(identities: int, least_dropped: float, numbers: tuple[float, ...]) -> bytes:
        """ARGV[4] of ``window.lua``."""
        return _NUMBERS.pack(identities, least_dropped, *numbers)

    def records(self, second: int) -> str:
        """Return the key of the records of the documents seen at a second."""
        return self._records(second // self._slice)

    def _records(self, number: int) -> str:
        return f"{self.prefix}:records:{_name(number, self._slice // HOUR)}"

    def _bands(self, number: int) -> str:
        return f"{self.prefix}:bands:{_name(number, self._generation // GENERATION)}"

    def dead_after(self, second: int) -> tuple[list[str], ExpiredSpan] | None:
        """Return keys that left the window with a document of this second, and which seconds are over."""
        self._own_slices.add(second // self._slice)
        self._own_generations.add(second // self._generation)
        over = self._horizon.observe(second)
        if over is None:
            return None
        slices = _dead(self._own_slices, over, self._slice)
        # A late document may match whatever the oldest slice holds, and find it by the bands of all of that slice.
        generations = _dead(self._own_generations, over, self._generation)
        dead = [*map(self._records, slices), *map(self._bands, generations)]
        return (dead, over) if dead else None


def _dead(own: set[int], over: ExpiredSpan, seconds: int) -> list[int]:
    """Return the numbers of spans that are over, and forget those of one's own."""
    first, last = -(-over.floor // seconds), over.horizon // seconds
    dead = {number for number in own if first <= number < last}
    own -= dead
    return sorted(dead.union(range(max(first, over.start // seconds), last)))


def _name(number: int, times: int) -> str:
    return str(number) if times == 1 else f"{number}x{times}"


def read_name(name: str) -> tuple[int, int]:
    """Return number and length of a slice or generation by what stands last in the name of its key.

    The length is in hours, or in times of ``GENERATION``.
    """
    number, _, times = name.rpartition(":")[2].partition("x")
    return int(number), int(times or 1)
