"""SimHash: the signs of a weighted sum of term hashes, one bit a lane (Charikar 2002; Manku, Jain and Das Sarma 2007).

Terms are weighted by TF-IDF with document frequencies learned online, as in Hu and You (2017).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import xxhash
from numpy.typing import NDArray

from scrapy_neardup.records.learned import Frequencies
from scrapy_neardup.records.packing import split
from scrapy_neardup.sketch.signatures import SignedText
from scrapy_neardup.sketch.signatures.presets import Preset
from scrapy_neardup.text.body import Body

_HIGH = np.uint64(32)


class SimHashSigner:
    """Signatures of 64 lanes of one byte, 0 or 1."""

    def __init__(self, preset: Preset) -> None:
        self._rows = preset.rows
        self.frequencies = Frequencies()

    def sign(self, bodies: Sequence[Body]) -> list[SignedText]:
        return list(map(self._sign, bodies))

    def _sign(self, body: Body) -> SignedText:
        terms = Counter(body.tokens)
        hashes = np.fromiter(map(_hash, terms), np.uint64, len(terms))
        counts = np.fromiter(terms.values(), np.float64, len(terms))
        features = (hashes >> _HIGH).astype(np.uint32)
        weights = counts * self.frequencies.weights(features)
        signature = simhash(hashes, weights)
        return SignedText(signature, len(terms), block_keys(signature, self._rows), (), features)


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
