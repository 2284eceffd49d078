"""A signer for each kind of signature, those of MinHash here."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import xxhash

from scrapy_neardup.measures import LEAD_LANES
from scrapy_neardup.sketch.features import distinct_features
from scrapy_neardup.sketch.frequencies import Frequencies
from scrapy_neardup.sketch.minhash import minima, signature
from scrapy_neardup.sketch.presets import Preset
from scrapy_neardup.sketch.signed import Signed, Signer

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from scrapy_neardup.sketch.body import Body

_SAMPLE_MODULUS = np.uint32(32)
_SAMPLE_SEED = np.uint32(0x5A3D_17E9)  # apart from the keys of bands


def signer_for(preset: Preset) -> Signer:
    """Raises SettingsError where what the preset names is not there."""
    if preset.signature == "simhash":
        from scrapy_neardup.sketch.simhash import SimHashSigner

        return SimHashSigner(preset)
    if preset.signature == "reference":
        from scrapy_neardup.sketch.reference import ReferenceSigner

        return ReferenceSigner(preset)
    return SketchSigner(preset) if preset.signature == "sketch" else MinHashSigner(preset)


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
        lowest = minima(hashes, preset.num_perm, preset.seed)
        return Signed(
            signature(lowest),
            len(hashes),
            band_keys(lowest, preset.bands, preset.rows),
            sample_keys(hashes, preset.samples) + body.lead_keys(preset.leads),
            None if self.frequencies is None else features,
        )


class SketchSigner:
    """A few lanes by which candidates are proposed, and more of the text's beginning by which they are confirmed."""

    frequencies: Frequencies | None = None

    def __init__(self, preset: Preset) -> None:
        self._preset = preset

    def sign(self, body: Body) -> Signed:
        preset = self._preset
        features = distinct_features(body, preset)
        lowest = minima(features[: preset.sample or None], preset.num_perm, preset.seed)
        lead = minima(distinct_features(body, preset, preset.lead_share), LEAD_LANES, preset.seed)
        return Signed(signature(lowest) + signature(lead), len(features), band_keys(lowest, preset.num_perm, 1))


def band_keys(minima: NDArray[np.uint32], bands: int, rows: int) -> tuple[int, ...]:
    """One 32-bit key a band of ``rows`` consecutive minima, the band's number a part of it."""
    width = rows * 4
    lanes = minima[: bands * rows].astype(">u4").tobytes()
    return tuple(xxhash.xxh32_intdigest(lanes[band * width : (band + 1) * width], band) for band in range(bands))


def sample_keys(hashes: NDArray[np.uint32], most: int) -> tuple[int, ...]:
    """The lowest of the shingle hashes that are 0 modulo 32.

    Which shingles those are does not depend on the document, so a text and a much longer one that contains it choose
    the same ones: their resemblance is low and bands miss them. Broder (1997), the sets V_m of "On the resemblance and
    containment of documents".
    """
    return tuple((hashes[hashes % _SAMPLE_MODULUS == 0][:most] ^ _SAMPLE_SEED).tolist())
