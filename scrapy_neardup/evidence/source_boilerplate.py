"""Learn the boilerplate of one source: the lines that it prints under titles that have nothing in common.

A line is boilerplate if the source prints it under three titles and no two of them share a term. Nothing is learned
from other sources: strangers could take a text away by printing its sentences.

This must not take away three things:

- A running story that the source publishes again under new headlines. Its headlines share a term, or its lines are
  about the headline: they mention half of its terms, or a term that most titles of the source have. A line that is
  about a title needs a fourth title as proof. The name of the site, after the last bar or dash of a title, does not
  count.
- A text that several papers reprint. Across sources titles prove nothing, because each paper writes its own headline.
- A figure of the news: a paper repeats the toll of a fire as background. A line that counts people who came to harm is
  never left out, also if another process has learned it. A line with another figure stays in those documents whose
  title or first lines print the figure too.

If titles are missing or all alike, urls replace them, and more of them are needed: ``PAGES`` if each page has lines of
its own, ``PAGES_OF_ONE_TEXT`` if all texts are the same. The latter are pages that a script fills, but also true
copies.

All workers share what they learn through the store, and it outlives the run: see ``records.learned.LearnedEntries``.
"""

from __future__ import annotations

import logging
import struct
from array import array
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, combinations
from typing import Any

from scrapy_neardup.document import Document
from scrapy_neardup.evidence.figures.counted import is_of_page
from scrapy_neardup.evidence.figures.figure import SENTENCE_ENDS, Figure, counted_figures, find_figures
from scrapy_neardup.evidence.sources import Newest
from scrapy_neardup.evidence.titles import terms_of
from scrapy_neardup.evidence.topic import TOPIC_WORDS
from scrapy_neardup.records.learned import MOST_LINES, MOST_SOURCE_DOCUMENTS, LearnedEntries
from scrapy_neardup.text.lines import Body

logger = logging.getLogger(__name__)

# Titles without a term in common that make a line boilerplate.
TITLES = 3

# Pages, each with lines of its own, that make a line boilerplate if no title tells them apart.
PAGES = 6

# Pages of the same text that make it boilerplate if no title tells them apart.
PAGES_OF_ONE_TEXT = 24

_USUAL = 0.5  # a term in more than this share of a source's titles is usual
_NO_TITLES = b"\0"
_LINE = struct.Struct(">I")
_WRONG_CLOCK = 0  # the key of no line: the source has given a time that was yet to come

# Keys of lines.
Lines = frozenset[int]


class DocumentLines:
    """What the long lines of a document say. They are read when somebody needs them."""

    def __init__(self, document: Document, read_body: Callable[[], Body]) -> None:
        self._document = document
        self._read_body = read_body

    @cached_property
    def _texts(self) -> dict[int, str]:
        return {key: text for text, key, is_long in self._read_body().read_lines if is_long}

    def terms_in(self, lines: Lines) -> frozenset[int]:
        return frozenset().union(*(terms_of(self._texts.get(key, "")) for key in lines))

    def counted_in(self, line: int) -> frozenset[Figure]:
        """Return the figures of a line that say what they count."""
        text = self._texts.get(line, "")
        if not text.endswith(SENTENCE_ENDS) and is_of_page(text):  # a link or a counter
            return frozenset()
        return counted_figures(find_figures(text))

    def counted_in_news(self, lines: Lines) -> frozenset[Figure]:
        """Return the same of the title and of the first lines but these."""
        of_title = find_figures(self._document.title, self._document.language)
        lead = self._read_body().without(lines).lead(TOPIC_WORDS)
        return counted_figures([*of_title, *find_figures("\n".join(lead))])

    def texts_of(self, keys: Lines) -> tuple[str, ...]:
        """Return the lines with these keys as they are printed."""
        return tuple(self._texts[key] for key in keys if self._texts.get(key))


@dataclass(frozen=True, slots=True)
class SourceDocument:
    """A document in memory: hashes of its url and article number, the keys of its lines, the terms of its title."""

    page: int
    article: int  # 0 if there is none
    terms: frozenset[int]
    packed_lines: array[int]  # a tenth of the memory of a set

    @property
    def lines(self) -> frozenset[int]:
        return frozenset(self.packed_lines)

    @property
    def identity(self) -> int:
        return self.article or self.page

    def pack(self) -> bytes:
        terms, lines = sorted(self.terms), self.packed_lines
        return struct.pack(f">2IB{len(terms)}H{len(lines)}I", self.page, self.article, len(terms), *terms, *lines)

    @classmethod
    def unpack(cls, packed: bytes) -> SourceDocument:
        """Raise struct.error on bytes that are not a packed document."""
        terms = sum(packed[8:9])
        page, article, _, *rest = struct.unpack(f">2IB{terms}H{(len(packed) - 9 - 2 * terms) // 4}I", packed)
        return cls(page, article, frozenset(rest[:terms]), array("I", rest[terms:]))


@dataclass(slots=True)
class _Source:
    """What this process knows of one source."""

    documents: Newest[int, SourceDocument] = field(default_factory=lambda: Newest(MOST_SOURCE_DOCUMENTS))  # by page
    # Lines that are printed as boilerplate is, each with its figures once it was read. With a grave one it is news.
    lines: Newest[int, frozenset[Figure] | None] = field(default_factory=lambda: Newest(MOST_LINES))
    # Terms of most titles, such as the source's name: they do not tell articles apart.
    usual: frozenset[int] = frozenset()
    # For each article number, how many titles printed under it have no term in common, and the terms of these titles.
    numbers: Newest[int, bytes] = field(default_factory=lambda: Newest(128))  # of the newest numbers

    def add(self, document: SourceDocument) -> None:
        self.documents[document.page] = document
        if document.article:
            known = self.numbers.get(document.article, _NO_TITLES)
            if document.terms and known[0] < TITLES and document.terms.isdisjoint(array("H", known[1:])):
                known = bytes([known[0] + 1]) + known[1:] + array("H", document.terms).tobytes()
            self.numbers[document.article] = known
        if len(self.documents) >= 4:  # with fewer no term is usual
            counts = Counter(chain.from_iterable([each.terms for each in self.documents.values()]))
            self.usual = frozenset([term for term, count in counts.items() if count > _USUAL * len(self.documents)])


class SourceBoilerplate:
    """Learns the boilerplate of each source. Not safe for threads: it is given one document after the other."""

    def __init__(self) -> None:
        self._sources: Newest[bytes, _Source] = Newest(1024)  # the store has all of them
        self._pending: dict[bytes, tuple[deque[bytes], deque[bytes]]] = {}
        self.pending = 0  # documents that no store knows
        self._is_damage_told = False

    def learn(
        self,
        source: bytes,
        page: int,
        article: int,
        terms: frozenset[int],
        lines: Lines,
        read: DocumentLines,
        site_terms: frozenset[int] = frozenset(),
    ) -> Lines:
        """Note a document's lines; return the keys of those that are boilerplate of its source.

        ``lines`` are the keys of its lines that are long enough. ``site_terms`` are the terms of the title that may be
        the name of the site.
        """
        known = self._known(source)
        known_lines = lines & known.lines.keys()
        for line in sorted(known_lines):
            known.lines[line] = known.lines[line]  # set again, so it is one of the newest
        # With the lines of the lowest keys, so two documents keep the same lines.
        document = SourceDocument(page, article, terms, array("I", sorted(lines - known_lines)[:24]))
        if page not in known.documents:
            self._pending_of(source)[1].append(document.pack())
            self.pending += 1
        known.add(document)
        own_lines = document.lines
        others = [
            other
            for other in known.documents.values()
            if other.identity != document.identity and not own_lines.isdisjoint(other.packed_lines)
        ]
        proved = _proved(known, document, others, read, site_terms)
        for line in sorted(proved):
            figures = known.lines[line] = read.counted_in(line)
            if not _are_grave(figures):
                self._pending_of(source)[0].append(_LINE.pack(line))
        return _without_news(known, frozenset(known_lines | proved), read)

    def usual_terms(self, source: bytes) -> frozenset[int]:
        """Return the terms that most titles of a source have."""
        return self._known(source).usual

    def is_article(self, source: bytes, article: int) -> bool:
        """Decide whether a number identifies an article.

        It does not if the source printed three titles under it that have nothing in common.
        """
        return self._known(source).numbers.get(article, _NO_TITLES)[0] < TITLES

    def _known(self, source: bytes) -> _Source:
        known = self._sources[source] = self._sources.get(source) or _Source()
        return known

    def is_clock_wrong(self, source: bytes, *, is_seen: bool) -> bool:
        """Decide whether a source has given a time that was yet to come, as ``is_seen`` now or before."""
        known = self._known(source).lines
        if is_seen and _WRONG_CLOCK not in known:
            known[_WRONG_CLOCK] = frozenset()
            self._pending_of(source)[0].append(_LINE.pack(_WRONG_CLOCK))
        return _WRONG_CLOCK in known

    # Exchange with other processes

    def unmet(self, sources: Iterable[bytes]) -> list[bytes]:
        """Return the sources that this process has not met yet, each once."""
        return [source for source in dict.fromkeys(sources) if source not in self._sources]

    def take_pending(self) -> dict[bytes, LearnedEntries]:
        """Return the entries that the store does not have yet. If the store fails, call ``give_back``."""
        taken = {
            source: LearnedEntries(tuple(lines), tuple(documents))
            for source, (lines, documents) in self._pending.items()
        }
        self._pending = {}
        self.pending = 0
        return taken

    def give_back(self, taken: Mapping[bytes, LearnedEntries]) -> None:
        for source, learned in taken.items():
            newer = self._pending.pop(source, ((), ()))
            for pending, *parts in zip(self._pending_of(source), learned, newer, strict=True):
                pending.extend(chain(*parts))
            self.pending += len(learned.documents)

    def merge(self, told: Mapping[bytes, LearnedEntries]) -> None:
        """Add the entries that the store has for some sources.

        Leave out entries that cannot be read, and log the first of them.
        """
        for source, learned in told.items():
            known = self._known(source)
            for (line,) in self._read(learned.lines, _LINE.unpack):
                known.lines[line] = known.lines.get(line)
            new = (packed for packed in learned.documents if int.from_bytes(packed[:4], "big") not in known.documents)
            for document in self._read(new, SourceDocument.unpack):
                known.add(document)

    def _read(self, packed: Iterable[bytes], unpack: Callable[[bytes], Any]) -> Iterator[Any]:
        for each in packed:
            try:
                yield unpack(each)
            except struct.error as error:  # noqa: PERF203
                if not self._is_damage_told:
                    logger.warning(
                        "An entry of learned boilerplate in the store cannot be read and is left out: %s", error
                    )
                self._is_damage_told = True

    def _pending_of(self, source: bytes) -> tuple[deque[bytes], deque[bytes]]:
        """Return the lines and documents of a source that no store knows: the newest, as many as a store keeps."""
        if source not in self._pending:
            self._pending[source] = deque(maxlen=MOST_LINES), deque(maxlen=MOST_SOURCE_DOCUMENTS)
        return self._pending[source]


def _proved(
    known: _Source,
    document: SourceDocument,
    others: Sequence[SourceDocument],
    read: DocumentLines,
    site_terms: frozenset[int],
) -> set[int]:
    """Return the lines that a document proves to be boilerplate, by its title or by its url."""
    own = document.lines
    ours = document.terms - known.usual
    # Documents whose titles share no term with this one, each as its terms and the lines that both have.
    unlike: list[tuple[frozenset[int], frozenset[int]]] = []
    about: list[tuple[frozenset[int], frozenset[int]]] = []  # the lines are about one of the titles
    untold: list[SourceDocument] = []  # documents that no title tells apart
    for other in others:
        theirs, shared = other.terms - known.usual, other.lines & own
        if not ours or not theirs:
            untold.append(other)
        elif ours.isdisjoint(theirs):
            mentioned_terms = read.terms_in(shared)
            # Both titles and the shared lines have a term that most titles of the source have. If it is not the
            # name of the site, it is the topic of a story.
            is_topic = bool(document.terms & other.terms & mentioned_terms - site_terms)
            # Lines that mention half of a title's terms are about it.
            is_about = is_topic or any(
                len(terms & mentioned_terms) >= max(min(2, len(terms)), 0.5 * len(terms)) for terms in (ours, theirs)
            )
            (about if is_about else unlike).append((theirs, shared))
    by_titles = _of_unlike_titles(unlike, TITLES - 1) | _of_unlike_titles(unlike + about, TITLES)
    return by_titles | _of_pages(document, untold)


def _without_news(known: _Source, lines: Lines, read: DocumentLines) -> Lines:
    """Return those of a document's boilerplate lines that tell no figure of the news."""
    counted: dict[int, frozenset[Figure]] = {}
    for line in sorted(lines):
        figures = known.lines.get(line)
        if figures is None:
            figures = known.lines[line] = read.counted_in(line)
        if figures:
            counted[line] = figures
    if not counted:
        return lines
    told = read.counted_in_news(lines)
    return lines - {line for line, figures in counted.items() if _are_grave(figures) or not told.isdisjoint(figures)}


def _are_grave(figures: Iterable[Figure]) -> bool:
    return any(each.is_grave for each in figures)


def _of_unlike_titles(others: Sequence[tuple[frozenset[int], frozenset[int]]], count: int) -> set[int]:
    """Return the lines that ``count`` others share, if no two of their titles have a term in common."""
    proved: set[int] = set()
    for chosen in combinations(others, count):
        if all(one.isdisjoint(other) for (one, _), (other, _) in combinations(chosen, 2)):
            proved |= frozenset.intersection(*(lines for _, lines in chosen))
    return proved


def _of_pages(document: SourceDocument, others: Iterable[SourceDocument]) -> set[int]:
    """Return the lines that this document shares with enough pages whose titles do not tell them apart.

    Pages of one article count once.
    """
    pages = defaultdict[int, set[int]](set)
    unlike = defaultdict[int, set[int]](set)  # of these, the pages that have another text
    for other in others:
        is_other_text = not (document.lines <= other.lines or other.lines <= document.lines)
        for line in other.lines & document.lines:
            pages[line].add(other.identity)
            if is_other_text:
                unlike[line].add(other.identity)
    return {line for line in pages if len(unlike[line]) >= PAGES - 1 or len(pages[line]) >= PAGES_OF_ONE_TEXT - 1}
