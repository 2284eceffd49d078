"""The interface of all kinds of signatures, and the document frequencies that some of them learn.

Documents are counted as they come, in bounded memory, and old counts fade. Features that share a slot are counted
together. Among millions of features rare ones do share slots, but common features still stand out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup.records.feature_counts import MOST_DOCUMENTS, SLOTS, pack_counted, unpack_counted, unpack_sum
from scrapy_neardup.sketch.text.body import Body

_SHIFT = np.uint32(16)
_FEWEST_DOCUMENTS = 100  # with fewer documents nobody can tell which features are common
_PRIOR_DOCUMENTS = 1000  # before anything is learned all features weigh alike
_CUT_FOR = 32  # documents after which the cut between rare and commonest features is computed again


@dataclass(frozen=True, slots=True)
class SignedText:
    """A signature, the keys it is found by, and the number of features it was made of.

    ``features`` are 32-bit hashes of the features whose document frequencies are learned. There are none if the preset
    learns no frequencies.
    """

    signature: bytes = b""
    size: int = 0
    band_keys: tuple[int, ...] = ()
    sample_keys: tuple[int, ...] = ()
    features: NDArray[np.uint32] | None = None


UNSIGNED = SignedText()
"""Used for a text that is too short. Such a text matches only exact copies of it."""


class Frequencies:
    """Counts over all documents, and separate counts over the documents that no store knows yet."""

    def __init__(self) -> None:
        self.documents = 0
        self.pending = 0  # documents no store knows
        self._counts = np.zeros(SLOTS, np.uint32)
        self._pending_counts = np.zeros(SLOTS, np.uint32)
        # Number of documents when the cut was computed; the highest count of a rare feature.
        self._cut: tuple[int, int] | None = None

    def learn(self, features: NDArray[np.uint32]) -> None:
        """Count the distinct features of one document."""
        self.learn_slots(np.unique(features >> _SHIFT))

    def learn_slots(self, slots: NDArray[np.integer[Any]]) -> NDArray[np.uint32]:
        """Count one document, given the distinct slots of its features. Return how many earlier documents had each."""
        counts = self.counts(slots)
        self._counts[slots] = counts + np.uint32(1)
        self._pending_counts[slots] += np.uint32(1)
        self.documents += 1
        self.pending += 1
        if self.documents >= MOST_DOCUMENTS:
            self._counts >>= np.uint32(1)
            self.documents >>= 1
        if self.pending >= MOST_DOCUMENTS:
            self._pending_counts >>= np.uint32(1)
            self.pending >>= 1
        return counts

    def counts(self, slots: NDArray[np.integer[Any]]) -> NDArray[np.uint32]:
        """Return for each slot how many documents had it."""
        return self._counts.take(slots)

    def weights(self, features: NDArray[np.uint32]) -> NDArray[np.float64]:
        """Return the inverse document frequency of each feature."""
        found = self._counts[features >> _SHIFT].astype(np.float64)
        return cast("NDArray[np.float64]", np.log((self.documents + _PRIOR_DOCUMENTS) / (found + 1)))

    def among_commonest(self, features: NDArray[np.uint32], share: float) -> NDArray[np.bool_]:
        """Return which features are among the commonest ``share`` of all; none if few documents were counted."""
        if self.documents < _FEWEST_DOCUMENTS or not share:
            return np.zeros(len(features), np.bool_)
        cut = self._cut
        if cut is None or self.documents // _CUT_FOR != cut[0] // _CUT_FOR:
            counted = self._counts[self._counts > 0]
            place = min(len(counted) - 1, int(len(counted) * (1 - share)))
            # A feature that occurs in only one document is not common, whatever the share.
            cut = self._cut = self.documents, max(1, int(np.partition(counted, place)[place]) - 1)
        return cast("NDArray[np.bool_]", self._counts[features >> _SHIFT] > cut[1])

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


class Signer(Protocol):
    """Makes the signatures of one preset. ``frequencies`` is None if the preset learns none."""

    frequencies: Frequencies | None

    def sign(self, bodies: Sequence[Body]) -> list[SignedText]: ...
