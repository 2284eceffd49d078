"""Main content of recorded pages, extracted ahead in worker processes while verdicts are made in order."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from typing import NamedTuple

from scrapy_neardup.content import (
    CanonicalUrls,
    Extracted,
    ExtractionProcesses,
    language_code,
    read_head,
)
from scrapy_neardup.document import Reason
from scrapy_neardup.exceptions import ExtractionError
from scrapy_neardup.lab.feed import LONGEST_LINE, RecordedDocument, WrongLine, take
from scrapy_neardup.settings import NearDupSettings

_TOGETHER = 16  # entries of a feed; the texts among them are sketched together
_GROUPS_AHEAD = 16  # read ahead, as many as are judged together, so that workers go on while documents are judged
_PAGES_AHEAD = 32  # for each worker; a page may have megabytes
_FIRST = 512  # texts: a small file is done before a worker has started


@dataclass(frozen=True, slots=True)
class RecordedPage:
    """A recorded document with its main content, or with the reason why there is none."""

    recorded: RecordedDocument
    text: str
    reason: Reason | None = None
    error: str | None = None
    canonical: str = ""  # the url that the page gives as its own
    page_language: str = ""  # ISO 639 code, as the page says
    sketch: bytes = b""  # of the text, if a worker made one
    page_title: str = ""  # as the page says

    @property
    def size(self) -> int:
        return max(self.recorded.size, len(self.text))

    @property
    def title(self) -> str:
        return self.recorded.title or self.page_title

    @property
    def language(self) -> str:
        given = self.recorded.extra.get("language") or self.recorded.extra.get("lang")
        return (language_code(given) if isinstance(given, str) else "") or self.page_language


class PageReader:
    """Extracts pages in worker processes, which start with the first page. Use it as a context manager.

    With ``sketches`` workers sketch texts too. If a file has only a few texts, no worker is started for them.
    """

    def __init__(self, settings: NearDupSettings, workers: int, *, sketches: bool = False) -> None:
        sketching = settings.sketching() if sketches else None
        self._extraction = ExtractionProcesses(
            settings.extractor,
            workers=workers,
            timeout=settings.extract_timeout,
            most_characters=settings.max_html_bytes,
            memory=settings.extract_memory,
            sketching=sketching,
        )
        self._canonical = CanonicalUrls()
        self._max_html_bytes = settings.max_html_bytes
        self._pages_ahead = _PAGES_AHEAD * workers
        self._first = _FIRST if sketching is not None else None

    def __enter__(self) -> PageReader:
        return self

    def __exit__(self, *exception: object) -> None:
        self._extraction.close()

    def read(self, feed: Iterable[RecordedDocument | WrongLine]) -> Iterator[RecordedPage | WrongLine]:
        """Yield pages in the order of the feed."""
        entries, ahead = iter(feed), deque[_Group]()
        while group := take(entries, _TOGETHER):
            ahead.append(self._submit(group))
            while (
                len(ahead) >= _GROUPS_AHEAD
                or sum(each.pages for each in ahead) > self._pages_ahead
                or sum(each.size for each in ahead) > LONGEST_LINE
            ):
                yield from self._read_group(ahead.popleft())
        while ahead:
            yield from self._read_group(ahead.popleft())

    def _submit(self, entries: Sequence[RecordedDocument | WrongLine]) -> _Group:
        texts = [entry.text for entry in entries if isinstance(entry, RecordedDocument) and entry.text is not None]
        sketches: Future[Extracted] | None = None
        if texts and self._first is not None:
            if self._first <= 0:
                sketches = self._extraction.submit_texts(texts)
            self._first -= len(texts)
        return _Group([self._submit_page(entry) for entry in entries], sketches)

    def _submit_page(self, entry: RecordedDocument | WrongLine) -> _Submitted:
        """Return the page without its text, and the text to come if it is to be extracted."""
        if isinstance(entry, WrongLine):
            return entry, None
        if entry.text is not None:
            canonical = entry.extra.get("canonical")  # as NEARDUP_RECORD writes it
            return RecordedPage(entry, entry.text, canonical=canonical if isinstance(canonical, str) else ""), None
        given, entry = entry, replace(entry, html=None)  # the page is long, and is not needed any more
        try:
            html = _read(given, self._max_html_bytes)
            text, head = self._extraction.submit(html, entry.url), read_head(html)
            canonical = self._canonical.of(head.canonical, entry.url)
        except _PAGE_ERRORS as error:
            return _failed(entry, error), None
        return RecordedPage(entry, "", canonical=canonical, page_language=head.language, page_title=head.title), text

    def _read_group(self, group: _Group) -> Iterator[RecordedPage | WrongLine]:
        sketches = iter(group.sketches_of_texts())
        for page, text in group.entries:
            if isinstance(page, WrongLine) or page.error is not None:
                yield page
            elif text is None:
                yield replace(page, sketch=next(sketches, b""))
            else:
                try:
                    extracted = text.result()
                    yield replace(page, text=extracted.text, sketch=extracted.sketch)
                except _PAGE_ERRORS as error:
                    yield _failed(page.recorded, error)


_PAGE_ERRORS = (OSError, ValueError, ExtractionError)
_Submitted = tuple[RecordedPage | WrongLine, "Future[Extracted] | None"]


class _Group(NamedTuple):
    """Consecutive entries of the feed, and the pending sketches of the texts among them."""

    entries: list[_Submitted]
    sketches: Future[Extracted] | None

    @property
    def pages(self) -> int:
        return sum(text is not None for _, text in self.entries)

    @property
    def size(self) -> int:
        return sum(page.size for page, _ in self.entries if isinstance(page, RecordedPage))

    def sketches_of_texts(self) -> tuple[bytes, ...]:
        try:
            return self.sketches.result().sketches if self.sketches is not None else ()
        except ExtractionError:  # the worker is gone: sketches are made when they are needed
            return ()


def _failed(entry: RecordedDocument, error: Exception) -> RecordedPage:
    reason = (error.strerror if isinstance(error, OSError) else None) or error
    subject = str(entry.file or entry.url)
    where = f"{entry.where}: {subject}" if subject not in ("", entry.where) else entry.where
    return RecordedPage(entry, "", "extraction-failed", f"{where}: {reason}")


def _read(recorded: RecordedDocument, most: int) -> str | bytes:
    page: str | bytes = recorded.html or ""
    if recorded.html is None and recorded.file is not None:
        if recorded.file.exists() and not recorded.file.is_file():
            raise ExtractionError("not a regular file")
        with recorded.file.open("rb") as file:
            page = file.read(most + 1)
    if len(page) > most:
        raise ExtractionError(f"over NEARDUP_MAX_HTML_BYTES = {most}")
    return page
