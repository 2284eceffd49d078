"""What every kind of signature makes of a text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
import xxhash

from scrapy_neardup.measures import LANE_BYTES
from scrapy_neardup.sketch.features import distinct_features
from scrapy_neardup.sketch.frequencies import Frequencies
from scrapy_neardup.sketch.minhash import sign
from scrapy_neardup.sketch.presets import Preset

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from scrapy_neardup.sketch.body import Body

_SAMPLE_MODULUS = np.uint32(32)
_SAMPLE_SEED = np.uint32(0x5A3D_17E9)  # apart from the keys of bands


@dataclass(frozen=True, slots=True)
class Signed:
    """A signature, the keys it is found by, and the number of features it was made of.

    ``features`` are those whose document frequencies are learned, 32-bit hashes, where any are.
    """

    signature: bytes = b""
    size: int = 0
    band_keys: tuple[int, ...] = ()
    sample_keys: tuple[int, ...] = ()
    features: NDArray[np.uint32] | None = None


UNSIGNED = Signed()
"""Of a text too short to be compared other than exactly."""


class Signer(Protocol):
    """Makes the signatures of one preset. ``frequencies`` are None where it learns none."""

    frequencies: Frequencies | None

    def sign(self, body: Body) -> Signed: ...


def signer_for(preset: Preset) -> Signer:
    return MinHashSigner(preset)


class MinHashSigner:
    """MinHash of a set of shingles, the commonest of them left out where the preset says so."""

    def __init__(self, preset: Preset) -> None:
        self._preset = preset
        self.frequencies = Frequencies() if preset.learns else None

    def sign(self, body: Body) -> Signed:
        preset = self._preset
        features = distinct_features(body, preset)
        hashes = features
        if self.frequencies is not None:
            rare = features[~self.frequencies.among_commonest(features, preset.common_share)]
            hashes = rare if len(rare) else features
        signature = sign(hashes, preset.num_perm, preset.seed)
        return Signed(
            signature,
            len(hashes),
            band_keys(signature, preset.bands, preset.rows * LANE_BYTES),
            sample_keys(hashes, preset.samples),
            None if self.frequencies is None else features,
        )


def band_keys(signature: bytes, bands: int, width: int) -> tuple[int, ...]:
    """One 32-bit key a band of ``width`` consecutive bytes, the band's number a part of it; none of no signature."""
    if not signature:
        return ()
    return tuple(xxhash.xxh32_intdigest(signature[band * width : (band + 1) * width], band) for band in range(bands))


def sample_keys(hashes: NDArray[np.uint32], most: int) -> tuple[int, ...]:
    """The lowest of the shingle hashes that are 0 modulo 32.

    Which shingles those are does not depend on the document, so a text and a much longer one that contains it choose
    the same ones: their resemblance is low and bands miss them. Broder (1997), the sets V_m of "On the resemblance and
    containment of documents".
    """
    return tuple((hashes[hashes % _SAMPLE_MODULUS == 0][:most] ^ _SAMPLE_SEED).tolist())
