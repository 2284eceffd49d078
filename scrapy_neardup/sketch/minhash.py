"""MinHash signatures of 16-bit lanes, by datasketch."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from datasketch import MinHash
    from numpy.typing import NDArray


def sign(hashes: NDArray[np.uint32], num_perm: int, seed: int) -> bytes:
    """Signature of a set of 32-bit shingle hashes: ``num_perm`` lanes of 2 bytes, big-endian.

    Lanes keep the low 16 bits of each minimum (b-bit minwise hashing, Li and Koenig 2010): two unequal minima agree
    by chance once in 65,536, far below the standard error of the estimate, at half the memory.
    """
    minhash = _empty(num_perm, seed).copy()
    minhash.update_batch(hashes.tolist())
    return bytes(minhash.hashvalues.astype(">u2").tobytes())


def optimal_bands(threshold: float, num_perm: int) -> tuple[int, int]:
    """Bands and rows that weigh false positives and false negatives at ``threshold`` alike, by datasketch."""
    from datasketch import MinHashLSH

    lsh = MinHashLSH(threshold=threshold, num_perm=num_perm)
    return int(lsh.b), int(lsh.r)


@cache
def _empty(num_perm: int, seed: int) -> MinHash:
    from datasketch import MinHash  # pulls scipy: a crawl without items never pays for it

    # The values are hashes already; ``copy`` shares the permutations.
    return MinHash(num_perm=num_perm, seed=seed, scheme="affine32", hashfunc=int)
