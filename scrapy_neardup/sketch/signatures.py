"""Signatures of texts, and the keys by which documents with like signatures are found: one signer for each kind."""

import json
import sys
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import import_module, resources
from importlib.util import LazyLoader, find_spec, module_from_spec
from typing import Any, cast

import numpy as np
import xxhash
from numpy.typing import NDArray

from scrapy_neardup.evidence.likeness import CONFIRMING_LANES
from scrapy_neardup.records.learned import Frequencies
from scrapy_neardup.records.packing import split
from scrapy_neardup.settings.presets import Preset
from scrapy_neardup.text.folding import code_points
from scrapy_neardup.text.lines import Body
from scrapy_neardup.text.tokenizer import Powers, mixed, shingle_hashes

PARTS = 150
_AT_ONCE = 256  # shingles: their products with 256 lanes stay in the processor's cache

_POWERS = Powers(0xC4CE_B9FE_1A85_EC53)
_SAMPLE_SEED = np.uint32(0x5A3D_17E9)  # apart from the keys of bands

_SCALE = 640.0  # lanes of a vector of length 1; those over 0.4 are cut to 255
_CHARACTER_BITS = np.uint64(21)


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


# Used for a text that is too short. Such a text matches only exact copies of it.
UNSIGNED = SignedText()


# MinHash


class MinHashSigner:
    """MinHash of a set of shingles, by datasketch. A lane is the lowest byte of a minimum.

    This is b-bit minwise hashing (Li and Koenig 2010): four lanes take the memory of one whole minimum. The lowest
    bytes of two unequal minima are equal once in 256 times, and the estimate of resemblance allows for that.

    The signatures of a sketch have two parts: a few lanes propose candidates, and many of the whole text confirm them.
    """

    frequencies: Frequencies | None = None

    def __init__(self, preset: Preset) -> None:
        self._preset = preset

    def sign(self, bodies: Sequence[Body]) -> list[SignedText]:
        preset = self._preset
        shingles = [distinct_features(body, preset) for body in bodies]
        lowest = minima([each[: preset.sample or None] for each in shingles], preset.num_perm, preset.seed)
        keys = band_keys(lowest, preset.bands, preset.rows)
        if preset.signature == "sketch":
            lowest = np.hstack((lowest, minima(shingles, CONFIRMING_LANES, preset.seed)))
        return [
            SignedText(
                row.astype(np.uint8).tobytes(),
                len(hashes),
                of_bands,
                sample_keys(hashes, preset.samples) + body.lead_keys(preset.leads),
            )
            for row, of_bands, hashes, body in zip(lowest, keys, shingles, bodies, strict=True)
        ]


def distinct_features(body: Body, preset: Preset) -> NDArray[np.uint32]:
    """Return the distinct hashes of a body's shingles, sorted. Shingles are of words or of letters."""
    hashes = body.hashes
    are_unspaced = body.reading.are_unspaced.take(body.kept.places)
    if preset.features == "letters":
        hashes = code_points("".join(body.tokens)).astype(np.uint64)
        are_unspaced = np.ones(len(hashes), bool)
    return shingle_hashes(hashes, preset.shingle_words, preset.shingle_characters, are_unspaced)


def band_keys(minima: NDArray[np.uint32], bands: int, rows: int) -> list[tuple[int, ...]]:
    """Return 32-bit keys for each row of minima: one for each band of ``rows`` consecutive minima.

    The number of the band is part of its key.
    """
    used = minima[:, : bands * rows].astype(np.uint64).reshape(-1, bands, rows)
    powers = _POWERS.up_to(rows + 1)[0][1 : rows + 1]
    keys = cast("NDArray[np.uint64]", used @ powers + np.arange(bands, dtype=np.uint64))
    return list(map(tuple, mixed(keys).tolist()))


def sample_keys(hashes: NDArray[np.uint32], most: int) -> tuple[int, ...]:
    """Return keys of the lowest shingle hashes that are 0 modulo 32.

    A text and a much longer one that contains it have a low resemblance, so bands miss them. Both choose the same
    shingles here, because the choice does not depend on the rest of the document. These are the sets V_m of Broder
    (1997), "On the resemblance and containment of documents".
    """
    return tuple((hashes[hashes % np.uint32(32) == 0][:most] ^ _SAMPLE_SEED).tolist())


def minima(sets: Sequence[NDArray[np.uint32]], num_perm: int, seed: int) -> NDArray[np.uint32]:
    """Return one row for each set of 32-bit shingle hashes: its minimum under each permutation of datasketch."""
    minhash = _empty_minhash(num_perm, seed).copy()  # threads share the empty one
    lowest = np.empty((len(sets), num_perm), np.uint32)
    for row, hashes in zip(lowest, sets, strict=True):
        minhash.clear()
        for first in range(0, len(hashes), _AT_ONCE):
            minhash.update_batch([hashes[first : first + _AT_ONCE]])
        row[:] = minhash.hashvalues
    return lowest


@lru_cache(maxsize=8)
def _empty_minhash(num_perm: int, seed: int) -> Any:
    """Return a MinHash that takes whole arrays of hashes for one value."""
    return load_minhash()(num_perm, seed, scheme="affine32", hashfunc=lambda hashes: hashes)


def load_minhash() -> Any:
    """Import datasketch's class MinHash, but not scipy, which the package imports: 60 MB and half a second.

    ``import datasketch`` gives a lazy module afterwards: the package itself runs when somebody uses anything else of
    it, and has the same class.
    """
    if "datasketch" not in sys.modules:
        spec: Any = find_spec("datasketch")
        package = sys.modules["datasketch"] = module_from_spec(spec)
        with suppress(ImportError):  # if a later version of the module needs the package, that is imported below
            import_module("datasketch.minhash")
        LazyLoader(spec.loader).exec_module(package)
    return import_module("datasketch.minhash").MinHash


# SimHash


class SimHashSigner:
    """SimHash: the signs of a weighted sum of term hashes, 64 lanes of one byte, 0 or 1.

    Terms are weighted by TF-IDF with document frequencies learned online, as in Hu and You (2017). Charikar (2002);
    Manku, Jain and Das Sarma (2007).
    """

    def __init__(self, preset: Preset) -> None:
        self._rows = preset.rows
        self.frequencies = Frequencies()

    def sign(self, bodies: Sequence[Body]) -> list[SignedText]:
        return list(map(self._sign, bodies))

    def _sign(self, body: Body) -> SignedText:
        terms = Counter(body.tokens)
        hashes = np.fromiter(
            (xxhash.xxh3_64_intdigest(term.encode("utf-8", "surrogatepass")) for term in terms), np.uint64, len(terms)
        )
        counts = np.fromiter(terms.values(), np.float64, len(terms))
        features = (hashes >> np.uint64(32)).astype(np.uint32)
        signature = simhash(hashes, counts * self.frequencies.weights(features))
        return SignedText(signature, len(terms), block_keys(signature, self._rows), (), features)


def simhash(hashes: NDArray[np.uint64], weights: NDArray[np.float64]) -> bytes:
    """Return one lane for each bit of the hashes: 1 if the terms with the bit weigh more than those without it."""
    bits = np.unpackbits(hashes.astype(">u8").view(np.uint8).reshape(-1, 8), axis=1)
    # Summed in whole numbers, so that the order of the terms and the machine do not matter.
    whole = np.rint(weights * (1 << 20)).astype(np.int64)
    return bytes((2 * (whole @ bits.astype(np.int64)) > whole.sum()).astype(np.uint8).tobytes())


def block_keys(signature: bytes, bits: int) -> tuple[int, ...]:
    """Return the 32-bit keys of a signature: one for each of its blocks of so many bits."""
    return tuple(xxhash.xxh32_intdigest(block, number) for number, block in enumerate(split(signature, bits)))


# Cosines with the parts of a reference text


@dataclass(frozen=True, slots=True, eq=False)
class Reference:
    """``keys`` of the 3-grams, ascending, and the ``part`` each is of; ``mean`` is the average signature of news."""

    keys: NDArray[np.uint64]
    part: NDArray[np.int64]
    lengths: NDArray[np.float64]  # of each part, as a vector
    mean: NDArray[np.int64]

    @classmethod
    def of(cls, grams: list[str], mean: bytes) -> "Reference":
        keys = np.concatenate([gram_keys(gram) for gram in grams])
        # The parts are runs of nearly equal length.
        part = np.arange(len(grams), dtype=np.int64) * PARTS // len(grams)
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
        vector = np.bincount(self.part[places[found]], weights=counts[found], minlength=PARTS) / self.lengths
        length = float(np.sqrt((vector * vector).sum()))
        if not length:
            return b""
        return bytes(np.minimum(np.rint(vector * (_SCALE / length)), 255).astype(np.uint8).tobytes())


def gram_keys(text: str) -> NDArray[np.uint64]:
    """Return one number for each run of three characters."""
    codes = code_points(text).astype(np.uint64)
    return cast("NDArray[np.uint64]", (codes[:-2] << _CHARACTER_BITS | codes[1:-1]) << _CHARACTER_BITS | codes[2:])


@cache
def load_reference() -> Reference:
    content = json.loads(
        resources.files("scrapy_neardup.sketch").joinpath("reference.json").read_text(encoding="utf-8")
    )
    return Reference.of(content["grams"], bytes(content["mean"]))


class CosineSigner:
    """Signatures of cosines with the reference text, found by the sides of random planes on which they lie.

    All planes go through the average signature of news. A key is made of the sides of a band of planes: two signatures
    at a small angle are mostly on the same sides (Charikar 2002).

    Mohammadi and Khasteh (2020), "A fast text similarity measure for large document collections using multireference
    cosine and genetic algorithm". The list is ``reference.json``: a genetic algorithm found it on news texts.
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


# The signers by the kind of signature that a preset names.
SIGNERS: dict[str, type[MinHashSigner | SimHashSigner | CosineSigner]] = {
    "minhash": MinHashSigner,
    "sketch": MinHashSigner,
    "simhash": SimHashSigner,
    "reference": CosineSigner,
}
