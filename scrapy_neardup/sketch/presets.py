"""Methods of detection, one row each."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Literal

import xxhash

from scrapy_neardup.sketch.tokens import NORMALISER

Measure = Literal["containment", "resemblance"]


@dataclass(frozen=True, slots=True)
class Preset:
    """Features, signature, bands, measure and thresholds of one method."""

    name: str
    shingle_words: int
    shingle_characters: int  # for scripts written without spaces
    min_block_words: int
    num_perm: int
    bands: int
    rows: int
    samples: int  # shingles looked up as they are, at most
    leads: int  # first sentences looked up as they are, at most
    measure: Measure
    threshold: float  # from here on a copy
    related_threshold: float  # from here on the same story
    seed: int = 1

    def config(self, *, by_source: bool = False) -> str:
        """8 hexadecimal digits of every parameter that changes a fingerprint; a part of every key of a store."""
        decisive = asdict(self)
        # Thresholds change what is said of two fingerprints, never a fingerprint.
        for name in ("name", "measure", "threshold", "related_threshold"):
            del decisive[name]
        decisive |= {"normaliser": NORMALISER, "lane_bytes": 1, "scheme": "affine32", "by_source": by_source}
        return xxhash.xxh32_hexdigest(repr(sorted(decisive.items())).encode())


PRESETS: dict[str, Preset] = {
    preset.name: preset
    for preset in (
        Preset(
            name="news",
            shingle_words=3,
            shingle_characters=5,
            min_block_words=8,
            num_perm=256,
            bands=42,
            rows=3,
            samples=8,
            leads=8,
            measure="containment",
            threshold=0.45,
            related_threshold=0.25,
        ),
    )
}
