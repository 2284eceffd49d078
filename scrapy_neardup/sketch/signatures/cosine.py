"""Signatures of cosines with the parts of a reference text, and the keys by which they are found."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

import numpy as np
import xxhash

from scrapy_neardup.sketch.signatures.base import UNSIGNED, SignedText
from scrapy_neardup.sketch.signatures.frequencies import Frequencies
from scrapy_neardup.sketch.signatures.presets import Preset
from scrapy_neardup.sketch.signatures.reference import PARTS, load_reference

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from scrapy_neardup.sketch.text.body import Body


class CosineSigner:
    """Signatures of cosines, found by the sides of random planes on which they lie (Charikar 2002).

    All planes go through the average signature of news. A key is made of the sides of a band of planes: two signatures
    at a small angle are mostly on the same sides.
    """

    frequencies: Frequencies | None = None

    def __init__(self, preset: Preset) -> None:
        """Raise SettingsError if the reference cannot be used."""
        self._preset = preset
        self._reference = load_reference(preset.reference)
        self._planes = _planes(preset.bands * preset.rows, preset.seed)

    def sign(self, bodies: Sequence[Body]) -> list[SignedText]:
        return list(map(self._sign, bodies))

    def _sign(self, body: Body) -> SignedText:
        signature = self._reference.sign(" ".join(body.tokens))
        if not signature:
            return UNSIGNED
        return SignedText(signature, len(body.tokens), self._band_keys(signature))

    def _band_keys(self, signature: bytes) -> tuple[int, ...]:
        aside = np.frombuffer(signature, np.uint8).astype(np.int64) - self._reference.mean
        sides = (aside @ self._planes > 0).astype(np.uint8).reshape(self._preset.bands, self._preset.rows)
        return tuple(xxhash.xxh32_intdigest(band.tobytes(), number) for number, band in enumerate(sides))


def _planes(count: int, seed: int) -> NDArray[np.int64]:
    """Return normal vectors of 1 and -1, one in each column. They are the same on every machine."""
    needed = -(-PARTS * count // 64)
    words = b"".join(xxhash.xxh3_64_digest(number.to_bytes(4, "big"), seed) for number in range(needed))
    bits = np.unpackbits(np.frombuffer(words, np.uint8))[: PARTS * count]
    return cast("NDArray[np.int64]", bits.astype(np.int64).reshape(PARTS, count) * 2 - 1)
