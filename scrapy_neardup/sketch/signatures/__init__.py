"""Signatures: MinHash, SimHash and cosines, and the presets that choose between them."""

from __future__ import annotations

from collections.abc import Callable

from scrapy_neardup.sketch.signatures.base import Signer
from scrapy_neardup.sketch.signatures.minhash import MinHashSigner, SketchSigner
from scrapy_neardup.sketch.signatures.presets import Preset
from scrapy_neardup.sketch.signatures.reference import CosineSigner
from scrapy_neardup.sketch.signatures.simhash import SimHashSigner


def signer_for(preset: Preset) -> Signer:
    """Return the signer of the preset. Raise SettingsError if a stemmer, callable or file is missing."""
    signers: dict[str, Callable[[Preset], Signer]] = {
        "minhash": MinHashSigner,
        "sketch": SketchSigner,
        "simhash": SimHashSigner,
        "reference": CosineSigner,
    }
    return signers[preset.signature](preset)
