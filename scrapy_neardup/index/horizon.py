"""Which documents have left the window, as far as a process has seen time pass."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

FOR_EVER = math.inf


class ExpiredSpan(NamedTuple):
    """Seconds that have left the window: from ``floor`` to before ``horizon``. What lies below ``floor`` is held.

    ``start`` is the horizon of the documents before these.
    """

    floor: int
    start: int
    horizon: int


@dataclass(slots=True)
class Passed:
    """How far time has passed by the documents. All are seconds of documents, but for ``held_since``."""

    top: int | None = None  # the latest horizon
    floor: int = 0  # what lies below it is held, for time leapt to it
    before: int = 0  # the horizon before the leap
    held_since: float = 0.0  # when the leap was met, by the clock of its Horizon


class Horizon:
    """Tells which seconds are over, one document after the other.

    The horizon lies a window before the last two documents. Both must agree that a second is over: one document with
    a wrong date frees nothing. The horizon moves on by a window at most. A greater leap may be a clock that is wrong:
    what lay before the leap is held, until ``patience`` is over by ``clock``. If two documents in a row come back to
    the time before the leap, it is forgotten.
    """

    def __init__(self, window: int, cut: int, patience: float, clock: Callable[[], float]) -> None:
        self.passed = Passed()
        self._window = window
        self._cut = cut  # seconds of a slice: the horizon lies between two of them
        self._patience = patience
        self._clock = clock
        self._previous: int | None = None

    def observe(self, second: int) -> ExpiredSpan | None:
        """Return which seconds are over by this document and the one before it; None if none are."""
        previous, self._previous = self._previous, second
        passed = self.passed
        if passed.top is None:
            passed.top = self._before(second)
        if previous is None:
            return None
        horizon = self._before(min(previous, second))
        start = min(passed.top, horizon)
        if max(previous, second) < passed.floor:
            self._come_back(horizon)
        elif horizon > passed.top:
            self._let_go()
            if horizon - passed.top > self._window:
                self._leap(horizon)
            passed.top = horizon
        else:
            self._let_go()
        start = max(start, passed.floor)
        return ExpiredSpan(passed.floor, start, horizon) if horizon > passed.floor else None

    def _before(self, second: int) -> int:
        return max(0, (second - self._window) // self._cut * self._cut)

    def _leap(self, horizon: int) -> None:
        passed = self.passed
        if not passed.floor:
            passed.before, passed.held_since = passed.top or 0, self._clock()
        passed.floor = horizon

    def _come_back(self, horizon: int) -> None:
        passed = self.passed
        passed.top = max(horizon, passed.before)
        passed.floor = horizon if horizon - passed.before > self._window else 0

    def _let_go(self) -> None:
        passed = self.passed
        if not passed.floor:
            return
        waited = self._clock() - passed.held_since
        if waited < 0:  # the clock was set back
            passed.held_since += waited
        elif waited >= self._patience:
            passed.floor = 0
