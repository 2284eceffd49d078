"""Measure how long steps take, in bounded memory, and bound the time that slow pages take together."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import repeat
from math import inf

from scrapy_neardup.exceptions import ExtractionError

_RECENT = 10_000


class Timings:
    """The durations of one step in milliseconds. Threads may share it. Quantiles cover the last 10,000 times."""

    def __init__(self) -> None:
        self.count = 0
        self.total = 0.0
        self._recent: deque[float] = deque(maxlen=_RECENT)
        self._lock = threading.Lock()

    @contextmanager
    def measure(self, times: int = 1) -> Iterator[None]:
        start = time.perf_counter()
        try:
            yield
        finally:
            self.add((time.perf_counter() - start) * 1000, times)

    def add(self, milliseconds: float, times: int = 1) -> None:
        """Add the time that a step took for ``times`` documents together, 0 if they were counted before."""
        each = milliseconds / max(1, times)
        with self._lock:
            self.count += times
            self.total += milliseconds
            self._recent.extend(repeat(each, times))

    def summary(self) -> dict[str, float]:
        """Return ``ms_count``, ``ms_total``, ``ms_p50`` and ``ms_p99``, or an empty dictionary."""
        if not self.count:
            return {}
        with self._lock:
            ordered = sorted(self._recent)
        return {
            "ms_count": self.count,
            "ms_total": round(self.total, 1),
            "ms_p50": round(ordered[len(ordered) // 2], 3),
            "ms_p99": round(ordered[min(len(ordered) - 1, len(ordered) * 99 // 100)], 3),
        }


_EXPECTED = 5e-8  # seconds for each byte, until pages are known: as much as trafilatura takes on a fast machine
_TIMES = 10  # a page may always take this many times what other pages take
_FEWEST = 11  # pages that show what is usual
_PAGE = 30_000  # bytes: a page takes the time of so many, however small it is


class TimeBudget:
    """Says how long a page may take, by the time that recent pages took for each byte, in the median.

    A page may always take ten times that, and a tenth of ``seconds``. What pages take beyond ten times comes out of one
    reserve of ``seconds``, which pages that come in time fill again. A source whose page is late has to earn the time
    that the page took: its next pages are refused, and each of them earns what it would usually take.

    While all pages are of one source there is no limit, because there are no others to protect. Call ``expect`` with
    the source of each page as soon as it waits.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._spent = 0.0  # seconds of the reserve
        self._rates = deque([_EXPECTED] * _FEWEST, maxlen=101)  # seconds for each byte
        self._debts: dict[str, float] = {}  # seconds, of sources with a late page
        self._some_sources: set[str] = set()  # at most two
        self._lock = threading.Lock()

    def expect(self, source: str) -> None:
        """Note the source of a page that waits for its turn."""
        if len(self._some_sources) < 2:
            self._some_sources.add(source)

    def limit(self, source: str, size: int) -> float:
        """Return how many seconds a page may take. Raise ExtractionError if its source had a late page."""
        with self._lock:
            if len(self._some_sources) < 2:
                return inf
            if (debt := self._debts.pop(source, 0.0)) <= 0:
                return _TIMES * self._usual(size) + max(self._seconds / 10, self._seconds - self._spent)
            self._debts[source] = debt - self._usual(size)
        raise ExtractionError(
            f"a page of {source} took much longer than pages of other sources, so some of its next pages are left out"
        )

    def add(self, source: str, size: int, limit: float, seconds: float) -> None:
        """Count the time that a page took, whose limit was ``limit``."""
        with self._lock:
            usual = self._usual(size)
            beyond = seconds - _TIMES * usual
            self._spent = max(0.0, self._spent + (beyond if beyond > 0 else -usual))
            self._rates.append(seconds / (size + _PAGE))
            if seconds >= limit:
                self._debts[source] = seconds

    def _usual(self, size: int) -> float:
        return sorted(self._rates)[len(self._rates) // 2] * (size + _PAGE)
