"""Fold texts, so that two spellings that a reader cannot tell apart are one.

Most of it follows from Unicode's own data: compatibility forms, accents, vowel points and format characters go, and
the digits of all scripts become ASCII digits. A small table has what Unicode does not decompose. Case is kept, because
capitals show names.

Each character is folded by itself and looked up once, so folding takes linear time whatever the text is. Vowel signs
of Indic scripts and Thai are marks too, but they are kept: without them, different words would be one.
"""

from __future__ import annotations

import re
import sys
import threading
import unicodedata

import numpy as np
from numpy.typing import NDArray

_TABLE = str.maketrans(
    {
        **dict.fromkeys("ʹʻʼʽʾʿˈ´‘’‚‛′‹›׳՚Ꞌꞌ", "'"),
        **dict.fromkeys("«»“”„‟″״", '"'),
        **dict.fromkeys("‐‑‒–−־֊⁃", "-"),
        **dict.fromkeys("—―", " - "),
        **dict(zip("ıłŁøØđĐðÐħĦŧŦǝƎ", "ilLoOdDdDhHtTəƏ", strict=True)),
        **dict(zip("æÆœŒßẞ", "ae Ae oe Oe ss SS".split(), strict=True)),
        # Arabic letters of several languages: alef, yeh, kaf and heh. The tatweel only makes a word longer.
        **dict.fromkeys("\u0671\u0672\u0673", "\u0627"),
        **dict.fromkeys("\u0649\u06cc", "\u064a"),
        **dict.fromkeys("\u06a9\u06aa", "\u0643"),
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
# Unicode decomposes these characters, but they mean something else: ordinals, the number sign, Korean letters that
# stand alone, and marks that end a sentence without a space.
_KEPT = re.compile("[ªº№！？\u3131-\u318e\uffa1-\uffdc]")
_COMPOSED = re.compile("[\u3041-\u30ff\uac00-\ud7a3]")  # kana and Hangul
_PARTS = re.compile(
    "[\u1100-\u1112][\u1161-\u1175][\u11a8-\u11c2]?|[\u3041-\u30ff][\u3099\u309a]|[\uff66-\uff9d][\uff9e\uff9f]"
)
_UNSEEN = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]")
# Combining classes of the marks that go: overlays, the nukta, the points of Hebrew, Arabic and Syriac, and accents.
# All others are vowel and tone signs.
_ACCENTS = frozenset((1, 7, *range(10, 37), *range(200, 255)))
_MOST_SPELLED = 4  # one character stands for eighteen


def fold(text: str) -> str:
    """Return a text with one spelling for what a reader cannot tell apart, at most four times as long.

    Case is kept, and so are the signs ``٫``, ``٬`` and fractions such as ``½``. All digits, quotes, apostrophes,
    hyphens and spaces are those of ASCII. A text that was folded before stays as it is.
    """
    return text if text.isascii() else _CHARACTERS.fold(text)[0]


def fold_with_places(text: str) -> tuple[str, str, NDArray[np.intp]]:
    """Return a folded text, the text with its letters composed, and for each folded character its place in it."""
    folded, composed, widths = _CHARACTERS.fold(text)
    return folded, composed, np.arange(len(composed)).repeat(widths)


def code_points(text: str) -> NDArray[np.uint32]:
    """Return one number for each character; a lone surrogate counts as a character."""
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)


class _Characters:
    """Tables by code point, filled when a character is met. Entries that were never written take no memory."""

    def __init__(self) -> None:
        # The number of folded characters; 1 is added, because 0 is for characters that were never met.
        self._widths = np.zeros(sys.maxunicode + 1, np.uint8)
        self._folded = np.zeros(sys.maxunicode + 1, np.uint32)  # the first one
        self._places = np.zeros(sys.maxunicode + 1, np.uint32)  # where they are in ``_spelled``
        self._spelled = np.zeros(0, np.uint32)
        self._parts = np.zeros(sys.maxunicode + 1, np.bool_)
        self._lock = threading.Lock()

    def fold(self, text: str) -> tuple[str, str, NDArray[np.uint8]]:
        """Return the folded text, the text with its letters composed, and how many characters each becomes."""
        codes = code_points(text).astype(np.intp)
        if self._parts.take(codes).any():
            text = _PARTS.sub(lambda found: unicodedata.normalize("NFKC", found[0]), text)
            codes = code_points(text).astype(np.intp)
        widths = self._widths.take(codes)
        if not widths.all():
            self._learn(codes[widths == 0])
            widths = self._widths.take(codes)
        widths -= 1
        folded = self._folded.take(codes)
        if (widths != 1).any():
            folded = folded.repeat(widths)
            several = (widths > 1).nonzero()[0]
            counts = widths.take(several).astype(np.intp)
            starts = (np.add.accumulate(widths, dtype=np.intp) - widths).take(several)
            within = np.arange(counts.sum()) - (np.add.accumulate(counts) - counts).repeat(counts)
            spelled = self._spelled.take(self._places.take(codes.take(several)).repeat(counts) + within)
            folded[starts.repeat(counts) + within] = spelled
        return folded.tobytes().decode("utf-32-le", "surrogatepass"), text, widths

    def _learn(self, codes: NDArray[np.intp]) -> None:
        with self._lock:
            for code in np.unique(codes).tolist():
                folded = code_points(_folded(chr(code)))
                self._places[code] = len(self._spelled)
                if len(folded) > 1:
                    self._spelled = np.concatenate((self._spelled, folded))
                self._folded[code] = folded[0] if len(folded) else 0
                self._widths[code] = len(folded) + 1  # last: from here on the character counts as known


def _folded(character: str) -> str:
    """Return the characters that stand for one character. If they are folded again, they stay as they are."""
    if _UNSEEN.match(character) or unicodedata.category(character) == "Cf":
        return ""
    decimal = unicodedata.decimal(character, None)
    if decimal is not None:
        return str(decimal)
    if _KEPT.match(character) or unicodedata.decomposition(character).startswith("<fraction>"):
        return character
    composed = character.translate(_TABLE)
    if composed == character:
        composed = unicodedata.normalize("NFKC", character)
    if composed != character:
        spelled = "".join(map(_folded, composed))
        return spelled if len(spelled) <= _MOST_SPELLED else character
    if _COMPOSED.match(character):
        return character
    plain = unicodedata.normalize("NFKD", character)
    if plain != character:
        return "".join(map(_folded, plain))
    is_accent = unicodedata.category(character).startswith("M") and unicodedata.combining(character) in _ACCENTS
    return "" if is_accent else character


_CHARACTERS = _Characters()
_CHARACTERS._parts[[*range(0x1100, 0x1200), 0x3099, 0x309A, 0xFF9E, 0xFF9F]] = True
