"""Main content of recorded pages, extracted ahead in worker processes while verdicts are made in order."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

from scrapy_neardup.content import decode_html, load_extractor
from scrapy_neardup.document import Reason
from scrapy_neardup.evaluation.feed import Recorded, WrongLine
from scrapy_neardup.exceptions import ExtractionError

_AHEAD = 32  # pages a worker may be ahead


@dataclass(frozen=True, slots=True)
class Page:
    """A recorded document with its main content, or with what stood against it."""

    recorded: Recorded
    text: str
    reason: Reason | None = None
    error: str | None = None


class PageReader:
    """Use as a context manager. Workers start with the first page; a file of texts never starts any."""

    def __init__(self, extractor: str, max_html_bytes: int, workers: int) -> None:
        load_extractor(extractor)  # a wrong name is an error now, not in a worker
        self._extractor = extractor
        self._max_html_bytes = max_html_bytes
        self._workers = workers
        self._pool: ProcessPoolExecutor | None = None

    def __enter__(self) -> PageReader:
        return self

    def __exit__(self, *exception: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)

    def read(self, feed: Iterable[Recorded | WrongLine]) -> Iterator[Page | WrongLine]:
        """In the order of the feed."""
        ahead: deque[tuple[Recorded | WrongLine, Future[str] | None]] = deque()
        for entry in feed:
            ahead.append((entry, self._submit(entry)))
            if len(ahead) >= _AHEAD * self._workers:
                yield self._page(*ahead.popleft())
        while ahead:
            yield self._page(*ahead.popleft())

    def _submit(self, entry: Recorded | WrongLine) -> Future[str] | None:
        if isinstance(entry, WrongLine) or entry.text is not None:
            return None
        if self._pool is None:
            self._pool = ProcessPoolExecutor(self._workers, mp_context=get_context("spawn"))
        source = entry.html if entry.html is not None else entry.file
        try:
            return self._pool.submit(extract_page, self._extractor, source, entry.url, self._max_html_bytes)
        except BrokenProcessPool:
            self._pool = None
            return self._submit(entry)

    def _page(self, entry: Recorded | WrongLine, future: Future[str] | None) -> Page | WrongLine:
        if isinstance(entry, WrongLine):
            return entry
        if future is None:
            return Page(entry, entry.text or "")
        try:
            return Page(entry, future.result())
        except OSError as error:
            return Page(entry, "", "extraction-failed", f"{entry.file}: {error.strerror or error}")
        except (ExtractionError, BrokenProcessPool) as error:
            return Page(entry, "", "extraction-failed", f"{entry.file or entry.url}: {error}")


def extract_page(extractor: str, source: str | Path | None, url: str, max_html_bytes: int) -> str:
    """Main content of HTML or of a file of it. Raises ExtractionError, and OSError where the file cannot be read."""
    html = decode_html(source.read_bytes()) if isinstance(source, Path) else source or ""
    if len(html) > max_html_bytes:
        raise ExtractionError(f"{len(html)} characters, over NEARDUP_MAX_HTML_BYTES = {max_html_bytes}")
    try:
        return load_extractor(extractor)(html, url)
    except Exception as error:  # whatever an extractor raises is about this page
        raise ExtractionError(f"{type(error).__name__}: {error}") from None
