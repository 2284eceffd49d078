"""Document -> Fingerprint: the one place where the parts of a sketch meet."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import xxhash

from scrapy_neardup.document import Document, Fingerprint
from scrapy_neardup.sketch.body import Body, read_body
from scrapy_neardup.sketch.boilerplate import BoilerplateGuard, Trace
from scrapy_neardup.sketch.figures import find_figures, pack_figures
from scrapy_neardup.sketch.minhash import minima, signature
from scrapy_neardup.sketch.presets import Preset
from scrapy_neardup.sketch.specifics import find_specifics
from scrapy_neardup.sketch.tokens import shingle_hashes
from scrapy_neardup.timings import Timings

if TYPE_CHECKING:
    from numpy.typing import NDArray

_MOST_SKETCHES = 512
_TEXT_KEY_SEED = 0x7E87
_URL_KEY_SEED = 0x0421
_SAMPLE_MODULUS = np.uint32(32)
_SAMPLE_SEED = np.uint32(0x5A3D_17E9)  # apart from the keys of bands


@dataclass(frozen=True, slots=True)
class TextSketch:
    """What of a fingerprint depends on the text alone, and on what was known of its boilerplate."""

    trace: Trace
    boilerplate: frozenset[int]  # keys of the lines left out
    text_hash: bytes
    figures: bytes
    signature: bytes = b""
    size: int = 0
    band_keys: tuple[int, ...] = ()
    sample_keys: tuple[int, ...] = ()
    specifics: bytes = b""


class Sketcher:
    """Makes the fingerprints of one configuration, and learns from the documents which lines are boilerplate.

    The same documents in the same order give the same fingerprints everywhere. The last ``_MOST_SKETCHES`` texts are
    not sketched again. ``timings`` are those of the others.
    """

    def __init__(self, preset: Preset, *, min_words: int = 20, figures: bool = True, by_source: bool = False) -> None:
        """``by_source`` keeps sources apart already by their keys: copies elsewhere crowd out no candidate."""
        self.preset = preset
        self.by_source = by_source
        self.min_words = min_words
        self.figures = figures
        self.timings = Timings()
        self._boilerplate = BoilerplateGuard()
        self._sketches: OrderedDict[bytes, TextSketch] = OrderedDict()
        self._lock = threading.Lock()  # long texts are sketched in a thread

    def body(self, text: str) -> Body:
        """What of a main content enters the fingerprint, by what is known of boilerplate."""
        body, trace = self._read(text)
        with self._lock:
            return body.without(self._boilerplate.known(trace, self.min_words))

    def shingle_width(self, body: Body) -> int:
        """Tokens in a shingle of most of the text."""
        return self.preset.shingle_characters if body.unspaced else self.preset.shingle_words

    def shingles(self, body: Body) -> NDArray[np.uint32]:
        """Distinct hashes, sorted."""
        words, characters = self.preset.shingle_words, self.preset.shingle_characters
        return shingle_hashes(body.tokens, body.kept_hashes, words, characters, unspaced=body.unspaced)

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
            specifics=sketch.specifics,
        )

    def sketch(self, text: str) -> TextSketch:
        """Learns from the text, each time it comes."""
        key = xxhash.xxh3_128_digest(text.encode("utf-8", "surrogatepass"))
        with self._lock:
            if (known := self._sketches.get(key)) is not None:
                self._sketches.move_to_end(key)
                boilerplate = self._boilerplate.learn(known.trace, self.min_words)
                if boilerplate == known.boilerplate:
                    return known
        with self.timings.measure():
            body, trace = self._read(text)
            if known is None:
                with self._lock:
                    boilerplate = self._boilerplate.learn(trace, self.min_words)
            sketch = self._sketch(text, body.without(boilerplate), trace)
        with self._lock:
            self._sketches[key] = sketch
            if len(self._sketches) > _MOST_SKETCHES:
                self._sketches.popitem(last=False)
        return sketch

    def _read(self, text: str) -> tuple[Body, Trace]:
        body = read_body(text, min_words=self.min_words, min_block_words=self.preset.min_block_words)
        return body, Trace.of(body, self.shingle_width(body))

    def _sketch(self, text: str, body: Body, trace: Trace) -> TextSketch:
        sketch = TextSketch(
            trace=trace,
            boilerplate=body.boilerplate,
            text_hash=body.text_hash,
            figures=pack_figures(find_figures(text)) if self.figures else b"",
        )
        if body.words < self.min_words:
            return sketch
        preset, hashes = self.preset, self.shingles(body)
        lowest = minima(hashes, preset.num_perm, preset.seed)
        return replace(
            sketch,
            signature=signature(lowest),
            size=len(hashes),
            band_keys=band_keys(lowest, preset.bands, preset.rows),
            sample_keys=sample_keys(hashes, preset.samples) + body.lead_keys(preset.leads),
            specifics=find_specifics(body.text),
        )


def _salted(keys: tuple[int, ...], salt: int) -> tuple[int, ...]:
    return tuple(key ^ salt for key in keys) if salt else keys


def band_keys(minima: NDArray[np.uint32], bands: int, rows: int) -> tuple[int, ...]:
    """One 32-bit key a band of ``rows`` consecutive minima, the band's number a part of it."""
    width = rows * 4
    lanes = minima[: bands * rows].astype(">u4").tobytes()
    return tuple(xxhash.xxh32_intdigest(lanes[band * width : (band + 1) * width], band) for band in range(bands))


def sample_keys(hashes: NDArray[np.uint32], most: int) -> tuple[int, ...]:
    """The lowest of the shingle hashes that are 0 modulo 32.

    Which shingles those are does not depend on the document, so a text and a much longer one that contains it choose
    the same ones: their resemblance is low and bands miss them. Broder (1997), the sets V_m of "On the resemblance and
    containment of documents".
    """
    return tuple((hashes[hashes % _SAMPLE_MODULUS == 0][:most] ^ _SAMPLE_SEED).tolist())
