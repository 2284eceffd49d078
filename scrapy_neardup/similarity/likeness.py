"""Compute how alike two documents are, from the data that a store keeps of them."""

from __future__ import annotations

import math
import struct
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, NamedTuple

from scrapy_neardup.document import Fingerprint
from scrapy_neardup.records.documents import Record
from scrapy_neardup.similarity.trace import SILENT, Trace

Measure = Literal["containment", "resemblance", "larger", "overlap", "hamming", "cosine"]
SET_MEASURES: tuple[Measure, ...] = ("containment", "resemblance", "larger")
"""The measures of two shingle sets, from MinHash signatures. Each of them can be computed from the same signature."""

LEAD_LANES = 128
"""How many lanes at the end of an ``overlap`` signature are made of the first part of the text only."""

BY_CHANCE = 1 / 256  # how often two lanes of one byte are equal though their minima differ
LEAST_RESEMBLANCE = 0.045  # below this too few lanes are equal to estimate containment

SPECIFIC_BYTES = 3  # 2 of the words around it; 1 of the name or figure
NAME_BIT = 0x80  # set in the last byte of a specific that is a name
LEADS = 3  # keys below this are for the first names of a short text, whatever words are around them
LEAST_NAMES, LEAST_FIGURES = 3, 5  # places that two texts must share; fewer prove nothing
# Two reports are different if at most this share of the common places has equal values.
SAME_NAMES, SAME_FIGURES = 0.6, 0.2

TOPIC_TERM_BYTES = 2  # of a term in a topic: its slot, see sketch.guards.topic
TITLE_BIT = 0x8000  # added to the slot of a term that is in the title
MOST_TOPIC_TERMS = 48
# The weight of a term follows from its place in the topic: HEAVIEST_TERM / sqrt(1 + place / PLACES_OF_WEIGHT)
HEAVIEST_TERM, PLACES_OF_WEIGHT = 127, 2.5
TERM_WEIGHTS = tuple(
    math.floor(HEAVIEST_TERM / math.sqrt(1 + place / PLACES_OF_WEIGHT) + 0.5) for place in range(MOST_TOPIC_TERMS)
)
LEAST_SHARED_TERMS = 5  # of two topics: fewer are shared by accident, or are those of a theme
COVERAGE_SHARE = 0.3  # of the score of two topics; the rest is their cosine
UNKNOWN_COVERAGE = 0.23  # of a document without a title
SUPPORTING_SHARE = 0.5  # of the least score: enough if a part of two texts of two sources is the same
SAME_SOURCE_EXTRA = 0.15  # two topics of one source need a score that is so much higher
STORY_PARTS = 3  # a story that a document joins keeps this many parts of its topic and takes one of the document's
LEAST_STORY_COSINE = 0.22  # of a document and the story that it joins
# A document joins two stories if it scores this much more than it needs to, and if the stories are that much alike.
UNITING_EXTRA, UNITING_COSINE = 0.05, 0.23

TERM_BYTES = 2  # of a term of a title, see sketch.guards.titles
LIKE_TITLES = 1 / 3  # two documents with one article number are one article if their titles have this overlap or more
SAME_TITLES = 0.8  # titles with a smaller overlap are different headlines
SAME_TITLE_SCORE, OTHER_TITLE_SCORE = 0.6, 0.7  # least scores of two copies by one source
STRONG_EVIDENCE = 0.9  # if the titles have nothing in common, a copy must hold at least this share of the larger text

CONTEXT_BYTES = 4  # of the words around a figure
# Two texts of one source are different reports if at least this many figures differ, and more differ than agree.
LEAST_OTHER_FIGURES = 3


def resemblance(a: bytes, b: bytes) -> float:
    """Return the Jaccard resemblance of two shingle sets, in [0, 1], estimated from signatures of one byte a lane.

    It is 0 if a signature is empty or the lengths differ. Broder (1997). The share of lanes that are equal by chance is
    taken off: Li and Koenig (2010), "b-bit minwise hashing".
    """
    return _beyond_chance(equal_bytes(a, b))


def _beyond_chance(share: float) -> float:
    return max(0.0, (share - BY_CHANCE) / (1 - BY_CHANCE))


def containment(resemblance: float, a: int, b: int) -> float:
    """Return the share of the smaller of two sets that lies in the larger, from their resemblance and sizes.

    Broder (1997), "On the resemblance and containment of documents".
    """
    return share_of(resemblance, min(a, b), max(a, b))


def share_of_larger(resemblance: float, a: int, b: int) -> float:
    """Return the share of the larger of two sets that lies in the smaller, from their resemblance and sizes."""
    larger = max(a, b)
    return resemblance * (a + b) / ((1 + resemblance) * larger) if larger else 0.0


def share_of(resemblance: float, own: int, other: int) -> float:
    """Return the share of the first of two sets that lies in the second, from their resemblance and sizes."""
    return min(1.0, resemblance * (own + other) / ((1 + resemblance) * own)) if own else 0.0


def exact_shares(a: AbstractSet[int], b: AbstractSet[int]) -> tuple[float, float]:
    """Return resemblance and containment of two sets, counted and not estimated."""
    common = len(a & b)
    return (common / len(a | b), common / min(len(a), len(b))) if common else (0.0, 0.0)


def equal_bytes(a: bytes, b: bytes) -> float:
    """Return the share of equal lanes of one byte each. 1 - share is the Hamming distance per lane."""
    if not a or len(a) != len(b):
        return 0.0
    return (int.from_bytes(a, "big") ^ int.from_bytes(b, "big")).to_bytes(len(a), "big").count(0) / len(a)


def cosine(a: bytes, b: bytes) -> float:
    """Return the cosine of two vectors of whole numbers from 0 to 255; 0 if one is zero or the lengths differ."""
    if len(a) != len(b):
        return 0.0
    squares = sum(one * one for one in a) * sum(other * other for other in b)
    return sum(one * other for one, other in zip(a, b, strict=True)) / math.sqrt(squares) if squares else 0.0


@dataclass(frozen=True, slots=True)
class Likeness:
    """How alike two signatures are; ``score`` is compared with the thresholds. All are in [0, 1]."""

    similarity: float
    containment: float
    score: float


SAME = Likeness(1.0, 1.0, 1.0)


def likeness_of(a: Fingerprint | Record, b: Fingerprint | Record, measure: Measure, collisions: int = 0) -> Likeness:
    """Return how alike two documents are, ``SAME`` if they have the same text."""
    if a.text_hash == b.text_hash:
        return SAME
    return likeness(measure, a.signature, b.signature, a.size, b.size, collisions)


def likeness(measure: Measure, a: bytes, b: bytes, size_a: int, size_b: int, collisions: int = 0) -> Likeness:
    """Return how alike two signatures are by a measure.

    Two sets of very different sizes have few equal lanes, even if one set contains the other. Unrelated sets of such
    sizes have nearly as many equal lanes by chance. So below ``LEAST_RESEMBLANCE`` the score by ``containment`` is 0.

    The score of ``overlap`` is the resemblance of the first parts of two texts, if more than ``collisions`` of the
    other lanes are equal. ``hamming`` and ``cosine`` have no containment: they return the similarity in its place.
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
    """Return the share of the shorter title's terms that the other title has too, in [0, 1]; 1 if either has none.

    The terms are packed as ``sketch.guards.titles`` packs them.
    """
    terms_a, terms_b = _parts(a, TERM_BYTES), _parts(b, TERM_BYTES)
    shorter = min(len(terms_a), len(terms_b))
    return len(terms_a & terms_b) / shorter if shorter else 1.0


def have_other_figures(a: bytes, b: bytes) -> bool:
    """Decide whether most figures of two texts differ, as in the reports of two lottery draws.

    They are packed as ``sketch.guards.figures`` packs them: their number, ``CONTEXT_BYTES`` of context for each, and
    their values as runs of hexadecimal digits that end with f.
    """
    figures_a, figures_b = _figures(a), _figures(b)
    same = len(figures_a & figures_b)
    others = min(len(figures_a), len(figures_b)) - same
    return others >= LEAST_OTHER_FIGURES and others > same


def _figures(packed: bytes) -> set[tuple[bytes, str]]:
    count = packed[0] if packed else 0
    behind = 1 + CONTEXT_BYTES * count
    contexts = (packed[at : at + CONTEXT_BYTES] for at in range(1, behind, CONTEXT_BYTES))
    return set(zip(contexts, packed[behind:].hex().split("f"), strict=False))


def topic_score(a: bytes, b: bytes, trace: Trace = SILENT) -> float:
    """Return how alike two topics are, in [0, 1]; 0 if they share too few terms.

    The larger part of the score is the cosine of the weights, without the heaviest product: one name that two reports
    share does not make them reports of one event. The smaller part is the coverage of the titles: the share of
    a title's squared weights whose terms the other document has, mean of both.
    """
    return topic_parts(a, b, trace).score


class TopicParts(NamedTuple):
    """The two parts of the score of two topics; their sum is in [0, 1]."""

    terms: float = 0.0  # the rest of the score: the cosine of all terms, without the heaviest product
    titles: float = 0.0  # COVERAGE_SHARE of the score: how much of each title the other document covers

    @property
    def score(self) -> float:
        return self.terms + self.titles


def topic_parts(a: bytes, b: bytes, trace: Trace = SILENT) -> TopicParts:
    """Return the parts of ``topic_score``."""
    ours, theirs = _topic(a), _topic(b)
    shared = ours.weights.keys() & theirs.weights.keys()
    if not trace.at_least("terms that the topics share", len(shared), LEAST_SHARED_TERMS):
        return TopicParts()
    products = [ours.weights[slot] * theirs.weights[slot] for slot in shared]
    cosine = (sum(products) - max(products)) / math.sqrt(ours.square * theirs.square)
    coverage = (_coverage(ours, shared) + _coverage(theirs, shared)) / 2
    return TopicParts((1 - COVERAGE_SHARE) * cosine, COVERAGE_SHARE * coverage)


def _coverage(topic: _Topic, shared: AbstractSet[int]) -> float:
    if not topic.title_square:
        return UNKNOWN_COVERAGE
    return sum([topic.weights[slot] * topic.weights[slot] for slot in shared & topic.in_title]) / topic.title_square


def topic_cosine(a: bytes, b: bytes) -> float:
    """Return the cosine of the weights of two topics, in [0, 1]; 0 if one is empty."""
    ours, theirs = _topic(a), _topic(b)
    product = sum(ours.weights[slot] * theirs.weights[slot] for slot in ours.weights.keys() & theirs.weights.keys())
    return product / math.sqrt(ours.square * theirs.square) if product else 0.0


def add_topic(story: bytes, topic: bytes) -> bytes:
    """Return the topic of a story to which a document is added.

    It has ``STORY_PARTS`` parts of the topic that the story had, and one part of the topic of the document.
    The heaviest ``MOST_TOPIC_TERMS`` terms are kept, the heaviest first.
    """
    weights = {slot: STORY_PARTS * weight for slot, weight in _topic(story).weights.items()}
    for slot, weight in _topic(topic).weights.items():
        weights[slot] = weights.get(slot, 0) + weight
    heaviest = sorted(weights, key=lambda slot: (-weights[slot], slot))[:MOST_TOPIC_TERMS]
    return b"".join(slot.to_bytes(TOPIC_TERM_BYTES, "big") for slot in heaviest)


def least_topic_score(threshold: float, *, same_source: bool) -> float:
    """Return the score that two topics need: more than the threshold if both documents are of one source."""
    return threshold + (SAME_SOURCE_EXTRA if same_source else 0.0)


def related_topic_score(
    a: bytes, b: bytes, story: bytes, same_source: bool, threshold: float, trace: Trace = SILENT
) -> float:
    """Return the score of two topics if a document with topic ``a`` joins the story of one with topic ``b``, else 0.

    ``story`` is the topic of the whole story, empty if that is ``b`` itself.
    """
    score, least = topic_score(a, b, trace), least_topic_score(threshold, same_source=same_source)
    if not trace.at_least("score of the topics", score, least, "" if same_source else "NEARDUP_TOPIC_THRESHOLD"):
        return 0.0
    if story and not trace.at_least("cosine with the topic of the story", topic_cosine(a, story), LEAST_STORY_COSINE):
        return 0.0
    return score


class SharedTerm(NamedTuple):
    """A term that two topics share. The heaviest term of a topic has the weight ``HEAVIEST_TERM``."""

    slot: int
    weight_a: int
    weight_b: int
    in_titles: bool  # of both

    @property
    def product(self) -> int:
        return self.weight_a * self.weight_b


def shared_terms(a: bytes, b: bytes) -> list[SharedTerm]:
    """Return the terms that two topics share, those that add most to their score first."""
    ours, theirs = _topic(a), _topic(b)
    in_titles = ours.in_title & theirs.in_title
    shared = [
        SharedTerm(slot, ours.weights[slot], theirs.weights[slot], slot in in_titles)
        for slot in ours.weights.keys() & theirs.weights.keys()
    ]
    return sorted(shared, key=lambda term: (-term.product, term.slot))


class _Topic(NamedTuple):
    weights: dict[int, int]  # by slot
    square: int  # sum of the squares of the weights
    in_title: frozenset[int]
    title_square: int


@lru_cache(4096)
def _topic(packed: bytes) -> _Topic:
    """Read a packed topic, whose terms are distinct. Ignore whatever is behind ``MOST_TOPIC_TERMS`` whole terms."""
    count = min(len(packed) // TOPIC_TERM_BYTES, MOST_TOPIC_TERMS)
    terms = struct.unpack_from(f">{count}H", packed)
    in_title = frozenset([term - TITLE_BIT for term in terms if term >= TITLE_BIT])
    weights = dict(zip([term % TITLE_BIT for term in terms], TERM_WEIGHTS, strict=False))
    return _Topic(
        weights,
        sum([weight * weight for weight in weights.values()]),
        in_title,
        sum([weights[slot] * weights[slot] for slot in in_title]),
    )


def _parts(packed: bytes, size: int) -> set[bytes]:
    return {packed[at : at + size] for at in range(0, len(packed), size)}


def template_evidence(a: bytes, b: bytes) -> Literal["places", "first names"] | None:
    """Return what shows that two texts are reports of one template, None if nothing does.

    Their specifics are packed as ``sketch.guards.specifics`` packs them. A document keeps only the specifics with the
    lowest keys, so keys are compared only up to the lower of the two highest ones. A report whose figures changed is an
    update, and not another report, as long as its names are the same. If two texts share only places of figures, nearly
    all of these figures must differ. Two short texts are two reports if their first sentences share no name, and no
    name is in the same place.
    """
    values_a, values_b = _values_by_place(a), _values_by_place(b)
    leads_a, leads_b = _pop_leads(values_a), _pop_leads(values_b)
    shared = [(values_a[place], values_b[place]) for place in values_a.keys() & values_b.keys()]
    names = [(in_a, in_b) for in_a, in_b in shared if in_a >= NAME_BIT]
    other_names = sum(in_a != in_b for in_a, in_b in names)
    if leads_a and leads_b and other_names == len(names) and leads_a.isdisjoint(leads_b):
        return "first names"
    same = sum(in_a == in_b for in_a, in_b in shared)
    if other_names:
        is_other_report = len(shared) >= LEAST_NAMES and same <= SAME_NAMES * len(shared)
    else:
        is_other_report = not names and len(shared) >= LEAST_FIGURES and same <= SAME_FIGURES * len(shared)
    return "places" if is_other_report else None


def _pop_leads(values: dict[int, int]) -> set[int]:
    return {values.pop(key) for key in range(LEADS) if key in values}


def _values_by_place(specifics: bytes) -> dict[int, int]:
    return {
        specifics[start] << 8 | specifics[start + 1]: specifics[start + 2]
        for start in range(0, len(specifics) // SPECIFIC_BYTES * SPECIFIC_BYTES, SPECIFIC_BYTES)
    }
