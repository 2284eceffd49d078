"""The topic of an article: the terms of its title and first words, weighted by how rare they are in this stream.

Reports of one event in other words have hardly three words in a row in common, but they have the same rare terms. A
term is the beginning of a word, or a pair of characters in scripts without spaces (see ``titles``). Its weight is the
product of how often the article has it and of its inverse document frequency (TF-IDF). Names weigh more.

Document frequencies are learned from the stream. Documents of several languages come in one stream, and nobody has to
tell their languages apart: the commonest terms of a document are in nearly every document of its language. So their
frequencies tell how many documents of this language there were.

Documents are looked up by the keys of a few terms: those of the title first, because reports of one event rather share
the terms of their titles than the rarest terms of their texts, and then the heaviest ones.

Miranda et al. (2018), "Multilingual clustering of streaming news", cluster a stream online by such vectors.
"""

import math
import struct
from collections.abc import Collection, Iterable, KeysView
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup.document import MOST_TOPIC_TERMS
from scrapy_neardup.evidence.titles import FIGURE, NAME, NO_TERM, first_words, term_codes
from scrapy_neardup.records.learned import MOST_DOCUMENTS, Frequencies
from scrapy_neardup.text.tokenizer import changes, mask, next_starts

TOPIC_TERM_BYTES = 2  # of a term in a topic: its slot
_SLOT_BITS = 15  # of a term in a topic
TITLE_BIT = 1 << _SLOT_BITS  # added to the slot of a term that is in the title
# The weight of a term follows from its place in the topic: HEAVIEST_TERM / sqrt(1 + place / PLACES_OF_WEIGHT)
HEAVIEST_TERM = 127
PLACES_OF_WEIGHT = 2.5
TERM_WEIGHTS = tuple(
    math.floor(HEAVIEST_TERM / math.sqrt(1 + place / PLACES_OF_WEIGHT) + 0.5) for place in range(MOST_TOPIC_TERMS)
)
LEAST_SHARED_TERMS = 5  # of two topics: fewer are shared by accident, or are those of a theme
_COVERAGE_SHARE = 0.3  # of the score of two topics; the rest is their cosine
UNKNOWN_COVERAGE = 0.23  # of a document without a title

TOPIC_WORDS = 150
KEYS = 12
MOST_SHARED_WORDS = 5
_MOST_CHARACTERS = 1500  # of a line


NO_TOPIC = b"\0"  # a topic without terms that is known, unlike an empty one
FEWEST_DOCUMENTS = 20  # with fewer documents only names are known to be rare
_MOST_TIMES = 0x7F
_NAME_FLAG = 0x80
KEY_FACTOR = 0x9E37_79B1
_KEY_SEED = 0x709C_51F3
_BYTE, _SLOT, _NAME_BIT, _NO_TERM = map(mask, (8, 0xFFFF, _NAME_FLAG, NO_TERM))
_FIGURE, _NAME = map(mask, (FIGURE, NAME))
_SLOT_NUMBERS = [*range(TITLE_BIT)]  # one object for each slot, because thousands of topics are remembered


def read_lead(lines: Iterable[str]) -> bytes:
    """Return the terms of the first lines of a text, packed; none if it is a table.

    A term has four bytes in the order of this machine: its slot, then in 8 bits how often it occurs. ``_NAME_FLAG`` is
    added if the term is a name. Terms are in ascending order.
    """
    codes = np.array(term_codes(*(line[:_MOST_CHARACTERS] for line in lines)), np.uint32)
    if 4 * np.count_nonzero(codes & _FIGURE) > len(codes):  # of a table over a quarter are figures
        return b""
    # If most words have a capital, these are headlines, and capitals show no names.
    is_prose = 2 * np.count_nonzero(codes & _NAME) <= len(codes)
    codes = codes[codes < _NO_TERM]
    is_name = (codes & _NAME).astype(bool) & is_prose
    terms = (codes & _SLOT) << _BYTE
    terms |= is_name * _NAME_BIT
    terms.sort()
    begins = changes(terms >> _BYTE).nonzero()[0]
    ends = next_starts(begins, len(terms))
    # Of equal terms the last one is a name if any is.
    lead: NDArray[np.uint32] = terms.take(ends - 1) | np.minimum(ends - begins, _MOST_TIMES).astype(np.uint32)
    return lead.tobytes()


def tells_title(lead: bytes, title: Collection[int]) -> bool:
    """Decide whether the first lines of a text, packed by ``read_lead``, have half of the terms of a title."""
    slots = (np.frombuffer(lead, np.uint32) >> _BYTE).tolist()
    return 0 < len(title) <= 2 * len(set(title).intersection(slots))


def shared_words(topic: bytes, other: bytes, title: str, text: str) -> tuple[str, ...]:
    """Return the heaviest terms that the topic of a document shares with another topic, as words of the document."""
    slots = shared_terms(topic, other)[:MOST_SHARED_WORDS]
    words = first_words(f"{title}\n{text[:20_000]}", slots, _SLOT_BITS)  # the lead is in so much of it
    return tuple(words[slot] for slot in slots if slot in words)


class TopicWeights:
    """Weighs terms by the documents that came before, and counts each document."""

    def __init__(self, most_terms: int) -> None:
        self.frequencies = Frequencies()
        self._most_terms = most_terms

    def topic(self, lead: bytes, title: Collection[int]) -> tuple[bytes, tuple[int, ...]]:
        """Return the packed topic of a document, and its look-up keys. Count the document.

        ``title`` are the slots of the terms of the title. A packed topic has ``TOPIC_TERM_BYTES`` for each term, the
        heaviest first: the low bits of its slot. ``TITLE_BIT`` is added if the term is in the title. Weights are not
        packed, because they follow closely enough from the places of the terms.
        """
        if not lead:
            return b"", ()
        of_lead = np.frombuffer(lead, np.uint32)
        # Terms that only the title has occur 0 times.
        others = np.array(sorted(set(title).difference((of_lead >> _BYTE).tolist())), np.uint32)
        slots = np.append(of_lead >> _BYTE, others)
        times = np.append(of_lead.astype(np.uint8), np.zeros(len(others), np.uint8))
        in_title = np.array([slot in title for slot in slots.tolist()], bool)
        is_name = times >= _NAME_FLAG
        counts = self.frequencies.learn_slots(slots)
        # The third commonest term of a document tells how many documents of its language there were, see above.
        documents = int(np.sort(counts)[-3:][0])
        if documents < FEWEST_DOCUMENTS:
            weights = is_name.astype(np.float64)
        else:
            weights = _RARITIES.take(documents, mode="clip") - _RARITIES.take(counts, mode="clip")
            weights[weights <= _LEAST_RARITY] = 0.0
        weights *= _TIMES_WEIGHTS.take((times & _MOST_TIMES) + in_title)
        weights[is_name] *= 1.25
        heaviest = (-weights).argsort(kind="stable")[: min(self._most_terms, np.count_nonzero(weights))]
        chosen = slots.take(heaviest)
        of_title = in_title.take(heaviest)
        # Two slots may have the same low bits. Only the first of them is kept, in its place and with its bit.
        low = chosen % TITLE_BIT
        packed = low + of_title * np.uint32(TITLE_BIT)
        terms = dict.fromkeys(low.tolist()) | dict(zip(low[::-1].tolist(), packed[::-1].tolist(), strict=True))
        # The heaviest terms of the title come first, eight at most.
        looked_up = dict.fromkeys((*chosen[of_title][:8].tolist(), *chosen[:KEYS].tolist()))
        keys = tuple([slot * KEY_FACTOR & 0xFFFF_FFFF ^ _KEY_SEED for slot in list(looked_up)[:KEYS]])
        return struct.pack(f">{len(terms)}H", *terms.values()), keys


_RARITIES = np.log(np.arange(1, 2 * MOST_DOCUMENTS + 2))  # by number of documents
_LEAST_RARITY = np.log(2.0)
_TIMES_WEIGHTS = 1.0 + np.log(np.maximum(1, np.arange(_MOST_TIMES + 2)))


def topic_score(a: bytes, b: bytes, least_terms: int = LEAST_SHARED_TERMS) -> float:
    """Return how alike two topics are, in [0, 1]; 0 if they share too few terms.

    The larger part of the score is the cosine of the weights, without the heaviest product: one name that two reports
    share does not make them reports of one event. The smaller part is the coverage of the titles: the share of
    a title's squared weights whose terms the other document has, mean of both.
    """
    ours = _topic(a)
    theirs = _topic(b)
    shared = ours.terms & theirs.terms
    if len(shared) < least_terms:
        return 0.0
    products = [ours.weights[slot] * theirs.weights[slot] for slot in shared]
    cosine = (sum(products) - max(products)) / math.sqrt(ours.square * theirs.square)
    coverage = (_coverage(ours, shared) + _coverage(theirs, shared)) / 2
    return (1 - _COVERAGE_SHARE) * cosine + _COVERAGE_SHARE * coverage


def told_titles(a: bytes, b: bytes) -> tuple[float, float]:
    """Return the share of the title of each document that the other one has in its topic."""
    ours = _topic(a)
    theirs = _topic(b)
    shared = ours.terms & theirs.terms
    return _coverage(ours, shared), _coverage(theirs, shared)


def _coverage(topic: "_Topic", shared: set[int]) -> float:
    if not topic.title_square:
        return UNKNOWN_COVERAGE
    return sum([topic.weights[slot] * topic.weights[slot] for slot in shared & topic.in_title]) / topic.title_square


def topic_cosine(a: bytes, b: bytes) -> float:
    """Return the cosine of the weights of two topics, in [0, 1]; 0 if one is empty."""
    ours = _topic(a)
    theirs = _topic(b)
    product = sum(ours.weights[slot] * theirs.weights[slot] for slot in ours.terms & theirs.terms)
    return product / math.sqrt(ours.square * theirs.square) if product else 0.0


def share_terms(a: bytes, b: bytes, least: int) -> bool:
    """Decide whether two topics share at least so many terms. Only the first one is remembered: most are strangers."""
    return len({term % TITLE_BIT for term in _with_and_without_title(a).intersection(_unpack(b))}) >= least


@lru_cache(64)
def _with_and_without_title(packed: bytes) -> frozenset[int]:
    return frozenset([term ^ bit for term in _unpack(packed) for bit in (0, TITLE_BIT)])


def _unpack(packed: bytes) -> tuple[int, ...]:
    # Whatever is behind MOST_TOPIC_TERMS whole terms is ignored.
    return struct.unpack_from(f">{min(len(packed) // TOPIC_TERM_BYTES, MOST_TOPIC_TERMS)}H", packed)


def shared_terms(a: bytes, b: bytes) -> list[int]:
    """Return the slots of the terms that two topics share, those that add most to their score first."""
    ours = _topic(a)
    theirs = _topic(b)
    return sorted(ours.terms & theirs.terms, key=lambda slot: (-ours.weights[slot] * theirs.weights[slot], slot))


class _Topic(NamedTuple):
    terms: KeysView[int]  # their slots
    weights: dict[int, int]  # by slot
    square: int  # sum of the squares of the weights
    in_title: frozenset[int]
    title_square: int


@lru_cache(8192)  # a document is compared with those that came before it again and again
def _topic(packed: bytes) -> _Topic:
    """Read a packed topic, whose terms are distinct."""
    terms = _unpack(packed)
    in_title = frozenset([term - TITLE_BIT for term in terms if term >= TITLE_BIT])
    weights = dict(zip([_SLOT_NUMBERS[term % TITLE_BIT] for term in terms], TERM_WEIGHTS, strict=False))
    return _Topic(
        weights.keys(),
        weights,
        sum([weight * weight for weight in weights.values()]),
        in_title,
        sum([weights[slot] * weights[slot] for slot in in_title]),
    )
