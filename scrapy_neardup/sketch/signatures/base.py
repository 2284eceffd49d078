"""The interface of all kinds of signatures."""

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

    ``features`` are those whose document frequencies are learned, 32-bit hashes, if the preset learns them.
    """

    signature: bytes = b""
    size: int = 0
    band_keys: tuple[int, ...] = ()
    sample_keys: tuple[int, ...] = ()
    features: NDArray[np.uint32] | None = None


UNSIGNED = SignedText()
"""For a text that is too short: it is only compared with texts that are exactly the same."""


class Signer(Protocol):
    """Makes the signatures of one preset. ``frequencies`` is None if the preset learns none."""

    frequencies: Frequencies | None

    def sign(self, bodies: Sequence[Body]) -> list[SignedText]: ...
