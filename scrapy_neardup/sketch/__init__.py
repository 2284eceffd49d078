"""Main content -> Fingerprint: tokens, shingles, signature, band keys, figures."""

from scrapy_neardup.sketch.fingerprint import Sketcher
from scrapy_neardup.sketch.presets import PRESETS, Preset
from scrapy_neardup.sketch.tokens import has_words

__all__ = ["PRESETS", "Preset", "Sketcher", "has_words"]
