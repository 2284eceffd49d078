"""What processes learn, as a store keeps it: document frequencies, and the boilerplate of a source.

A sketcher counts features, and a store adds up the packed counts of all processes.

Documents are counted as they come, in bounded memory, and old counts fade. Features that share a slot are counted
together. Among millions of features rare ones do share slots, but common features still stand out.

Features are counted by slot, the high 16 bits of their hash. Counts are packed as the number of documents (4 bytes),
then the count of every slot (2 bytes). All numbers are big-endian.
"""

from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

MOST_SOURCE_DOCUMENTS = 24
MOST_LINES = 256

SLOTS = 1 << 16
# When this many documents are counted, all counts are halved.
#
# So old counts fade, and every count fits into 16 bits.
MOST_DOCUMENTS = 1 << 15

_DOCUMENTS_BYTES = 4
PACKED_BYTES = _DOCUMENTS_BYTES + 2 * SLOTS
NOTHING = bytes(PACKED_BYTES)
_SHIFT = np.uint32(16)


class LearnedEntries(NamedTuple):
    """What is learned of a source, packed by ``evidence.source_boilerplate``, the newest last.

    For a language ``documents`` has only its mean vector, packed by ``evidence.vectors``.
    """

    lines: tuple[bytes, ...] = ()  # that are boilerplate; at most MOST_LINES
    documents: tuple[bytes, ...] = ()  # earlier ones, to compare new ones with; at most MOST_SOURCE_DOCUMENTS


def pack_counts(documents: int, counts: NDArray[np.uint32]) -> bytes:
    """Pack counts. A count over 16 bits becomes the highest number of 16 bits."""
    return documents.to_bytes(_DOCUMENTS_BYTES, "big") + bytes(np.minimum(counts, 0xFFFF).astype(">u2").tobytes())


def unpack_counts(packed: bytes) -> tuple[int, NDArray[np.uint32]]:
    counts = np.frombuffer(packed, ">u2", offset=_DOCUMENTS_BYTES).astype(np.uint32)
    return int.from_bytes(packed[:_DOCUMENTS_BYTES], "big"), counts


def add_counts(total: bytes, counted: bytes) -> bytes:
    """Add packed counts. A damaged or missing sum counts as empty."""
    documents, counts = unpack_counts(total if len(total) == PACKED_BYTES else NOTHING)
    more_documents, more = unpack_counts(counted)
    documents += more_documents
    counts = np.minimum(counts + more, 0xFFFF)
    if documents >= MOST_DOCUMENTS:
        documents >>= 1
        counts >>= 1
    return pack_counts(documents, counts)


class Frequencies:
    """Counts over all documents, and separate counts over the documents that no store knows yet."""

    def __init__(self) -> None:
        self.documents = 0
        self.pending = 0  # documents no store knows
        self._counts = np.zeros(SLOTS, np.uint32)
        self._pending_counts = np.zeros(SLOTS, np.uint32)

    def learn(self, features: NDArray[np.uint32]) -> None:
        """Count the distinct features of one document."""
        self.learn_slots(np.unique(features >> _SHIFT))

    def learn_slots(self, slots: NDArray[np.integer[Any]], *, documents: int = 1) -> NDArray[np.uint32]:
        """Count one document, given the distinct slots of its features. Return how many earlier documents had each.

        ``documents=0`` counts further features of a document that was counted before.
        """
        counts = self.counts(slots)
        self._counts[slots] = counts + np.uint32(1)
        self._pending_counts[slots] += np.uint32(1)
        self.documents += documents
        self.pending += documents
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
        # With so many documents before the first one, all features weigh alike before anything is learned.
        return cast("NDArray[np.float64]", np.log((self.documents + 1000) / (found + 1)))

    def take_pending(self) -> bytes:
        """Return the counts that no store knows yet, packed. Call ``give_back`` with them if the store fails."""
        taken = pack_counts(self.pending, self._pending_counts)
        self._pending_counts[:] = 0
        self.pending = 0
        return taken

    def give_back(self, taken: bytes) -> None:
        documents, counts = unpack_counts(taken)
        self.pending += documents
        self._pending_counts += counts

    def replace(self, total: bytes) -> None:
        """Replace the counts by a store's sum and the counts it does not know yet."""
        documents, counts = unpack_counts(total)
        self.documents = documents + self.pending
        self._counts = counts + self._pending_counts
