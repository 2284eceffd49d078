"""SimHash: the signs of a weighted sum of term hashes, one bit a lane (Charikar 2002; Manku, Jain and Das Sarma 2007).

Terms are weighted by TF-IDF with document frequencies learned online, as in Hu and You (2017). A user can replace the
weighted terms by a callable.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
import xxhash
from numpy.typing import NDArray

from scrapy_neardup.exceptions import SettingsError
from scrapy_neardup.imports import load_callable
from scrapy_neardup.records.feature_counts import Frequencies
from scrapy_neardup.records.packing import split
from scrapy_neardup.sketch.signatures import UNSIGNED, SignedText
from scrapy_neardup.sketch.signatures.presets import Preset
from scrapy_neardup.text.body import Body

_FEATURES = 'NEARDUP_PRESET_OPTIONS["features"]'
ALLOWED_VECTORS = "the import path of a callable (text: str) -> mapping of features to weights"
_HIGH = np.uint64(32)


class SimHashSigner:
    """Signatures of 64 lanes of one byte, 0 or 1."""

    def __init__(self, preset: Preset) -> None:
        """Raise SettingsError if the callable of the preset is missing."""
        self._preset = preset
        self.frequencies = Frequencies() if preset.learns else None
        self._own = None if preset.learns else load_callable(_FEATURES, preset.features, ALLOWED_VECTORS)

    def sign(self, bodies: Sequence[Body]) -> list[SignedText]:
        return list(map(self._sign, bodies))

    def _sign(self, body: Body) -> SignedText:
        terms = self._terms(body)
        if not terms:
            return UNSIGNED
        hashes = np.fromiter(map(_hash, terms), np.uint64, len(terms))
        weights = np.fromiter(terms.values(), np.float64, len(terms))
        features = None
        if self.frequencies is not None:
            features = (hashes >> _HIGH).astype(np.uint32)
            weights = weights * self.frequencies.weights(features)
        signature = simhash(hashes, weights)
        return SignedText(signature, len(terms), block_keys(signature, self._preset.rows), (), features)

    def _terms(self, body: Body) -> Mapping[str, float]:
        if self._own is None:
            return Counter(body.tokens)
        found = self._own(body.text)
        if not isinstance(found, Mapping) or not all(
            isinstance(name, str) and isinstance(weight, int | float) and math.isfinite(weight)
            for name, weight in found.items()
        ):
            raise SettingsError(_FEATURES, self._preset.features, f"gave {found!r:.80}; must be {ALLOWED_VECTORS}")
        return found


def simhash(hashes: NDArray[np.uint64], weights: NDArray[np.float64]) -> bytes:
    """Return one lane for each bit of the hashes: 1 if the terms with the bit weigh more than those without it."""
    bits = np.unpackbits(hashes.astype(">u8").view(np.uint8).reshape(-1, 8), axis=1)
    # Summed in whole numbers, so that the order of the terms and the machine do not matter.
    whole = np.rint(weights * (1 << 20)).astype(np.int64)
    return bytes((2 * (whole @ bits.astype(np.int64)) > whole.sum()).astype(np.uint8).tobytes())


def block_keys(signature: bytes, bits: int) -> tuple[int, ...]:
    """Return the 32-bit keys of a signature: one for each of its blocks of so many bits."""
    return tuple(xxhash.xxh32_intdigest(block, number) for number, block in enumerate(split(signature, bits)))


def _hash(term: str) -> int:
    return xxhash.xxh3_64_intdigest(term.encode("utf-8", "surrogatepass"))
