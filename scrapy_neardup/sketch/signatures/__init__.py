"""Signatures: MinHash, SimHash and cosines, and the presets that choose between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup.records.learned import Frequencies
from scrapy_neardup.text.body import Body

if TYPE_CHECKING:
    from scrapy_neardup.sketch.signatures.presets import Preset, Signature


@dataclass(frozen=True, slots=True)
class SignedText:
    """A signature, the keys it is found by, and the number of features it was made of.

    ``features`` are 32-bit hashes of the features whose document frequencies are learned. There are none if the preset
    learns no frequencies.
    """

    signature: bytes = b""
    size: int = 0
    band_keys: tuple[int, ...] = ()
    sample_keys: tuple[int, ...] = ()
    features: NDArray[np.uint32] | None = None


UNSIGNED = SignedText()
"""Used for a text that is too short. Such a text matches only exact copies of it."""


class Signer(Protocol):
    """Makes the signatures of one preset. ``frequencies`` is None if the preset learns none."""

    frequencies: Frequencies | None

    def sign(self, bodies: Sequence[Body]) -> list[SignedText]: ...


_SIGNERS: dict[Signature, tuple[str, str]] = {
    "minhash": ("minhash", "MinHashSigner"),
    "sketch": ("minhash", "MinHashSigner"),
    "simhash": ("simhash", "SimHashSigner"),
    "reference": ("reference", "CosineSigner"),
}
"""Module and class of each kind, loaded when it is used."""


def signer_for(preset: Preset) -> Signer:
    module, name = _SIGNERS[preset.signature]
    return cast("Signer", getattr(import_module(f"{__name__}.{module}"), name)(preset))
