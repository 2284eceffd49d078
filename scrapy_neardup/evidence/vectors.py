"""The meaning of an article: a vector of the user's own language model (``NEARDUP_EMBEDDER``), made of title and lead.

All vectors of a model point in much the same direction, and those of one language even more so. So the mean vector of
the document's language is taken off before a vector is packed, and the cosine of two packed vectors is near 0 for
unrelated articles. The mean is learned from the stream, and all processes share it.

Whoever prints many pages in a language moves its mean. So a source adds at most ``MOST_OF_SOURCE`` documents, and one
more for each ``BLOCK`` documents of all sources. The newest ``MOST_BLOCKS`` blocks count.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup.contracts import MOST_SOURCE_DOCUMENTS, KnownBoilerplate
from scrapy_neardup.wording import counted

Vector = NDArray[np.float32]

LEAD_WORDS = 50
BLOCK = 64  # documents of one language
MOST_BLOCKS = MOST_SOURCE_DOCUMENTS  # as many as a store keeps
MOST_OF_SOURCE = 8  # documents; see above
FEWEST_DOCUMENTS = 20  # of all languages, before any vector is used
FEWEST_OF_LANGUAGE = 8  # before its vectors are used: until then they are unlike those of any other language
MOST_DIMENSIONS = 4096
_PRIOR = 20  # as many documents does the mean of all languages count for in the mean of one
_MOST_LANGUAGES = 256
_MOST_CHARACTERS = 1000  # of title and lead together
_EVERYWHERE = b"**"  # stands for the documents of all languages; those of unknown language have a mean of their own
_KEY = b"mean "  # before a language: the key under which a store keeps its mean, beside the hashes of sources


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
    return [(row / np.linalg.norm(row)).astype(np.float16).tobytes() if row.any() else b"" for row in rows]


def cosine_of(a: bytes, b: bytes) -> float | None:
    """Return the cosine of two packed vectors, in [-1, 1]; None if a document has no vector or they do not fit."""
    if not a or len(a) != len(b):
        return None
    one, other = (np.frombuffer(each, np.int8).astype(np.float32) for each in (a, b))
    squares = float(one @ one) * float(other @ other)
    return float(one @ other) / squares**0.5 if squares else None


def signs_of(vector: bytes) -> bytes:
    """Return the signs of a packed vector, a bit for each dimension: enough to tell whether two vectors are alike."""
    return np.packbits(np.frombuffer(vector, np.int8) > 0).tobytes() if vector else b""


def cosine_of_signs(a: bytes, b: bytes) -> float:
    """Estimate the cosine of two vectors from their signs (384 dimensions: within 0.08). 0 if one is missing."""
    if not a or len(a) != len(b):
        return 0.0
    differing = (int.from_bytes(a, "big") ^ int.from_bytes(b, "big")).bit_count()
    return math.cos(math.pi * differing / (8 * len(a)))


@dataclass(slots=True)
class _Mean:
    """The mean of one language, as the sum of the newest vectors.

    They are the block that is being filled, and the packed blocks before it: a byte with the number of documents, then
    their mean vector.
    """

    total: Vector  # of the block that is being filled
    documents: int = 0
    blocks: list[bytes] = field(default_factory=list)  # the newest last
    unshared: list[bytes] = field(default_factory=list)
    by_source: Counter[bytes] = field(default_factory=Counter)

    def sum(self) -> tuple[Vector, int]:
        """Return the sum of all vectors that count, and their number."""
        of_blocks = sum(block[0] * _mean_of(block) for block in self.blocks)
        return self.total + of_blocks, self.documents + sum(block[0] for block in self.blocks)

    def learn(self, vector: Vector, source: bytes) -> None:
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
        if self.documents:
            block = bytes([self.documents]) + (self.total / self.documents).astype(np.float16).tobytes()
            self.unshared.append(block)
            self.total, self.documents = np.zeros_like(self.total), 0
            self.replace_blocks([*self.blocks, block])

    def replace_blocks(self, blocks: list[bytes]) -> None:
        """Replace the blocks before the one that is being filled, without any that cannot be a mean vector."""
        fitting = (each for each in blocks[-MOST_BLOCKS:] if len(each) == 1 + 2 * len(self.total))
        self.blocks = [each for each in fitting if 0 < each[0] <= BLOCK and np.isfinite(_mean_of(each)).all()]


def _mean_of(block: bytes) -> Vector:
    return np.frombuffer(block[1:], np.float16).astype(np.float32)


class VectorMeans:
    """Learns the mean vector of each language, and takes it off the vectors of new documents."""

    def __init__(self) -> None:
        self._means: dict[bytes, _Mean] = {}
        self._asked: set[bytes] = set()  # languages
        self._seen = 0  # vectors

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
        packed, (total, documents) = b"", everywhere.sum()
        if documents and (everywhere.blocks or self._seen >= FEWEST_DOCUMENTS):
            prior = total * np.float32(_PRIOR / documents)
            total, documents = own.sum()
            if documents >= FEWEST_OF_LANGUAGE or not any(language):
                packed = _pack(vector - (total + prior) / np.float32(documents + _PRIOR))
        for mean in (everywhere, own):
            mean.learn(vector, source)
        self._seen += 1
        return packed

    def unmet(self, languages: Iterable[bytes]) -> list[bytes]:
        """Return the keys under which a store keeps the means of languages that are met for the first time."""
        asked = {*languages}
        new = sorted({*asked, _EVERYWHERE} - self._asked) if asked else []
        self._asked.update(new)
        return [_KEY + each for each in new]

    @property
    def is_pending(self) -> bool:
        """Return whether there are blocks that no store knows."""
        return any(mean.unshared for mean in self._means.values())

    def seal(self) -> None:
        """End all blocks, also those that are not full, so that they can be shared."""
        for mean in self._means.values():
            mean.seal()

    def take_pending(self) -> dict[bytes, KnownBoilerplate]:
        """Return the blocks that no store knows, by key. If the store fails, they stay in this process."""
        taken = {_KEY + language: mean.unshared for language, mean in self._means.items() if mean.unshared}
        for mean in self._means.values():
            mean.unshared = []
        return {key: KnownBoilerplate((), tuple(blocks)) for key, blocks in taken.items()}

    def merge(self, found: Mapping[bytes, KnownBoilerplate]) -> dict[bytes, KnownBoilerplate]:
        """Take over the means that a store has. Return everything else."""
        for key, (_, blocks) in found.items():
            language = key.removeprefix(_KEY)
            if language != key and blocks and (mean := self._mean(language, len(blocks[-1]) // 2)) is not None:
                mean.replace_blocks([*blocks, *mean.unshared])
        return {key: known for key, known in found.items() if not key.startswith(_KEY)}

    def _mean(self, language: bytes, dimensions: int) -> _Mean | None:
        """Return the mean of a language; None if it has other dimensions, or if there are too many languages."""
        if language not in self._means and len(self._means) < _MOST_LANGUAGES:
            self._means[language] = _Mean(np.zeros(dimensions, np.float32))
        mean = self._means.get(language)
        return mean if mean is not None and len(mean.total) == dimensions else None


def _pack(vector: Vector) -> bytes:
    """Return a vector as one signed byte a dimension. Its length is lost: only directions are compared."""
    largest = float(np.abs(vector).max())
    return np.rint(vector * (127 / largest)).astype(np.int8).tobytes() if largest else b""
