"""What every kind of signature makes of a text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from scrapy_neardup.sketch.signatures.frequencies import Frequencies
    from scrapy_neardup.sketch.text.body import Body


@dataclass(frozen=True, slots=True)
class SignedText:
    """A signature, the keys it is found by, and the number of features it was made of.

    ``features`` are those whose document frequencies are learned, 32-bit hashes, where any are.
    """

    signature: bytes = b""
    size: int = 0
    band_keys: tuple[int, ...] = ()
    sample_keys: tuple[int, ...] = ()
    features: NDArray[np.uint32] | None = None


UNSIGNED = SignedText()
"""Of a text too short to be compared other than exactly."""


class Signer(Protocol):
    """Makes the signatures of one preset. ``frequencies`` are None where it learns none."""

    frequencies: Frequencies | None

    def sign(self, bodies: Sequence[Body]) -> list[SignedText]: ...
