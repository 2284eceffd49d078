"""Flags and a hash for each character, looked up once and remembered."""

from __future__ import annotations

import re
import sys
import threading
import unicodedata

import numpy as np
import xxhash
from numpy.typing import NDArray


def mask(flags: int) -> NDArray[np.uint32]:
    """Return flags in the form in which numpy combines them with an array in half the time."""
    return np.array(flags, np.uint32)


KNOWN, WORD, UNSPACED, MARK, COMPOSES, WIDE = (1 << bit for bit in range(6))
LINE_END, SPACE, STOP, FULL_STOP, CLOSING, DIGIT, UPPER, LOWER, ALNUM = (mask(1 << bit) for bit in range(6, 15))
LETTER, DECIMAL, JOINER, NUMBER_JOINER, BREAK, DASH, SENTENCE_STOP, CLAUSE = (mask(1 << bit) for bit in range(15, 23))
STACKS = 1 << 24  # a mark that may stand on another one: the order of such marks is normalised
SPELLED = 1 << 23  # stands for several characters that are not all of one word: "\u00bd" for "1\u20442"

# Scripts written without spaces between words: Thai, Lao, Myanmar, Khmer, Hiragana, Katakana, Bopomofo, Han.
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u19e0-\u19ff\ua9e0-\ua9ff\uaa60-\uaa7f"
    "\u3005-\u3007\u3031-\u3035\u3040-\u30ff\u3100-\u312f\u31a0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
)
_JAMO = re.compile("[\u1100-\u11ff]")  # letters of Hangul, which compose without being marks
# Thai; with few exceptions, Thai and all scripts with higher code points are written without spaces.
_FIRST_CLAUSE = "\u0e00"
# Characters that end a sentence whatever follows, in Han, Devanagari, Arabic, Ethiopic, Myanmar, Khmer and Armenian.
_FULL_STOPS = "\u3002\uff01\uff1f\u0964\u0965\u061f\u06d4\u1362\u104b\u17d4\u0589"
_LINE_ENDS = "\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"
_SETS = (
    (LINE_END, _LINE_ENDS),
    (STOP, ".!?\u2026" + _FULL_STOPS),
    (FULL_STOP, _FULL_STOPS),
    (CLOSING, "\"'\u201d\u2019\u00bb)]"),
)
_NORMALISED_SETS = (
    (JOINER, "'\u2019&-"),
    (NUMBER_JOINER, ".,:/-"),
    (BREAK, "()\u2013\u2014"),
    (DASH, "-"),
    (SENTENCE_STOP, ".!?\u3002\u0964"),
)
BASE = 0x9E37_79B9_7F4A_7C15
"""The base of hashes: a run's hash is the sum of its characters' hashes times powers of it, modulo 2^64."""


class Characters:
    """Tables by code point, filled when a character is met. Entries that were never written take no memory."""

    def __init__(self) -> None:
        self.flags = np.zeros(sys.maxunicode + 1, np.uint32)
        self.hashes = np.zeros(sys.maxunicode + 1, np.uint64)
        self.widths = np.zeros(sys.maxunicode + 1, np.uint8)  # characters that are hashed
        self._lock = threading.Lock()

    def learn(self, codes: NDArray[np.intp]) -> None:
        with self._lock:
            for code in np.unique(codes).tolist():
                flags, folded = _read(chr(code))
                self.widths[code] = len(folded) if flags & WIDE else 1
                self.hashes[code] = _hash(folded)
                self.flags[code] = flags  # set the flags last: a character with flags counts as known


def _read(character: str) -> tuple[int, str]:
    """Return the flags of a character, and its NFKC-normalised and case-folded form, which is hashed."""
    normalised = unicodedata.normalize("NFKC", character)
    folded, first = normalised.casefold(), normalised[0]
    flags = KNOWN
    if any(_UNSPACED.match(each) for each in folded):
        flags |= UNSPACED if len(folded) == 1 else SPELLED
    elif any(map(_is_word, folded)):
        in_one_word = all(_is_word(each) or _is_mark(each) for each in folded)
        flags |= (WORD | WIDE * (len(folded) > 1)) if in_one_word else SPELLED
    elif _is_mark(first):
        flags |= MARK
    # It may become one with the character before it.
    flags |= COMPOSES * (unicodedata.category(first).startswith("M") or _JAMO.match(first) is not None)
    if all(map(unicodedata.combining, unicodedata.normalize("NFKD", character))):
        flags |= STACKS
    others = [
        *((flag, character in members) for flag, members in _SETS),
        *((flag, first in members) for flag, members in _NORMALISED_SETS),
        (CLAUSE, first >= _FIRST_CLAUSE),
        (DECIMAL if first.isdecimal() else LETTER, _is_word(first) and first != "_"),
        (SPACE, character.isspace() and character not in _LINE_ENDS),
        (DIGIT, character.isdigit()),
        (UPPER, character.isupper()),
        (LOWER, character.islower()),
        (ALNUM, character.isalnum()),
    ]
    return flags + sum(int(flag) for flag, applies in others if applies), folded


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_"


def _is_mark(character: str) -> bool:
    return unicodedata.category(character) in ("Mn", "Mc")


def _hash(folded: str) -> int:
    hashed = 0
    for each in reversed(folded):
        hashed = (hashed * BASE + xxhash.xxh3_64_intdigest(each.encode("utf-8", "surrogatepass"))) % (1 << 64)
    return hashed


CHARACTERS = Characters()


def code_points(text: str) -> NDArray[np.uint32]:
    """Return one number for each character; a lone surrogate counts as a character."""
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
