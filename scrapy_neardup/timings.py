"""Measure how long steps take, in bounded memory."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import repeat

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
