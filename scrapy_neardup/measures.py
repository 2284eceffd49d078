"""How alike two documents are: pure arithmetic on what is kept of them."""

from __future__ import annotations

LANE_BYTES = 2


def resemblance(a: bytes, b: bytes) -> float:
    """Share of equal lanes of two signatures, in [0, 1]; 0 where one is empty or the lengths differ.

    Estimates the Jaccard resemblance of the two shingle sets (Broder 1997).
    """
    if not a or len(a) != len(b):
        return 0.0
    differing = (int.from_bytes(a, "big") ^ int.from_bytes(b, "big")).to_bytes(len(a), "big")
    equal = sum(not (high or low) for high, low in zip(differing[::2], differing[1::2], strict=True))
    return equal * LANE_BYTES / len(a)


def containment(resemblance: float, a: int, b: int) -> float:
    """Share of the smaller of two sets that lies in the larger, from their resemblance and sizes.

    Broder (1997), "On the resemblance and containment of documents".
    """
    smaller = min(a, b)
    return min(1.0, resemblance * (a + b) / ((1 + resemblance) * smaller)) if smaller else 0.0
