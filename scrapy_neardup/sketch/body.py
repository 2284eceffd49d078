"""What of a main content enters the fingerprint, line by line."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np
import xxhash

from scrapy_neardup.sketch.tokens import count_words, has_unspaced, token_hashes, tokens_of_each, without_punctuation

if TYPE_CHECKING:
    from numpy.typing import NDArray


_MOST_CHARACTERS = 400_000  # some 60,000 words; what is longer is no article, and memory is bounded
_LEAST_WORDS = 8  # a shorter sentence goes with the one before it
_STOP = re.compile(r"[.!?…。！？।॥؟۔።။។։]+[\"'”’»)\]]*\s*")


class Line(NamedTuple):
    """One sentence of a block, or a few short ones. Lines of the same tokens have the same ``key``."""

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
    short: list[Line]  # of blocks too short to count
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

    def lead_keys(self, most: int) -> tuple[int, ...]:
        """Of the first whole sentences: abridged and extended copies mostly begin as their original does."""
        whole = (line.key & 0xFFFF_FFFF for line in self.kept if line.words >= _LEAST_WORDS)
        return tuple(dict.fromkeys(islice(whole, most)))

    @property
    def text_hash(self) -> bytes:
        """8 bytes of all lines, boilerplate too: what is learned between two visits leaves a text the same text."""
        tokens = chain.from_iterable(line.tokens for line in self.lines)
        return xxhash.xxh64_digest(" ".join(tokens).encode("utf-8", "surrogatepass"))


def read_body(text: str, *, min_words: int, min_block_words: int) -> Body:
    """Short blocks are captions, links and bylines; a text that is nothing but short blocks (a poem, a list of
    results) is taken whole.
    """
    text = text[:_MOST_CHARACTERS]
    unspaced = has_unspaced(without_punctuation(text))
    whole = list(_blocks(text, unspaced))
    long: list[Line] = []
    short: list[Line] = []
    for lines in whole:
        (long if sum(line.words for line in lines) >= min_block_words else short).extend(lines)
    if sum(line.words for line in long) < min_words:
        long, short = list(chain.from_iterable(whole)), []
    return Body(unspaced, long, token_hashes(list(chain.from_iterable(line.tokens for line in long))), short)


def _blocks(text: str, unspaced: bool) -> Iterator[list[Line]]:
    """The lines of each block that has words."""
    blocks = [_sentences(block) for block in text.splitlines()]
    tokens = iter(tokens_of_each(list(chain.from_iterable(blocks)), unspaced=unspaced))
    for sentences in blocks:
        lines = list(_lines(zip(sentences, islice(tokens, len(sentences)), strict=True), unspaced))
        if lines:
            yield lines


def _lines(sentences: Iterable[tuple[str, list[str]]], unspaced: bool) -> Iterator[Line]:
    """Sentences of at least eight words, but for the first; boilerplate is often glued to the last paragraph."""
    joined: list[tuple[list[str], list[str], list[int]]] = []
    for text, tokens in sentences:
        words = count_words(tokens, unspaced=unspaced)
        if joined and words < _LEAST_WORDS:
            texts, tokens_before, counts = joined[-1]
            texts.append(text)
            tokens_before.extend(tokens)
            counts.append(words)
        elif tokens:
            joined.append(([text], tokens, [words]))
    for texts, tokens, counts in joined:
        key = xxhash.xxh64_intdigest(" ".join(tokens).encode("utf-8", "surrogatepass"))
        yield Line("".join(texts).strip(), tokens, sum(counts), key)


def _sentences(block: str) -> list[str]:
    ends = list(_sentence_ends(block))
    return [block[start:end] for start, end in zip([0, *ends], ends, strict=False)]


def _sentence_ends(block: str) -> Iterator[int]:
    """What a sentence glued to the one before begins with is told from a decimal or a host name by its capital."""
    for stop in _STOP.finditer(block):
        start, end = stop.span()
        if end == len(block):
            break
        before, following = block[max(0, start - 2) : start], block[end]
        # An initial or "U.S." ends no sentence, and neither does "Aug. 27" or "Corp. said".
        begins = following.isupper() or (stop[0][-1].isspace() and not following.isdigit() and not following.islower())
        if block[start] in "。！？।॥؟۔።။។։" or (begins and before.isalnum()):
            yield end
    yield len(block)
