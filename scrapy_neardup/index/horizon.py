"""Cut time into spans, and decide which of them have left the window by the times of the documents.

Records are kept in slices, which expire together, and postings (look-up keys) in generations.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from scrapy_neardup.rules.policy import HOUR

GENERATION = 1 << 16
"""Seconds of a generation of postings: as many as 2 bytes can number."""

_MOST_SLICES = 50  # before and after a document: a check passes all their keys to Redis
_MOST_HOURLY = 48 * HOUR  # the longest window that is kept by the hour
_MOST_GENERATIONS = 3  # within one window


def slice_seconds(window: int) -> int:
    """Return the length of a slice of records: an hour, or some hours if the window is longer than two days."""
    return HOUR if window <= _MOST_HOURLY else -(-window // (_MOST_SLICES * HOUR)) * HOUR


def generation_seconds(window: int) -> int:
    """Return the length of a generation: ``GENERATION``, doubled until three of them reach over the window."""
    seconds = GENERATION
    while window > _MOST_GENERATIONS * seconds:
        seconds *= 2
    return seconds


class ExpiredSpan(NamedTuple):
    """The seconds that have left the window: from ``floor`` to before ``horizon``. Seconds before ``floor`` are kept.

    ``start`` is the previous horizon, or ``floor`` if that is later.
    """

    floor: int
    start: int
    horizon: int


@dataclass(slots=True)
class HorizonState:
    """How far time has come. All values are seconds of documents, except ``held_since``."""

    horizon: int | None = None  # the latest horizon
    kept_before: int = 0  # time leapt to this second, so earlier seconds are kept
    horizon_before_leap: int = 0  # the horizon before the leap
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
        """Note the time of a document. Return the seconds that have now left the window, or None."""
        previous, self._previous = self._previous, second
        state = self.state
        if state.horizon is None:
            state.horizon = self._before(second)
        if previous is None:
            return None
        horizon = self._before(min(previous, second))
        start = min(state.horizon, horizon)
        if max(previous, second) < state.kept_before:
            self._come_back(horizon)
        else:
            self._let_go()
            if horizon - state.horizon > self._window:  # time leaps
                if not state.kept_before:
                    state.horizon_before_leap, state.held_since = state.horizon, self._clock()
                state.kept_before = horizon
            state.horizon = max(horizon, state.horizon)
        start = max(start, state.kept_before)
        return ExpiredSpan(state.kept_before, start, horizon) if horizon > state.kept_before else None

    def _before(self, second: int) -> int:
        return max(0, (second - self._window) // self._cut * self._cut)

    def _come_back(self, horizon: int) -> None:
        state = self.state
        state.horizon = max(horizon, state.horizon_before_leap)
        state.kept_before = horizon if horizon - state.horizon_before_leap > self._window else 0

    def _let_go(self) -> None:
        state = self.state
        if not state.kept_before:
            return
        waited = self._clock() - state.held_since
        if waited < 0:  # the clock was set back
            state.held_since += waited
        elif waited >= self._patience:
            state.kept_before = 0
