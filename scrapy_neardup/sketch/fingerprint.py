"""Document -> Fingerprint: the one place where the parts of a sketch meet."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import xxhash

from scrapy_neardup.document import Document, Fingerprint
from scrapy_neardup.measures import LANE_BYTES
from scrapy_neardup.sketch.body import Body, read_body
from scrapy_neardup.sketch.figures import find_figures, pack_figures
from scrapy_neardup.sketch.minhash import sign
from scrapy_neardup.sketch.presets import Preset
from scrapy_neardup.sketch.specifics import find_specifics
from scrapy_neardup.sketch.tokens import shingle_hashes

if TYPE_CHECKING:
    from numpy.typing import NDArray

_TEXT_KEY_SEED = 0x7E87
_URL_KEY_SEED = 0x0421
_SAMPLE_MODULUS = np.uint32(32)
_SAMPLE_SEED = np.uint32(0x5A3D_17E9)  # apart from the keys of bands


class Sketcher:
    """Makes the fingerprints of one configuration. Pure: the same document gives the same fingerprint everywhere."""

    def __init__(self, preset: Preset, *, min_words: int = 20, figures: bool = True, by_source: bool = False) -> None:
        """``by_source`` keeps sources apart already by their keys: copies elsewhere crowd out no candidate."""
        self.preset = preset
        self.by_source = by_source
        self.min_words = min_words
        self.figures = figures

    def body(self, text: str) -> Body:
        """What of a main content enters the fingerprint."""
        return read_body(text, min_words=self.min_words, min_block_words=self.preset.min_block_words)

    def shingle_width(self, body: Body) -> int:
        """Tokens in a shingle of most of the text."""
        return self.preset.shingle_characters if body.unspaced else self.preset.shingle_words

    def shingles(self, body: Body) -> NDArray[np.uint32]:
        """Distinct hashes, sorted."""
        words, characters = self.preset.shingle_words, self.preset.shingle_characters
        return shingle_hashes(body.tokens, body.kept_hashes, words, characters, unspaced=body.unspaced)

    def fingerprint(self, document: Document, body: Body | None = None) -> Fingerprint:
        """A text of under ``min_words`` words has an empty signature: it is compared by its hash alone.

        ``body`` is that of the document's text where it has been read before.
        """
        body = body or self.body(document.text)
        text_hash = body.text_hash
        url_hash = xxhash.xxh64_digest(document.url_identity.encode("utf-8", "surrogatepass"))
        source_hash = xxhash.xxh32_digest(document.source.encode()) if document.source else bytes(4)
        salt = int.from_bytes(source_hash, "big") if self.by_source else 0
        identity_keys = [xxhash.xxh32_intdigest(text_hash, _TEXT_KEY_SEED) ^ salt]
        if document.url_identity:
            identity_keys.append(xxhash.xxh32_intdigest(url_hash, _URL_KEY_SEED))
        signature, size = b"", 0
        samples: tuple[int, ...] = ()
        if body.words >= self.min_words:
            hashes = self.shingles(body)
            signature, size = sign(hashes, self.preset.num_perm, self.preset.seed), len(hashes)
            samples = sample_keys(hashes, self.preset.samples)
        return Fingerprint(
            signature=signature,
            size=size,
            text_hash=text_hash,
            url_hash=url_hash if document.url_identity else bytes(8),
            source_hash=source_hash,
            identity_keys=tuple(identity_keys),
            band_keys=tuple(key ^ salt for key in band_keys(signature, self.preset.bands, self.preset.rows)),
            sample_keys=tuple(key ^ salt for key in samples),
            figures=pack_figures(find_figures(document.text)) if self.figures else b"",
            specifics=find_specifics(body.text) if signature else b"",
        )


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
