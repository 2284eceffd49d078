"""Score every pair of documents, without an index and without an order.

Gibson et al. (2008) measure in this way: pairs, and B-cubed over the clusters that the pairs join. Only one row of
scores is kept, so memory grows with the documents. Time grows with the pairs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup.document import Fingerprint
from scrapy_neardup.evidence.minima import BY_CHANCE, LEAD_LANES, LEAST_RESEMBLANCE, Measure
from scrapy_neardup.lab.protocols import Score, b_cubed
from scrapy_neardup.sketch import Preset

_STEPS = 1 << 20


@dataclass(frozen=True, slots=True)
class AllPairs:
    """The scores of one label: of the pairs found, of the clusters they join, and of ranking all labelled pairs."""

    pairs: Score
    closure: Score  # B-cubed over the transitive closure of the pairs found
    area_under_roc: float

    def scores(self) -> dict[str, Score]:
        return {"all-pairs": self.pairs, "all-pairs-b-cubed": self.closure}


class _Counts:
    """Counts of one label, row by row."""

    def __init__(self, clusters: Sequence[str | None]) -> None:
        self.clusters = clusters
        self.is_labelled = np.array([cluster is not None for cluster in clusters])
        self.names = np.unique([str(cluster) for cluster in clusters], return_inverse=True)[1]
        self.roc = RocCounts()
        self.right = self.found = self.wanted = 0

    def add(self, row: int, scores: NDArray[np.float64], is_found: NDArray[np.bool_]) -> None:
        others = self.is_labelled[row + 1 :]
        if self.is_labelled[row]:
            is_within = (self.names[row + 1 :] == self.names[row]) & others
            self.right += int((is_within & is_found).sum())
            self.wanted += int(is_within.sum())
            self.found += int(is_found.sum())
            self.roc.add(scores[others], is_within[others])
        else:
            self.found += int((is_found & others).sum())  # a pair of two background documents is not scored


def score_all_pairs(
    preset: Preset, prints: Sequence[Fingerprint], labels: Mapping[str, Sequence[str | None]]
) -> dict[str, AllPairs]:
    """Score all pairs against the clusters of each label; background documents have None.

    A pair is found if its score reaches the preset's threshold, or if both texts are the same. Templates, urls and
    figures, on which a verdict depends too, are ignored.
    """
    counts = {label: _Counts(clusters) for label, clusters in labels.items()}
    joined = np.arange(len(prints))  # the cluster of each document; a cluster has the number of one of its documents
    table = ScoreTable(preset.measure, preset.collisions, prints) if prints else None
    for row in range(len(prints) - 1 if table else 0):
        assert table is not None
        scores = table.scores(row)
        is_found = scores >= preset.threshold
        for each in counts.values():
            each.add(row, scores, is_found)
        if is_found.any():
            clusters = np.unique(joined[[row, *(np.flatnonzero(is_found) + row + 1)]])
            joined[np.isin(joined, clusters)] = clusters[0]
    return {
        label: AllPairs(
            Score.of(each.right, each.found, each.wanted), b_cubed(each.clusters, joined.tolist()), each.roc.area
        )
        for label, each in counts.items()
    }


class RocCounts:
    """Counts, by score, of the pairs inside one cluster and of the pairs across two clusters.

    Memory does not grow with the pairs. Scores less than a millionth apart count as equal.
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
        """Return the chance that a pair inside one cluster scores higher than a pair across two clusters.

        Equal scores count half (Mann and Whitney 1947). Return 0.5 if there are no pairs of one of the two kinds.
        """
        within, between = int(self._within.sum()), int(self._between.sum())
        if not within or not between:
            return 0.5
        lower = np.cumsum(self._between) - self._between / 2
        return float((self._within * lower).sum() / (within * between))


# Scores: the same numbers as ``likeness_of``, a row at a time

_NO_TEXT = bytes(8)  # the text hash of a document without words


class ScoreTable:
    """Signatures of many documents, one a row.

    A document without a signature is like another one only if both have the same text. A document without words is
    like no other.
    """

    def __init__(self, measure: Measure, collisions: int, prints: Sequence[Fingerprint]) -> None:
        self._measure = measure
        self._collisions = collisions
        self._is_signed = np.array([bool(each.signature) for each in prints])
        length = max(len(each.signature) for each in prints) or 1
        joined = b"".join(each.signature.ljust(length, b"\0") for each in prints)
        self._lanes = np.frombuffer(joined, np.uint8).reshape(len(prints), -1)
        self._sizes = np.array([each.size for each in prints], np.float64)
        self._texts = np.array([each.text_hash for each in prints])
        self._has_words = np.array([each.text_hash != _NO_TEXT for each in prints])
        if measure == "cosine":
            self._vectors = self._lanes.astype(np.float64)
            self._squares = (self._vectors * self._vectors).sum(axis=1)

    def scores(self, row: int) -> NDArray[np.float64]:
        """Return the scores of a row with each of the rows after it, in [0, 1]."""
        found = self._score(row) * (self._is_signed[row] & self._is_signed[row + 1 :])
        is_same = (self._texts[row + 1 :] == self._texts[row]) & self._has_words[row]
        return cast("NDArray[np.float64]", np.where(is_same, 1.0, found))

    def _score(self, row: int) -> NDArray[np.float64]:
        if self._measure == "cosine":
            squares = self._squares[row + 1 :] * self._squares[row]
            return _divide(self._vectors[row + 1 :] @ self._vectors[row], np.sqrt(squares))
        equal = self._lanes[row + 1 :] == self._lanes[row]
        if self._measure == "overlap":
            is_scored = equal[:, :-LEAD_LANES].sum(axis=1) > self._collisions
            return cast("NDArray[np.float64]", _without_chance(equal[:, -LEAD_LANES:].mean(axis=1)) * is_scored)
        if self._measure == "hamming":
            return cast("NDArray[np.float64]", equal.mean(axis=1))
        share = _without_chance(equal.mean(axis=1))
        if self._measure == "resemblance":
            return share
        own, others = self._sizes[row], self._sizes[row + 1 :]
        if self._measure == "larger":
            return _divide(share * (own + others), (1 + share) * np.maximum(own, others))
        contained = np.minimum(1.0, _divide(share * (own + others), (1 + share) * np.minimum(own, others)))
        return cast("NDArray[np.float64]", contained * (share >= LEAST_RESEMBLANCE))


def _without_chance(share: NDArray[np.float64]) -> NDArray[np.float64]:
    return cast("NDArray[np.float64]", np.maximum(0.0, (share - BY_CHANCE) / (1 - BY_CHANCE)))


def _divide(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    """Divide; 0 if the divisor is 0."""
    return np.divide(a, b, out=np.zeros_like(b), where=b > 0)
