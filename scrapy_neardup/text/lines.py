"""The lines of a main content that enter the fingerprint."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup.document import MOST_CHARACTERS
from scrapy_neardup.text.folding import fold_with_places
from scrapy_neardup.text.tokenizer import (
    CLOSING,
    DECIMAL,
    FULL_STOP,
    LETTER,
    LINE_END,
    LOWER,
    SPACE,
    STOP,
    UNSPACED,
    UPPER,
    Powers,
    Reading,
    changes,
    next_starts,
)

_LEAST_WORDS = 8  # a shorter sentence goes with the one before it
_KEY_POWERS = Powers(0xC2B2_AE3D_27D4_EB4F)
_CONTENT = LETTER | DECIMAL
# Flags of the character behind a full stop: whether it continues the sentence behind a space, or begins one without.
_CONTINUES = np.array([UPPER, DECIMAL | LOWER | LINE_END], np.uint32)
_BEFORE = np.array([[-1], [-2]])


class Lines(NamedTuple):
    """Lines of a reading as arrays with an entry for each. A line is a sentence of a block, or a few short ones.

    Lines with equal tokens have equal keys.
    """

    first: NDArray[np.intp]  # the number of its first token in the reading
    end: NDArray[np.intp]  # the number of the token behind it
    start: NDArray[np.intp]  # the place of its first character in the reading
    stop: NDArray[np.intp]  # the place of the character behind it
    words: NDArray[np.intp]  # how many it has
    keys: NDArray[np.uint32]

    @property
    def places(self) -> NDArray[np.intp]:
        """Return the places of all tokens of the lines in the reading."""
        counts = self.end - self.first  # first 5 and 20, counts 2 and 3: places 5, 6, 20, 21, 22
        return (self.first + counts - np.add.accumulate(counts)).repeat(counts) + np.arange(counts.sum())

    def at(self, chosen: slice | NDArray[np.bool_]) -> "Lines":
        return Lines._make([array[chosen] for array in self])


@dataclass(slots=True, eq=False)
class Body:
    """The lines of a text that count, and the keys of those that are boilerplate."""

    reading: Reading  # of this text, and maybe of others
    printed: str  # the text as it was given, before it was folded
    begins: int  # its first character in the reading
    all_lines: Lines
    is_long: NDArray[np.bool_]  # for each line, whether its block is long enough to count
    boilerplate: frozenset[int] = frozenset()  # keys
    kept: Lines = field(init=False)  # the long lines that are no boilerplate
    hashes: NDArray[np.uint64] = field(init=False)  # of the tokens of these lines

    def __post_init__(self) -> None:
        is_kept = self.is_long
        if self.boilerplate:
            is_kept = is_kept & [key not in self.boilerplate for key in self.all_lines.keys.tolist()]
        self.kept = self.all_lines.at(is_kept)
        self.hashes = self.reading.hashes.take(self.kept.places)

    def without(self, boilerplate: frozenset[int]) -> "Body":
        if boilerplate == self.boilerplate:
            return self
        return replace(self, boilerplate=boilerplate)

    @property
    def read_lines(self) -> list[tuple[str, int, bool]]:
        """Return all lines as they are printed, each with its key, and whether its block is long enough to count."""
        _, printed, places = fold_with_places(self.printed)
        start, stop = ((each - self.begins).tolist() for each in (self.all_lines.start, self.all_lines.stop))
        texts = [printed[places[max(0, first)] : places[end]].strip() for first, end in zip(start, stop, strict=True)]
        return list(zip(texts, self.all_lines.keys.tolist(), self.is_long.tolist(), strict=True))

    @property
    def tokens(self) -> list[str]:
        """Return the tokens of the lines that are kept."""
        places = zip(self.kept.first.tolist(), self.kept.end.tolist(), strict=True)
        return [token for first, end in places for token in self.reading.tokens(first, end)]

    @property
    def words(self) -> int:
        return int(self.kept.words.sum())

    def lead_keys(self, most: int) -> tuple[int, ...]:
        """Return keys of the first whole sentences: most abridged and extended copies begin as their original."""
        return tuple(list(dict.fromkeys(self.kept.keys[self.kept.words >= _LEAST_WORDS].tolist()))[:most])

    def lead(self, words: int) -> list[str]:
        """Return the first lines that are kept, until they have ``words`` words."""
        most = int(np.add.accumulate(self.kept.words).searchsorted(words)) + 1
        places = zip(self.kept.start[:most].tolist(), self.kept.stop[:most].tolist(), strict=True)
        return [self.reading.text[start:stop].strip() for start, stop in places]

    @property
    def text_hash(self) -> bytes:
        """Return an 8-byte hash of all lines. Boilerplate is included, so what is learned later does not change it."""
        return _hash_of(self.without(frozenset()).hashes)

    @property
    def content_hash(self) -> bytes:
        """Return an 8-byte hash of all tokens, also of those in lines that are too short to count."""
        return _hash_of(self.reading.hashes.take(self.all_lines.places))


def _hash_of(hashes: NDArray[np.uint64]) -> bytes:
    powers, _ = _KEY_POWERS.up_to(len(hashes))
    return int(hashes.dot(powers[: len(hashes)])).to_bytes(8, "big")


def read_bodies(texts: Sequence[str], *, min_words: int, min_block_words: int) -> list[Body]:
    """Read texts together and leave out their short blocks, which are captions, links and bylines.

    A text with fewer than ``min_words`` words in long blocks, such as a poem or a list of results, is taken whole.
    """
    texts = [text[:MOST_CHARACTERS] for text in texts]
    reading = Reading.of(*texts)
    lines, block = _lines(reading)
    is_long = np.bincount(block, lines.words)[block] >= min_block_words
    bounds = pairwise(lines.start.searchsorted(reading.bounds).tolist())
    bodies = []
    for text, begins, (first, end) in zip(texts, reading.bounds.tolist(), bounds, strict=False):
        if int(lines.words[first:end].dot(is_long[first:end])) < min_words:
            is_long[first:end] = True
        bodies.append(Body(reading, text, begins, lines.at(slice(first, end)), is_long[first:end]))
    return bodies


def _lines(reading: Reading) -> tuple[Lines, NDArray[np.intp]]:
    """Return the lines of all blocks, and the number of each line's block.

    A line is a sentence of at least eight words. Shorter sentences are joined to the one before, except the first of a
    block. Blocks are cut into sentences because boilerplate is often glued to the last paragraph.
    """
    ends_of_blocks = (reading.flags & LINE_END).astype(bool).nonzero()[0]
    start, first = _line_starts(reading)
    words = next_starts(first, len(reading.starts)) - first
    block = ends_of_blocks.searchsorted(start)
    if reading.present & UNSPACED:  # two characters of an unspaced script count as one word
        characters = np.add.reduceat(reading.are_unspaced, first, dtype=np.intp)
        words -= characters - characters // 2
    place = ((words >= _LEAST_WORDS) | changes(block)).nonzero()[0]
    words = np.add.reduceat(words, place)
    start, first, block = start.take(place), first.take(place), block.take(place)
    end, stop = next_starts(first, len(reading.starts)), ends_of_blocks.take(block)
    np.minimum(stop[:-1], start[1:], out=stop[:-1])
    keys = _KEY_POWERS.run_hashes(reading.hashes, first).astype(np.uint32)
    return Lines(first, end, start, stop, words, keys), block


def _line_starts(reading: Reading) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the characters and the tokens with which sentences begin; sentences without a token are left out.

    The end of a line ends a sentence. If no space follows a full stop, a capital shows that a sentence begins there,
    and not a decimal or the rest of a host name.
    """
    flags = reading.flags
    # For each run of full stops, as in 'came." He': where it starts, where its quotes end, and where its space ends.
    edges = changes(flags & STOP).nonzero()[0][1:]
    stops, closed = edges[::2], _behind(flags, CLOSING, edges[1::2])
    ends = _behind(flags, SPACE, closed)
    # The flags of the last two characters before the stops. The first and the last character of a text are ends of
    # lines. Index -1 wraps around to the last, so there is an end of line before the first character too.
    before, second = flags.take(stops + _BEFORE)
    following, is_spaced = flags.take(ends), ends > closed
    # Behind a space a digit ("Aug. 27"), a small letter ("Corp. said") and an end of line begin no sentence. Without a
    # space only a capital begins one.
    begins = (following & _CONTINUES.take(is_spaced)).astype(bool) != is_spaced
    # An initial or "U.S." ends no sentence.
    begins &= (before & _CONTENT).astype(bool) & (second & (LINE_END | _CONTENT)).astype(bool)
    if reading.present & FULL_STOP:
        begins |= (flags.take(stops) & FULL_STOP).astype(bool)
        begins &= (following & LINE_END) == 0
    behind_lines = (flags[:-1] & LINE_END).astype(bool).nonzero()[0] + 1
    start = np.concatenate((behind_lines, ends[begins]))
    start.sort()
    first = reading.starts.searchsorted(start)
    has_tokens = next_starts(first, len(reading.starts)) > first
    return start[has_tokens], first[has_tokens]


def _behind(flags: NDArray[np.uint32], flag: NDArray[np.uint32], places: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return for each place the first place, from there on, whose character does not have the flag."""
    places = places + (flags.take(places) & flag).astype(bool)
    if (flags.take(places) & flag).any():
        others = (flags & flag == 0).nonzero()[0]
        places = others.take(others.searchsorted(places))
    return places
