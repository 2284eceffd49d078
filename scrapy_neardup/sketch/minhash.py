"""MinHash signatures of one byte a lane, from one permutation of the hashes instead of one a lane.

One permutation hashing: the permuted hashes are cut into as many equal ranges as there are lanes, and the lowest of
each range is a lane (Li, Owen and Zhang 2012). A range that is empty takes the lane of another one, drawn
without a look at the set, so that two sets agree there as often as they resemble each other (Shrivastava 2017,
"Optimal densification for fast and accurate minwise hashing").
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, cast

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_DRAWS = 128  # ranges that an empty one may take its lane from, one after the other
_AT_ONCE = 16
_HALF = np.uint64(32)


def signature(minima: NDArray[np.uint32]) -> bytes:
    """The lowest byte of each minimum.

    b-bit minwise hashing (Li and Koenig 2010): two unequal minima agree by chance once in 256, which the estimate takes
    off, and for the memory of one whole minimum there are four lanes.
    """
    return minima.astype(np.uint8).tobytes()


def minima(sets: Sequence[NDArray[np.uint32]], num_perm: int, seed: int) -> NDArray[np.uint32]:
    """One row a set of 32-bit shingle hashes: its minima in ``num_perm`` lanes; all ones of an empty set."""
    sizes = np.array([len(each) for each in sets], np.intp)
    hashes = _mixed(np.concatenate(sets) ^ np.uint32(seed * 0x9E37_79B9 & 0xFFFF_FFFF))
    placed = np.sort(np.repeat(np.arange(len(sets), dtype=np.uint64) << _HALF, sizes) | hashes)
    rows, permuted = (placed >> _HALF).astype(np.intp), placed.astype(np.uint32)
    lanes = rows * num_perm + _range_of(permuted, num_perm)
    is_lowest = np.ones(len(lanes), dtype=bool)
    np.not_equal(lanes[1:], lanes[:-1], out=is_lowest[1:])
    lowest = np.full(len(sets) * num_perm, 0xFFFF_FFFF, dtype=np.uint32)
    filled = np.zeros(len(lowest), dtype=bool)
    found = lanes[is_lowest]
    lowest[found], filled[found] = permuted[is_lowest], True
    empty = (~(filled | np.repeat(sizes == 0, num_perm))).nonzero()[0]
    lowest[empty] = lowest.take(_lenders(empty, filled, num_perm))
    return lowest.reshape(-1, num_perm)


def _lenders(empty: NDArray[np.intp], filled: NDArray[np.bool_], num_perm: int) -> NDArray[np.intp]:
    """For each empty range the first of those drawn for it that is not; where none of them is, the next one."""
    lenders: NDArray[np.intp] = empty.copy()
    wanting, lanes = np.arange(len(empty)), empty % num_perm
    for start in range(0, _DRAWS, _AT_ONCE):
        if not len(wanting):
            return lenders
        drawn = _draws(num_perm)[lanes, start : start + _AT_ONCE] + (empty[wanting] - lanes)[:, None]
        found = filled.take(drawn)
        attempts = found.argmax(axis=1) + np.arange(0, found.size, _AT_ONCE)
        is_found = found.take(attempts)
        lenders[wanting[is_found]] = drawn.take(attempts[is_found])
        wanting, lanes = wanting[~is_found], lanes[~is_found]
    for place in wanting.tolist():
        row, lane = divmod(int(empty[place]), num_perm)
        of_row = filled[row * num_perm : (row + 1) * num_perm].nonzero()[0]
        lenders[place] = row * num_perm + of_row[of_row.searchsorted(lane) % len(of_row)]
    return lenders


@cache
def _draws(lanes: int) -> NDArray[np.intp]:
    numbers = np.arange(1, _DRAWS * lanes + 1, dtype=np.uint32)
    return _range_of(_mixed(numbers), lanes).reshape(lanes, _DRAWS)


def _range_of(hashes: NDArray[np.uint32], lanes: int) -> NDArray[np.intp]:
    return cast("NDArray[np.intp]", (hashes * np.uint64(lanes) >> _HALF).astype(np.intp))


def _mixed(hashes: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """The finalizer of MurmurHash3, a permutation of the 32-bit numbers."""
    mixed: NDArray[np.uint32] = hashes ^ (hashes >> np.uint32(16))
    mixed *= np.uint32(0x85EB_CA6B)
    mixed ^= mixed >> np.uint32(13)
    mixed *= np.uint32(0xC2B2_AE35)
    mixed ^= mixed >> np.uint32(16)
    return mixed


def optimal_bands(threshold: float, num_perm: int) -> tuple[int, int]:
    """Bands and rows that weigh false positives and false negatives at ``threshold`` alike, by datasketch."""
    from datasketch import MinHashLSH

    lsh = MinHashLSH(threshold=threshold, num_perm=num_perm)
    return int(lsh.b), int(lsh.r)
