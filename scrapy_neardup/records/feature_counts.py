"""Pack document frequencies. A sketcher counts features, and a store adds up the counts of all processes.

Features are counted by slot, the high 16 bits of their hash. The counts since the last exchange are packed as the
number of documents (4 bytes), then slot and count (2 bytes each) of every slot that has a count. The sum of all counts
is packed as the number of documents (4 bytes), then the count of every slot (2 bytes). All numbers are big-endian.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

SLOTS = 1 << 16
MOST_DOCUMENTS = 1 << 15
"""When this many documents are counted, all counts are halved.

So old counts fade, and every count fits into 16 bits.
"""

DOCUMENTS_BYTES = 4
SUM_BYTES = DOCUMENTS_BYTES + 2 * SLOTS
NOTHING = bytes(DOCUMENTS_BYTES)


def pack_counted(documents: int, counts: NDArray[np.uint32]) -> bytes:
    """Pack the counts since the last exchange. A count over 16 bits becomes the highest number of 16 bits."""
    slots = np.flatnonzero(counts)
    pairs = np.stack([slots, np.minimum(counts[slots], 0xFFFF)], axis=1).astype(">u2")
    return documents.to_bytes(DOCUMENTS_BYTES, "big") + bytes(pairs.tobytes())


def unpack_counted(packed: bytes) -> tuple[int, NDArray[np.uint32]]:
    counts = np.zeros(SLOTS, np.uint32)
    pairs = np.frombuffer(packed, ">u2", offset=DOCUMENTS_BYTES).astype(np.int64)
    counts[pairs[::2]] = pairs[1::2]
    return int.from_bytes(packed[:DOCUMENTS_BYTES], "big"), counts


def pack_sum(documents: int, counts: NDArray[np.uint32]) -> bytes:
    return documents.to_bytes(DOCUMENTS_BYTES, "big") + bytes(np.minimum(counts, 0xFFFF).astype(">u2").tobytes())


def unpack_sum(packed: bytes) -> tuple[int, NDArray[np.uint32]]:
    """Raise ValueError for another number of bytes."""
    if len(packed) != SUM_BYTES:
        raise ValueError(f"{len(packed)} bytes of document frequencies, not {SUM_BYTES}")
    counts = np.frombuffer(packed, ">u2", offset=DOCUMENTS_BYTES).astype(np.uint32)
    return int.from_bytes(packed[:DOCUMENTS_BYTES], "big"), counts


def add_counts(total: bytes, counted: bytes) -> bytes:
    """Add packed counts to a packed sum. A damaged or missing sum counts as empty."""
    documents, counts = (0, np.zeros(SLOTS, np.uint32)) if len(total) != SUM_BYTES else unpack_sum(total)
    more_documents, more = unpack_counted(counted)
    documents, counts = documents + more_documents, np.minimum(counts + more, 0xFFFF)
    if documents >= MOST_DOCUMENTS:
        documents, counts = documents >> 1, counts >> 1
    return pack_sum(documents, counts)
