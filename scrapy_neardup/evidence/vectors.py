"""The meaning of an article: a vector of the user's own language model (``NEARDUP_EMBEDDER``), made of title and lead.

All vectors of a model point in much the same direction, and those of one language even more so. So the mean vector of
the document's language is taken off before a vector is packed, and the cosine of two packed vectors is near 0 for
unrelated articles. The mean is learned from the stream, and all processes share it.

Whoever prints many pages in a language moves its mean. So a source adds at most ``MOST_OF_SOURCE`` documents, and one
more for each block of ``BLOCK`` documents of all sources. The newest ``MOST_SOURCE_DOCUMENTS`` blocks count.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup.records.learned import MOST_SOURCE_DOCUMENTS, LearnedEntries
from scrapy_neardup.text.display import counted

Vector = NDArray[np.float32]

EMBEDDED_WORDS = 50
BLOCK = 64  # documents of one language, at least
MOST_OF_SOURCE = 8  # documents; see above
FEWEST = 8  # documents of a language, before its vectors are used: until then they are unlike those of any other one
MOST_DIMENSIONS = 4096
_MOST_CHARACTERS = 1000  # of title and lead together
EVERYWHERE = b"**"  # stands for the documents of all languages; those of unknown language have a mean of their own
_KEY = b"mean "  # before a language: the key under which a store keeps its mean, beside the hashes of sources


def text_to_embed(title: str, text: str) -> str:
    """Return the text that a vector is made of: the title, and the first words of the article below it."""
    words = text[: 4 * _MOST_CHARACTERS].split(maxsplit=EMBEDDED_WORDS)[:EMBEDDED_WORDS]
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
    one = np.frombuffer(a, np.int8).astype(np.float32)
    other = np.frombuffer(b, np.int8).astype(np.float32)
    squares = float(one @ one) * float(other @ other)
    return float(one @ other) / squares**0.5 if squares else None


@dataclass(slots=True)
class _Mean:
    """The mean of one language, as sums of vectors. Each vector has a 1 at its end, so a sum ends with their number."""

    block: Vector = field(default_factory=lambda: np.zeros(1, np.float32))  # the newest sum, which no store knows
    blocks: list[Vector] = field(default_factory=list)  # those before it, the newest last
    by_source: Counter[bytes] = field(default_factory=Counter)

    def sum(self, length: int) -> Vector:
        """Return the sum of all blocks of this length; others are damaged."""
        fitting = [each for each in (*self.blocks, self.block) if len(each) == length]
        return np.sum(fitting, axis=0, dtype=np.float32) if fitting else np.zeros(length, np.float32)

    def seal(self) -> bytes:
        """End the newest block, and return it as a store keeps it."""
        packed = self.block.astype(np.float16).tobytes()
        self.blocks = [*self.blocks, self.block][-MOST_SOURCE_DOCUMENTS:]
        self.block = np.zeros(1, np.float32)
        self.by_source = +Counter({source: count - 1 for source, count in self.by_source.items()})
        return packed


class VectorMeans:
    """Learns the mean vector of each language, and takes it off the vectors of new documents."""

    def __init__(self) -> None:
        self._means = defaultdict[bytes, _Mean](_Mean)

    def centred(self, raw: bytes, language: bytes, source: bytes) -> bytes:
        """Return the packed vector of a document, b"" while too few documents are known. Learn from the document.

        ``raw`` is a vector as ``pack_raw`` packs it, ``language`` and ``source`` as in a fingerprint.
        """
        if not raw:
            return b""
        vector = np.append(np.frombuffer(raw, np.float16), 1).astype(np.float32)
        of_language, of_all = (self._means[each].sum(len(vector)) for each in (language, EVERYWHERE))
        for mean in (self._means[language], self._means[EVERYWHERE]):
            if not any(source) or mean.by_source[source] < MOST_OF_SOURCE:
                mean.by_source[source] += 1
                mean.block = mean.block + vector
        if (of_language if any(language) else of_all)[-1] < FEWEST:
            return b""
        # In the mean of one language that of all languages counts for 20 documents.
        total = of_language + of_all * np.float32(20 / max(1.0, of_all[-1]))
        centred = (vector - total / total[-1])[:-1]
        largest = float(np.abs(centred).max())
        # One signed byte a dimension. The length is lost: only directions are compared.
        return np.rint(centred * (127 / largest)).astype(np.int8).tobytes() if largest else b""

    def unmet(self, languages: Iterable[bytes]) -> list[bytes]:
        """Return the keys under which a store keeps the means of languages that are met for the first time."""
        new = {*languages} - self._means.keys()
        if new:
            new |= {EVERYWHERE} - self._means.keys()
        self._means.update({each: _Mean() for each in new})
        return [_KEY + each for each in sorted(new)]

    @property
    def is_due(self) -> bool:
        """Return whether a block is long enough for the store."""
        return any(mean.block[-1] >= BLOCK for mean in self._means.values())

    def take_pending(self, least: int) -> dict[bytes, LearnedEntries]:
        """End the blocks of at least so many documents, and return them by key.

        If the store fails, they stay in this process.
        """
        ended = [(language, mean) for language, mean in self._means.items() if mean.block[-1] >= least]
        return {_KEY + language: LearnedEntries((), (mean.seal(),)) for language, mean in ended}

    def merge(self, found: Mapping[bytes, LearnedEntries]) -> dict[bytes, LearnedEntries]:
        """Take over the means that a store has, without damaged ones. Return everything else."""
        for key, (_, packed) in found.items():
            if key.startswith(_KEY):
                mean = self._means[key.removeprefix(_KEY)]
                whole = [each for each in packed if each and len(each) % 2 == 0]
                blocks = [np.frombuffer(each, np.float16).astype(np.float32) for each in whole]
                mean.blocks = [each for each in blocks if np.isfinite(each).all() and each[-1] > 0] or mean.blocks
        return {key: known for key, known in found.items() if not key.startswith(_KEY)}
