"""The template guard: find the names and figures of a text, each with the words beside it.

Reports of one template ("X said its board declared a dividend of Y cts") share their sentences, but not the names and
figures in them. A copy shares both. A *specific* is a name or a figure. Its key is a hash of the words beside it. If
two texts have the same key, their specifics are compared. A key that only one text has says nothing, so a page with
much text beside the article is not taken for a template.

Names are words with a capital letter, except a single one that begins a sentence. Scripts without capitals have figures
only. Of all keys the lowest are kept, so two texts keep the same ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import xxhash
from numpy.typing import NDArray

from scrapy_neardup.text.body import Body
from scrapy_neardup.text.reading import (
    BREAK,
    CLAUSE,
    DASH,
    DECIMAL,
    JOINER,
    LETTER,
    LINE_END,
    LOWER,
    NUMBER_JOINER,
    SENTENCE_STOP,
    SPACE,
    UPPER,
    Powers,
    Reading,
    changes,
    distinct,
    edges_of,
    mask,
    next_starts,
)

SPECIFIC_BYTES = 3  # 2 of the words around it; 1 of the name or figure
NAME_BIT = 0x80  # set in the last byte of a specific that is a name
LEAST_NAMES, LEAST_FIGURES = 3, 5  # places that two texts must share; fewer prove nothing
# Two reports are different if at most this share of the common places has equal values.
SAME_NAMES, SAME_FIGURES = 0.6, 0.2


MOST = 24  # specifics kept of a document
MOST_CHARACTERS = 8000  # templates are short
_NEAR = 4  # characters of an unspaced clause
_NAME = np.uint64(0x80)
_PUNCTUATION = JOINER | NUMBER_JOINER | BREAK | DASH | SENTENCE_STOP
_CONTENT, _SPACES = LETTER | DECIMAL, SPACE | LINE_END
# Punctuation that counts inside a word and before a space.
_COUNTS = np.array([BREAK, BREAK | DASH | SENTENCE_STOP], np.uint32)
_FROM_JOINER = mask(2)  # distance in bits from JOINER to LETTER, and from NUMBER_JOINER to DECIMAL
_POWERS = Powers(0xFF51_AFD7_ED55_8CCD)
_MIX = np.uint64(0xC4CE_B9FE_1A85_EC53)
_MULTIPLIERS = np.array([[0x87C3_7B91_1142_53D5], [0x4CF5_AD43_2745_937F], [0x52DC_E729_3849_5AB5]], np.uint64)
_BEFORE_AND_BEHIND = np.array([[-2], [0]])
_HALF, _TO_VALUE = np.uint64(32), np.uint64(57)  # a value has 7 bits; one more bit marks it as a name
_BYTE, _DOCUMENT = np.uint64(8), np.uint64(24)  # where the key and the document's number are put
_NOTHING = np.empty(0, np.uint64)
_KEYS = np.uint64(0x10000)


class _Tokens(NamedTuple):
    """Words with their apostrophes and hyphens, figures, and the punctuation that ends a sentence or a name."""

    starts: NDArray[np.intp]
    ends: NDArray[np.intp]
    kind: NDArray[np.uint32]  # LETTER, DECIMAL, SENTENCE_STOP, BREAK or DASH
    first: NDArray[np.uint32]  # flags of the first character
    document: NDArray[np.intp]
    is_cut: NDArray[np.bool_]  # whether a line ends before it
    sentence: NDArray[np.intp]

    def spans(self, chosen: NDArray[np.intp]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        return self.starts.take(chosen), self.ends.take(chosen)


def find_specifics(bodies: Sequence[Body]) -> list[bytes]:
    """Return the specifics of each text, at most ``MOST``, packed in ascending order.

    All bodies are of one reading, in its order. The specifics of a text are the same in every process, whatever other
    texts are in the reading.
    """
    reading, lines = bodies[0].reading, _lines(bodies)
    if not len(lines[0]):
        return [b""] * len(bodies)
    tokens = _tokens(reading, *lines)
    content = (tokens.kind & _CONTENT).nonzero()[0]
    begins = np.zeros(len(tokens.kind), bool)  # a sentence
    begins[content] = changes(tokens.sentence.take(content))

    is_letter = tokens.kind == LETTER
    is_capital = is_letter & (tokens.first & UPPER).astype(bool)
    capitals = is_capital.nonzero()[0]
    # Runs of capitalised words.
    runs = (changes(capitals - np.arange(len(capitals))) | tokens.is_cut.take(capitals)).nonzero()[0]
    lengths = next_starts(runs, len(capitals)) - runs
    names = capitals.take(runs)
    # A single capitalised word that begins a sentence is more often a word than a name.
    is_name = (lengths > 1) | ~begins.take(names)
    words = is_letter ^ is_capital
    words[names[~is_name]] = True
    name_hashes = _POWERS.run_hashes(reading.span_hashes(*tokens.spans(capitals)), runs)
    name_hashes = (name_hashes + lengths.astype(np.uint64))[is_name]
    names = names[is_name]

    figures = (tokens.kind == DECIMAL).nonzero()[0]
    values = np.concatenate((_figure_hashes(reading, tokens, figures), name_hashes)) >> _TO_VALUE
    values[len(figures) :] |= _NAME
    keyed = _keyed(reading, tokens, words.nonzero()[0], np.concatenate((figures, names)), values)
    bounds = keyed.searchsorted(np.arange(len(bodies) + 1, dtype=np.uint64) << _DOCUMENT).tolist()
    packed = keyed.astype(">u4").view(np.uint8).reshape(-1, 4)[:, 1:].tobytes()
    return [packed[3 * first : 3 * min(end, first + MOST)] for first, end in pairwise(bounds)]


def _lines(bodies: Sequence[Body]) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]:
    """Return where the lines that are read start and stop, at most ``MOST_CHARACTERS`` of a document, and whose."""
    kept = [body.kept for body in bodies]
    start = np.concatenate([each.start for each in kept])
    stop = np.concatenate([each.stop for each in kept])
    document = np.arange(len(bodies)).repeat([len(each.start) for each in kept])
    behind = (stop - start + 1).cumsum()
    if len(behind) and behind[-1] > MOST_CHARACTERS:
        before = np.concatenate((behind[:1] * 0, behind))
        over = behind - before.take(document.searchsorted(document)) - MOST_CHARACTERS
        stop = np.maximum(np.minimum(stop, stop - over), start)
    return start, stop, document


def _tokens(reading: Reading, start: NDArray[np.intp], stop: NDArray[np.intp], document: NDArray[np.intp]) -> _Tokens:
    """Return the tokens of lines, from where the lines start and stop and the number of the document of each."""
    flags = reading.flags
    kind = flags & _CONTENT
    marks = (flags & _PUNCTUATION).astype(bool).nonzero()[0]
    mark, following = flags.take(marks), marks + 1
    joined = kind.take(marks - 1) & kind.take(following) & (mark >> _FROM_JOINER)
    ends_word = (flags.take(following) & _SPACES).astype(bool)
    kind[marks] = joined | mark & _COUNTS.take(ends_word)
    edges = edges_of(kind)
    kinds = kind.take(edges)
    tokens = kinds.nonzero()[0]  # between two edges
    starts, ends, kinds = edges.take(tokens), edges.take(tokens + 1), kinds.take(tokens)

    begun = np.bincount(starts.searchsorted(start), minlength=len(starts) + 1)  # lines, at each token
    line = np.add.accumulate(begun[:-1]) - 1
    read = ((line >= 0) & (starts < stop.take(line))).nonzero()[0]
    starts, ends, kinds, line = starts.take(read), ends.take(read), kinds.take(read), line.take(read)
    first, document = flags.take(starts), document.take(line)
    # Columns may be narrow: the end of a line ends a sentence only if no lower case follows.
    is_cut = changes(line) & ((first & LOWER) == 0) | changes(document)
    sentence = np.add.accumulate(is_cut | (kinds & SENTENCE_STOP).astype(bool), dtype=np.intp)
    return _Tokens(starts, ends, kinds, first, document, is_cut, sentence)


def _figure_hashes(reading: Reading, tokens: _Tokens, figures: NDArray[np.intp]) -> NDArray[np.uint64]:
    spans = zip(*(each.tolist() for each in tokens.spans(figures)), strict=True)
    return np.array([_digest(reading.text[start:end].replace(",", "")) for start, end in spans], np.uint64)


def _digest(text: str) -> int:
    return xxhash.xxh3_64_intdigest(text.casefold().encode("utf-8", "surrogatepass"))


def _keyed(
    reading: Reading, tokens: _Tokens, words: NDArray[np.intp], places: NDArray[np.intp], values: NDArray[np.uint64]
) -> NDArray[np.uint64]:
    """Return values by document and key. A key hashes the two words before or behind, in the same sentence."""
    if len(words) < 2 or not len(places):
        return _NOTHING
    document = tokens.document.take(places).astype(np.uint64) << _DOCUMENT
    sentence, of_word = tokens.sentence.take(places), tokens.sentence.take(words)
    first = words.searchsorted(places) + _BEFORE_AND_BEHIND
    second = first + 1
    is_whole = (first >= 0) & (second < len(words))
    is_whole &= of_word.take(first, mode="clip") == sentence
    is_whole &= of_word.take(second, mode="clip") == sentence
    hashes, of_side = _near_hashes(reading, tokens, words)
    near, far = hashes.take(first + of_side, mode="clip"), hashes.take(second + of_side, mode="clip")
    keys = near * _MULTIPLIERS[:2] + far * _MULTIPLIERS[2] + (values & _NAME)
    keys ^= keys >> _HALF
    keys *= _MIX
    keys = (keys >> _HALF) * _KEYS >> _HALF
    return _unambiguous((document | keys << _BYTE | values)[is_whole])


def _near_hashes(
    reading: Reading, tokens: _Tokens, words: NDArray[np.intp]
) -> tuple[NDArray[np.uint64], NDArray[np.intp]]:
    """Return hashes of words as they stand before and behind a specific, and where those of each side begin.

    If a word is a whole clause of a script without spaces, only its near end is hashed.
    """
    starts, ends = tokens.spans(words)
    if not reading.present & CLAUSE:
        return reading.span_hashes(starts, ends), np.zeros((2, 1), np.intp)
    reach = np.where((tokens.first.take(words) & CLAUSE).astype(bool), _NEAR, MOST_CHARACTERS)
    before = reading.span_hashes(np.maximum(starts, ends - reach), ends)
    behind = reading.span_hashes(starts, np.minimum(ends, starts + reach))
    return np.concatenate((before, behind)), np.array([[0], [len(words)]])


def _unambiguous(keyed: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return each value once, but none if its key has several values."""
    keyed = distinct(keyed)
    is_alone = changes(keyed >> _BYTE)
    is_alone[:-1] &= is_alone[1:]
    return keyed[is_alone]


def are_of_one_template(a: bytes, b: bytes) -> bool:
    """Decide whether two texts are reports of one template: between the same words they have other names and figures.

    Their specifics are packed as ``find_specifics`` packs them. A report whose figures changed is an update, and not
    another report, as long as its names are the same. If two texts share only places of figures, nearly all of these
    figures must differ.
    """
    shared = _shared_places(a, b)
    names = [(in_a, in_b) for in_a, in_b in shared if in_a >= NAME_BIT]
    other_names = sum(in_a != in_b for in_a, in_b in names)
    same = sum(in_a == in_b for in_a, in_b in shared)
    least, most_same = (LEAST_NAMES, SAME_NAMES) if other_names else (LEAST_FIGURES, SAME_FIGURES)
    is_other_report = len(shared) >= least and same <= most_same * len(shared)
    return is_other_report and bool(other_names or not names)


def has_other_name(a: bytes, b: bytes) -> bool:
    """Decide whether two texts have two names in one place."""
    return any(in_a != in_b for in_a, in_b in _shared_places(a, b) if in_a >= NAME_BIT)


def _shared_places(a: bytes, b: bytes) -> list[tuple[int, int]]:
    """Return the values of two texts in each place that both have."""
    values_a, values_b = _unpack_specifics(a), _unpack_specifics(b)
    return [(values_a[place], values_b[place]) for place in values_a.keys() & values_b.keys()]


def share_of_new_specifics(new: bytes, old: bytes) -> float:
    """Return the share of a text's specifics that another text does not have, wherever it has them, in [0, 1].

    Only keys are compared that both texts would have kept. If one has none of them, nothing is known: 0.
    """
    values, others = _unpack_specifics(new), _unpack_specifics(old)
    if not others:
        return 0.0
    highest = min((max(kept) for kept in (values, others) if len(kept) >= MOST), default=1 << 16)
    compared = {place: value for place, value in values.items() if place <= highest}
    known = set(others.values())
    lost = [place for place, value in compared.items() if place not in others and value not in known]
    return len(lost) / len(compared) if compared else 0.0


@lru_cache(256)  # a new document is compared with several candidates, and a candidate in both directions
def _unpack_specifics(packed: bytes) -> dict[int, int]:
    """Return the values of specifics by their place."""
    whole = len(packed) // SPECIFIC_BYTES * SPECIFIC_BYTES
    places = (high << 8 | low for high, low in zip(packed[:whole:3], packed[1:whole:3], strict=True))
    return dict(zip(places, packed[2:whole:3], strict=True))
