"""How alike two documents are: pure arithmetic on what is kept of them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

Measure = Literal["containment", "resemblance", "larger", "overlap", "hamming", "cosine"]
SET_MEASURES: tuple[Measure, ...] = ("containment", "resemblance", "larger")
"""Those of two shingle sets, from MinHash signatures: any of them can be asked of the same signature."""

LEAD_LANES = 128
"""Lanes of an ``overlap`` signature, its last ones, that are of the first part of the text alone."""

BY_CHANCE = 1 / 256  # how often two lanes of one byte are equal though their minima differ
LEAST_RESEMBLANCE = 0.045  # under this too few lanes are equal to tell containment
SPECIFIC_BYTES = 3  # 2 of the words around it; 1 of the name or figure
NAME_BIT = 0x80  # set in the last byte of the specifics of a name
CONTEXT_BYTES = 4  # of the words around a figure

NAME_BYTES = 2  # of a name or figure in a topic, see sketch.topic
LEAST_SHARED_NAMES = 5  # that two topics have in common: fewer meet by accident

TERM_BYTES = 2  # of a term of a title, see sketch.titles
LIKE_TITLES = 1 / 3  # titles from this overlap on may be of one article, if it has one number
SAME_TITLES = 0.8  # titles with a smaller overlap are different headlines
SAME_TITLE_SCORE, OTHER_TITLE_SCORE = 0.6, 0.7  # least scores of two copies by one source
STRONG_EVIDENCE = 0.9  # the share of a text that is to be held in spite of a title that has nothing in common
LEAST_OTHER_FIGURES = 3  # figures that differ, and more than are the same: of another report of one source

LEADS = 3  # the first keys are those of the first names of a short text, whatever stands around them
LEAST_NAMES, LEAST_FIGURES = 3, 5  # places that two texts share: fewer say nothing
SAME_NAMES, SAME_FIGURES = 0.6, 0.2  # the share of them up to which two texts are different reports


def resemblance(a: bytes, b: bytes) -> float:
    """Jaccard resemblance of two shingle sets, in [0, 1], estimated from their signatures of one byte a lane.

    0 where one is empty or the lengths differ. Broder (1997); of the share of equal lanes, what chance makes equal is
    taken off: Li and Koenig (2010), "b-bit minwise hashing".
    """
    return _beyond_chance(equal_bytes(a, b))


def _beyond_chance(share: float) -> float:
    return max(0.0, (share - BY_CHANCE) / (1 - BY_CHANCE))


def containment(resemblance: float, a: int, b: int) -> float:
    """Share of the smaller of two sets that lies in the larger, from their resemblance and sizes.

    Broder (1997), "On the resemblance and containment of documents".
    """
    return share_of(resemblance, min(a, b), max(a, b))


def share_of_larger(resemblance: float, a: int, b: int) -> float:
    """Share of the larger of two sets that lies in the smaller, from their resemblance and sizes."""
    larger = max(a, b)
    return resemblance * (a + b) / ((1 + resemblance) * larger) if larger else 0.0


def share_of(resemblance: float, own: int, other: int) -> float:
    """Share of the first of two sets that lies in the second, from their resemblance and sizes."""
    return min(1.0, resemblance * (own + other) / ((1 + resemblance) * own)) if own else 0.0


def equal_bytes(a: bytes, b: bytes) -> float:
    """Share of equal lanes of one byte each; 1 - share is the Hamming distance by the number of lanes."""
    if not a or len(a) != len(b):
        return 0.0
    return (int.from_bytes(a, "big") ^ int.from_bytes(b, "big")).to_bytes(len(a), "big").count(0) / len(a)


def cosine(a: bytes, b: bytes) -> float:
    """Of two vectors of whole numbers from 0 to 255, in [0, 1]; 0 where one is zero or the lengths differ."""
    if len(a) != len(b):
        return 0.0
    squares = sum(one * one for one in a) * sum(other * other for other in b)
    return sum(one * other for one, other in zip(a, b, strict=True)) / math.sqrt(squares) if squares else 0.0


@dataclass(frozen=True, slots=True)
class Likeness:
    """How alike two signatures are; ``score`` is what thresholds are compared with. All in [0, 1]."""

    similarity: float
    containment: float
    score: float


SAME = Likeness(1.0, 1.0, 1.0)


def likeness(measure: Measure, a: bytes, b: bytes, size_a: int, size_b: int, collisions: int = 0) -> Likeness:
    """By one of the measures; ``scripts/window.lua`` holds the same arithmetic.

    Two sets of very different sizes have few lanes in common even where one contains the other, and by chance nearly as
    many where it does not: under ``LEAST_RESEMBLANCE`` the score by ``containment`` is 0.
    ``overlap`` is the resemblance of the first parts of two texts, and asked only where more than ``collisions`` of
    the other lanes are equal. ``hamming`` and ``cosine`` know no containment: theirs is the similarity again.
    """
    if measure == "hamming" or measure == "cosine":
        similarity = equal_bytes(a, b) if measure == "hamming" else cosine(a, b)
        return Likeness(similarity, similarity, similarity)
    if measure == "overlap":
        return _overlap(a, b, size_a, size_b, collisions)
    similarity = resemblance(a, b)
    contained = containment(similarity, size_a, size_b)
    if measure == "larger":
        return Likeness(similarity, contained, share_of_larger(similarity, size_a, size_b))
    if measure == "resemblance":
        return Likeness(similarity, contained, similarity)
    return Likeness(similarity, contained, contained if similarity >= LEAST_RESEMBLANCE else 0.0)


def _overlap(a: bytes, b: bytes, size_a: int, size_b: int, collisions: int) -> Likeness:
    sketch_a, sketch_b = a[:-LEAD_LANES], b[:-LEAD_LANES]
    share = equal_bytes(sketch_a, sketch_b)
    similarity = _beyond_chance(share)
    score = resemblance(a[-LEAD_LANES:], b[-LEAD_LANES:]) if round(share * len(sketch_a)) > collisions else 0.0
    return Likeness(similarity, containment(similarity, size_a, size_b), score)


def title_overlap(a: bytes, b: bytes) -> float:
    """Share of the shorter title's terms that the other title has too, in [0, 1]; 1 if either has none.

    The terms are packed as ``sketch.titles`` packs them.
    """
    ours, theirs = _parts(a, TERM_BYTES), _parts(b, TERM_BYTES)
    shorter = min(len(ours), len(theirs))
    return len(ours & theirs) / shorter if shorter else 1.0


def is_copy_within_source(overlap: float, score: float, larger: float, threshold: float) -> bool:
    """Decide whether two documents of one source are copies: the less their titles agree, the more text must.

    ``larger`` is the share of the larger shingle set that the smaller one holds. It has to reach ``STRONG_EVIDENCE`` if
    the titles have nothing in common: what is shared may be all that the source prints under every article.
    """
    if not overlap:
        return larger >= STRONG_EVIDENCE
    return score >= max(threshold, SAME_TITLE_SCORE if overlap >= SAME_TITLES else OTHER_TITLE_SCORE)


def have_other_figures(a: bytes, b: bytes) -> bool:
    """Decide whether most figures of two texts differ, as those of two lottery draws do.

    They are packed as ``sketch.figures`` packs them: their number, 4 bytes of context each, and their values as runs of
    hexadecimal digits that end with f.
    """
    ours, theirs = _figures(a), _figures(b)
    same = len(ours & theirs)
    others = min(len(ours), len(theirs)) - same
    return others >= LEAST_OTHER_FIGURES and others > same


def _figures(packed: bytes) -> set[tuple[bytes, str]]:
    count = packed[0] if packed else 0
    values = packed[1 + 4 * count :].hex().split("f")
    return {(packed[1 + 4 * place : 5 + 4 * place], value) for place, value in enumerate(values[:count])}


def topic_share(a: bytes, b: bytes) -> float:
    """Share of the names of two topics that they have in common (Dice), in [0, 1]; 0 where those are too few."""
    shared = len(_parts(a, NAME_BYTES) & _parts(b, NAME_BYTES))
    return 2 * NAME_BYTES * shared / (len(a) + len(b)) if shared >= LEAST_SHARED_NAMES else 0.0


def _parts(packed: bytes, size: int) -> set[bytes]:
    return {packed[at : at + size] for at in range(0, len(packed), size)}


def have_same_template(a: bytes, b: bytes) -> bool:
    """Whether two texts are reports of one template: other names and figures between the same words.

    From their specifics, as ``sketch.specifics`` packs them; a document keeps those of the lowest keys, so only keys up
    to the lower of the two highest are compared. Figures that changed make an update of a report, not another report,
    as long as its names are the same; figures alone must differ nearly throughout. Two short texts of which the first
    sentences have no name in common, and no name is in the same place, are two reports.
    """
    ours, theirs = _by_place(a), _by_place(b)
    our_leads, their_leads = _pop_leads(ours), _pop_leads(theirs)
    shared = ours.keys() & theirs.keys()
    same_names = sum(ours[key] >= 0x80 and ours[key] == theirs[key] for key in shared)
    if our_leads and their_leads and not same_names and our_leads.isdisjoint(their_leads):
        return True
    same = sum(ours[key] == theirs[key] for key in shared)
    names = sum(ours[key] >= 0x80 for key in shared)
    other_names = sum(ours[key] >= 0x80 and ours[key] != theirs[key] for key in shared)
    if other_names:
        return len(shared) >= LEAST_NAMES and same <= SAME_NAMES * len(shared)
    return not names and len(shared) >= LEAST_FIGURES and same <= SAME_FIGURES * len(shared)


def _pop_leads(places: dict[int, int]) -> set[int]:
    return {places.pop(key) for key in range(LEADS) if key in places}


def _by_place(specifics: bytes) -> dict[int, int]:
    return {
        specifics[start] << 8 | specifics[start + 1]: specifics[start + 2]
        for start in range(0, len(specifics) // SPECIFIC_BYTES * SPECIFIC_BYTES, SPECIFIC_BYTES)
    }
