"""Document -> Fingerprint: the one place where the parts of a sketch meet."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np
import xxhash

from scrapy_neardup.document import Document, Fingerprint
from scrapy_neardup.measures import LANE_BYTES
from scrapy_neardup.sketch.figures import find_figures, pack_figures
from scrapy_neardup.sketch.minhash import sign
from scrapy_neardup.sketch.presets import Preset
from scrapy_neardup.sketch.tokens import (
    blocks_and_tokens,
    count_words,
    has_unspaced,
    shingle_hashes,
    without_punctuation,
)
from scrapy_neardup.timings import Timings

if TYPE_CHECKING:
    from numpy.typing import NDArray

_MOST_SKETCHES = 512
_MOST_CHARACTERS = 400_000  # some 60,000 words; what is longer is no article, and memory is bounded
_TEXT_KEY_SEED = 0x7E87
_URL_KEY_SEED = 0x0421
_SAMPLE_MODULUS = np.uint32(32)
_SAMPLE_SEED = np.uint32(0x5A3D_17E9)  # apart from the keys of bands


@dataclass(slots=True)
class Body:
    """Blocks of a text, their tokens one after the other, and how many words that is."""

    unspaced: bool  # whether any of the text is in a script written without spaces
    blocks: list[str] = field(default_factory=list)
    tokens: list[str] = field(default_factory=list)
    words: int = 0

    @property
    def text(self) -> str:
        return "\n".join(self.blocks)


@dataclass(frozen=True, slots=True)
class TextSketch:
    """What of a fingerprint depends on the text alone."""

    signature: bytes
    size: int
    text_hash: bytes
    band_keys: tuple[int, ...]
    sample_keys: tuple[int, ...]
    figures: bytes


class Sketcher:
    """Makes the fingerprints of one configuration: the same document gives the same fingerprint everywhere.

    The last ``_MOST_SKETCHES`` texts are not sketched again. ``timings`` are those of the others.
    """

    def __init__(self, preset: Preset, *, min_words: int = 20, figures: bool = True, by_source: bool = False) -> None:
        """``by_source`` keeps sources apart already by their keys: copies elsewhere crowd out no candidate."""
        self.preset = preset
        self.by_source = by_source
        self.min_words = min_words
        self.figures = figures
        self.timings = Timings()
        self._sketches: OrderedDict[bytes, TextSketch] = OrderedDict()
        self._lock = threading.Lock()  # long texts are sketched in a thread

    def prepare(self) -> None:
        """Import what the first signature needs."""
        sign(np.zeros(1, dtype=np.uint32), self.preset.num_perm, self.preset.seed)

    def body(self, text: str) -> Body:
        """What of a main content enters the fingerprint.

        Short blocks are captions, links and bylines; a text that is nothing but short blocks (a poem, a list of
        results) is taken whole.
        """
        unspaced = has_unspaced(without_punctuation(text))
        blocks = [
            (block, tokens, count_words(tokens, unspaced=unspaced))
            for block, tokens in blocks_and_tokens(text[:_MOST_CHARACTERS], unspaced=unspaced)
            if tokens
        ]
        long = [block for block in blocks if block[2] >= self.preset.min_block_words]
        kept = long if sum(words for _, _, words in long) >= self.min_words else blocks
        return Body(
            unspaced,
            [block for block, _, _ in kept],
            list(chain.from_iterable(tokens for _, tokens, _ in kept)),
            sum(words for _, _, words in kept),
        )

    def fingerprint(self, document: Document) -> Fingerprint:
        """A text of under ``min_words`` words has an empty signature: it is compared by its hash alone."""
        sketch = self.sketch(document.text)
        url_hash = xxhash.xxh64_digest(document.url_identity.encode("utf-8", "surrogatepass"))
        source_hash = (
            xxhash.xxh32_digest(document.source.encode("utf-8", "surrogatepass")) if document.source else bytes(4)
        )
        salt = int.from_bytes(source_hash, "big") if self.by_source else 0
        identity_keys = [xxhash.xxh32_intdigest(sketch.text_hash, _TEXT_KEY_SEED) ^ salt]
        if document.url_identity:
            identity_keys.append(xxhash.xxh32_intdigest(url_hash, _URL_KEY_SEED))
        return Fingerprint(
            signature=sketch.signature,
            size=sketch.size,
            text_hash=sketch.text_hash,
            url_hash=url_hash if document.url_identity else bytes(8),
            source_hash=source_hash,
            identity_keys=tuple(identity_keys),
            band_keys=_salted(sketch.band_keys, salt),
            sample_keys=_salted(sketch.sample_keys, salt),
            figures=sketch.figures,
        )

    def sketch(self, text: str) -> TextSketch:
        key = xxhash.xxh3_128_digest(text.encode("utf-8", "surrogatepass"))
        with self._lock:
            if (known := self._sketches.get(key)) is not None:
                self._sketches.move_to_end(key)
                return known
        with self.timings.measure():
            sketch = self._sketch(text)
        with self._lock:
            self._sketches[key] = sketch
            if len(self._sketches) > _MOST_SKETCHES:
                self._sketches.popitem(last=False)
        return sketch

    def _sketch(self, text: str) -> TextSketch:
        body = self.body(text)
        tokens = body.tokens
        signature, size = b"", 0
        samples: tuple[int, ...] = ()
        if body.words >= self.min_words:
            hashes = shingle_hashes(
                tokens, self.preset.shingle_words, self.preset.shingle_characters, unspaced=body.unspaced
            )
            signature, size = sign(hashes, self.preset.num_perm, self.preset.seed), len(hashes)
            samples = sample_keys(hashes, self.preset.samples)
        return TextSketch(
            signature=signature,
            size=size,
            text_hash=xxhash.xxh64_digest(" ".join(tokens).encode("utf-8", "surrogatepass")),
            band_keys=band_keys(signature, self.preset.bands, self.preset.rows),
            sample_keys=samples,
            figures=pack_figures(find_figures(text)) if self.figures else b"",
        )


def _salted(keys: tuple[int, ...], salt: int) -> tuple[int, ...]:
    return tuple(key ^ salt for key in keys) if salt else keys


def band_keys(signature: bytes, bands: int, rows: int) -> tuple[int, ...]:
    """One 32-bit key a band of ``rows`` consecutive lanes, the band's number a part of it; none of no signature."""
    if not signature:
        return ()
    width = rows * LANE_BYTES
    return tuple(xxhash.xxh32_intdigest(signature[band * width : (band + 1) * width], band) for band in range(bands))


def sample_keys(hashes: NDArray[np.uint32], most: int) -> tuple[int, ...]:
    """The lowest of the shingle hashes that are 0 modulo 32.

    Which shingles those are does not depend on the document, so a text and a much longer one that contains it choose
    the same ones: their resemblance is low and bands miss them. Broder (1997), the sets V_m of "On the resemblance and
    containment of documents".
    """
    return tuple((hashes[hashes % _SAMPLE_MODULUS == 0][:most] ^ _SAMPLE_SEED).tolist())
