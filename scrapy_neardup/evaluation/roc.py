"""Measure how well scores separate pairs of one cluster from other pairs, whatever the threshold."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_STEPS = 1 << 20


class RocCounts:
    """Counts of pairs of one cluster and of pairs of two clusters, by score. Memory does not grow with the pairs.

    Scores less than a millionth apart count as equal.
    """

    def __init__(self) -> None:
        self._within = np.zeros(_STEPS + 1, np.int64)
        self._between = np.zeros(_STEPS + 1, np.int64)

    def add(self, scores: NDArray[np.float64], is_within: NDArray[np.bool_]) -> None:
        """Count pairs by their scores, in [0, 1]. ``is_within`` marks the pairs of one cluster."""
        steps = np.rint(scores * _STEPS).astype(np.int64)
        for counts, chosen in ((self._within, is_within), (self._between, ~is_within)):
            values, sizes = np.unique(steps[chosen], return_counts=True)
            counts[values] += sizes

    @property
    def area(self) -> float:
        """Return the chance that a pair of one cluster scores higher than a pair of two; equal scores count half.

        Mann and Whitney (1947). 0.5 if there are not pairs of both kinds.
        """
        within, between = int(self._within.sum()), int(self._between.sum())
        if not within or not between:
            return 0.5
        lower = np.cumsum(self._between) - self._between / 2
        return float((self._within * lower).sum() / (within * between))
