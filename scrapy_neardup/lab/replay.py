"""Run recorded documents through the detector at their own times."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, fields
from typing import Any

from scrapy_neardup.detector import NearDupDetector
from scrapy_neardup.document import Document, Verdict, counted_names, with_id
from scrapy_neardup.lab.feed import take
from scrapy_neardup.lab.pages import RecordedPage
from scrapy_neardup.stories import StoryEvent

_MOST_IDS = 500_000  # some 128 MB
_VERDICT = [each.name for each in fields(Verdict) if each.name != "id"]
_TOGETHER = 256  # checks that may travel together; they are made in input order all the same


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
        is_wrong = self.page.recorded.error is not None
        return [*errors, *(["wrong_lines"] if is_wrong else ["documents", *counted_names(self.verdict)])]


@asynccontextmanager
async def opened(detector: NearDupDetector) -> AsyncIterator[NearDupDetector]:
    """Open a detector, and close it at the end."""
    await detector.open()
    try:
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
    clock = time.time()
    iterator = iter(pages)
    # Reading a page may wait for a worker process, so do it outside the event loop.
    while batch := await asyncio.to_thread(lambda: take(iterator, _TOGETHER)):
        documents = list[Document | None]()
        for page in batch:
            clock = clock if page.recorded.time is None else page.recorded.time
            is_wrong = page.error is not None or page.reason is not None
            documents.append(None if is_wrong else document_of(page, detector, clock))
        verdicts = iter(await detector.check_in_order([each for each in documents if each is not None]))
        for page, document in zip(batch, documents, strict=True):
            if document is None:
                yield Judged(page, Verdict("unchecked", reason=page.reason))
            else:
                verdict = next(verdicts)
                yield Judged(page, verdict, with_id(document, verdict.id or document.id))
        for event in detector.take_events():
            on_event(event)
    await detector.finish(all_over=all_over)
    for event in detector.take_events():
        on_event(event)


def document_of(page: RecordedPage, detector: NearDupDetector, seen_at: float | None = None) -> Document:
    return detector.document(
        page.text,
        url=page.recorded.url,
        title=page.title,
        seen_at=seen_at,
        canonical=page.canonical,
        url_is_own=page.recorded.extra.get("url_is_own") is not False,
        language=page.language,
        sketch=page.sketch,
    )


class OutputFormat:
    """Makes the rows of the output, in which document ids of this run become ids of the input.

    To bound memory, the ids that were not written for the longest time are forgotten.
    """

    def __init__(self, most_ids: int = _MOST_IDS) -> None:
        self._ids: OrderedDict[str, str | int] = OrderedDict()
        self._most_ids = most_ids

    def row(self, judged: Judged) -> dict[str, Any]:
        """Return the verdict. A wrong line of the input has the status ``unchecked`` and an ``error``."""
        page, given = judged.page, judged.page.recorded.id
        if judged.document is not None and given is not None:
            self._ids[judged.document.id] = given
            if len(self._ids) > self._most_ids:
                self._ids.popitem(last=False)
        row = {"id": given, **{name: getattr(judged.verdict, name) for name in _VERDICT}}
        for name in ("original", "match", "story"):
            row[name] = None if row[name] is None else self.given_id(row[name])
        return row if page.error is None else {**row, "error": page.error}

    def given_id(self, document: str) -> str | int:
        """Return the id in the input. A document of an earlier run keeps its document id."""
        given = self._ids.get(document)
        if given is None:
            return document
        self._ids.move_to_end(document)
        return given
