"""Main content of recorded pages, extracted ahead in worker processes while verdicts are made in order."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path

from scrapy_neardup.content import (
    CanonicalUrls,
    Extracted,
    ExtractionProcesses,
    decode_html,
    language_code,
    load_extractor,
    page_language,
)
from scrapy_neardup.document import Reason
from scrapy_neardup.evaluation.feed import Recorded, WrongLine
from scrapy_neardup.exceptions import ExtractionError
from scrapy_neardup.timings import Timings

_AHEAD = 32  # pages a worker may be ahead


@dataclass(frozen=True, slots=True)
class Page:
    """A recorded document with its main content, or with what stood against it."""

    recorded: Recorded
    text: str
    reason: Reason | None = None
    error: str | None = None
    canonical: str = ""  # the url that the page gives as its own
    page_language: str = ""  # ISO 639 code, as the page says

    @property
    def language(self) -> str:
        return language_code(self.recorded.language) or self.page_language


class PageReader:
    """Use as a context manager. Workers start with the first page; a file of texts never starts any."""

    def __init__(self, extractor: str, max_html_bytes: int, workers: int, timeout: float = 10.0) -> None:
        self._extraction = ExtractionProcesses(
            extractor, workers=workers, timeout=timeout, most_characters=max_html_bytes
        )
        self._canonical = CanonicalUrls()
        self._max_html_bytes = max_html_bytes
        self._ahead = _AHEAD * workers

    @property
    def timings(self) -> Timings:
        return self._extraction.timings

    def __enter__(self) -> PageReader:
        return self

    def __exit__(self, *exception: object) -> None:
        self._extraction.close()

    def read(self, feed: Iterable[Recorded | WrongLine]) -> Iterator[Page | WrongLine]:
        """In the order of the feed."""
        ahead: deque[tuple[Recorded | WrongLine, Future[Extracted] | None, str, str]] = deque()
        for entry in feed:
            ahead.append((entry, *self._submit(entry)))
            if len(ahead) >= self._ahead:
                yield self._page(*ahead.popleft())
        while ahead:
            yield self._page(*ahead.popleft())

    def _submit(self, entry: Recorded | WrongLine) -> tuple[Future[Extracted] | None, str, str]:
        """The text to come, and canonical url and language as the page says."""
        if isinstance(entry, WrongLine) or entry.text is not None:
            return None, "", ""
        try:
            page = _read(entry.html if entry.html is not None else entry.file, self._max_html_bytes)
            return self._extraction.submit(page, entry.url), self._canonical.of(page, entry.url), page_language(page)
        except (OSError, ValueError, ExtractionError) as error:
            failed: Future[Extracted] = Future()
            failed.set_exception(error)
            return failed, "", ""

    def _page(
        self, entry: Recorded | WrongLine, future: Future[Extracted] | None, canonical: str, language: str
    ) -> Page | WrongLine:
        if isinstance(entry, WrongLine):
            return entry
        if future is None:
            return Page(entry, entry.text or "")
        try:
            return Page(entry, future.result().text, canonical=canonical, page_language=language)
        except (OSError, ValueError, ExtractionError) as error:
            said = (error.strerror if isinstance(error, OSError) else None) or error
            return Page(entry, "", "extraction-failed", f"{entry.where}: {entry.file or entry.url}: {said}")


def extract_page(extractor: str, source: str | Path | None, url: str, max_html_bytes: int) -> str:
    """Main content of HTML or of a file of it, in this process.

    Raises ExtractionError, and OSError where the file cannot be read.
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
