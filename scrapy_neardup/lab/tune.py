"""Choose a threshold by the scores of a grid of thresholds, each measured by running the detector with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import NamedTuple

from scrapy_neardup.lab.protocols import Score
from scrapy_neardup.settings import NearDupSettings


class Grid(NamedTuple):
    """The thresholds that are tried for a parameter, and the protocols that judge them."""

    low: float
    high: float
    step: float
    precision_by: str  # the protocol whose precision must reach the wanted one
    f1_by: str  # the protocol whose F1 decides

    @property
    def protocols(self) -> list[str]:
        return list(dict.fromkeys((self.precision_by, self.f1_by)))

    def thresholds(self) -> list[float]:
        """Return the thresholds from ``low`` on, up to ``high`` if a step lands there."""
        steps = int((self.high - self.low) / self.step + 1e-9)
        return [round(self.low + number * self.step, 6) for number in range(steps + 1)]


GRIDS = {
    "threshold": Grid(0.2, 0.9, 0.05, "online", "online"),
    "topic_threshold": Grid(0.1, 0.3, 0.02, "pairwise", "b-cubed"),
    "vector_middle": Grid(0.15, 0.5, 0.05, "pairwise", "b-cubed"),
    "vector_weight": Grid(0.3, 0.9, 0.1, "pairwise", "b-cubed"),
    "vector_bar": Grid(0.5, 0.8, 0.05, "pairwise", "b-cubed"),
    "vector_names": Grid(1, 4, 1, "pairwise", "b-cubed"),
}
"""The usual grid of each parameter that can be tuned."""


@dataclass(frozen=True, slots=True)
class Point:
    """The mean scores by protocol, with the parameter at ``threshold``."""

    threshold: float
    scores: dict[str, Score]


def with_threshold(settings: NearDupSettings, parameter: str, threshold: float) -> NearDupSettings:
    """Return the settings with another threshold. A related threshold above the threshold is lowered to it."""
    tried = {parameter: threshold}
    if parameter == "threshold":
        tried["related_threshold"] = min(settings.resolved_preset().related_threshold, threshold)
    return replace(settings, preset_options=settings.preset_options | tried)


def suggest(points: Sequence[Point], grid: Grid, precision: float, present: float) -> Point | None:
    """Return the point with the best F1 of those that reach a precision. Return None if no point reaches it.

    If the present threshold lies among equally good neighbours, return the one that is nearest to it, because they give
    no reason to change it. Otherwise return the middle one of the longest run of equally good neighbours.
    """
    rates = {
        point.threshold: (point.scores[grid.f1_by].f1, point.scores[grid.precision_by].precision)
        for point in points
        if point.scores[grid.precision_by].precision >= precision
    }
    best = max(rates.values(), default=None)
    if best is None:
        return None
    ordered = sorted(points, key=lambda point: point.threshold)
    runs = [list(run) for is_best, run in groupby(ordered, lambda each: rates.get(each.threshold) == best) if is_best]
    for run in runs:
        if run[0].threshold <= present <= run[-1].threshold:
            return min(run, key=lambda point: abs(point.threshold - present))
    longest = max(runs, key=len)
    return longest[len(longest) // 2]


def plateau(points: Sequence[Point], suggested: Point, grid: Grid) -> list[float]:
    """Return the thresholds around a point, one after the other, that have the same scores as the point."""
    ordered = sorted(points, key=lambda point: point.threshold)
    runs = [list(run) for _, run in groupby(ordered, lambda point: [point.scores[name] for name in grid.protocols])]
    return next([point.threshold for point in run] for run in runs if suggested in run)
