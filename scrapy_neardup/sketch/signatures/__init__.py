"""Signatures: MinHash, SimHash and cosines, and the presets that choose between them."""

from __future__ import annotations

from importlib import import_module
from typing import cast

from scrapy_neardup.sketch.signatures.base import Signer
from scrapy_neardup.sketch.signatures.presets import Preset, Signature

_SIGNERS: dict[Signature, tuple[str, str]] = {
    "minhash": ("minhash", "MinHashSigner"),
    "sketch": ("minhash", "SketchSigner"),
    "simhash": ("simhash", "SimHashSigner"),
    "reference": ("reference", "CosineSigner"),
}
"""Module and class of each kind, loaded when it is used."""


def signer_for(preset: Preset) -> Signer:
    """Return the signer of the preset. Raise SettingsError if a stemmer, callable or file is missing."""
    module, name = _SIGNERS[preset.signature]
    return cast("Signer", getattr(import_module(f"{__name__}.{module}"), name)(preset))
