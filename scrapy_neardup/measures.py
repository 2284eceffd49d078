"""How alike two documents are: pure arithmetic on what is kept of them."""

from __future__ import annotations

BY_CHANCE = 1 / 256  # how often two lanes of one byte are equal though their minima differ
SPECIFIC_BYTES = 3  # 2 of the words around it; 1 of the name or figure, the highest bit set for a name

LEAST_NAMES, LEAST_FIGURES = 3, 5  # places that two texts share: fewer say nothing
SAME_NAMES, SAME_FIGURES = 0.6, 0.2  # the share of them up to which two texts are different reports


def resemblance(a: bytes, b: bytes) -> float:
    """Jaccard resemblance of two shingle sets, in [0, 1], estimated from their signatures of one byte a lane.

    0 where one is empty or the lengths differ. Broder (1997); of the share of equal lanes, what chance makes equal is
    taken off: Li and Koenig (2010), "b-bit minwise hashing".
    """
    if not a or len(a) != len(b):
        return 0.0
    differing = (int.from_bytes(a, "big") ^ int.from_bytes(b, "big")).to_bytes(len(a), "big")
    share = differing.count(0) / len(a)
    return max(0.0, (share - BY_CHANCE) / (1 - BY_CHANCE))


def containment(resemblance: float, a: int, b: int) -> float:
    """Share of the smaller of two sets that lies in the larger, from their resemblance and sizes.

    Broder (1997), "On the resemblance and containment of documents".
    """
    smaller = min(a, b)
    return min(1.0, resemblance * (a + b) / ((1 + resemblance) * smaller)) if smaller else 0.0


def same_template(a: bytes, b: bytes) -> bool:
    """Whether two texts are reports of one template: other names and figures between the same words.

    From their specifics, as ``sketch.specifics`` packs them; a document keeps those of the lowest keys, so only keys up
    to the lower of the two highest are compared. Figures that changed make an update of a report, not another report,
    as long as its names are the same; figures alone must differ nearly throughout.
    """
    ours, theirs = _by_place(a), _by_place(b)
    if not ours or not theirs:
        return False
    shared = ours.keys() & theirs.keys()
    same = sum(ours[key] == theirs[key] for key in shared)
    names = sum(ours[key] >= 0x80 for key in shared)
    other_names = sum(ours[key] >= 0x80 and ours[key] != theirs[key] for key in shared)
    if other_names:
        return len(shared) >= LEAST_NAMES and same <= SAME_NAMES * len(shared)
    return not names and len(shared) >= LEAST_FIGURES and same <= SAME_FIGURES * len(shared)


def _by_place(specifics: bytes) -> dict[int, int]:
    return {
        specifics[start] << 8 | specifics[start + 1]: specifics[start + 2]
        for start in range(0, len(specifics) // SPECIFIC_BYTES * SPECIFIC_BYTES, SPECIFIC_BYTES)
    }
