"""MinHash: one byte a lane, from the minima that datasketch finds for the same shingle hashes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from scrapy_neardup.similarity.likeness import LEAD_LANES
from scrapy_neardup.sketch.signatures.base import SignedText
from scrapy_neardup.sketch.signatures.features import distinct_features
from scrapy_neardup.sketch.signatures.frequencies import Frequencies
from scrapy_neardup.sketch.signatures.presets import Preset
from scrapy_neardup.sketch.text.reading import Powers

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from scrapy_neardup.sketch.text.body import Body

_AT_ONCE = 256  # shingles: their products at 256 lanes, 256 kB, stay in the processor's cache
_SAMPLE_MODULUS = np.uint32(32)
_HALF = np.uint64(32)
_MIX = np.uint64(0xFF51_AFD7_ED55_8CCD)
_POWERS = Powers(0xC4CE_B9FE_1A85_EC53)
_SAMPLE_SEED = np.uint32(0x5A3D_17E9)  # apart from the keys of bands
_SHORT_TEXT = 100  # words; the first part of a shorter text is too little to compare


class MinHashSigner:
    """MinHash of a set of shingles, without the commonest ones if the preset leaves them out."""

    def __init__(self, preset: Preset) -> None:
        self._preset = preset
        self.frequencies = Frequencies() if preset.learns else None

    def sign(self, bodies: Sequence[Body]) -> list[SignedText]:
        preset, learned = self._preset, self.frequencies
        features = [distinct_features(body, preset) for body in bodies]
        hashes = features if learned is None else [self._rare(each, learned) for each in features]
        lowest = minima(hashes, preset.num_perm, preset.seed)
        return [
            SignedText(
                signature(row),
                len(each),
                keys,
                sample_keys(each, preset.samples) + body.lead_keys(preset.leads),
                None if learned is None else of_body,
            )
            for row, keys, each, body, of_body in zip(
                lowest, band_keys(lowest, preset.bands, preset.rows), hashes, bodies, features, strict=True
            )
        ]

    def _rare(self, features: NDArray[np.uint32], learned: Frequencies) -> NDArray[np.uint32]:
        rare = features[~learned.among_commonest(features, self._preset.common_share)]
        return rare if len(rare) else features


class SketchSigner:
    """Signatures of two parts: a few lanes propose candidates, lanes of the text's beginning confirm them."""

    frequencies: Frequencies | None = None

    def __init__(self, preset: Preset) -> None:
        self._preset = preset

    def sign(self, bodies: Sequence[Body]) -> list[SignedText]:
        preset = self._preset
        features = [distinct_features(body, preset) for body in bodies]
        lowest = minima([each[: preset.sample or None] for each in features], preset.num_perm, preset.seed)
        firsts = [distinct_features(body, preset, _lead_share(body, preset)) for body in bodies]
        leads = minima(firsts, LEAD_LANES, preset.seed)
        keys = band_keys(lowest, preset.num_perm, 1)
        return [
            SignedText(signature(lowest[number]) + signature(leads[number]), len(features[number]), keys[number])
            for number in range(len(bodies))
        ]


def _lead_share(body: Body, preset: Preset) -> float:
    """Return which first part of a text confirms candidates: all of a short one (Rodier and Carter 2020, 2.2.3)."""
    return 1.0 if body.words < _SHORT_TEXT else preset.lead_share


def band_keys(minima: NDArray[np.uint32], bands: int, rows: int) -> list[tuple[int, ...]]:
    """Return 32-bit keys for each row of minima: one for each band of ``rows`` consecutive minima.

    The number of the band is part of its key.
    """
    keys = np.zeros((len(minima), bands), np.uint64)
    keys += np.arange(bands, dtype=np.uint64)
    for row, power in enumerate(_POWERS.up_to(rows + 1)[0][1 : rows + 1]):
        keys += minima[:, row : bands * rows : rows] * power
    keys ^= keys >> _HALF
    keys *= _MIX
    return list(map(tuple, (keys >> _HALF).tolist()))


def sample_keys(hashes: NDArray[np.uint32], most: int) -> tuple[int, ...]:
    """Return keys of the lowest shingle hashes that are 0 modulo 32.

    A text and a much longer one that contains it have a low resemblance, so bands miss them. Both choose the same
    shingles here, because the choice does not depend on the rest of the document. These are the sets V_m of Broder
    (1997), "On the resemblance and containment of documents".
    """
    return tuple((hashes[hashes % _SAMPLE_MODULUS == 0][:most] ^ _SAMPLE_SEED).tolist())


def signature(minima: NDArray[np.uint32]) -> bytes:
    """Return the lowest byte of each minimum.

    This is b-bit minwise hashing (Li and Koenig 2010): four lanes take the memory of one whole minimum. The lowest
    bytes of two unequal minima are equal once in 256 times, and the estimate of resemblance allows for that.
    """
    return minima.astype(np.uint8).tobytes()


def minima(sets: Sequence[NDArray[np.uint32]], num_perm: int, seed: int) -> NDArray[np.uint32]:
    """Return one row for each set of 32-bit shingle hashes: its minimum under each permutation.

    The row of an empty set has all bits set.
    """
    a, b = permutations(num_perm, seed)
    lowest = np.full((len(sets), num_perm), 0xFFFF_FFFF, dtype=np.uint32)
    room = np.empty((_AT_ONCE, num_perm), np.uint32)
    for row, hashes in zip(lowest, sets, strict=True):
        mixed = _mixed(hashes)[:, None]
        for start in range(0, len(hashes), _AT_ONCE):
            values = np.multiply(mixed[start : start + _AT_ONCE], a, out=room[: len(hashes) - start])
            values += b
            np.minimum(row, values.min(axis=0), out=row)
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
def optimal_bands(threshold: float, num_perm: int) -> tuple[int, int]:
    """Return the bands and rows that datasketch chooses for a threshold."""
    from datasketch import MinHashLSH

    lsh = MinHashLSH(threshold=threshold, num_perm=num_perm)
    return int(lsh.b), int(lsh.r)


@lru_cache(maxsize=8)
def permutations(num_perm: int, seed: int) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """Return the odd factors and the addends that datasketch draws for its scheme "affine32".

    They are drawn here because datasketch imports scipy: 50 MB and half a second for each process.
    """
    draw = np.random.RandomState(seed)
    factors = draw.randint(0, 1 << 31, num_perm, dtype=np.uint32) * np.uint32(2) + np.uint32(1)
    return factors, draw.randint(0, 1 << 32, num_perm, dtype=np.uint32)
