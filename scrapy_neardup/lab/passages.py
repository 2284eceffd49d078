"""Cut two texts into the passages that they share and the passages that only one of them has."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from scrapy_neardup.document import counted
from scrapy_neardup.sketch import Body, Sketcher
from scrapy_neardup.text.reading import Reading, has_unspaced


class Passage(NamedTuple):
    """A run of words as they stand in the text. Two characters of a script without spaces count as one word."""

    text: str
    words: int


class OmittedLine(NamedTuple):
    """A line of the main content that does not enter the fingerprint, and why."""

    line: str
    why: str


def left_out(sketcher: Sketcher, body: Body) -> Iterator[OmittedLine]:
    """Yield the lines of a text that do not enter its fingerprint."""
    for line in body.short:
        yield OmittedLine(line.text, f"{counted(line.words, 'word')}, under {sketcher.preset.min_block_words}")
    for line in body.lines:
        if line.key in body.boilerplate:
            yield OmittedLine(line.text, "boilerplate: in several different stories")


def cut_passages(sketcher: Sketcher, body: Body, other: Body) -> list[tuple[bool, Passage]]:
    """Cut the text into runs of words that lie in a shingle of both texts, and runs of words that do not."""
    width = sketcher.shingle_width(body)
    pieces = _pieces(body)
    owners = [number for number, (_, tokens) in enumerate(pieces) for _ in tokens]
    in_other = set(_windows(other.tokens, width))
    windows = enumerate(_windows([token for _, tokens in pieces for token in tokens], width))
    shared = {number for start, each in windows if each in in_other for number in owners[start : start + width]}
    passages = []
    for is_shared, run in groupby(enumerate(pieces), key=lambda numbered: numbered[0] in shared):
        texts, tokens = zip(*(piece for _, piece in run), strict=True)
        halves = sum(1 if has_unspaced(token) else 2 for each in tokens for token in each)
        passages.append((is_shared, Passage(" ".join("".join(texts).split()), max(1, halves // 2))))
    return passages


def _pieces(body: Body) -> list[tuple[str, tuple[str, ...]]]:
    """Return the words of a text, and the single characters of scripts without spaces, each with its tokens.

    White space goes with the word behind it. A dash goes with the word before it, and a bracket at the beginning with
    the first word.
    """
    pieces: list[tuple[str, tuple[str, ...]]] = []
    before = ""
    for line in body.lines:
        for text in _split(f"\n{line.text}") if line.key not in body.boilerplate else ():
            if tokens := tuple(Reading.of(text).tokens()):
                pieces.append((before + text, tokens))
                before = ""
            elif pieces:
                pieces[-1] = pieces[-1][0] + text, pieces[-1][1]
            else:
                before += text
    return pieces


def _split(text: str) -> Iterator[str]:
    for chunk in re.findall(r"\s*\S+", text):
        for is_unspaced, run in groupby(chunk, key=has_unspaced):
            piece = "".join(run)
            yield from piece if is_unspaced else (piece,)


def _windows(tokens: Sequence[str], width: int) -> Iterator[tuple[str, ...]]:
    return zip(*(tokens[start:] for start in range(width)), strict=False)
