"""Main content of recorded pages, extracted ahead in worker processes while verdicts are made in order."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass, replace

from scrapy_neardup.content import (
    CanonicalUrls,
    Extracted,
    ExtractionProcesses,
    language_code,
    read_head,
)
from scrapy_neardup.document import Reason
from scrapy_neardup.exceptions import ExtractionError
from scrapy_neardup.lab.feed import LONGEST_LINE, RecordedDocument
from scrapy_neardup.settings import NearDupSettings

_PAGES_AHEAD = 128  # for each worker, so that they go on while documents are judged; fewer if they are long
_PAGE_ERRORS = (OSError, ValueError, ExtractionError)
_FIRST = 512  # texts: a small file is done before a worker has started


@dataclass(frozen=True, slots=True)
class RecordedPage:
    """A recorded document with its main content, or with an error. A wrong line has no reason."""

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


_Submitted = tuple[RecordedPage, Future[Extracted] | None, int]
"""A page, what a worker makes of it, and the size of its text or HTML."""


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
        self._most_ahead = _PAGES_AHEAD * workers
        self._sketches = sketching is not None
        self._first = _FIRST

    def __enter__(self) -> PageReader:
        return self

    def __exit__(self, *exception: object) -> None:
        self._extraction.close()

    def read(self, feed: Iterable[RecordedDocument]) -> Iterator[RecordedPage]:
        """Yield pages in the order of the feed."""
        ahead, size = deque[_Submitted](), 0
        for entry in feed:
            ahead.append(self._submit(entry))
            size += ahead[-1][2]
            while len(ahead) > self._most_ahead or size > LONGEST_LINE:
                page, coming, its_size = ahead.popleft()
                size -= its_size
                yield _finished(page, coming)
        for page, coming, _ in ahead:
            yield _finished(page, coming)

    def _submit(self, entry: RecordedDocument) -> _Submitted:
        if entry.error is not None:
            return RecordedPage(entry, "", error=entry.error), None, 0
        if entry.text is not None:
            canonical = entry.extra.get("canonical")  # as NEARDUP_RECORD writes it
            page = RecordedPage(entry, entry.text, canonical=canonical if isinstance(canonical, str) else "")
            self._first -= 1
            sketch = self._extraction.submit_texts([entry.text]) if self._sketches and self._first < 0 else None
            return page, sketch, page.size
        given, entry = entry, replace(entry, html=None)  # the page is long, and is not needed any more
        try:
            html = _read(given, self._max_html_bytes)
            text, head = self._extraction.submit(html, entry.url), read_head(html)
            canonical = self._canonical.of(head.canonical, entry.url)
        except _PAGE_ERRORS as error:
            return _failed(entry, error), None, 0
        page = RecordedPage(entry, "", canonical=canonical, page_language=head.language, page_title=head.title)
        return page, text, len(html)


def _finished(page: RecordedPage, coming: Future[Extracted] | None) -> RecordedPage:
    """Return a page with what a worker makes of it: its text, or the sketch of the text that it has."""
    if coming is None:
        return page
    try:
        extracted = coming.result()
    except _PAGE_ERRORS as error:
        # Without a worker the sketch of a text is made when it is needed.
        return page if page.text else _failed(page.recorded, error)
    return replace(page, text=page.text or extracted.text, sketch=extracted.sketch)


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
