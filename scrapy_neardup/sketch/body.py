"""What of a main content enters the fingerprint, line by line."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, cast

import numpy as np
import xxhash

from scrapy_neardup.sketch.tokens import count_words, has_unspaced, normalise, token_hashes, tokenise

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Line:
    """One block of a text. Lines of the same tokens have the same ``key``."""

    text: str
    tokens: list[str]
    words: int
    key: int


@dataclass(frozen=True, slots=True)
class Body:
    """The lines of a text that count, and which of those are boilerplate."""

    unspaced: bool  # whether any of the text is in a script written without spaces
    lines: list[Line]
    hashes: NDArray[np.uint64]  # of the tokens of all lines, one after the other
    boilerplate: frozenset[int] = frozenset()  # keys

    def without(self, boilerplate: frozenset[int]) -> Body:
        return replace(self, boilerplate=boilerplate)

    @property
    def kept(self) -> list[Line]:
        return [line for line in self.lines if line.key not in self.boilerplate] if self.boilerplate else self.lines

    @property
    def tokens(self) -> list[str]:
        """Of the lines that are kept, one after the other."""
        return list(chain.from_iterable(line.tokens for line in self.kept))

    @property
    def kept_hashes(self) -> NDArray[np.uint64]:
        if not self.boilerplate:
            return self.hashes
        kept = [line.key not in self.boilerplate for line in self.lines]
        kept_tokens = np.repeat(kept, [len(line.tokens) for line in self.lines])
        return cast("NDArray[np.uint64]", self.hashes[kept_tokens])

    @property
    def words(self) -> int:
        return sum(line.words for line in self.kept)

    @property
    def text(self) -> str:
        return "\n".join(line.text for line in self.kept)

    @property
    def text_hash(self) -> bytes:
        """8 bytes of all lines, boilerplate too: what is learned between two visits leaves a text the same text."""
        tokens = chain.from_iterable(line.tokens for line in self.lines)
        return xxhash.xxh64_digest(" ".join(tokens).encode("utf-8", "surrogatepass"))


def read_body(text: str, *, min_words: int, min_block_words: int) -> Body:
    """Short blocks are captions, links and bylines; a text that is nothing but short blocks (a poem, a list of
    results) is taken whole.
    """
    unspaced = has_unspaced(text)
    whole: list[Line] = []
    for block in text.splitlines():
        tokens = tokenise(normalise(block), unspaced=unspaced)
        if tokens:
            key = xxhash.xxh64_intdigest(" ".join(tokens).encode("utf-8", "surrogatepass"))
            whole.append(Line(block, tokens, count_words(tokens, unspaced=unspaced), key))
    long = [line for line in whole if line.words >= min_block_words]
    lines = long if sum(line.words for line in long) >= min_words else whole
    return Body(unspaced, lines, token_hashes(list(chain.from_iterable(line.tokens for line in lines))))
