"""Measure how long steps take."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager


class Timings:
    """How often one step was taken, and how many milliseconds it took together. Threads may share it."""

    def __init__(self) -> None:
        self.count = 0
        self.total = 0.0

    @contextmanager
    def measure(self, times: int = 1) -> Iterator[None]:
        start = time.perf_counter()
        try:
            yield
        finally:
            self.add((time.perf_counter() - start) * 1000, times)

    def add(self, milliseconds: float, times: int = 1) -> None:
        """Add the time that a step took for ``times`` documents together, 0 if they were counted before."""
        self.count += times
        self.total += milliseconds

    def summary(self) -> dict[str, float]:
        """Return ``ms_count``, ``ms_total`` and ``ms_mean``, or an empty dictionary."""
        if not self.count:
            return {}
        return {
            "ms_count": self.count,
            "ms_total": round(self.total, 1),
            "ms_mean": round(self.total / self.count, 3),
        }
