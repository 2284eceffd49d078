"""Text -> tokens -> shingle hashes, the same on every machine and under every hash seed of Python."""

from __future__ import annotations

import re
import unicodedata
from itertools import chain, groupby
from typing import TYPE_CHECKING, cast

import numpy as np
import xxhash

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

NORMALISER = 2
"""Version of what this module does to a text; part of the config fingerprint."""

# Scripts written without spaces between words: Thai, Lao, Myanmar, Khmer, Hiragana, Katakana, Bopomofo, Han.
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u19e0-\u19ff\ua9e0-\ua9ff\uaa60-\uaa7f"
    "\u3005-\u3007\u3031-\u3035\u3040-\u30ff\u3100-\u312f\u31a0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
_UNSPACED_CHARACTER = re.compile(f"[{_UNSPACED}]")
# A vowel sign or another combining mark is a part of its word, and no \w of its own: Hindi, Tamil, vocalised Arabic.
# Of the first 65,536 characters: re compares a set that has others one by one.
_MARKS = "".join(
    re.escape(chr(code))
    for code in chain(range(0x300, 0x3100), range(0xA600, 0xAC00), range(0xFB1E, 0xFE30))
    if unicodedata.category(chr(code)) in ("Mn", "Mc") and not _UNSPACED_CHARACTER.match(chr(code))
)
_MARK = re.compile(f"[{_MARKS}]")
_WORD = re.compile(r"\w+")
_MIXED_TOKEN = re.compile(f"[{_UNSPACED}]|[^\\W{_UNSPACED}]+")
# The same with marks, slower.
_MARKED_WORD = re.compile(f"\\w+(?:[{_MARKS}]+\\w*)*")
_MARKED_MIXED_TOKEN = re.compile(f"[{_UNSPACED}]|[^\\W{_UNSPACED}]+(?:[{_MARKS}]+[^\\W{_UNSPACED}]*)*")
_CHARACTERS_PER_WORD = 2
_MOST_HASHES = 1 << 16
_PUNCTUATION = "\u2019\u201c\u201d\u2018\u2013\u2014\u2026\u2022\u00a0\u00ab\u00bb"
_ASCII_WORDS = {code: chr(code).lower() if _WORD.match(chr(code)) else " " for code in range(128)}
_ASCII_LINES = {**_ASCII_WORDS, ord("\n"): "\n"}

_MULTIPLIERS = np.array(
    [0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0xD6E8FEB86659FD93, 0xA0761D6478BD642F],
    dtype=np.uint64,
)
_MIX = np.uint64(0xFF51AFD7ED558CCD)
_HALF = np.uint64(32)
_SHIFT = np.uint64(29)


def normalise(text: str) -> str:
    """NFKC-normalised and case-folded, so that width, ligature and case variants of a text are one text."""
    return unicodedata.normalize("NFKC", text).casefold()


def has_unspaced(text: str) -> bool:
    """Whether any of it is in a script written without spaces."""
    return not text.isascii() and _UNSPACED_CHARACTER.search(text) is not None


def has_words(text: str) -> bool:
    """Whether there is anything in it that could be compared."""
    return _WORD.search(text) is not None


def tokenise(normalised: str, *, unspaced: bool) -> list[str]:
    """Words; with ``unspaced`` also the single characters of scripts written without spaces."""
    if not normalised.isascii() and _MARK.search(normalised):
        pattern = _MARKED_MIXED_TOKEN if unspaced else _MARKED_WORD
    else:
        pattern = _MIXED_TOKEN if unspaced else _WORD
    return pattern.findall(normalised)


def block_tokens(block: str, *, unspaced: bool) -> list[str]:
    """``tokenise(normalise(block))``; ASCII, which NFKC leaves alone, in a quarter of the time."""
    plain = without_punctuation(block)
    if plain.isascii():
        return plain.translate(_ASCII_WORDS).split()
    return tokenise(normalise(plain), unspaced=unspaced)


def without_punctuation(text: str) -> str:
    """Spaces for the commonest characters outside ASCII that are in no word: most English texts are ASCII then."""
    if not text.isascii():
        for character in _PUNCTUATION:
            text = text.replace(character, " ")
    return text


def tokens_of_each(blocks: Sequence[str], *, unspaced: bool) -> Iterable[list[str]]:
    """``block_tokens`` of each block; none of them has an end of line in it."""
    simple = without_punctuation("\n".join(blocks))
    if simple.isascii():
        return map(str.split, simple.translate(_ASCII_LINES).split("\n"))
    return (block_tokens(block, unspaced=unspaced) for block in simple.split("\n"))


def count_words(tokens: list[str], *, unspaced: bool) -> int:
    """Length in words; two characters of an unspaced script count as one word."""
    characters = sum(map(_is_unspaced, tokens)) if unspaced else 0
    return len(tokens) - characters + characters // _CHARACTERS_PER_WORD


def token_hashes(tokens: list[str]) -> NDArray[np.uint64]:
    """One hash a token, in their order."""
    return np.fromiter(map(_hashes.__getitem__, tokens), np.uint64, len(tokens))


def shingle_hashes(
    hashes: NDArray[np.uint64], words: int, characters: int, tokens: Sequence[str] | None = None
) -> NDArray[np.uint32]:
    """Distinct 32-bit hashes, sorted, of all runs of ``words`` words and of ``characters`` unspaced characters.

    ``hashes`` are those of the tokens, ``tokens`` themselves are given where some may be unspaced characters. A run
    shorter than one shingle gives one hash of all its tokens; no token gives none.
    """
    if not len(hashes):
        return np.empty(0, dtype=np.uint32)
    if tokens is None:
        return distinct(window_hashes(hashes, words))
    windows, start = [], 0
    for is_unspaced, run in groupby(tokens, _is_unspaced):
        end = start + sum(1 for _ in run)
        windows.append(window_hashes(hashes[start:end], characters if is_unspaced else words))
        start = end
    return distinct(np.concatenate(windows))


def window_hashes(hashes: NDArray[np.uint64], width: int) -> NDArray[np.uint32]:
    """32-bit hashes of all runs of ``width`` tokens in their order; one of all tokens where there are fewer."""
    width = min(len(hashes), width)
    count = len(hashes) - width + 1
    mixed = np.zeros(count, dtype=np.uint64)
    for position in range(width):
        multiplier = _MULTIPLIERS[position % len(_MULTIPLIERS)] + np.uint64(2 * (position // len(_MULTIPLIERS)))
        mixed ^= hashes[position : position + count] * multiplier
        mixed *= _MIX
        mixed ^= mixed >> _SHIFT
    return cast("NDArray[np.uint32]", (mixed >> _HALF).astype(np.uint32))


def distinct(values: NDArray[np.uint32]) -> NDArray[np.uint32]:
    # A tenth of the time of np.unique at this size.
    values = np.sort(values)
    first = np.ones(len(values), dtype=bool)
    np.not_equal(values[1:], values[:-1], out=first[1:])
    return values[first]


def _is_unspaced(token: str) -> bool:
    return len(token) == 1 and token > "\u0dff" and has_unspaced(token)


class _TokenHashes(dict[str, int]):
    """Words repeat: hashing most of them is a look-up, in two thirds of the time of ``lru_cache``."""

    def __missing__(self, token: str) -> int:
        if len(self) >= _MOST_HASHES:
            self.clear()
        self[token] = hashed = xxhash.xxh32_intdigest(token.encode("utf-8", "surrogatepass"))
        return hashed


_hashes = _TokenHashes()
