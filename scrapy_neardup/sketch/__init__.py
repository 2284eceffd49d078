"""Make the fingerprint of a main content: tokens, boilerplate, shingles, signature and band keys."""

from scrapy_neardup.settings.presets import PRESETS, Preset
from scrapy_neardup.sketch.fingerprint import Sketcher
from scrapy_neardup.sketch.origin import page_hash, source_hash
from scrapy_neardup.sketch.text_sketch import FACTORY, ahead_options
from scrapy_neardup.text.tokenizer import has_words

__all__ = [
    "FACTORY",
    "PRESETS",
    "Preset",
    "Sketcher",
    "ahead_options",
    "has_words",
    "page_hash",
    "source_hash",
]
