"""Hashes of tokens -> hashes of shingles."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np

from scrapy_neardup.sketch.text.reading import Powers

if TYPE_CHECKING:
    from numpy.typing import NDArray

_POWERS = Powers(0xD6E8_FEB8_6659_FD93)
_MIX = np.uint64(0xFF51AFD7ED558CCD)
_HALF = np.uint64(32)


def shingle_hashes(
    hashes: NDArray[np.uint64], words: int, characters: int, are_unspaced: NDArray[np.bool_]
) -> NDArray[np.uint32]:
    """Distinct 32-bit hashes, sorted, of all runs of ``words`` words and of ``characters`` unspaced characters.

    ``hashes`` are those of the tokens. A run shorter than one shingle gives one hash of all its tokens; no token gives
    none.
    """
    if not len(hashes):
        return np.empty(0, dtype=np.uint32)
    starts = np.concatenate(([0], (are_unspaced[1:] != are_unspaced[:-1]).nonzero()[0] + 1))
    lengths = np.diff(starts, append=len(hashes))
    widths = np.minimum(lengths, np.where(are_unspaced[starts], characters, words))
    counts = lengths - widths + 1
    first = starts - (np.cumsum(counts) - counts)
    places = np.arange(counts.sum()) + np.repeat(first, counts)
    widths = np.repeat(widths, counts)
    sums = np.zeros(len(places), dtype=np.uint64)
    # All runs at once: a loop over them keeps other threads from running in a text that changes script with each word.
    for position, power in enumerate(_POWERS.up_to(max(words, characters))[0][: widths.max()]):
        sums += np.where(position < widths, hashes.take(places + position, mode="clip"), 0) * power
    return distinct(_mixed(sums))


def window_hashes(hashes: NDArray[np.uint64], width: int) -> NDArray[np.uint32]:
    """Return 32-bit hashes of all runs of ``width`` tokens, in order; one hash of all tokens if there are fewer."""
    if not len(hashes):
        return np.empty(0, dtype=np.uint32)
    width = min(len(hashes), width)
    count = len(hashes) - width + 1
    sums = np.zeros(count, dtype=np.uint64)
    for position, power in enumerate(_POWERS.up_to(width)[0][:width]):
        sums += hashes[position : position + count] * power
    return _mixed(sums)


def _mixed(sums: NDArray[np.uint64]) -> NDArray[np.uint32]:
    sums ^= sums >> _HALF
    sums *= _MIX
    return cast("NDArray[np.uint32]", (sums >> _HALF).astype(np.uint32))


def distinct(values: NDArray[np.uint32]) -> NDArray[np.uint32]:
    # A tenth of the time of np.unique at this size.
    values = np.sort(values)
    first = np.ones(len(values), dtype=bool)
    np.not_equal(values[1:], values[:-1], out=first[1:])
    return values[first]
