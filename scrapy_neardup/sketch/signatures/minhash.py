"""MinHash: one byte a lane, from the minima that datasketch finds for the same shingle hashes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate
from typing import cast

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup.evidence.likeness import CONFIRMING_LANES
from scrapy_neardup.records.learned import Frequencies
from scrapy_neardup.sketch.signatures import SignedText
from scrapy_neardup.sketch.signatures.presets import Preset
from scrapy_neardup.text.body import Body
from scrapy_neardup.text.folding import code_points
from scrapy_neardup.text.reading import Powers, distinct, mixed, shingle_hashes, window_hashes

_AT_ONCE = 1 << 16  # products of shingles and lanes: 256 kB stay in the processor's cache
_SAMPLE_MASK = np.uint32(31)
_POWERS = Powers(0xC4CE_B9FE_1A85_EC53)
_SAMPLE_SEED = np.uint32(0x5A3D_17E9)  # apart from the keys of bands


class MinHashSigner:
    """MinHash of a set of shingles.

    The signatures of a sketch have two parts: a few lanes propose candidates, and many of the whole text confirm them.
    """

    frequencies: Frequencies | None = None

    def __init__(self, preset: Preset) -> None:
        self._preset = preset

    def sign(self, bodies: Sequence[Body]) -> list[SignedText]:
        preset, hashes = self._preset, [distinct_features(body, self._preset) for body in bodies]
        lowest = minima([each[: preset.sample or None] for each in hashes], preset.num_perm, preset.seed)
        keys = band_keys(lowest, preset.bands, preset.rows)
        if preset.signature == "sketch":
            lowest = np.hstack((lowest, minima(hashes, CONFIRMING_LANES, preset.seed)))
        return [
            SignedText(
                signature(row), len(each), of_bands, sample_keys(each, preset.samples) + body.lead_keys(preset.leads)
            )
            for row, of_bands, each, body in zip(lowest, keys, hashes, bodies, strict=True)
        ]


def distinct_features(body: Body, preset: Preset) -> NDArray[np.uint32]:
    """Return the distinct hashes of a body's shingles, sorted. Shingles are of words or of letters."""
    if preset.features == "letters":
        return distinct(window_hashes(code_points("".join(body.tokens)).astype(np.uint64), preset.shingle_characters))
    if not body.unspaced:
        return distinct(body.windows(preset.shingle_words))
    are_unspaced = body.reading.are_unspaced.take(body.kept.places)
    return shingle_hashes(body.hashes, preset.shingle_words, preset.shingle_characters, are_unspaced)


def band_keys(minima: NDArray[np.uint32], bands: int, rows: int) -> list[tuple[int, ...]]:
    """Return 32-bit keys for each row of minima: one for each band of ``rows`` consecutive minima.

    The number of the band is part of its key.
    """
    used = minima[:, : bands * rows].astype(np.uint64).reshape(-1, bands, rows)
    powers = _POWERS.up_to(rows + 1)[0][1 : rows + 1]
    keys = cast("NDArray[np.uint64]", used @ powers + np.arange(bands, dtype=np.uint64))
    return list(map(tuple, mixed(keys).tolist()))


def sample_keys(hashes: NDArray[np.uint32], most: int) -> tuple[int, ...]:
    """Return keys of the lowest shingle hashes that are 0 modulo 32.

    A text and a much longer one that contains it have a low resemblance, so bands miss them. Both choose the same
    shingles here, because the choice does not depend on the rest of the document. These are the sets V_m of Broder
    (1997), "On the resemblance and containment of documents".
    """
    return tuple((hashes[hashes & _SAMPLE_MASK == 0][:most] ^ _SAMPLE_SEED).tolist())


def signature(minima: NDArray[np.uint32]) -> bytes:
    """Return the lowest byte of each minimum.

    This is b-bit minwise hashing (Li and Koenig 2010): four lanes take the memory of one whole minimum. The lowest
    bytes of two unequal minima are equal once in 256 times, and the estimate of resemblance allows for that.
    """
    return minima.astype(np.uint8).tobytes()


def minima(sets: Sequence[NDArray[np.uint32]], num_perm: int, seed: int) -> NDArray[np.uint32]:
    """Return one row for each set of 32-bit shingle hashes: its minimum under each permutation. No set is empty."""
    mixed = _mixed(np.concatenate(sets))
    starts = list(accumulate(map(len, sets[:-1]), initial=0))
    a, b = permutations(num_perm, seed)
    lanes = max(1, _AT_ONCE // len(mixed))
    room = np.empty((lanes, len(mixed)), np.uint32)
    lowest = np.empty((len(sets), num_perm), np.uint32)
    for first in range(0, num_perm, lanes):
        values = np.multiply(a[first : first + lanes, None], mixed, out=room[: num_perm - first])
        values += b[first : first + lanes, None]
        lowest[:, first : first + lanes] = np.minimum.reduceat(values, starts, axis=1).T
    return lowest


def _mixed(hashes: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """Apply the finalizer of MurmurHash3, as datasketch does before it permutes."""
    mixed: NDArray[np.uint32] = hashes ^ (hashes >> np.uint32(16))
    mixed *= np.uint32(0x85EB_CA6B)
    mixed ^= mixed >> np.uint32(13)
    mixed *= np.uint32(0xC2B2_AE35)
    mixed ^= mixed >> np.uint32(16)
    return mixed


@lru_cache(maxsize=8)
def permutations(num_perm: int, seed: int) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """Return the odd factors and the addends that datasketch draws for its scheme "affine32".

    They are drawn here because datasketch imports scipy: 50 MB and half a second for each process.
    """
    draw = np.random.RandomState(seed)
    factors = draw.randint(0, 1 << 31, num_perm, dtype=np.uint32) * np.uint32(2) + np.uint32(1)
    return factors, draw.randint(0, 1 << 32, num_perm, dtype=np.uint32)
