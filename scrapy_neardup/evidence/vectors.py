"""The meaning of an article: a vector of the user's own language model (``NEARDUP_EMBEDDER``), made of title and lead.

All vectors of a model point in much the same direction, and those of one language even more so. So the mean vector of
the document's language is taken off before a vector is packed, and the cosine of two packed vectors is near 0 for
unrelated articles. The mean is learned from the stream, and all processes share it.

Whoever prints many pages in a language moves its mean. So a source adds at most ``MOST_OF_SOURCE`` documents, and one
more for each ``BLOCK`` documents of all sources. The newest ``MOST_BLOCKS`` blocks count.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np
import xxhash
from numpy.typing import NDArray

from scrapy_neardup.contracts import MOST_SOURCE_DOCUMENTS, KnownBoilerplate
from scrapy_neardup.document import counted

Vector = NDArray[np.float32]

LEAD_WORDS = 50
MEANING_WEIGHT, NEUTRAL_MEANING = 0.5, 0.35  # add to the score of two topics: weight * (cosine - neutral)
LEAST_MEANING = 0.5  # cosine of documents in one language that mean nearly the same
LEAST_FOREIGN_MEANING = 0.45  # the same in two languages
LEAST_NAMES = 2  # that such documents in two languages share
UNITING_MEANING = 0.5  # mean cosine of the members of two stories that are one

BLOCK = 64  # documents of one language
MOST_BLOCKS = MOST_SOURCE_DOCUMENTS  # as many as a store keeps
MOST_OF_SOURCE = 8  # documents; see above
FEWEST_DOCUMENTS = 20  # of all languages, before any vector is used
_PRIOR = 20  # as many documents does the mean of all languages count for in the mean of one
MOST_DIMENSIONS = 4096
_MOST_LANGUAGES = 256
_MOST_CHARACTERS = 1000  # of title and lead together
_EVERYWHERE = b"**"  # stands for the documents of all languages; those of unknown language have a mean of their own


def text_to_embed(title: str, text: str) -> str:
    """Return the text that a vector is made of: the title, and the first words of the article below it."""
    words = text[: 4 * _MOST_CHARACTERS].split(maxsplit=LEAD_WORDS)[:LEAD_WORDS]
    return f"{title}\n{' '.join(words)}"[:_MOST_CHARACTERS]


def pack_raw(vectors: object, count: int) -> list[bytes]:
    """Pack an embedder's answer for ``count`` texts. A vector of zeros becomes b"".

    Raise ValueError if it is not an array of ``count`` rows of finite numbers.
    """
    rows = np.asarray(vectors, np.float32)
    if rows.ndim != 2 or len(rows) != count or not 2 <= rows.shape[1] <= MOST_DIMENSIONS:
        raise ValueError(
            f"the embedder returned an array of shape {rows.shape} for {counted(count, 'text')}; it must return one"
            f" row of 2 to {MOST_DIMENSIONS} numbers for each text"
        )
    if not np.isfinite(rows).all():
        raise ValueError("the embedder returned numbers that are not finite")
    return [_unit(row).astype(np.float16).tobytes() if row.any() else b"" for row in rows]


def meaning_cosine(a: bytes, b: bytes) -> float | None:
    """Return the cosine of two packed vectors, in [-1, 1]; None if a document has no vector or they do not fit."""
    if not a or len(a) != len(b):
        return None
    one, other = (np.frombuffer(each, np.int8).astype(np.float32) for each in (a, b))
    squares = float(one @ one) * float(other @ other)
    return float(one @ other) / squares**0.5 if squares else None


def mean_meaning(pairs: Iterable[tuple[bytes, bytes]]) -> float:
    """Return the mean cosine of pairs of packed vectors; -1 if there are no pairs, or if a vector is missing."""
    cosines = [meaning_cosine(one, other) for one, other in pairs]
    known = [each for each in cosines if each is not None]
    return sum(known) / len(known) if known and len(known) == len(cosines) else -1.0


def meaning_part(cosine: float) -> float:
    """Return what the vectors of two documents in one language add to the score of their topics."""
    return MEANING_WEIGHT * (cosine - NEUTRAL_MEANING)


@dataclass(slots=True)
class _LanguageMean:
    """The mean of one language: the sum of the block that is being filled, and the blocks before it.

    A block is its number of documents in a byte, then their mean vector.
    """

    total: Vector
    documents: int = 0  # in ``total``
    seen: int = 0  # documents that came, whether they count or not
    by_source: Counter[bytes] = field(default_factory=Counter)
    blocks: list[bytes] = field(default_factory=list)  # the newest last
    unshared: list[bytes] = field(default_factory=list)

    def learn(self, vector: Vector, source: bytes) -> None:
        self.seen += 1
        if any(source) and self.by_source[source] >= MOST_OF_SOURCE:
            return
        self.by_source[source] += 1
        self.total = self.total + vector
        self.documents += 1
        if self.documents == BLOCK:
            self.seal()
            self.by_source = +Counter({source: count - 1 for source, count in self.by_source.items()})

    def seal(self) -> None:
        """End the block that is being filled, if it has documents."""
        if not self.documents:
            return
        block = bytes([self.documents]) + (self.total / self.documents).astype(np.float16).tobytes()
        self.blocks = [*self.blocks, block][-MOST_BLOCKS:]
        self.unshared = [*self.unshared, block][-MOST_BLOCKS:]
        self.total, self.documents = np.zeros_like(self.total), 0

    def sum(self) -> tuple[Vector, int]:
        """Return the sum of all vectors that count, and their number."""
        total, documents = self.total, self.documents
        for block in self.blocks:
            total = total + block[0] * np.frombuffer(block, np.float16, offset=1).astype(np.float32)
            documents += block[0]
        return total, documents


class VectorMeans:
    """Learns the mean vector of each language, and takes it off the vectors of new documents."""

    def __init__(self) -> None:
        self._means: dict[bytes, _LanguageMean] = {}
        self._asked: dict[bytes, bytes] = {}  # languages, with the keys under which a store keeps their means

    def centred(self, raw: bytes, language: bytes, source: bytes) -> bytes:
        """Return the packed vector of a document, b"" while too few documents are known. Learn from the document.

        ``raw`` is a vector as ``pack_raw`` packs it, ``language`` and ``source`` as in a fingerprint.
        """
        if not raw:
            return b""
        vector = np.frombuffer(raw, np.float16).astype(np.float32)
        everywhere, own = self._mean(_EVERYWHERE, len(vector)), self._mean(language, len(vector))
        if everywhere is None or own is None:
            return b""
        total, documents = everywhere.sum()
        packed = b""
        if documents and (everywhere.blocks or everywhere.seen >= FEWEST_DOCUMENTS):
            mean_everywhere = total / np.float32(documents)
            total, documents = own.sum()
            mean: Vector = (total + _PRIOR * mean_everywhere) / np.float32(documents + _PRIOR)
            packed = _pack(vector - mean)
        everywhere.learn(vector, source)
        own.learn(vector, source)
        return packed

    def unmet(self, languages: Iterable[bytes]) -> list[bytes]:
        """Return the keys under which a store keeps the means of languages that are met for the first time."""
        asked = {*languages}
        new = sorted({*asked, _EVERYWHERE} - self._asked.keys()) if asked else []
        self._asked.update({each: _store_key(each) for each in new})
        return [self._asked[each] for each in new]

    @property
    def is_pending(self) -> bool:
        """Return whether there are blocks that no store knows."""
        return any(mean.unshared for mean in self._means.values())

    def seal(self) -> None:
        """End all blocks, also those that are not full, so that they can be shared."""
        for mean in self._means.values():
            mean.seal()

    def take_pending(self) -> dict[bytes, KnownBoilerplate]:
        """Return the blocks that no store knows. Call ``give_back`` with them if the store fails."""
        taken = {_store_key(each): KnownBoilerplate((), tuple(mean.unshared)) for each, mean in self._means.items()}
        for mean in self._means.values():
            mean.unshared = []
        return {key: known for key, known in taken.items() if known.documents}

    def give_back(self, taken: Mapping[bytes, KnownBoilerplate]) -> None:
        for language, mean in self._means.items():
            if (known := taken.get(_store_key(language))) is not None:
                mean.unshared = [*known.documents, *mean.unshared][-MOST_BLOCKS:]

    def merge(self, found: Mapping[bytes, KnownBoilerplate]) -> dict[bytes, KnownBoilerplate]:
        """Take over the blocks that a store has, without any that cannot be a mean vector. Return what is no mean."""
        for language, key in self._asked.items():
            blocks = [block for block in found.get(key, KnownBoilerplate()).documents if _is_block(block)]
            if blocks and (mean := self._mean(language, len(blocks[-1]) // 2)) is not None:
                own = [each for each in blocks if len(each) == 1 + 2 * len(mean.total)]
                mean.blocks = [*own, *mean.unshared][-MOST_BLOCKS:]
        ours = {*self._asked.values(), *map(_store_key, self._means)}
        return {key: known for key, known in found.items() if key not in ours}

    def _mean(self, language: bytes, dimensions: int) -> _LanguageMean | None:
        """Return the mean of a language; None if it has other dimensions, or if there are too many languages."""
        mean = self._means.get(language)
        if mean is None and len(self._means) < _MOST_LANGUAGES:
            mean = self._means[language] = _LanguageMean(np.zeros(dimensions, np.float32))
        return mean if mean is not None and len(mean.total) == dimensions else None


def _store_key(language: bytes) -> bytes:
    """Return the key under which a store keeps a mean, beside those of sources, which are hashes too."""
    return xxhash.xxh32_digest(b"\0mean " + language)


def _is_block(block: bytes) -> bool:
    is_whole = len(block) % 2 == 1 and 5 <= len(block) <= 1 + 2 * MOST_DIMENSIONS and 0 < block[0] <= BLOCK
    return is_whole and bool(np.isfinite(np.frombuffer(block, np.float16, offset=1)).all())


def _unit(vector: Vector) -> Vector:
    unit: Vector = vector / np.float32(np.linalg.norm(vector))
    return unit


def _pack(vector: Vector) -> bytes:
    """Return a vector as one signed byte a dimension. Its length is lost: only directions are compared."""
    largest = float(np.abs(vector).max())
    return np.rint(vector * (127 / largest)).astype(np.int8).tobytes() if largest else b""
