"""The proofs that a line is boilerplate of its source: pages that share the line, and what else they share.

``source_boilerplate`` says what counts as a proof, and why.
"""

from __future__ import annotations

import struct
from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from scrapy_neardup.evidence.titles import SAME_TITLES, pack_terms, unpack_terms
from scrapy_neardup.records.packing import PackedFields

TITLES = 3
"""Titles without a term in common that make a line boilerplate."""

PAGES = 6
"""Pages, each with lines of its own, that make a line boilerplate if no title tells them apart."""

PAGES_OF_ONE_TEXT = 24
"""Pages of the same text that make it boilerplate if no title tells them apart."""

_MOST_LINES_OF_ONE = 24  # of one document: those with the lowest keys, so two documents keep the same lines
_LEAST_REST = 30  # words of a page of a rubric that no other page has
_OWN_REST = 0.5  # share of them in the page without the lines of the rubric
_MENTIONED = 0.5  # lines that mention this share of a title's terms are about it
_DOCUMENT = PackedFields("source document", {"page": "I", "article": "I", "terms": "B*", "lines": "B*"})


@dataclass(frozen=True, slots=True)
class SourceDocument:
    """A document in memory: 32-bit hashes of its url, article number and lines, and the terms of its title."""

    page: int
    article: int  # 0 if there is none
    terms: frozenset[int]
    packed_lines: array[int]  # a tenth of the memory of a set

    @classmethod
    def of(cls, page: int, article: int, terms: frozenset[int], lines: Iterable[int]) -> SourceDocument:
        return cls(page, article, terms, array("I", sorted(lines)[:_MOST_LINES_OF_ONE]))

    @property
    def lines(self) -> frozenset[int]:
        return frozenset(self.packed_lines)

    @property
    def identity(self) -> int:
        return self.article or self.page

    def pack(self) -> bytes:
        lines = struct.pack(f">{len(self.packed_lines)}I", *self.packed_lines)
        return _DOCUMENT.pack(self.page, self.article, pack_terms(self.terms), lines)

    @classmethod
    def unpack(cls, packed: bytes) -> SourceDocument:
        """Raise StoreError or struct.error on bytes that are not a packed document."""
        values: Any = _DOCUMENT.unpack_whole(packed)
        page, article, terms, lines = values
        return cls(page, article, unpack_terms(terms), array("I", struct.unpack(f">{len(lines) // 4}I", lines)))


def is_about(mentioned: frozenset[int], *titles: frozenset[int]) -> bool:
    return any(len(terms & mentioned) >= max(min(2, len(terms)), _MENTIONED * len(terms)) for terms in titles)


def of_unlike_titles(others: Sequence[tuple[frozenset[int], frozenset[int]]], count: int) -> set[int]:
    """Return the lines that ``count`` others share, if no two of their titles have a term in common."""
    proved: set[int] = set()
    for chosen in combinations(others, count):
        if all(one.isdisjoint(other) for (one, _), (other, _) in combinations(chosen, 2)):
            proved |= frozenset.intersection(*(lines for _, lines in chosen))
    return proved


def of_rubric(
    title: frozenset[int], words: Mapping[int, int], others: Sequence[SourceDocument], usual: frozenset[int]
) -> set[int]:
    """Return the lines that two others share under titles that differ, if most of the rest stands in none of them.

    ``words`` has the words of each line.
    """
    unlike = [each for each in others if _differ(title, each.terms - usual)]
    shared: set[int] = set()
    for one, other in combinations(unlike, 2):
        if _differ(one.terms - usual, other.terms - usual):
            shared |= one.lines & other.lines & words.keys()
    if not shared:
        return shared
    rest = {line: count for line, count in words.items() if line not in shared}
    own = sum(rest[line] for line in rest.keys() - frozenset().union(*(each.lines for each in others)))
    return shared if own >= max(_LEAST_REST, _OWN_REST * sum(rest.values())) else set()


def _differ(one: frozenset[int], other: frozenset[int]) -> bool:
    shorter = min(len(one), len(other))
    return shorter > 0 and len(one & other) < SAME_TITLES * shorter


def of_pages(document: SourceDocument, others: Iterable[SourceDocument]) -> set[int]:
    """Return the lines that this document shares with enough pages whose titles do not tell them apart.

    Pages of one article count once.
    """
    all_pages: dict[int, set[int]] = {}
    unlike_pages: dict[int, set[int]] = {}
    for other in others:
        is_other_text = not (document.lines <= other.lines or other.lines <= document.lines)
        for line in other.lines & document.lines:
            all_pages.setdefault(line, set()).add(other.identity)
            if is_other_text:
                unlike_pages.setdefault(line, set()).add(other.identity)
    enough = {line for line, pages in unlike_pages.items() if len(pages) >= PAGES - 1}
    return enough | {line for line, pages in all_pages.items() if len(pages) >= PAGES_OF_ONE_TEXT - 1}
