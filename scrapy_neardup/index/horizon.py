"""Decide which documents have left the window, by the times of the documents that a process has seen."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

FOR_EVER = math.inf


class ExpiredSpan(NamedTuple):
    """The seconds that have left the window: from ``floor`` to before ``horizon``. Seconds before ``floor`` are kept.

    ``start`` is the horizon before these documents came, but not before ``floor``.
    """

    floor: int
    start: int
    horizon: int


@dataclass(slots=True)
class HorizonState:
    """How far time has come. All values are seconds of documents, except ``held_since``."""

    top: int | None = None  # the latest horizon
    floor: int = 0  # seconds before it are kept, because time leapt to it
    before: int = 0  # the horizon before the leap
    held_since: float = 0.0  # when the leap was seen, by the clock of the Horizon


class Horizon:
    """Tells which seconds have left the window, as documents come one after the other.

    The horizon lies one window before the earlier of the last two documents. Both must agree that a second is over, so
    one document with a wrong date expires nothing. If the horizon leaps by more than a window, a clock may be wrong.
    Then the seconds before the leap are kept until ``patience`` is over by ``clock``. If two documents in a row come
    back to the time before the leap, the leap is forgotten.
    """

    def __init__(self, window: int, cut: int, patience: float, clock: Callable[[], float]) -> None:
        self.state = HorizonState()
        self._window = window
        self._cut = cut  # seconds of a slice: the horizon lies between two of them
        self._patience = patience
        self._clock = clock
        self._previous: int | None = None

    def observe(self, second: int) -> ExpiredSpan | None:
        """Return the seconds that have left the window by this document and the previous one, or None."""
        previous, self._previous = self._previous, second
        state = self.state
        if state.top is None:
            state.top = self._before(second)
        if previous is None:
            return None
        horizon = self._before(min(previous, second))
        start = min(state.top, horizon)
        if max(previous, second) < state.floor:
            self._come_back(horizon)
        elif horizon > state.top:
            self._let_go()
            if horizon - state.top > self._window:
                self._leap(horizon)
            state.top = horizon
        else:
            self._let_go()
        start = max(start, state.floor)
        return ExpiredSpan(state.floor, start, horizon) if horizon > state.floor else None

    def _before(self, second: int) -> int:
        return max(0, (second - self._window) // self._cut * self._cut)

    def _leap(self, horizon: int) -> None:
        state = self.state
        if not state.floor:
            state.before, state.held_since = state.top or 0, self._clock()
        state.floor = horizon

    def _come_back(self, horizon: int) -> None:
        state = self.state
        state.top = max(horizon, state.before)
        state.floor = horizon if horizon - state.before > self._window else 0

    def _let_go(self) -> None:
        state = self.state
        if not state.floor:
            return
        waited = self._clock() - state.held_since
        if waited < 0:  # the clock was set back
            state.held_since += waited
        elif waited >= self._patience:
            state.floor = 0
