"""Main content of recorded pages, extracted ahead in worker processes while verdicts are made in order."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from scrapy_neardup.content import (
    CanonicalUrls,
    Extracted,
    ExtractionProcesses,
    Sketching,
    decode_html,
    language_code,
    load_extractor,
    page_language,
    page_title,
)
from scrapy_neardup.content.outcome import MOST_MEMORY
from scrapy_neardup.document import Reason
from scrapy_neardup.evaluation.feed import Recorded, WrongLine
from scrapy_neardup.exceptions import ExtractionError
from scrapy_neardup.timings import Timings

_TOGETHER = 16  # entries of a feed; the texts among them are sketched together
_GROUPS_AHEAD = 16  # as many as are judged together: workers go on meanwhile
_PAGES_AHEAD = 32  # for each worker; a page may have megabytes
_FIRST = 512  # texts: a small file is done before a worker has started


@dataclass(frozen=True, slots=True)
class Page:
    """A recorded document with its main content, or with the reason why there is none."""

    recorded: Recorded
    text: str
    reason: Reason | None = None
    error: str | None = None
    canonical: str = ""  # the url that the page gives as its own
    page_language: str = ""  # ISO 639 code, as the page says
    sketch: bytes = b""  # of the text, if a worker made one
    page_title: str = ""  # as the page says

    @property
    def title(self) -> str:
        return self.recorded.title or self.page_title

    @property
    def language(self) -> str:
        return language_code(self.recorded.language) or self.page_language


class PageReader:
    """Extracts pages in worker processes, which start with the first page. Use it as a context manager.

    With ``sketching`` workers sketch texts too. A file of texts starts them only if it has more than a few texts.
    """

    def __init__(
        self,
        extractor: str,
        max_html_bytes: int,
        workers: int,
        timeout: float = 10.0,
        *,
        memory: int | None = MOST_MEMORY,
        sketching: Sketching | None = None,
    ) -> None:
        self._extraction = ExtractionProcesses(
            extractor,
            workers=workers,
            timeout=timeout,
            most_characters=max_html_bytes,
            memory=memory,
            sketching=sketching,
        )
        self._canonical = CanonicalUrls()
        self._max_html_bytes = max_html_bytes
        self._pages_ahead = _PAGES_AHEAD * workers
        self._first = _FIRST if sketching is not None else None

    @property
    def timings(self) -> Timings:
        return self._extraction.timings

    def __enter__(self) -> PageReader:
        return self

    def __exit__(self, *exception: object) -> None:
        self._extraction.close()

    def read(self, feed: Iterable[Recorded | WrongLine]) -> Iterator[Page | WrongLine]:
        """Yield pages in the order of the feed."""
        entries, ahead = iter(feed), deque[_Group]()
        while group := list(islice(entries, _TOGETHER)):
            ahead.append(self._submit(group))
            while len(ahead) >= _GROUPS_AHEAD or sum(each.pages for each in ahead) > self._pages_ahead:
                yield from self._read_group(ahead.popleft())
        while ahead:
            yield from self._read_group(ahead.popleft())

    def _submit(self, entries: Sequence[Recorded | WrongLine]) -> _Group:
        texts = [entry.text for entry in entries if isinstance(entry, Recorded) and entry.text is not None]
        sketches: Future[Extracted] | None = None
        if texts and self._first is not None:
            if self._first <= 0:
                sketches = self._extraction.submit_texts(texts)
            self._first -= len(texts)
        return _Group([(entry, self._submit_page(entry)) for entry in entries], sketches)

    def _submit_page(self, entry: Recorded | WrongLine) -> _Submitted | None:
        """Submit a page. Return None if the line is wrong or has a text."""
        if isinstance(entry, WrongLine) or entry.text is not None:
            return None
        try:
            page = _read(entry.html if entry.html is not None else entry.file, self._max_html_bytes)
            return _Submitted(
                self._extraction.submit(page, entry.url),
                self._canonical.of(page, entry.url),
                page_language(page),
                page_title(page),
            )
        except (OSError, ValueError, ExtractionError) as error:
            failed: Future[Extracted] = Future()
            failed.set_exception(error)
            return _Submitted(failed)

    def _read_group(self, group: _Group) -> Iterator[Page | WrongLine]:
        sketches = iter(group.sketches_of_texts())
        for entry, submitted in group.entries:
            if isinstance(entry, WrongLine):
                yield entry
            elif submitted is None:
                yield Page(entry, entry.text or "", sketch=next(sketches, b""))
            else:
                yield _page(entry, submitted)


class _Submitted(NamedTuple):
    """The text to come, and the canonical url, language and title that the page gives."""

    future: Future[Extracted]
    canonical: str = ""
    language: str = ""
    title: str = ""


class _Group(NamedTuple):
    """Entries that stand together in the feed, and the sketches to come of the texts among them."""

    entries: list[tuple[Recorded | WrongLine, _Submitted | None]]
    sketches: Future[Extracted] | None

    @property
    def pages(self) -> int:
        return sum(submitted is not None for _, submitted in self.entries)

    def sketches_of_texts(self) -> tuple[bytes, ...]:
        try:
            return self.sketches.result().sketches if self.sketches is not None else ()
        except ExtractionError:  # the worker is gone: sketches are made when they are needed
            return ()


def _page(entry: Recorded, submitted: _Submitted) -> Page:
    try:
        extracted = submitted.future.result()
    except (OSError, ValueError, ExtractionError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or error
        return Page(entry, "", "extraction-failed", f"{entry.where}: {entry.file or entry.url}: {reason}")
    return Page(
        entry,
        extracted.text,
        canonical=submitted.canonical,
        page_language=submitted.language,
        page_title=submitted.title,
        sketch=extracted.sketch,
    )


def extract_page(extractor: str, source: str | Path | None, url: str, max_html_bytes: int) -> str:
    """Return the main content of HTML or of an HTML file, extracted in this process.

    Raise ExtractionError if extraction fails, and OSError if the file cannot be read.
    """
    page = _read(source, max_html_bytes)
    try:
        return load_extractor(extractor)(page if isinstance(page, str) else decode_html(page), url)
    except Exception as error:  # whatever an extractor raises is about this page
        raise ExtractionError(f"{type(error).__name__}: {error}") from None


def _read(source: str | Path | None, most: int) -> str | bytes:
    page = source.read_bytes() if isinstance(source, Path) else source or ""
    if len(page) > most:
        size = f"{len(page)} {'characters' if isinstance(page, str) else 'bytes'}"
        raise ExtractionError(f"{size}, over NEARDUP_MAX_HTML_BYTES = {most}")
    return page
