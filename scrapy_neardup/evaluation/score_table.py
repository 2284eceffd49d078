"""The scores of one document against many, by the measure of a preset: what the index would find, without an index."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

import numpy as np

from scrapy_neardup.document import Fingerprint
from scrapy_neardup.similarity.likeness import BY_CHANCE, LEAD_LANES, LEAST_RESEMBLANCE, Measure
from scrapy_neardup.sketch import Preset

if TYPE_CHECKING:
    from numpy.typing import NDArray

_NO_TEXT = bytes(8)  # the text hash of a document without words


class ScoreTable:
    """Signatures of many documents, one a row; ``measures.likeness`` for one of them against all that follow.

    A document without a signature is like none but its own text, and one without words like none at all.
    """

    def __init__(self, preset: Preset, prints: Sequence[Fingerprint]) -> None:
        self._measure: Measure = preset.measure
        self._collisions = preset.collisions
        self._signed = np.array([bool(each.signature) for each in prints])
        length = max(len(each.signature) for each in prints) or 1
        joined = b"".join(each.signature.ljust(length, b"\0") for each in prints)
        self._lanes = np.frombuffer(joined, np.uint8).reshape(len(prints), -1)
        self._sizes = np.array([each.size for each in prints], np.float64)
        self._texts = np.array([each.text_hash for each in prints])
        self._has_words = np.array([each.text_hash != _NO_TEXT for each in prints])
        if self._measure == "cosine":
            self._vectors = self._lanes.astype(np.float64)
            norms = np.linalg.norm(self._vectors, axis=1, keepdims=True)
            self._vectors /= np.where(norms > 0, norms, 1)

    def scores(self, row: int) -> NDArray[np.float64]:
        """Return the scores of a row with each of the rows behind it, in [0, 1]."""
        found = self._score(row) * (self._signed[row] & self._signed[row + 1 :])
        is_same = (self._texts[row + 1 :] == self._texts[row]) & self._has_words[row]
        return cast("NDArray[np.float64]", np.where(is_same, 1.0, found))

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
