"""Read folded texts into arrays of characters and tokens, and hash shingles of them: the same on every machine.

Flags and a hash of each character are looked up once and remembered. Reading several texts together takes little longer
than reading one, because most of the time is the overhead of numpy calls.
"""

import re
import unicodedata
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, cast

import numpy as np
import xxhash
from numpy.typing import NDArray

from scrapy_neardup.text.folding import CODE_POINTS, CharacterTables, code_points, fold
from scrapy_neardup.text.words import WITHOUT_SPACES

_MIX = np.uint64(0xFF51AFD7ED558CCD)
_HALF = np.uint64(32)


def mask(flags: int) -> NDArray[np.uint32]:
    """Return flags in the form in which numpy combines them with an array in half the time."""
    return np.array(flags, np.uint32)


WORD, UNSPACED, MARK = (1 << bit for bit in range(3))
LINE_END, SPACE, STOP, FULL_STOP, CLOSING, UPPER, LOWER = (mask(1 << bit) for bit in range(3, 10))
LETTER, DECIMAL = (mask(1 << bit) for bit in range(10, 12))

# Characters that end a sentence whatever follows, in Han, Devanagari, Arabic, Ethiopic, Myanmar, Khmer and Armenian.
FULL_STOPS = "\u3002\uff01\uff1f\u0964\u0965\u061f\u06d4\u1362\u104b\u17d4\u0589"
LINE_ENDS = "\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"
_SETS = (
    (LINE_END, LINE_ENDS),
    (STOP, ".!?" + FULL_STOPS),
    (FULL_STOP, FULL_STOPS),
    (CLOSING, "\"')]"),
)


def _entries(character: str) -> tuple[int, int]:
    """Return the flags of a folded character, and its hash without regard to case."""
    kinds = (
        (UNSPACED, character >= "\u0e00" and re.match(WITHOUT_SPACES, character)),
        (WORD, character.isalnum() or character == "_"),
        (MARK, unicodedata.category(character) in ("Mn", "Mc")),
    )
    kind = next((flag for flag, applies in kinds if applies), 0)  # a character is of one kind at most
    others = [
        *((flag, character in members) for flag, members in _SETS),
        (DECIMAL if character.isdecimal() else LETTER, character.isalnum()),
        (SPACE, character.isspace() and character not in LINE_ENDS),
        (UPPER, character.isupper()),
        (LOWER, character.islower()),
    ]
    flags = kind + sum(int(flag) for flag, applies in others if applies)
    return flags, xxhash.xxh3_64_intdigest(character.casefold().encode("utf-8", "surrogatepass"))


_FLAGS, _HASHES = np.zeros(CODE_POINTS, np.uint32), np.zeros(CODE_POINTS, np.uint64)
_READ = CharacterTables(_entries, _FLAGS, _HASHES)


class Powers:
    """Powers of an odd number modulo 2^64 and of its inverse, which moves a sum from any place to the first."""

    def __init__(self, base: int) -> None:
        self._bases = base, pow(base, -1, 1 << 64)
        self._tables = self._powers(1 << 14)

    def up_to(self, count: int) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
        # So many powers of the number, or more, and as many of its inverse.
        tables = self._tables  # another thread may put others there
        if len(tables[0]) < count:
            tables = self._tables = self._powers(2 * count)
        return tables

    def run_hashes(self, hashes: NDArray[np.uint64], starts: NDArray[np.intp]) -> NDArray[np.uint64]:
        """Return a hash of each run of hashes: their sum, each times a power by its place in the run.

        Each run ends where the next one starts.
        """
        powers, back = self.up_to(len(hashes))
        sums = np.add.reduceat(hashes * powers[: len(hashes)], starts) if len(starts) else hashes[:0]
        return cast("NDArray[np.uint64]", sums * back.take(starts))

    def _powers(self, count: int) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
        powers = np.empty((2, count), np.uint64)
        powers[:, 0] = 1
        powers[:, 1:] = np.array(self._bases, np.uint64)[:, None]
        np.multiply.accumulate(powers, axis=1, out=powers)
        return powers[0], powers[1]


# A run's hash is the sum of its characters' hashes times powers of this base, modulo 2^64.
_POWERS = Powers(0x9E37_79B9_7F4A_7C15)
_SHINGLE_POWERS = Powers(0xD6E8_FEB8_6659_FD93)


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """Arrays: ``flags`` of each character of ``text``; ``starts``, ``ends`` and ``hashes`` of each token."""

    text: str  # of all texts, folded, an end of line before, behind and between them
    bounds: NDArray[np.intp]  # the character each text begins with, and the one behind the last end of line
    flags: NDArray[np.uint32]
    present: int  # all flags that any character has
    starts: NDArray[np.intp]
    ends: NDArray[np.intp]
    hashes: NDArray[np.uint64]

    @classmethod
    def of(cls, *texts: str) -> "Reading":
        texts = tuple(map(fold, texts))
        text = "\n".join(("", *texts, ""))
        codes = code_points(text)
        _READ.meet(codes)
        flags, hashes = _FLAGS.take(codes), _HASHES.take(codes)
        present = int(np.bitwise_or.reduce(flags))
        powers, back = _POWERS.up_to(len(codes))
        sums = np.zeros(len(codes) + 1, np.uint64)
        hashes *= powers[: len(codes)]
        np.add.accumulate(hashes, out=sums[1:])
        starts, ends = _tokens(flags, present)
        bounds = np.array([*accumulate((len(each) + 1 for each in texts), initial=1)])
        spans = (sums.take(ends) - sums.take(starts)) * back.take(starts)
        return cls(text, bounds, flags, present, starts, ends, spans)

    @property
    def are_unspaced(self) -> NDArray[np.bool_]:
        """Return which tokens are characters of a script without spaces."""
        return cast("NDArray[np.bool_]", (self.flags.take(self.starts) & UNSPACED).astype(bool))

    def tokens(self, first: int = 0, end: int | None = None) -> list[str]:
        """Return the tokens from ``first`` to before ``end``, folded and in lower case."""
        places = zip(self.starts[first:end].tolist(), self.ends[first:end].tolist(), strict=True)
        return [self.text[start:stop].casefold() for start, stop in places]


def shingle_hashes(
    hashes: NDArray[np.uint64], words: int, characters: int, are_unspaced: NDArray[np.bool_]
) -> NDArray[np.uint32]:
    """Distinct 32-bit hashes, sorted, of all runs of ``words`` words and of ``characters`` unspaced characters.

    ``hashes`` are those of the tokens. A run shorter than one shingle gives one hash of all its tokens; no token gives
    none.
    """
    if not len(hashes):
        return np.empty(0, dtype=np.uint32)
    starts = changes(are_unspaced).nonzero()[0]
    lengths = next_starts(starts, len(hashes)) - starts
    widths = np.minimum(lengths, np.where(are_unspaced[starts], characters, words))
    counts = lengths - widths + 1
    first = starts - (np.cumsum(counts) - counts)
    places = np.arange(counts.sum()) + np.repeat(first, counts)
    widths = np.repeat(widths, counts)
    sums = np.zeros(len(places), dtype=np.uint64)
    # All runs at once: a loop over them keeps other threads from running in a text that changes script with each word.
    for position, power in enumerate(_SHINGLE_POWERS.up_to(max(words, characters))[0][: widths.max()]):
        sums += np.where(position < widths, hashes.take(places + position, mode="clip"), 0) * power
    values = np.sort(mixed(sums))
    return values[changes(values)]


def mixed(sums: NDArray[np.uint64]) -> NDArray[np.uint32]:
    """Return 32 bits of each sum, of which each depends on all bits of the sum. The sums are overwritten."""
    sums ^= sums >> _HALF
    sums *= _MIX
    return cast("NDArray[np.uint32]", (sums >> _HALF).astype(np.uint32))


def changes(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Return which values are not those before them. The first one counts as such."""
    is_other = np.append(True, values[1:] != values[:-1])
    return is_other[: len(values)]  # of no values, none


def next_starts(starts: NDArray[np.intp], end: int) -> NDArray[np.intp]:
    """Return where runs end, from where they start. Each run ends where the next one starts."""
    return np.append(starts, end)[1:]


def _tokens(flags: NDArray[np.uint32], present: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return where tokens begin and end: words with their marks, and single characters of unspaced scripts."""
    kind = flags & (WORD | UNSPACED)
    if present & MARK:
        is_mark = (flags & MARK).astype(bool)
        carriers = np.maximum.accumulate(np.where(is_mark, 0, np.arange(len(flags))))
        # A mark belongs to a word if nothing but marks stands between them.
        kind = np.where(is_mark & (flags[carriers] & WORD).astype(bool), WORD, kind)
    in_token = kind != 0
    cut = (kind[1:] != kind[:-1]) | (kind[1:] == UNSPACED)
    return (in_token[1:] & cut).nonzero()[0] + 1, (in_token[:-1] & cut).nonzero()[0] + 1
