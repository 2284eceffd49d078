"""Signatures against a reference text: cosines of a text with the parts of a list of character 3-grams.

The signatures are found by the sides of random planes on which they lie (Charikar 2002).

Mohammadi and Khasteh (2020), "A fast text similarity measure for large document collections using multireference cosine
and genetic algorithm". ``benchmarks/train_reference.py`` found the list, which is ``reference.json``.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, cast

import numpy as np
import xxhash
from numpy.typing import NDArray

from scrapy_neardup.records.learned import Frequencies
from scrapy_neardup.sketch.signatures import UNSIGNED, SignedText
from scrapy_neardup.text.body import Body
from scrapy_neardup.text.folding import code_points

if TYPE_CHECKING:
    from scrapy_neardup.sketch.signatures.presets import Preset

GRAMS = 1000
PARTS = 150
WIDTH = 3  # characters
FORMAT = 1
_SCALE = 640.0  # lanes of a vector of length 1; those over 0.4 are cut to 255
_CHARACTER_BITS = np.uint64(21)


@dataclass(frozen=True, slots=True, eq=False)
class Reference:
    """``keys`` of the 3-grams, ascending, and the ``part`` each is of; ``mean`` is the average signature of news."""

    keys: NDArray[np.uint64]
    part: NDArray[np.int64]
    lengths: NDArray[np.float64]  # of each part, as a vector
    mean: NDArray[np.int64]

    @classmethod
    def of(cls, grams: list[str], mean: bytes) -> Reference:
        keys = np.concatenate([gram_keys(gram) for gram in grams])
        part = part_numbers(len(grams))
        order = np.argsort(keys)
        lengths = np.sqrt(np.bincount(part, minlength=PARTS).astype(np.float64))
        return cls(keys[order], part[order], lengths, np.frombuffer(mean, np.uint8).astype(np.int64))

    def sign(self, text: str) -> bytes:
        """Return the cosines as ``PARTS`` lanes of one byte, scaled to a vector of length ``_SCALE``.

        The signature is empty if all cosines are 0.
        """
        keys, counts = np.unique(gram_keys(text), return_counts=True)
        places = np.searchsorted(self.keys, keys)
        places[places == len(self.keys)] = 0
        found = self.keys[places] == keys
        sums = np.bincount(self.part[places[found]], weights=counts[found], minlength=PARTS)
        vector = sums / self.lengths
        length = float(np.sqrt((vector * vector).sum()))
        if not length:
            return b""
        return bytes(np.minimum(np.rint(vector * (_SCALE / length)), 255).astype(np.uint8).tobytes())


def gram_keys(text: str) -> NDArray[np.uint64]:
    """Return one number for each run of three characters."""
    codes = code_points(text).astype(np.uint64)
    keys = (codes[:-2] << _CHARACTER_BITS | codes[1:-1]) << _CHARACTER_BITS | codes[2:]
    return cast("NDArray[np.uint64]", keys)


def part_numbers(grams: int) -> NDArray[np.int64]:
    """Return the number of the part that each 3-gram of a list is in. The parts are runs of nearly equal length."""
    return np.arange(grams, dtype=np.int64) * PARTS // grams


@cache
def load_reference() -> Reference:
    file = resources.files("scrapy_neardup.sketch.signatures").joinpath("reference.json")
    content = json.loads(file.read_text(encoding="utf-8"))
    return Reference.of(content["grams"], bytes(content["mean"]))


class CosineSigner:
    """Signatures of cosines, found by the sides of random planes on which they lie (Charikar 2002).

    All planes go through the average signature of news. A key is made of the sides of a band of planes: two signatures
    at a small angle are mostly on the same sides.
    """

    frequencies: Frequencies | None = None

    def __init__(self, preset: Preset) -> None:
        self._preset = preset
        self._reference = load_reference()
        self._planes = _planes(preset.bands * preset.rows, preset.seed)

    def sign(self, bodies: Sequence[Body]) -> list[SignedText]:
        return list(map(self._sign, bodies))

    def _sign(self, body: Body) -> SignedText:
        signature = self._reference.sign(" ".join(body.tokens))
        if not signature:
            return UNSIGNED
        aside = np.frombuffer(signature, np.uint8).astype(np.int64) - self._reference.mean
        sides = (aside @ self._planes > 0).astype(np.uint8).reshape(self._preset.bands, self._preset.rows)
        keys = tuple(xxhash.xxh32_intdigest(band.tobytes(), number) for number, band in enumerate(sides))
        return SignedText(signature, len(body.tokens), keys)


def _planes(count: int, seed: int) -> NDArray[np.int64]:
    """Return normal vectors of 1 and -1, one in each column. They are the same on every machine."""
    needed = -(-PARTS * count // 64)
    words = b"".join(xxhash.xxh3_64_digest(number.to_bytes(4, "big"), seed) for number in range(needed))
    bits = np.unpackbits(np.frombuffer(words, np.uint8))[: PARTS * count]
    return cast("NDArray[np.int64]", bits.astype(np.int64).reshape(PARTS, count) * 2 - 1)
