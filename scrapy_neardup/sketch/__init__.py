"""Main content -> Fingerprint: tokens, shingles, signature, band keys, figures."""

from scrapy_neardup.sketch.fingerprint import Sketcher
from scrapy_neardup.sketch.presets import PRESETS, Preset

__all__ = ["PRESETS", "Preset", "Sketcher"]
