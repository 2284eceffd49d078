"""How well scores alone tell pairs of one cluster from others, whatever the threshold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

import numpy as np

from scrapy_neardup.document import Fingerprint
from scrapy_neardup.measures import BY_CHANCE, LEAD_LANES, LEAST_RESEMBLANCE, Measure
from scrapy_neardup.sketch import Preset

if TYPE_CHECKING:
    from numpy.typing import NDArray


def area_under_roc(preset: Preset, prints: Sequence[Fingerprint], clusters: Sequence[str | None]) -> float:
    """The chance that a pair of one cluster scores higher than a pair of two, over all pairs of labelled documents.

    Pairs that score alike count half (Mann and Whitney 1947). A document without a signature is like none but its
    own text. 0.5 where there are not pairs of both kinds.
    """
    chosen = [number for number, cluster in enumerate(clusters) if cluster is not None]
    names = np.unique([str(clusters[number]) for number in chosen], return_inverse=True)[1]
    labels, scores = [], []
    table = _Table(preset, [prints[number] for number in chosen])
    for row in range(len(chosen) - 1):
        scores.append(table.scores(row))
        labels.append(names[row + 1 :] == names[row])
    return _area(np.concatenate(labels), np.concatenate(scores)) if labels else 0.5


def _area(labels: NDArray[np.bool_], scores: NDArray[np.float64]) -> float:
    _, place, count = np.unique(scores, return_inverse=True, return_counts=True)
    # Of equal scores each has the middle of their ranks.
    ranks = (np.cumsum(count) - (count - 1) / 2)[place]
    positive = int(labels.sum())
    negative = len(labels) - positive
    if not positive or not negative:
        return 0.5
    return float((ranks[labels].sum() - positive * (positive + 1) / 2) / (positive * negative))


class _Table:
    """Signatures of many documents, one a row; ``measures.likeness`` for one of them against all that follow."""

    def __init__(self, preset: Preset, prints: Sequence[Fingerprint]) -> None:
        self._measure: Measure = preset.measure
        self._collisions = preset.collisions
        self._signed = np.array([bool(each.signature) for each in prints])
        length = max(len(each.signature) for each in prints) or 1
        joined = b"".join(each.signature.ljust(length, b"\0") for each in prints)
        self._lanes = np.frombuffer(joined, np.uint8).reshape(len(prints), -1)
        self._sizes = np.array([each.size for each in prints], np.float64)
        self._texts = np.array([each.text_hash for each in prints])
        if self._measure == "cosine":
            self._vectors = self._lanes.astype(np.float64)
            norms = np.linalg.norm(self._vectors, axis=1, keepdims=True)
            self._vectors /= np.where(norms > 0, norms, 1)

    def scores(self, row: int) -> NDArray[np.float64]:
        found = self._score(row) * (self._signed[row] & self._signed[row + 1 :])
        return cast("NDArray[np.float64]", np.where(self._texts[row + 1 :] == self._texts[row], 1.0, found))

    def _score(self, row: int) -> NDArray[np.float64]:
        if self._measure == "cosine":
            return cast("NDArray[np.float64]", self._vectors[row + 1 :] @ self._vectors[row])
        equal = self._lanes[row + 1 :] == self._lanes[row]
        if self._measure == "overlap":
            confirmed = _without_chance(equal[:, -LEAD_LANES:].mean(axis=1))
            proposed = equal[:, :-LEAD_LANES].sum(axis=1) > self._collisions
            return cast("NDArray[np.float64]", confirmed * proposed)
        if self._measure == "hamming":
            return cast("NDArray[np.float64]", equal.mean(axis=1))
        share = _without_chance(equal.mean(axis=1))
        if self._measure == "resemblance":
            return share
        one, others = self._sizes[row], self._sizes[row + 1 :]
        of = np.minimum(one, others) if self._measure == "containment" else np.maximum(one, others)
        shared = np.minimum(1.0, share * (one + others) / ((1 + share) * np.where(of > 0, of, 1)))
        is_told = (share >= LEAST_RESEMBLANCE) | (self._measure != "containment")
        return cast("NDArray[np.float64]", shared * is_told)


def _without_chance(share: NDArray[np.float64]) -> NDArray[np.float64]:
    return cast("NDArray[np.float64]", np.maximum(0.0, (share - BY_CHANCE) / (1 - BY_CHANCE)))
