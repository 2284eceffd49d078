"""Run recorded documents through the detector at their own times.

Pages are extracted ahead in worker processes, while verdicts are made in order.
"""

import asyncio
import gc
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from concurrent.futures import Future
from contextlib import AbstractContextManager, asynccontextmanager
from dataclasses import dataclass, fields, replace
from typing import Any

from scrapy_neardup import Document, NearDupDetector, NearDupSettings, Reason, StoryEvent, Verdict
from scrapy_neardup.content.extractors import MOST_HTML_BYTES, Extracted
from scrapy_neardup.content.head import PageHead, language_code, read_head
from scrapy_neardup.content.processes import ExtractionProcesses, worker_options
from scrapy_neardup.content.urls import CanonicalUrls
from scrapy_neardup.content.worker import OBJECTS_A_COLLECTION
from scrapy_neardup.document import counted_names
from scrapy_neardup.evidence.sources import Newest
from scrapy_neardup.exceptions import ExtractionError
from scrapy_neardup.text.misread import repaired
from scrapy_neardup.tools.lab.feed import LONGEST_LINE, RecordedDocument, take

_PAGE_ERRORS = (OSError, ValueError, ExtractionError)
VERDICT_FIELDS = [each.name for each in fields(Verdict) if each.name != "id"]


@dataclass(frozen=True, slots=True)
class RecordedPage:
    """A recorded document with its main content, or with an error. A wrong line has no reason."""

    recorded: RecordedDocument
    text: str
    reason: Reason | None = None
    error: str | None = None
    canonical: str = ""  # the url that the page gives as its own
    sketch: bytes = b""  # of the text, if a worker made one
    head: PageHead = PageHead()

    @property
    def title(self) -> str:
        return self.recorded.title or self.head.title

    @property
    def language(self) -> str:
        given = self.recorded.extra.get("language") or self.recorded.extra.get("lang")
        return (language_code(given) if isinstance(given, str) else "") or self.head.language


_Submitted = tuple[RecordedPage, Future[Extracted] | None, int]  # a page, what a worker makes of it, and its size


class PageReader(AbstractContextManager["PageReader"]):
    """Extracts pages in worker processes, which start with the first page. Use it as a context manager.

    With ``sketches`` workers sketch texts too. If a file has only a few texts, no worker is started for them.
    """

    def __init__(self, settings: NearDupSettings, workers: int, *, sketches: bool = False) -> None:
        options = worker_options(settings, sketches=sketches)
        self._extraction = ExtractionProcesses(options, workers)
        # One is enough: texts are sketched faster than they are judged. It imports no extractor.
        self._sketching = ExtractionProcesses(options._replace(extractor=None), 1)
        self._canonical = CanonicalUrls()
        self._most_ahead = 128 * workers  # so they go on while documents are judged; fewer if pages are long
        self._sketches = options.sketching is not None
        self._first = 512  # texts: a small file is done before a worker has started

    def __exit__(self, *exception: object) -> None:
        self._extraction.close()
        self._sketching.close()

    def read(self, feed: Iterable[RecordedDocument]) -> Iterator[RecordedPage]:
        ahead: deque[_Submitted] = deque()
        size = 0
        for entry in feed:
            ahead.append(self._submit(entry))
            size += ahead[-1][2]
            while len(ahead) > self._most_ahead or size > LONGEST_LINE:
                page, coming, its_size = ahead.popleft()
                size -= its_size
                yield _finished(page, coming)
        yield from (_finished(page, coming) for page, coming, _ in ahead)

    def _submit(self, entry: RecordedDocument) -> _Submitted:
        if entry.error is not None:
            return RecordedPage(entry, "", error=entry.error), None, 0
        if entry.text is not None:
            canonical = entry.extra.get("canonical")  # as NEARDUP_RECORD writes it
            page = RecordedPage(entry, entry.text, canonical=canonical if isinstance(canonical, str) else "")
            self._first -= 1
            sketch = self._sketching.submit_text(repaired(entry.text)) if self._sketches and self._first < 0 else None
            return page, sketch, max(entry.size, len(entry.text))
        short = replace(entry, html=None)  # the page is long, and is not needed any more
        try:
            html: str | bytes = entry.html or ""
            if entry.html is None and entry.file is not None:
                if entry.file.exists() and not entry.file.is_file():
                    raise ExtractionError("not a regular file")
                with entry.file.open("rb") as file:
                    html = file.read(MOST_HTML_BYTES + 1)
            if len(html) > MOST_HTML_BYTES:
                raise ExtractionError(f"over the limit of {MOST_HTML_BYTES} bytes")
            text = self._extraction.submit(html, entry.url)
            head = read_head(html)
            canonical = self._canonical.of(head.canonical, entry.url)
        except _PAGE_ERRORS as error:
            return _failed(short, error), None, 0
        return RecordedPage(short, "", canonical=canonical, head=head), text, len(html)


def _finished(page: RecordedPage, coming: Future[Extracted] | None) -> RecordedPage:
    if coming is None:
        return page
    try:
        extracted = coming.result()
    except _PAGE_ERRORS as error:
        # Without a worker the sketch of a text is made when it is needed.
        return page if page.text else _failed(page.recorded, error)
    return replace(page, text=page.text or extracted.text, sketch=extracted.sketch)


def _failed(entry: RecordedDocument, error: Exception) -> RecordedPage:
    reason = getattr(error, "strerror", None) or error
    subject = str(entry.file or entry.url)
    where = f"{entry.where}: {subject}" if subject not in ("", entry.where) else entry.where
    return RecordedPage(entry, "", "extraction-failed", f"{where}: {reason}")


@dataclass(frozen=True, slots=True)
class Judged:
    """The verdict of one input line. A wrong line is ``unchecked`` without a reason."""

    page: RecordedPage
    verdict: Verdict
    document: Document | None = None

    @property
    def counted(self) -> list[str]:
        """Return the names under which a summary counts the line. A wrong line is no document."""
        errors = ["errors"] if self.page.error is not None else []
        if self.page.recorded.error is not None:
            return [*errors, "wrong_lines"]
        return [*errors, "documents", *counted_names(self.verdict)]


@asynccontextmanager
async def opened(detector: NearDupDetector) -> AsyncIterator[NearDupDetector]:
    try:
        await detector.open()
        yield detector
    finally:
        await detector.close()


async def replay(
    pages: Iterable[RecordedPage],
    detector: NearDupDetector,
    on_event: Callable[[StoryEvent], None] = lambda event: None,
    *,
    all_over: bool = False,
) -> AsyncIterator[Judged]:
    """Judge pages in their order. A page without a time counts as seen together with the page before it.

    ``on_event`` gets each event after the pages of its story. At the end of the pages those events end that are over by
    the documents' own clock. With ``all_over`` no other document will come, so all events end.
    """
    gc.set_threshold(OBJECTS_A_COLLECTION)
    read = documents_of(pages, detector, time.time())
    # Reading a page may wait for a worker process, so do it outside the event loop. So many checks go together, and
    # are made in the order of the input all the same.
    while batch := await asyncio.to_thread(lambda: take(read, 256)):
        verdicts = iter(await detector.check_in_order([document for _, document in batch if document is not None]))
        for page, document in batch:
            if document is None:
                yield Judged(page, Verdict("unchecked", reason=page.reason))
            else:
                verdict = next(verdicts)
                yield Judged(page, verdict, replace(document, id=verdict.id or document.id))
        for event in detector.take_events():
            on_event(event)
    await detector.finish(all_over=all_over)
    for event in detector.take_events():
        on_event(event)


def documents_of(
    pages: Iterable[RecordedPage], detector: NearDupDetector, clock: float
) -> Iterator[tuple[RecordedPage, Document | None]]:
    """Yield pages with their documents, None for a page with an error.

    A page without a time has that of the page before it, the first one that of the clock.
    """
    for page in pages:
        if page.recorded.time is not None:
            clock = page.recorded.time
        if page.error is None:
            yield page, document_of(page, detector, clock)
        else:
            yield page, None


def document_of(page: RecordedPage, detector: NearDupDetector, seen_at: float | None = None) -> Document:
    extra = page.recorded.extra
    return detector.document(
        page.text,
        url=page.recorded.url,
        title=page.title,
        seen_at=seen_at,
        canonical=page.canonical,
        url_is_own=extra.get("url_is_own") is not False,
        language=page.language,
        section="\n".join((str(extra.get("section", "")), page.head.section)),
        publisher=str(extra.get("publisher", "")),
        site_name=page.head.site_name,
        sketch=page.sketch,
    )


class OutputFormat:
    """Makes the rows of the output, in which document ids of this run become ids of the input.

    To bound memory, the ids that were not written for the longest time are forgotten.
    """

    def __init__(self, most_ids: int = 500_000) -> None:  # some 128 MB
        self._ids = Newest[str, str | int](most_ids)

    def row(self, judged: Judged) -> dict[str, Any]:
        """Return the verdict. A wrong line of the input has the status ``unchecked`` and an ``error``."""
        page = judged.page
        given = page.recorded.id
        if judged.document is not None and given is not None:
            self._ids[judged.document.id] = given
        row = {"id": given, **{name: getattr(judged.verdict, name) for name in VERDICT_FIELDS}}
        row |= {name: self.given_id(row[name]) for name in ("original", "match", "story") if row[name] is not None}
        return row if page.error is None else {**row, "error": page.error}

    def given_id(self, document: str) -> str | int:
        """Return the id in the input. A document of an earlier run keeps its document id."""
        if document in self._ids:
            self._ids[document] = self._ids[document]  # set again, so it is one of the newest
        return self._ids.get(document, document)
