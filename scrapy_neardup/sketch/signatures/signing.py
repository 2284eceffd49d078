"""A signer for each kind of signature, those of MinHash here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from scrapy_neardup.similarity.likeness import LEAD_LANES
from scrapy_neardup.sketch.signatures.frequencies import Frequencies
from scrapy_neardup.sketch.signatures.minhash import minima, signature
from scrapy_neardup.sketch.signatures.presets import Preset
from scrapy_neardup.sketch.signatures.signed import Signed, Signer
from scrapy_neardup.sketch.text.features import distinct_features
from scrapy_neardup.sketch.text.reading import Powers

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from scrapy_neardup.sketch.text.body import Body

_SAMPLE_MODULUS = np.uint32(32)
_HALF = np.uint64(32)
_MIX = np.uint64(0xFF51_AFD7_ED55_8CCD)
_POWERS = Powers(0xC4CE_B9FE_1A85_EC53)
_SAMPLE_SEED = np.uint32(0x5A3D_17E9)  # apart from the keys of bands
_SHORT_TEXT = 100  # words; the first part of a shorter text is too little to compare


def signer_for(preset: Preset) -> Signer:
    """Raises SettingsError where what the preset names is not there."""
    if preset.signature == "simhash":
        from scrapy_neardup.sketch.signatures.simhash import SimHashSigner

        return SimHashSigner(preset)
    if preset.signature == "reference":
        from scrapy_neardup.sketch.signatures.reference import ReferenceSigner

        return ReferenceSigner(preset)
    return SketchSigner(preset) if preset.signature == "sketch" else MinHashSigner(preset)


class MinHashSigner:
    """MinHash of a set of shingles, the commonest of them left out where the preset says so."""

    def __init__(self, preset: Preset) -> None:
        self._preset = preset
        self.frequencies = Frequencies() if preset.learns else None

    def sign(self, bodies: Sequence[Body]) -> list[Signed]:
        preset, learned = self._preset, self.frequencies
        features = [distinct_features(body, preset) for body in bodies]
        hashes = features if learned is None else [self._rare(each, learned) for each in features]
        lowest = minima(hashes, preset.num_perm, preset.seed)
        return [
            Signed(
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
    """A few lanes by which candidates are proposed, and more of the text's beginning by which they are confirmed."""

    frequencies: Frequencies | None = None

    def __init__(self, preset: Preset) -> None:
        self._preset = preset

    def sign(self, bodies: Sequence[Body]) -> list[Signed]:
        preset = self._preset
        features = [distinct_features(body, preset) for body in bodies]
        lowest = minima([each[: preset.sample or None] for each in features], preset.num_perm, preset.seed)
        firsts = [distinct_features(body, preset, _lead_share(body, preset)) for body in bodies]
        leads = minima(firsts, LEAD_LANES, preset.seed)
        keys = band_keys(lowest, preset.num_perm, 1)
        return [
            Signed(signature(lowest[number]) + signature(leads[number]), len(features[number]), keys[number])
            for number in range(len(bodies))
        ]


def _lead_share(body: Body, preset: Preset) -> float:
    """Return which first part of a text confirms candidates: all of a short one (Rodier and Carter 2020, 2.2.3)."""
    return 1.0 if body.words < _SHORT_TEXT else preset.lead_share


def band_keys(minima: NDArray[np.uint32], bands: int, rows: int) -> list[tuple[int, ...]]:
    """For each row of minima one 32-bit key a band of ``rows`` consecutive ones, the band's number a part of it."""
    keys = np.zeros((len(minima), bands), np.uint64)
    keys += np.arange(bands, dtype=np.uint64)
    for row, power in enumerate(_POWERS.up_to(rows + 1)[0][1 : rows + 1]):
        keys += minima[:, row : bands * rows : rows] * power
    keys ^= keys >> _HALF
    keys *= _MIX
    return list(map(tuple, (keys >> _HALF).tolist()))


def sample_keys(hashes: NDArray[np.uint32], most: int) -> tuple[int, ...]:
    """The lowest of the shingle hashes that are 0 modulo 32.

    Which shingles those are does not depend on the document, so a text and a much longer one that contains it choose
    the same ones: their resemblance is low and bands miss them. Broder (1997), the sets V_m of "On the resemblance and
    containment of documents".
    """
    return tuple((hashes[hashes % _SAMPLE_MODULUS == 0][:most] ^ _SAMPLE_SEED).tolist())
