"""Learn in how many documents a feature occurs, as they come, in bounded memory. Old counts fade.

Features that share a slot are counted together. Among millions of features rare ones do share slots, but common
features still stand out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np

from scrapy_neardup.records.feature_counts import MOST_DOCUMENTS, SLOTS, pack_counted, unpack_counted, unpack_sum

if TYPE_CHECKING:
    from numpy.typing import NDArray

_SHIFT = np.uint32(16)
_FEWEST_DOCUMENTS = 100  # what is common cannot be told from fewer
_PRIOR_DOCUMENTS = 1000  # before anything is learned all features weigh alike
_CUT_FOR = 32  # documents until the cut of the commonest is looked for again


class Frequencies:
    """Counts over all documents, and separate counts over the documents that no store knows yet."""

    def __init__(self) -> None:
        self.documents = 0
        self.pending = 0  # documents no store knows
        self._counts = np.zeros(SLOTS, np.uint32)
        self._pending_counts = np.zeros(SLOTS, np.uint32)
        self._cut: tuple[int, int] | None = None  # at how many documents it was found; the highest rare count

    def learn(self, features: NDArray[np.uint32]) -> None:
        """Count the distinct features of one document."""
        slots = np.unique(features >> _SHIFT)
        self._counts[slots] += np.uint32(1)
        self._pending_counts[slots] += np.uint32(1)
        self.documents += 1
        self.pending += 1
        if self.documents >= MOST_DOCUMENTS:
            self._counts >>= np.uint32(1)
            self.documents >>= 1
        if self.pending >= MOST_DOCUMENTS:
            self._pending_counts >>= np.uint32(1)
            self.pending >>= 1

    def weights(self, features: NDArray[np.uint32]) -> NDArray[np.float64]:
        """Return the inverse document frequency of each feature."""
        found = self._counts[features >> _SHIFT].astype(np.float64)
        return cast("NDArray[np.float64]", np.log((self.documents + _PRIOR_DOCUMENTS) / (found + 1)))

    def among_commonest(self, features: NDArray[np.uint32], share: float) -> NDArray[np.bool_]:
        """Return which features are among the commonest ``share`` of all; none if few documents were counted."""
        if self.documents < _FEWEST_DOCUMENTS or not share:
            return np.zeros(len(features), np.bool_)
        if self._cut is None or self.documents // _CUT_FOR != self._cut[0] // _CUT_FOR:
            counted = self._counts[self._counts > 0]
            place = min(len(counted) - 1, int(len(counted) * (1 - share)))
            # What occurs in one document alone is not common, whatever the share.
            self._cut = self.documents, max(1, int(np.partition(counted, place)[place]) - 1)
        return cast("NDArray[np.bool_]", self._counts[features >> _SHIFT] > self._cut[1])

    def take_pending(self) -> bytes:
        """Return the counts that no store knows yet, packed. Call ``give_back`` with them if the store fails."""
        taken = pack_counted(self.pending, self._pending_counts)
        self._pending_counts[:] = 0
        self.pending = 0
        return taken

    def give_back(self, taken: bytes) -> None:
        documents, counts = unpack_counted(taken)
        self.pending += documents
        self._pending_counts += counts

    def replace(self, total: bytes) -> None:
        """Replace the counts by a store's sum and the counts it does not know yet. Raise ValueError if it is no sum."""
        documents, counts = unpack_sum(total)
        self.documents, self._counts, self._cut = documents + self.pending, counts + self._pending_counts, None

    def copy(self) -> Frequencies:
        other = Frequencies()
        other.documents, other.pending = self.documents, self.pending
        other._counts, other._pending_counts = self._counts.copy(), self._pending_counts.copy()
        return other
