"""The template guard: find the names and figures of a text, each with the words beside it.

Reports of one template ("X said its board declared a dividend of Y cts") share their sentences, but not the names and
figures in them. A copy shares both. A *specific* is a name or a figure. Its key is a hash of the words beside it. If
two texts have the same key, their specifics are compared. A key that only one text has says nothing, so a page with
much text beside the article is not taken for a template.

Names are words with a capital letter, except a single one that begins a sentence. Scripts without capitals have figures
only. Of all keys the lowest are kept, so two texts keep the same ones. A report of a few lines has too few keys, so the
names in its first sentence are kept as well.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import xxhash

from scrapy_neardup.similarity.likeness import LEADS
from scrapy_neardup.sketch.guards.number_words import MONTHS, WEEKDAYS
from scrapy_neardup.sketch.text.characters import (
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
)
from scrapy_neardup.sketch.text.reading import Powers, Reading, normalise

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from scrapy_neardup.sketch.text.body import Body

MOST = 24  # specifics kept of a document
MOST_CHARACTERS = 8000  # templates are short
SHORT = 60  # words: of a shorter report the names in its first sentence are kept
_NEAR = 4  # characters of an unspaced clause
_LONGEST_ARTICLE = 3
_DATES = MONTHS | WEEKDAYS
_NAME = np.uint64(0x80)
_PUNCTUATION = JOINER | NUMBER_JOINER | BREAK | DASH | SENTENCE_STOP
_FROM_JOINER = np.uint32(2)  # bits from what joins letters, or digits, to letters and to digits
_POWERS = Powers(0xFF51_AFD7_ED55_8CCD)
_MIX = np.uint64(0xC4CE_B9FE_1A85_EC53)
_MULTIPLIERS = np.array([0x87C3_7B91_1142_53D5, 0x4CF5_AD43_2745_937F, 0x52DC_E729_3849_5AB5], np.uint64)
_HALF, _TO_VALUE = np.uint64(32), np.uint64(57)  # a value has 7 bits, and one says that it is a name's
_BYTE, _DOCUMENT = np.uint64(8), np.uint64(24)  # where the key and the document's number are put
_NOTHING = np.empty(0, np.uint64)
_KEYS = np.uint64(0x10000 - LEADS)


@dataclass(frozen=True, slots=True, eq=False)
class _Tokens:
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
    reading, lines = bodies[0].reading, _Lines.of(bodies)
    if not len(lines.start):
        return [b""] * len(bodies)
    tokens = _tokens(reading, lines)
    content = (tokens.kind & (LETTER | DECIMAL) != 0).nonzero()[0]
    begins = np.zeros(len(tokens.kind), bool)  # a sentence
    begins[content[:1]] = True
    begins[content[1:]] = tokens.sentence[content[1:]] != tokens.sentence[content[:-1]]

    is_letter, is_upper = tokens.kind == LETTER, tokens.first & UPPER != 0
    capitals = (is_letter & is_upper).nonzero()[0]
    runs, lengths = _runs(capitals, tokens.is_cut)
    names = capitals.take(runs)
    # A single capitalised word that begins a sentence is more often a word than a name.
    is_name = (lengths > 1) | ~begins.take(names)
    words = is_letter & ~is_upper
    words[names[~is_name]] = True
    name_hashes = _run_hashes(reading.span_hashes(*tokens.spans(capitals)), runs, lengths)[is_name]
    names, lengths = names[is_name], lengths[is_name]

    figures = (tokens.kind == DECIMAL).nonzero()[0]
    values = np.concatenate((_figure_hashes(reading, tokens, figures), name_hashes)) >> _TO_VALUE
    values[len(figures) :] |= _NAME
    keyed = _keyed(reading, tokens, words.nonzero()[0], np.concatenate((figures, names)), values)
    leads = _leads(reading, tokens, names, lengths, np.bincount(tokens.document.take(content), minlength=len(bodies)))
    bounds = keyed.searchsorted(np.arange(len(bodies) + 1, dtype=np.uint64) << _DOCUMENT).tolist()
    packed = keyed.astype(">u4").view(np.uint8).reshape(-1, 4)[:, 1:].tobytes()
    return [
        b"".join(leads.get(number, ())) + packed[3 * first : 3 * min(end, first + MOST)]
        for number, (first, end) in enumerate(pairwise(bounds))
    ]


@dataclass(frozen=True, slots=True, eq=False)
class _Lines:
    """The lines that are read, at most ``MOST_CHARACTERS`` of a document."""

    start: NDArray[np.intp]
    stop: NDArray[np.intp]
    document: NDArray[np.intp]

    @classmethod
    def of(cls, bodies: Sequence[Body]) -> _Lines:
        kept = [body.counted for body in bodies]
        start, stop = (np.concatenate([getattr(each, name) for each in kept]) for name in ("start", "stop"))
        document = np.repeat(np.arange(len(bodies)), [len(each) for each in kept])
        behind = (stop - start + 1).cumsum()
        if len(behind) and behind[-1] > MOST_CHARACTERS:
            before = np.concatenate((behind[:1] * 0, behind))
            over = behind - before.take(document.searchsorted(document)) - MOST_CHARACTERS
            stop = np.maximum(np.minimum(stop, stop - over), start)
        return cls(start, stop, document)


def _tokens(reading: Reading, lines: _Lines) -> _Tokens:
    flags = reading.flags
    kind = flags & np.uint32(LETTER | DECIMAL)
    marks = (flags & _PUNCTUATION).nonzero()[0]
    mark, following = flags.take(marks), marks + 1
    joined = kind.take(marks - 1) & kind.take(following) & (mark >> _FROM_JOINER)
    ends_word = flags.take(following) & (SPACE | LINE_END) != 0
    kind[marks] = joined | mark & np.where(ends_word, np.uint32(BREAK | DASH | SENTENCE_STOP), np.uint32(BREAK))
    edges = (kind[1:] != kind[:-1]).nonzero()[0] + 1
    tokens = kind.take(edges).nonzero()[0]  # between two edges
    starts, ends = edges.take(tokens), edges.take(tokens + 1)

    line = lines.start.searchsorted(starts, side="right") - 1
    is_read = starts < lines.stop.take(line, mode="clip")
    is_read &= line >= 0
    starts, ends, line = starts[is_read], ends[is_read], line[is_read]
    kinds, first, document = kind.take(starts), flags.take(starts), lines.document.take(line)
    is_cut, is_new = np.empty(len(starts), bool), np.empty(len(starts), bool)
    is_cut[:1] = is_new[:1] = True
    is_cut[1:] = line[1:] != line[:-1]
    is_new[1:] = document[1:] != document[:-1]
    # Columns may be narrow: the end of a line ends a sentence only if no lower case follows.
    is_cut &= first & LOWER == 0
    is_cut |= is_new
    return _Tokens(starts, ends, kinds, first, document, is_cut, (is_cut | (kinds & SENTENCE_STOP != 0)).cumsum())


def _runs(capitals: NDArray[np.intp], is_cut: NDArray[np.bool_]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return where runs of capitalised words begin, and how many words each has."""
    is_first = np.empty(len(capitals), bool)
    is_first[:1] = True
    is_first[1:] = (capitals[1:] != capitals[:-1] + 1) | is_cut.take(capitals[1:])
    runs = is_first.nonzero()[0]
    ends = np.empty_like(runs)
    ends[:-1], ends[-1:] = runs[1:], len(capitals)
    return runs, ends - runs


def _run_hashes(hashes: NDArray[np.uint64], runs: NDArray[np.intp], lengths: NDArray[np.intp]) -> NDArray[np.uint64]:
    if not len(runs):
        return _NOTHING
    powers, back = _POWERS.up_to(len(hashes))
    sums = np.add.reduceat(hashes * powers[: len(hashes)], runs)
    return sums * back.take(runs) + lengths.astype(np.uint64)


def _figure_hashes(reading: Reading, tokens: _Tokens, figures: NDArray[np.intp]) -> NDArray[np.uint64]:
    spans = zip(*(each.tolist() for each in tokens.spans(figures)), strict=True)
    texts = (reading.text[start:end].replace(",", "") for start, end in spans)
    return np.fromiter(map(_digest, texts), np.uint64, len(figures))


def _digest(text: str) -> int:
    return xxhash.xxh3_64_intdigest(normalise(text).encode("utf-8", "surrogatepass"))


def _keyed(
    reading: Reading, tokens: _Tokens, words: NDArray[np.intp], places: NDArray[np.intp], values: NDArray[np.uint64]
) -> NDArray[np.uint64]:
    """Return values by document and key. A key hashes the two words before or behind, in the same sentence."""
    if len(words) < 2 or not len(places):
        return _NOTHING
    document = tokens.document.take(places).astype(np.uint64) << _DOCUMENT
    sentence, of_word = tokens.sentence.take(places), tokens.sentence.take(words)
    following = words.searchsorted(places)
    found = []
    before, behind = _near_hashes(reading, tokens, words)
    for side, hashes, pair in ((0, before, following - 2), (1, behind, following)):
        near, far = hashes.take(pair, mode="clip"), hashes.take(pair + 1, mode="clip")
        keys = near * _MULTIPLIERS[side] + far * _MULTIPLIERS[2] + (values & _NAME)
        keys ^= keys >> _HALF
        keys *= _MIX
        keys = LEADS + ((keys >> _HALF) * _KEYS >> _HALF)
        is_whole = (pair >= 0) & (pair + 1 < len(words))
        is_whole &= of_word.take(pair, mode="clip") == sentence
        is_whole &= of_word.take(pair + 1, mode="clip") == sentence
        found.append((document | keys << _BYTE | values)[is_whole])
    return _unambiguous(np.sort(np.concatenate(found)))


def _near_hashes(
    reading: Reading, tokens: _Tokens, words: NDArray[np.intp]
) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Return hashes of words as they stand before and behind a specific.

    Of a clause in a script without spaces only the near end is hashed.
    """
    starts, ends = tokens.spans(words)
    if not reading.present & CLAUSE:
        hashes = reading.span_hashes(starts, ends)
        return hashes, hashes
    reach = np.where(tokens.first.take(words) & CLAUSE != 0, _NEAR, MOST_CHARACTERS)
    before = reading.span_hashes(np.maximum(starts, ends - reach), ends)
    return before, reading.span_hashes(starts, np.minimum(ends, starts + reach))


def _unambiguous(keyed: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return each value once, but none if its key has several values."""
    differs = np.ones(len(keyed) + 1, bool)
    differs[1:-1] = keyed[1:] != keyed[:-1]
    keyed = keyed[differs[:-1]]
    keys = keyed >> _BYTE
    alone = np.ones(len(keyed) + 1, bool)
    alone[1:-1] = keys[1:] != keys[:-1]
    return keyed[alone[1:] & alone[:-1]]


def _leads(
    reading: Reading, tokens: _Tokens, names: NDArray[np.intp], lengths: NDArray[np.intp], words: NDArray[np.intp]
) -> dict[int, list[bytes]]:
    """Return the first names of short texts, each by its first word that is no article: the rest of it may vary.

    ``words`` are how many each document has.
    """
    sentences, documents = tokens.sentence, tokens.document
    first_sentences = sentences.take(documents.searchsorted(documents.take(names)))
    is_lead = (words.take(documents.take(names)) <= SHORT) & (sentences.take(names) == first_sentences)
    leads: dict[int, list[bytes]] = defaultdict(list)
    for first, length in zip(names[is_lead].tolist(), lengths[is_lead].tolist(), strict=True):
        spans = zip(tokens.starts[first : first + length], tokens.ends[first : first + length], strict=True)
        name = [normalise(reading.text[start:end]) for start, end in spans]
        found = leads[int(documents[first])]
        if name[0] not in _DATES and len(found) < LEADS:
            telling = next((word for word in name if len(word) > _LONGEST_ARTICLE), name[0])
            found.append(bytes((0, len(found), _digest(telling) >> 57 | int(_NAME))))
    return leads
