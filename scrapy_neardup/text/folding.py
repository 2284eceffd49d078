"""Fold texts, so that two spellings that a reader cannot tell apart are one.

Most of it follows from Unicode's own data: compatibility forms, accents, vowel points and format characters go, and
the digits of all scripts become ASCII digits. A small table has what Unicode does not decompose. Case is kept, because
capitals show names.

Each character is folded by itself and looked up once, so folding takes linear time whatever the text is. Vowel signs
of Indic scripts and Thai are marks too, but they are kept: without them, different words would be one.
"""

import re
import sys
import threading
import unicodedata
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

CODE_POINTS = sys.maxunicode + 1
_TABLE = str.maketrans(
    {
        **dict.fromkeys("ʹʻʼʽʾʿˈ´‘’‚‛′‹›׳՚Ꞌꞌ", "'"),
        **dict.fromkeys("«»“”„‟″״", '"'),
        **dict.fromkeys("‐‑‒–−־֊⁃", "-"),
        **dict.fromkeys("—―", " - "),
        **dict(zip("ıłŁøØđĐðÐħĦŧŦɓƁɗƊƙƘƴƳǝƎәӘ", "ilLoOdDdDhHtTbBdDkKyYəƏəƏ", strict=True)),
        **dict(zip("æÆœŒßẞς", "ae Ae oe Oe ss SS σ".split(), strict=True)),
        # Arabic letters of several languages: alef, yeh, kaf and heh. The tatweel only makes a word longer.
        **dict.fromkeys("\u0671\u0672\u0673", "\u0627"),
        **dict.fromkeys("\u0649\u06cc", "\u064a"),
        **dict.fromkeys("\u06a9\u06aa", "\u0643"),
        "\u06ab": "\u06af",
        **dict.fromkeys("\u0629\u06be\u06c1\u06c3\u06d5", "\u0647"),
        "\u0640": "",
        "\u066a": "%",
        # Letters without a vowel, which have signs of their own: the chillu of Malayalam, and a Bengali one.
        **dict(zip("ൔൕൖൺൻർൽൾൿ", (f"{letter}\u0d4d" for letter in "മയഴണനരലളക"), strict=True)),
        "ৎ": "\u09a4\u09cd",
        # Signs that look like two others, of Thai, Lao and Khmer, and a sign that stands before or behind a tone.
        **dict(zip("แແ\u17be\u17c4", "เเ ເເ \u17c1\u17b8 \u17c1\u17b6".split(), strict=True)),
        **dict.fromkeys("\u0e4d\u0ecd", ""),
        **dict(zip("װױײ", "וו וי יי".split(), strict=True)),
    }
)
# Unicode decomposes these characters, but they mean something else: ordinals, signs, Korean letters that stand alone,
# and marks that end a sentence without a space.
_KEPT = re.compile("[ªº№™℠！？\u3131-\u318e\uffa1-\uffdc]")
_COMPOSED = re.compile("[\u3041-\u30ff\uac00-\ud7a3]")  # kana and Hangul
_PARTS = re.compile(
    "[\u1100-\u1112][\u1161-\u1175][\u11a8-\u11c2]?|[\u3041-\u30ff][\u3099\u309a]|[\uff66-\uff9d][\uff9e\uff9f]"
    "|([\u0d7a-\u0d7f])\u0d4d"  # a chillu needs no virama, but has one in some spellings
)
_UNSEEN = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]")
# Combining classes of the marks that go: overlays, the nukta, the points of Hebrew, Arabic and Syriac, and accents.
# All others are vowel and tone signs.
_ACCENTS = frozenset((1, 7, *range(10, 37), *range(200, 255)))
_MOST_SPELLED = 5  # as "㌫" is; one character stands for eighteen
_SHORT = 32  # characters of a text that is folded without arrays, in a third of the time


class CharacterTables:
    """Arrays by code point. An entry is made when its character is first met, and the others take no memory."""

    def __init__(self, entries: Callable[[str], Sequence[int | list[int]]], *tables: NDArray[Any]) -> None:
        self._entries, self._tables = entries, tables
        self._is_known = np.zeros(CODE_POINTS, np.bool_)
        self._lock = threading.Lock()

    def meet(self, codes: NDArray[np.intp]) -> None:
        """Make the entries of new characters."""
        is_known = self._is_known.take(codes)
        if not is_known.all():
            with self._lock:
                new = [*set(codes[~is_known].tolist())]  # np.unique imports numpy.ma
                entries = zip(*map(self._entries, map(chr, new)), strict=True)
                for table, of_table in zip(self._tables, entries, strict=True):
                    table[new] = of_table
                self._is_known[new] = True  # last, because other threads read without the lock


def code_points(text: str) -> NDArray[np.intp]:
    """Return one number for each character; a lone surrogate counts as a character."""
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32).astype(np.intp)


def fold(text: str) -> str:
    """Return a text with one spelling for what a reader cannot tell apart, at most five times as long.

    Case is kept, and so are the signs ``٫``, ``٬`` and fractions such as ``½``. All digits, quotes, apostrophes,
    hyphens and spaces are those of ASCII. A text that was folded before stays as it is.
    """
    if text.isascii():
        return text
    if len(text) <= _SHORT:
        return "".join(map(_fold_character, _composed(text)))
    return _fold_by_arrays(text)[0]


def fold_with_places(text: str) -> tuple[str, str, range | NDArray[np.intp]]:
    """Return a folded text, the text with its letters composed, and where in it each folded character stands.

    The last place is the end of the text.
    """
    if text.isascii():
        return text, text, range(len(text) + 1)
    folded, composed, widths = _fold_by_arrays(text)
    return folded, composed, np.append(np.arange(len(composed)).repeat(widths), len(composed))


@lru_cache(128)  # sentences of a text are looked at again and again
def _fold_by_arrays(text: str) -> tuple[str, str, NDArray[np.uint8]]:
    # Also return the text with its letters composed, and how many characters each of these became.
    codes = code_points(text)
    if _IS_PART.take(codes).any():
        text = _composed(text)
        codes = code_points(text)
    _SPELLINGS.meet(codes)
    widths = _WIDTHS.take(codes)
    folded = _FIRST.take(codes)
    if (widths != 1).any():
        folded = folded.repeat(widths)  # a width of 0 leaves out the character
        is_spelled = widths > 1  # by several characters: "æ" by "ae"
        spelled = _SPELLED.take(codes[is_spelled], axis=0)
        folded[is_spelled.repeat(widths)] = spelled[spelled != 0]
    return folded.tobytes().decode("utf-32-le", "surrogatepass"), text, widths


def _composed(text: str) -> str:
    # Letters that were written in parts become one character: Hangul, kana and chillus.
    return _PARTS.sub(lambda found: found[1] or unicodedata.normalize("NFKC", found[0]), text)


def _entries(character: str) -> tuple[int, int, list[int]]:
    # Zeros fill up the characters that stand for this one. A zero itself stands for itself.
    folded = [*map(ord, _fold_character(character)), *[0] * _MOST_SPELLED]
    return folded.index(0) if character != "\0" else 1, folded[0], folded[:_MOST_SPELLED]


@lru_cache(1 << 12)
def _fold_character(character: str) -> str:
    """Return the characters that stand for one character. If they are folded again, they stay as they are."""
    category = unicodedata.category(character)
    is_accent = category.startswith("M") and unicodedata.combining(character) in _ACCENTS
    if is_accent or category == "Cf" or _UNSEEN.match(character):
        return ""
    if category == "Nd":
        return str(unicodedata.decimal(character))
    decomposition = unicodedata.decomposition(character)
    has_other_form = decomposition or ord(character) in _TABLE
    if not has_other_form or _KEPT.match(character) or decomposition.startswith("<fraction>"):
        return character
    forms = (
        character.translate(_TABLE),
        unicodedata.normalize("NFKC", character),
        character if _COMPOSED.match(character) else unicodedata.normalize("NFKD", character),
    )
    other = next((form for form in forms if form != character), character)
    spelled = "".join(map(_fold_character, other)) if other != character else character
    return spelled if len(spelled) <= _MOST_SPELLED else character


# By code point: how many characters stand for it, the first of them, and all of them.
_WIDTHS, _FIRST = np.zeros(CODE_POINTS, np.uint8), np.zeros(CODE_POINTS, np.uint32)
_SPELLED = np.zeros((CODE_POINTS, _MOST_SPELLED), np.uint32)
_SPELLINGS = CharacterTables(_entries, _WIDTHS, _FIRST, _SPELLED)
_IS_PART = np.zeros(CODE_POINTS, np.bool_)
_IS_PART[[*range(0x1100, 0x1200), *range(0x0D7A, 0x0D80), 0x3099, 0x309A, 0xFF9E, 0xFF9F]] = True
