"""Cut two texts into the passages that they share and the passages that only one of them has."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from scrapy_neardup.document import counted
from scrapy_neardup.sketch import Body, Sketcher
from scrapy_neardup.text.reading import Reading, has_unspaced


@dataclass(frozen=True, slots=True)
class Passage:
    """A run of words as they stand in the text. The words of all passages of a text are those of the text."""

    text: str
    words: int


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A line of the main content that does not enter the fingerprint, and why."""

    line: str
    why: str


def left_out(sketcher: Sketcher, body: Body) -> Iterator[LeftOut]:
    """Yield the lines of a text that do not enter its fingerprint."""
    for line in body.short:
        yield LeftOut(line.text, f"{counted(line.words, 'word')}, under {sketcher.preset.min_block_words}")
    for line in body.lines:
        if line.key in body.boilerplate:
            yield LeftOut(line.text, "boilerplate: in several different stories")


def cut_passages(sketcher: Sketcher, body: Body, other: Body) -> list[tuple[bool, Passage]]:
    """Cut the text into runs of words that lie in a shingle of both texts, and runs of words that do not."""
    width = sketcher.shingle_width(body)
    pieces = list(_pieces(body))
    owners = [number for number, piece in enumerate(pieces) for _ in piece.tokens]
    in_other = set(_windows(other.tokens, width))
    windows = enumerate(_windows([token for piece in pieces for token in piece.tokens], width))
    shared = {number for start, each in windows if each in in_other for number in owners[start : start + width]}
    marks: list[bool] = []
    for number, piece in enumerate(pieces):  # a dash goes with the word before it, an opening bracket behind the first
        marks.append(number in shared if piece.tokens or not marks else marks[-1])
    first = next((number for number, piece in enumerate(pieces) if piece.tokens), 0)
    marks[:first] = [first in shared] * first
    passages = []
    for is_shared, run in groupby(zip(pieces, marks, strict=True), key=lambda pair: pair[1]):
        found = [piece for piece, _ in run]
        text = " ".join("".join(piece.text for piece in found).split())
        passages.append((is_shared, Passage(text, sum(piece.words for piece in found))))
    return passages


@dataclass(frozen=True, slots=True)
class _Piece:
    """A word, or one character of a script written without spaces, with the white space before it."""

    text: str
    tokens: tuple[str, ...]
    words: int  # its part of the words of the line, in which two characters of an unspaced script are one word


def _pieces(body: Body) -> Iterator[_Piece]:
    for line in body.lines:
        if line.key in body.boilerplate:
            continue
        texts = list(_split(f"\n{line.text}"))
        tokens = [tuple(Reading.of(text).tokens()) for text in texts]
        whole = max(1, sum(map(len, tokens)))
        before = 0
        for text, each in zip(texts, tokens, strict=True):
            behind = before + len(each)
            yield _Piece(text, each, behind * line.words // whole - before * line.words // whole)
            before = behind


def _split(text: str) -> Iterator[str]:
    for chunk in re.findall(r"\s*\S+", text):
        if not has_unspaced(chunk):
            yield chunk
            continue
        for unspaced, run in groupby(chunk, key=has_unspaced):
            piece = "".join(run)
            yield from piece if unspaced else (piece,)


def _windows(tokens: Sequence[str], width: int) -> Iterator[tuple[str, ...]]:
    return zip(*(tokens[start:] for start in range(width)), strict=False)
