"""MinHash signatures of one byte a lane: those of datasketch, in half the time of its ``update_batch``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

Permutations: TypeAlias = "tuple[NDArray[np.uint32], NDArray[np.uint32]]"

_AT_ONCE = 1024  # shingles: 1 MB of products at 256 lanes stay in the processor's cache


def signature(minima: NDArray[np.uint32]) -> bytes:
    """The lowest byte of each minimum.

    b-bit minwise hashing (Li and Koenig 2010): two unequal minima agree by chance once in 256, which the estimate takes
    off, and for the memory of one whole minimum there are four lanes.
    """
    return minima.astype(np.uint8).tobytes()


def minima(sets: Sequence[NDArray[np.uint32]], num_perm: int, seed: int) -> NDArray[np.uint32]:
    """One row a set of 32-bit shingle hashes: its minima under ``num_perm`` permutations; all ones of an empty set."""
    a, b = permutations(num_perm, seed)
    lowest = np.full((len(sets), num_perm), 0xFFFF_FFFF, dtype=np.uint32)
    for row, hashes in zip(lowest, sets, strict=True):
        for start in range(0, len(hashes), _AT_ONCE):
            values = _mixed(hashes[start : start + _AT_ONCE])[:, None] * a
            values += b
            np.minimum(row, values.min(axis=0), out=row)
    return lowest


def _mixed(hashes: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """The finalizer of MurmurHash3, as datasketch applies it before it permutes."""
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


_drawn: dict[tuple[int, int], Permutations] = {}


def permutations(num_perm: int, seed: int) -> Permutations:
    """Factors and addends, as datasketch draws them."""
    if (drawn := _drawn.get((num_perm, seed))) is None:
        from datasketch import MinHash  # pulls scipy: a crawl without items never pays for it

        a, b = MinHash(num_perm=num_perm, seed=seed, scheme="affine32").permutations
        drawn = _drawn[num_perm, seed] = a, b
    return drawn


def known_permutations(num_perm: int, seed: int, factors: bytes, addends: bytes) -> None:
    """Take over what another process has drawn."""
    _drawn[num_perm, seed] = np.frombuffer(factors, np.uint32), np.frombuffer(addends, np.uint32)
