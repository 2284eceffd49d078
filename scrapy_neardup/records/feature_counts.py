"""Packed document frequencies: what travels between a sketch, which counts features, and a store, which adds them up.

Features are counted by slot, the high 16 bits of their hash. Counted since the last exchange: the number of documents
(4 bytes), then slot and count (2 bytes each) of every slot that has one. The sum of all: the number of documents, then
every slot's count. Big-endian; ``index/redis/scripts/learn.lua`` reads and writes the same bytes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

SLOTS = 1 << 16
MOST_DOCUMENTS = 1 << 15
"""From here on all counts are halved: what is old fades, and no count of 16 bits runs over."""

SUM_BYTES = 4 + 2 * SLOTS
NOTHING = bytes(4)


def pack_counted(documents: int, counts: NDArray[np.uint32]) -> bytes:
    """Raises nothing; counts over 16 bits are cut to the highest there is."""
    slots = np.flatnonzero(counts)
    pairs = np.stack([slots, np.minimum(counts[slots], 0xFFFF)], axis=1).astype(">u2")
    return documents.to_bytes(4, "big") + bytes(pairs.tobytes())


def unpack_counted(packed: bytes) -> tuple[int, NDArray[np.uint32]]:
    counts = np.zeros(SLOTS, np.uint32)
    pairs = np.frombuffer(packed, ">u2", offset=4).astype(np.int64)
    counts[pairs[::2]] = pairs[1::2]
    return int.from_bytes(packed[:4], "big"), counts


def pack_sum(documents: int, counts: NDArray[np.uint32]) -> bytes:
    return documents.to_bytes(4, "big") + bytes(np.minimum(counts, 0xFFFF).astype(">u2").tobytes())


def unpack_sum(packed: bytes) -> tuple[int, NDArray[np.uint32]]:
    """Raises ValueError for another number of bytes."""
    if len(packed) != SUM_BYTES:
        raise ValueError(f"{len(packed)} bytes of document frequencies, not {SUM_BYTES}")
    return int.from_bytes(packed[:4], "big"), np.frombuffer(packed, ">u2", offset=4).astype(np.uint32)


def add_counts(total: bytes, counted: bytes) -> bytes:
    """A sum with what was counted since; a damaged sum, or none, is one of nothing."""
    documents, counts = (0, np.zeros(SLOTS, np.uint32)) if len(total) != SUM_BYTES else unpack_sum(total)
    more_documents, more = unpack_counted(counted)
    documents, counts = documents + more_documents, np.minimum(counts + more, 0xFFFF)
    if documents >= MOST_DOCUMENTS:
        documents, counts = documents >> 1, counts >> 1
    return pack_sum(documents, counts)
