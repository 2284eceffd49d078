"""Learn the boilerplate of one source: the lines that it prints under titles that have nothing in common.

The guard in ``boilerplate`` recognises a shared line by the rest of the two documents: if they tell different stories,
the line belongs to neither. A paywall notice that is longer than the article leaves too little of the rest. Within one
source, titles help: a line is boilerplate if the source prints it under three titles and no two of them share a term.

This must not take away two things:

- A running story that the source publishes again under new headlines. Its headlines share a term, or its lines are
  about the headline: they mention half of its terms, or a term that most titles of the source have. A line that is
  about a title needs a fourth title as proof. The name of the site, after the last bar or dash of a title, does not
  count.
- A text that several papers reprint. Across sources titles prove nothing, because each paper writes its own headline.

If titles are missing or all alike, urls replace them, and more of them are needed: ``PAGES`` if each page has lines of
its own, ``PAGES_OF_ONE_TEXT`` if all texts are the same. The latter are pages that a script fills, but also true
copies. A line is boilerplate everywhere if it is boilerplate of several sources whose documents share nothing else.

All workers share what they learn through the store, and it outlives the run: see ``Learned`` in ``document``.
"""

from __future__ import annotations

import logging
import struct
from array import array
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

from scrapy_neardup.document import EVERYWHERE, MOST_LINES, MOST_LINES_EVERYWHERE, MOST_PRINTED, Learned, most_lines_of
from scrapy_neardup.similarity.likeness import TERM_BYTES
from scrapy_neardup.sketch.guards.titles import pack_terms, unpack_terms

logger = logging.getLogger(__name__)

TITLES = 3
"""Titles without a term in common that make a line boilerplate."""

PAGES = 6
"""Pages, each with lines of its own, that make a line boilerplate if no title tells them apart."""

PAGES_OF_ONE_TEXT = 24
"""Pages of the same text that make it boilerplate if no title tells them apart."""

LEAST_WORDS = 5
"""Shorter lines are not looked at: "by" and "Mrs." are in any article."""

SOURCES = 3
"""A line that is boilerplate of so many sources is boilerplate everywhere."""

_MOST_SOURCES = 1024  # in the memory of this process; the store has all of them
_MOST_NUMBERS = 128  # article numbers of a source whose titles are remembered
_MOST_SHARED = 4096  # lines that are boilerplate of some source
_MOST_LINES_OF_ONE = 24  # of one document: those with the lowest keys, so two documents keep the same lines
_SAMPLES = 4
_FEWEST_TITLES = 4  # with fewer titles no term is usual
_USUAL = 0.5  # a term in more than this share of a source's titles is usual
_MENTIONED = 0.5  # lines that mention this share of a title's terms are about it
_HEAD = struct.Struct(">IIBB")  # url, article number, terms, lines
_SHARED_LINE = struct.Struct(f">I4s{_SAMPLES}I")  # line, source, other lines of a document that has it
_LINE = struct.Struct(">I")

Mentioned = Callable[[frozenset[int]], frozenset[int]]
"""A function from line keys to the terms in these lines of the document."""


@dataclass(frozen=True, slots=True)
class Printed:
    """A document in memory: 32-bit hashes of its url, article number and lines, and the terms of its title."""

    page: int
    article: int  # 0 if there is none
    terms: frozenset[int]
    packed_lines: array[int]  # a tenth of the memory of a set

    @classmethod
    def of(cls, page: int, article: int, terms: frozenset[int], lines: Iterable[int]) -> Printed:
        return cls(page, article, terms, array("I", sorted(lines)[:_MOST_LINES_OF_ONE]))

    @property
    def lines(self) -> frozenset[int]:
        return frozenset(self.packed_lines)

    def pack(self) -> bytes:
        count = len(self.packed_lines)
        head = _HEAD.pack(self.page, self.article, len(self.terms), count)
        return head + pack_terms(self.terms) + struct.pack(f">{count}I", *self.packed_lines)

    @classmethod
    def unpack(cls, packed: bytes) -> Printed:
        """Raise ValueError on bytes that are not a packed document."""
        if len(packed) < _HEAD.size:
            raise ValueError(f"{len(packed)} bytes are no printed document")
        page, article, terms, lines = _HEAD.unpack_from(packed)
        middle = _HEAD.size + TERM_BYTES * terms
        if len(packed) != middle + _LINE.size * lines:
            raise ValueError(f"a printed document of {len(packed)} bytes has {terms} terms and {lines} lines")
        keys = struct.unpack_from(f">{lines}I", packed, middle)
        return cls(page, article, unpack_terms(packed[_HEAD.size : middle]), array("I", keys))

    @property
    def identity(self) -> int:
        return self.article or self.page


@dataclass(slots=True)
class _Source:
    """What this process knows of one source."""

    printed: OrderedDict[int, Printed] = field(default_factory=OrderedDict)  # by page
    lines: OrderedDict[int, None] = field(default_factory=OrderedDict)  # that are boilerplate
    titles: Counter[int] = field(default_factory=Counter)  # in how many of them each term is
    usual: frozenset[int] = frozenset()  # terms of most titles, such as the source's name: they tell nothing
    # Of each article number titles that have no term in common.
    numbers: OrderedDict[int, list[frozenset[int]]] = field(default_factory=OrderedDict)

    def add(self, document: Printed) -> bool:
        """Remember a document; return whether its page is new."""
        old = self.printed.pop(document.page, None)
        self.printed[document.page] = document
        self.titles.update(document.terms)
        if old is not None:
            self._forget(old)
        while len(self.printed) > MOST_PRINTED:
            self._forget(self.printed.popitem(last=False)[1])
        if document.article:
            self._add_number(document.article, document.terms)
        if len(self.printed) >= _FEWEST_TITLES:
            most = _USUAL * len(self.printed)
            self.usual = frozenset([term for term, count in self.titles.items() if count > most])
        return old is None

    def _add_number(self, number: int, terms: frozenset[int]) -> None:
        titles = self.numbers.setdefault(number, [])
        self.numbers.move_to_end(number)
        if terms and len(titles) < TITLES and all(terms.isdisjoint(each) for each in titles):
            titles.append(terms)
        if len(self.numbers) > _MOST_NUMBERS:
            self.numbers.popitem(last=False)

    def _forget(self, document: Printed) -> None:
        for term in document.terms:
            self.titles[term] -= 1
            if not self.titles[term]:
                del self.titles[term]

    def add_line(self, line: int) -> None:
        self.lines[line] = None
        self.lines.move_to_end(line)
        while len(self.lines) > MOST_LINES:
            self.lines.popitem(last=False)


class SourceBoilerplate:
    """Learns the boilerplate of each source. Not safe for threads: it is given one document after the other."""

    def __init__(self) -> None:
        self._sources: OrderedDict[bytes, _Source] = OrderedDict()
        # Of each line the sources it is boilerplate of, and other lines of their documents, which no two of them share.
        self._shared: OrderedDict[int, dict[bytes, frozenset[int]]] = OrderedDict()
        self._pending: dict[bytes, tuple[list[bytes], list[bytes]]] = {}
        self.pending = 0  # documents that no store knows
        self._is_damage_told = False

    def learn(
        self,
        source: bytes,
        page: int,
        article: int,
        terms: frozenset[int],
        lines: Iterable[tuple[int, int]],
        mentioned: Mentioned,
        site_terms: frozenset[int] = frozenset(),
    ) -> frozenset[int]:
        """Note a document's lines; return the keys of those that are boilerplate of its source.

        ``lines`` are 64-bit keys, of which the lower 32 bits are remembered, each with its words. ``site_terms`` are
        those of the title that may be the name of the site.
        """
        known = self._known(source)
        keys = {key & 0xFFFF_FFFF: key for key, words in lines if words >= LEAST_WORDS}
        found = {line for line in keys if line in known.lines or self._is_everywhere(line)}
        for line in found & known.lines.keys():
            known.lines.move_to_end(line)
        document = Printed.of(page, article, terms, keys.keys() - found)
        if known.add(document):
            printed = self._pending_of(source)[1]
            printed.append(document.pack())
            del printed[:-MOST_PRINTED]
            self.pending += 1
        by_titles, by_pages = self._proved(known, document, mentioned, site_terms)
        self._prove(source, known, by_titles | by_pages)
        self._share_all(source, by_titles, document.lines - by_titles - by_pages)
        return frozenset(keys[line] for line in found | by_titles | by_pages)

    def usual_terms(self, source: bytes) -> frozenset[int]:
        """Return the terms that most titles of a source have."""
        known = self._sources.get(source)
        return known.usual if known else frozenset()

    def is_article(self, source: bytes, article: int) -> bool:
        """Decide whether a number is an article's: one under which three titles have nothing in common is not."""
        known = self._sources.get(source)
        return known is None or len(known.numbers.get(article, ())) < TITLES

    def _known(self, source: bytes) -> _Source:
        known = self._sources.setdefault(source, _Source())
        self._sources.move_to_end(source)
        if len(self._sources) > _MOST_SOURCES:
            self._sources.popitem(last=False)
        return known

    def _proved(
        self, known: _Source, document: Printed, mentioned: Mentioned, site_terms: frozenset[int]
    ) -> tuple[set[int], set[int]]:
        """Return the lines of which this document proves that they are boilerplate, by its title and by its url."""
        own = document.lines
        others = [
            each
            for each in known.printed.values()
            if each.identity != document.identity and not own.isdisjoint(each.packed_lines)
        ]
        if len(others) < TITLES - 1:
            return set(), set()
        ours = document.terms - known.usual
        unlike: list[tuple[frozenset[int], frozenset[int]]] = []  # terms and shared lines
        about: list[tuple[frozenset[int], frozenset[int]]] = []
        untold: list[Printed] = []
        for other in others:
            theirs, shared = other.terms - known.usual, other.lines & own
            if not ours or not theirs:
                untold.append(other)
            elif ours.isdisjoint(theirs):
                mentioned_terms = mentioned(shared)
                # A topic that most titles name, and the text too, is a story if it is not the name of the site.
                is_topic = bool(document.terms & other.terms & mentioned_terms - site_terms)
                is_about = is_topic or _is_about(mentioned_terms, ours, theirs)
                (about if is_about else unlike).append((theirs, shared))
        by_titles = _of_unlike_titles(unlike, TITLES - 1) | _of_unlike_titles(unlike + about, TITLES)
        return by_titles, _of_pages(document, untold) - by_titles

    def _prove(self, source: bytes, known: _Source, lines: set[int]) -> None:
        pending = self._pending_of(source)[0] if lines else []
        for line in sorted(lines):
            known.add_line(line)
            pending.append(_LINE.pack(line))
        del pending[:-MOST_LINES]

    def _share_all(self, source: bytes, lines: set[int], rest: frozenset[int]) -> None:
        """Note what a document proved by its title, beside lines of it that are no boilerplate.

        A document without other lines is ignored: it does not show whether the sources share anything else.
        """
        if not lines or not rest:
            return
        others = sorted(rest)[:_SAMPLES]
        pending = self._pending_of(EVERYWHERE)[0]
        for line in sorted(lines):
            pending.append(_SHARED_LINE.pack(line, source, *others, *[0] * (_SAMPLES - len(others))))
            self._share(line, source, frozenset(others))
        del pending[:-MOST_LINES_EVERYWHERE]

    def _share(self, line: int, source: bytes, others: frozenset[int]) -> None:
        """Note that a line is boilerplate of a source, unless a source noted before shares more with it."""
        sources = self._shared.setdefault(line, {})
        self._shared.move_to_end(line)
        if source not in sources and len(sources) < SOURCES and all(map(others.isdisjoint, sources.values())):
            sources[source] = others
        if len(self._shared) > _MOST_SHARED:
            self._shared.popitem(last=False)

    def _is_everywhere(self, line: int) -> bool:
        return len(self._shared.get(line, ())) >= SOURCES

    # What is shared with other processes

    def unmet(self, sources: Iterable[bytes]) -> list[bytes]:
        """Return the sources, each once, that nothing was asked about yet."""
        return [source for source in dict.fromkeys(sources) if source not in self._sources]

    def take_pending(self) -> dict[bytes, Learned]:
        """Return what the store does not know yet. If the store fails, call ``give_back``."""
        taken = {source: Learned(tuple(lines), tuple(printed)) for source, (lines, printed) in self._pending.items()}
        self._pending, self.pending = {}, 0
        return taken

    def give_back(self, taken: Mapping[bytes, Learned]) -> None:
        for source, learned in taken.items():
            lines, printed = self._pending_of(source)
            lines[:0], printed[:0] = learned.lines, learned.printed
            del lines[: -most_lines_of(source)], printed[:-MOST_PRINTED]
            self.pending += len(learned.printed)

    def merge(self, told: Mapping[bytes, Learned]) -> None:
        """Add what the store knows of some sources. Leave out what cannot be read, and log it once."""
        for source, learned in told.items():
            if source == EVERYWHERE:
                for line, other, *samples in self._read(learned.lines, _SHARED_LINE.unpack):
                    self._share(line, other, frozenset(filter(None, samples)))
                continue
            known = self._known(source)
            for (line,) in self._read(learned.lines, _LINE.unpack):
                known.add_line(line)
            for document in self._read(learned.printed, Printed.unpack):
                if document.page not in known.printed:
                    known.add(document)

    def _read(self, packed: Iterable[bytes], unpack: Callable[[bytes], object]) -> Iterator:  # type: ignore[type-arg]
        for each in packed:
            try:
                yield unpack(each)
            except (ValueError, struct.error) as error:  # noqa: PERF203
                if not self._is_damage_told:
                    self._is_damage_told = True
                    logger.warning("What the store knows of a source's boilerplate cannot be read: %s", error)

    def _pending_of(self, source: bytes) -> tuple[list[bytes], list[bytes]]:
        return self._pending.setdefault(source, ([], []))


def _is_about(mentioned: frozenset[int], *titles: frozenset[int]) -> bool:
    return any(len(terms & mentioned) >= max(min(2, len(terms)), _MENTIONED * len(terms)) for terms in titles)


def _of_unlike_titles(others: Sequence[tuple[frozenset[int], frozenset[int]]], count: int) -> set[int]:
    """Return the lines that ``count`` others share, if no two of their titles have a term in common."""
    proved: set[int] = set()
    for chosen in combinations(others, count):
        if _are_disjoint([terms for terms, _ in chosen]):
            proved |= frozenset.intersection(*(lines for _, lines in chosen))
    return proved


def _of_pages(document: Printed, others: Iterable[Printed]) -> set[int]:
    """Return the lines that enough pages without telling titles share. Pages of one article count once."""
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


def _are_disjoint(sets: Iterable[frozenset[int]]) -> bool:
    return all(one.isdisjoint(other) for one, other in combinations(sets, 2))
