"""Which keys of Redis a check reads and writes, and which of them have expired.

Under one hash tag, all of them expire:

``…:records:<slice>``    HASH document key -> packed record, until the slice's end + window
``…:bands:<generation>`` HASH shard -> postings, until the generation's end + window
``…:runs``               HASH number of a run -> its first and last heartbeat, until two windows after the last one
``…:frequencies``        document frequencies of features, if a preset learns them, until a window after the last

A slice is an hour, and a generation 65,536 s, and their names are numbers. If the window is over two days, both are
longer, and their names say how much: ``<number>x<hours>``, ``<number>x<times 65,536 s>``.
"""

from __future__ import annotations

import struct
import time
from collections.abc import Sequence

from scrapy_neardup.index.horizon import FOR_EVER, ExpiredSpan, Horizon
from scrapy_neardup.index.spans import GENERATION, generation_seconds, slice_seconds
from scrapy_neardup.records.documents import Record
from scrapy_neardup.similarity.policy import HOUR


class RedisLayout:
    """The keys under one hash tag, ``prefix``."""

    def __init__(self, prefix: str, window: int) -> None:
        self.prefix = prefix
        self.runs = f"{prefix}:runs"
        self._window = window
        self._slice = slice_seconds(window)
        self._generation = generation_seconds(window)
        self._last: tuple[object, tuple[bytes, ...]] | None = None
        self._horizon = Horizon(window, self._slice, FOR_EVER, time.time)
        # The spans that this process has written to, also by late documents. Others free theirs, or they expire.
        self._own_slices: set[int] = set()
        self._own_generations: set[int] = set()

    def keys(self, second: int) -> tuple[bytes, ...]:
        """Return the keys that the check of a document of this second reads and writes, as ``candidates.lua`` has them.

        They are the same for most documents of a crawl.
        """
        generations, slices = self._around(second, self._generation), self._around(second, self._slice)
        if self._last is None or self._last[0] != (generations, slices):
            keys = [*map(self._bands, generations), *map(self._records, slices), self.runs]
            self._last = (generations, slices), tuple(map(str.encode, keys))
        return self._last[1]

    def _around(self, second: int, seconds: int) -> range:
        """Return the numbers of the spans of so many seconds that lie within a window before and after this second."""
        return range((second - self._window) // seconds, (second + self._window) // seconds + 1)

    def records(self, second: int) -> str:
        """Return the key of the records of the documents seen at a second."""
        return self._records(second // self._slice)

    def _records(self, number: int) -> str:
        return f"{self.prefix}:records:{_name(number, self._slice // HOUR)}"

    def _bands(self, number: int) -> str:
        return f"{self.prefix}:bands:{_name(number, self._generation // GENERATION)}"

    def dead_after(self, second: int) -> tuple[list[str], ExpiredSpan] | None:
        """Return the keys that left the window with a document of this second, and the span that has expired."""
        self._own_slices.add(second // self._slice)
        self._own_generations.add(second // self._generation)
        over = self._horizon.observe(second)
        if over is None:
            return None
        slices = _dead(self._own_slices, over, self._slice)
        # Keep the bands of the oldest slice as long as the slice: a late document may match any document in it.
        generations = _dead(self._own_generations, over, self._generation)
        dead = [*map(self._records, slices), *map(self._bands, generations)]
        return (dead, over) if dead else None


def window_arguments(
    key: bytes, record: Record, keys: Sequence[int], identities: int, least_dropped: float
) -> tuple[bytes, ...]:
    """Return the arguments that ``candidates.lua`` names."""
    return key, record.pack(), pack_keys(keys), str(identities).encode(), repr(float(least_dropped)).encode()


def pack_keys(keys: Sequence[int]) -> bytes:
    return struct.pack(f">{len(keys)}I", *keys)


def _dead(own: set[int], over: ExpiredSpan, seconds: int) -> list[int]:
    """Return the numbers of the spans that have expired, and take them out of ``own``."""
    first, last = -(-over.floor // seconds), over.horizon // seconds
    dead = {number for number in own if first <= number < last}
    own -= dead
    return sorted(dead.union(range(max(first, over.start // seconds), last)))


def _name(number: int, times: int) -> str:
    return str(number) if times == 1 else f"{number}x{times}"


def read_name(name: str) -> tuple[int, int]:
    """Return the number and the length of a slice or generation from the last part of its key's name.

    The length is in hours, or in times of ``GENERATION``.
    """
    number, _, times = name.rpartition(":")[2].partition("x")
    return int(number), int(times or 1)
