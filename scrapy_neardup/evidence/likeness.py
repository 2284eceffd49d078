"""How alike two documents are, from the signatures that a store keeps of them."""

import math
from typing import Literal, NamedTuple

Measure = Literal["containment", "resemblance", "larger", "overlap", "hamming", "cosine"]
# The measures of two shingle sets, from MinHash signatures. Each of them can be computed from the same signature.
SET_MEASURES: tuple[Measure, ...] = ("containment", "resemblance", "larger")

# How many lanes at the end of a "sketch", which ``overlap`` measures, confirm what the others propose.
CONFIRMING_LANES = 128

LEAST_RESEMBLANCE = 0.045  # below this too few lanes are equal to estimate containment
_CHANCE = 1 / 256  # that two lanes of one byte are equal by chance


def resemblance(a: bytes, b: bytes) -> float:
    """Return the Jaccard resemblance of two shingle sets, in [0, 1], estimated from signatures of one byte a lane.

    It is 0 if a signature is empty or the lengths differ. Broder (1997). The share of lanes that are equal by chance
    is taken off: Li and Koenig (2010), "b-bit minwise hashing".
    """
    return max(0.0, (equal_lanes(a, b) - _CHANCE) / (1 - _CHANCE))


def share_of(resemblance: float, own: int, other: int) -> float:
    """Return the share of the first of two sets that lies in the second, from their resemblance and sizes.

    Broder (1997), "On the resemblance and containment of documents", calls that of the smaller one the containment.
    """
    return min(1.0, resemblance * (own + other) / ((1 + resemblance) * own)) if own else 0.0


def equal_lanes(a: bytes, b: bytes) -> float:
    """Return the share of lanes of one byte each that are equal."""
    if not a or len(a) != len(b):
        return 0.0
    differ = int.from_bytes(a, "big") ^ int.from_bytes(b, "big")
    return differ.to_bytes(len(a), "big").count(0) / len(a)


def cosine(a: bytes, b: bytes) -> float:
    """Return the cosine of two vectors of whole numbers from 0 to 255; 0 if one is zero or the lengths differ."""
    if len(a) != len(b):
        return 0.0
    squares = sum(one * one for one in a) * sum(other * other for other in b)
    return sum(one * other for one, other in zip(a, b, strict=True)) / math.sqrt(squares or 1)


class Likeness(NamedTuple):
    """How alike two signatures are; ``score`` is compared with the thresholds. All are in [0, 1]."""

    similarity: float
    containment: float
    score: float


def likeness(measure: Measure, a: bytes, b: bytes, size_a: int, size_b: int, collisions: int = 0) -> Likeness:
    """Return how alike two signatures are by a measure.

    Two sets of very different sizes have few equal lanes, even if one set contains the other. Unrelated sets of such
    sizes have nearly as many equal lanes by chance. So below ``LEAST_RESEMBLANCE`` the score by ``containment`` is 0.

    The score of ``overlap`` is the resemblance by the lanes that confirm, if more than ``collisions`` of the others
    are equal. ``hamming`` and ``cosine`` have no containment: they return the similarity in its place.
    """
    if measure == "hamming" or measure == "cosine":
        score = equal_lanes(a, b) if measure == "hamming" else cosine(a, b)
        return Likeness(score, score, score)
    lanes = len(a) - CONFIRMING_LANES if measure == "overlap" else len(a)
    similarity = resemblance(a[:lanes], b[:lanes])
    smaller, larger = sorted((size_a, size_b))
    contained = share_of(similarity, smaller, larger)
    if measure == "overlap":
        equal = round(equal_lanes(a[:lanes], b[:lanes]) * lanes)
        score = resemblance(a[lanes:], b[lanes:]) if equal > collisions else 0.0
    elif measure == "larger":
        score = share_of(similarity, larger, smaller)
    elif measure == "resemblance":
        score = similarity
    else:
        score = contained if similarity >= LEAST_RESEMBLANCE else 0.0
    return Likeness(similarity, contained, score)
