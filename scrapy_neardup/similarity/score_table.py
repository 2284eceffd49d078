"""The scores of one document with many: the same numbers as ``likeness_of``, a row at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

import numpy as np

from scrapy_neardup.document import Fingerprint
from scrapy_neardup.similarity.likeness import BY_CHANCE, LEAD_LANES, LEAST_RESEMBLANCE, Measure

if TYPE_CHECKING:
    from numpy.typing import NDArray

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
