"""Read texts into arrays of characters and tokens, which are the same on every machine.

Several texts are read together in little more time than one: most of it is what each call of numpy costs.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Literal, cast

import numpy as np

from scrapy_neardup.document import MOST_CHARACTERS
from scrapy_neardup.sketch.text.characters import (
    BASE,
    CHARACTERS,
    COMPOSES,
    MARK,
    SPELLED,
    STACKS,
    UNSPACED,
    WIDE,
    WORD,
    composes,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

NORMALISER = 3
"""Version of what this module does to a text, and of the hashes it makes; part of the config fingerprint."""

_PIECE = 1 << 15  # characters
_LONGEST_RUN = 1000  # characters that may belong to one
_MOST_STACKED = 30  # marks in a row, as in the stream-safe text format of Unicode's annex 15
_JOINER = "\u034f"  # combining grapheme joiner: no mark is put in order across it
_FEW_SPELLED = 16
_ROOM_TO_SPELL = 1000  # characters
_NARROW_MARK = re.compile("[\uff9e\uff9f]")
_WORD = re.compile(r"\w")
_FIRST_POWERS = 1 << 14


class Powers:
    """Powers of an odd number modulo 2^64 and of its inverse, which moves a sum from any place to the first."""

    def __init__(self, base: int) -> None:
        self._bases = base, pow(base, -1, 1 << 64)
        self._tables = self._powers(_FIRST_POWERS)

    def up_to(self, count: int) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
        if len(self._tables[0]) < count:
            self._tables = self._powers(2 * count)
        return self._tables

    def _powers(self, count: int) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
        powers = np.empty((2, count), np.uint64)
        powers[:, 0] = 1
        powers[:, 1:] = np.array(self._bases, np.uint64)[:, None]
        np.multiply.accumulate(powers, axis=1, out=powers)
        return powers[0], powers[1]


_POWERS = Powers(BASE)


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """Arrays: ``flags`` of each character of ``text``; ``starts``, ``ends`` and ``hashes`` of each token."""

    text: str  # of all texts, composed, an end of line before, behind and between them
    bounds: NDArray[np.intp]  # the character each text begins with, and the one behind the last end of line
    flags: NDArray[np.uint32]
    present: int  # all flags that any character has
    starts: NDArray[np.intp]
    ends: NDArray[np.intp]
    hashes: NDArray[np.uint64]
    _sums: NDArray[np.uint64]  # of the hashes of the characters before each one
    _back: NDArray[np.uint64]  # what a sum that begins with a character is multiplied by

    @classmethod
    def of(cls, *texts: str) -> Reading:
        text = "\n".join(("", *texts, ""))
        codes, flags, present = _characters(text)
        if present & STACKS:
            texts = tuple(map(_stream_safe, texts))
        if present & (COMPOSES | SPELLED):
            spelled = [chr(code) for code in np.unique(codes[flags & SPELLED != 0]).tolist()]
            texts = tuple(each if each.isascii() else _plainer(each, spelled) for each in texts)
            text = "\n".join(("", *texts, ""))
            codes, flags, present = _characters(text)
        powers, back = _POWERS.up_to(len(codes))
        if present & WIDE:
            widths = CHARACTERS.widths.take(codes)
            places = np.cumsum(widths, dtype=np.intp) - widths
            powers, back = (table.take(places) for table in _POWERS.up_to(int(places[-1]) + 1))
        sums = np.zeros(len(codes) + 1, np.uint64)
        np.add.accumulate(CHARACTERS.hashes.take(codes) * powers[: len(codes)], out=sums[1:])
        starts, ends = _tokens(flags, present)
        bounds = np.fromiter(accumulate((len(each) + 1 for each in texts), initial=1), np.intp, len(texts) + 1)
        return cls(text, bounds, flags, present, starts, ends, _span_hashes(sums, back, starts, ends), sums, back)

    def span_hashes(self, starts: NDArray[np.intp], ends: NDArray[np.intp]) -> NDArray[np.uint64]:
        """Return hashes of runs of characters, whatever their case and width."""
        return _span_hashes(self._sums, self._back, starts, ends)

    def tokens(self, first: int = 0, end: int | None = None) -> list[str]:
        """Return the tokens from ``first`` to before ``end``, normalised and case-folded."""
        places = zip(self.starts[first:end].tolist(), self.ends[first:end].tolist(), strict=True)
        if self.text.isascii():
            lower = self.text.lower()
            return [lower[start:stop] for start, stop in places]
        return [normalise(self.text[start:stop]) for start, stop in places]


def has_words(text: str) -> bool:
    """Return whether a text has anything that could be compared."""
    return _WORD.search(text, 0, MOST_CHARACTERS) is not None


def has_unspaced(text: str) -> bool:
    """Return whether any of a text is in a script written without spaces."""
    return bool(_characters(text)[2] & UNSPACED)


def normalise(text: str) -> str:
    """Return a text NFKC-normalised and case-folded: variants of width, ligature and case are one text."""
    return unicodedata.normalize("NFKC", text).casefold()


def _plainer(text: str, spelled: list[str]) -> str:
    """Compose each letter with its marks, and write out characters that stand for several others."""
    most = 2 * len(text) + _ROOM_TO_SPELL
    written_out = {character: unicodedata.normalize("NFKC", character) for character in spelled}
    if len(spelled) > _FEW_SPELLED:
        table = {ord(character): plain for character, plain in written_out.items()}
        text = "".join(text[at : at + _PIECE].translate(table) for at in range(0, len(text), _PIECE))
    else:
        for character, plain in written_out.items():
            text = text.replace(character, plain)
    text = text[:most]  # one character may stand for eighteen
    # Marks that have a width of their own are of letters of half width.
    form: Literal["NFKC", "NFC"] = "NFKC" if _NARROW_MARK.search(text) else "NFC"
    return "".join(
        piece if unicodedata.is_normalized(form, piece) else unicodedata.normalize(form, piece)
        for piece in _pieces(text)
    )


def _pieces(text: str) -> Iterator[str]:
    """Cut a text at places where no characters compose, so that other threads can run between the pieces."""
    start = 0
    while start < len(text):
        end = min(start + _PIECE, len(text))
        while end < min(start + _PIECE + _LONGEST_RUN, len(text)) and composes(text[end]):
            end += 1
        yield text[start:end]
        start = end


def _stream_safe(text: str) -> str:
    """Put a joiner into each run of marks that is too long: to put n marks in order takes n * n steps."""
    if text.isascii():
        return text
    codes, flags, present = _characters(text)
    if not present & STACKS:
        return text
    places = np.arange(1, len(codes) + 1)
    # How many marks stand in a row up to each character.
    stacked = places - np.maximum.accumulate(np.where(flags & STACKS, 0, places))
    cuts = ((stacked > 1) & (stacked % _MOST_STACKED == 1)).nonzero()[0].tolist()
    return _JOINER.join(text[start:end] for start, end in pairwise([0, *cuts, len(text)])) if cuts else text


def _span_hashes(
    sums: NDArray[np.uint64], back: NDArray[np.uint64], starts: NDArray[np.intp], ends: NDArray[np.intp]
) -> NDArray[np.uint64]:
    return cast("NDArray[np.uint64]", (sums.take(ends) - sums.take(starts)) * back.take(starts))


def _characters(text: str) -> tuple[NDArray[np.intp], NDArray[np.uint32], int]:
    pieces = (text[start : start + _PIECE] for start in range(0, len(text), _PIECE))
    encoded = b"".join(piece.encode("utf-32-le", "surrogatepass") for piece in pieces)
    codes = np.frombuffer(encoded, np.uint32).astype(np.intp)
    flags = CHARACTERS.flags.take(codes)
    if not flags.all():
        CHARACTERS.learn(codes[flags == 0])
        flags = CHARACTERS.flags.take(codes)
    return codes, flags, int(np.bitwise_or.reduce(flags))


def _tokens(flags: NDArray[np.uint32], present: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return where tokens begin and end: words with their marks, and single characters of unspaced scripts."""
    if not present & (MARK | UNSPACED):
        in_word = (flags & WORD).astype(bool)
        edges = (in_word[1:] != in_word[:-1]).nonzero()[0] + 1
        return edges[::2], edges[1::2]
    kind = flags & (WORD | UNSPACED)
    if present & MARK:
        kind = np.where(_behind_a_word(flags), WORD, kind)
    in_token = kind != 0
    cut = (kind[1:] != kind[:-1]) | (kind[1:] == UNSPACED)
    return (in_token[1:] & cut).nonzero()[0] + 1, (in_token[:-1] & cut).nonzero()[0] + 1


def _behind_a_word(flags: NDArray[np.uint32]) -> NDArray[np.bool_]:
    """Return which characters are marks with nothing but marks between them and a word."""
    is_mark = (flags & MARK).astype(bool)
    carriers = np.maximum.accumulate(np.where(is_mark, 0, np.arange(len(flags))))
    return cast("NDArray[np.bool_]", is_mark & (flags[carriers] & WORD).astype(bool))
