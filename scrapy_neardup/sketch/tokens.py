"""Text -> tokens -> shingle hashes, the same on every machine and under every hash seed of Python."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator

import numpy as np
import xxhash
from numpy.typing import NDArray

NORMALISER = 1
"""Version of what this module does to a text; part of the config fingerprint."""

# Scripts written without spaces between words: Thai, Lao, Myanmar, Khmer, Hiragana, Katakana, Bopomofo, Han.
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u19e0-\u19ff\ua9e0-\ua9ff\uaa60-\uaa7f"
    "\u3005-\u3007\u3031-\u3035\u3040-\u30ff\u3100-\u312f\u31a0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
_UNSPACED_CHARACTER = re.compile(f"[{_UNSPACED}]")
_WORD = re.compile(r"\w+")
# Marks count with the letters they stand on: vowel signs of Thai or Khmer are no \w of their own.
_MIXED_TOKEN = re.compile(f"[{_UNSPACED}]|[^\\W{_UNSPACED}]+")
_CHARACTERS_PER_WORD = 2

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


def tokenise(normalised: str) -> list[str]:
    """Words; single characters for scripts written without spaces."""
    if _UNSPACED_CHARACTER.search(normalised) is None:
        return _WORD.findall(normalised)
    return _MIXED_TOKEN.findall(normalised)


def count_words(text: str) -> int:
    """Length of a text in words; two characters of an unspaced script count as one word."""
    unspaced = len(_UNSPACED_CHARACTER.findall(text))
    if not unspaced:
        return len(_WORD.findall(text))
    words = len(_MIXED_TOKEN.findall(text)) - unspaced
    return words + unspaced // _CHARACTERS_PER_WORD


def blocks(text: str) -> Iterator[str]:
    """The lines of a main content, stripped; empty ones left out."""
    for line in text.splitlines():
        if stripped := line.strip():
            yield stripped


def shingle_hashes(tokens: list[str], words: int, characters: int) -> NDArray[np.uint32]:
    """Distinct 32-bit hashes, sorted, of all runs of ``words`` words and of ``characters`` unspaced characters.

    A text shorter than one shingle gives one hash of all its tokens; an empty one gives none.
    """
    if not tokens:
        return np.empty(0, dtype=np.uint32)
    runs = [
        _hash_windows(_hash_tokens(run), min(len(run), characters if unspaced else words))
        for unspaced, run in _script_runs(tokens)
    ]
    # A short run between two runs of the other script is dropped where longer ones carry the text.
    return np.unique(runs[0] if len(runs) == 1 else np.concatenate(runs))


def _script_runs(tokens: list[str]) -> Iterable[tuple[bool, list[str]]]:
    if not any(_is_unspaced(token) for token in tokens):
        return [(False, tokens)]
    runs: list[tuple[bool, list[str]]] = []
    for token in tokens:
        unspaced = _is_unspaced(token)
        if not runs or runs[-1][0] != unspaced:
            runs.append((unspaced, []))
        runs[-1][1].append(token)
    return runs


def _is_unspaced(token: str) -> bool:
    return len(token) == 1 and token > "\u0dff" and _UNSPACED_CHARACTER.match(token) is not None


def _hash_tokens(tokens: list[str]) -> NDArray[np.uint64]:
    digest = xxhash.xxh32_intdigest
    return np.fromiter((digest(token.encode("utf-8", "surrogatepass")) for token in tokens), np.uint64, len(tokens))


def _hash_windows(hashes: NDArray[np.uint64], width: int) -> NDArray[np.uint32]:
    count = len(hashes) - width + 1
    mixed = np.zeros(count, dtype=np.uint64)
    for position in range(width):
        multiplier = _MULTIPLIERS[position % len(_MULTIPLIERS)] + np.uint64(2 * (position // len(_MULTIPLIERS)))
        mixed = (mixed ^ (hashes[position : position + count] * multiplier)) * _MIX
        mixed ^= mixed >> _SHIFT
    return (mixed >> _HALF).astype(np.uint32)
