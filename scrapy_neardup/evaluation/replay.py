"""Run recorded documents through the detector at their own times."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections import Counter, OrderedDict
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from scrapy_neardup.detector import NearDupDetector
from scrapy_neardup.document import Document, Verdict, unchecked
from scrapy_neardup.evaluation.feed import WrongLine
from scrapy_neardup.evaluation.pages import Page
from scrapy_neardup.stories import StoryEvent, special_report

_ENTRY_BYTES = 100  # of an ordered dictionary
_MOST_ID_BYTES = 128 << 20  # some 500,000 documents
_TOGETHER = 256  # checks that may travel together; they are made in input order all the same


@dataclass(frozen=True, slots=True)
class Judged:
    """The result of one input line: a verdict, or an error."""

    page: Page | WrongLine
    verdict: Verdict | None
    document: Document | None = None

    @property
    def error(self) -> str | None:
        return self.page.error


@dataclass(slots=True)
class Tally:
    """Counts for the summary."""

    documents: int = 0
    errors: int = 0
    verdicts: Counter[tuple[str, str]] = field(default_factory=Counter)
    events: Counter[str] = field(default_factory=Counter)

    def add(self, judged: Judged) -> None:
        self.errors += judged.error is not None
        if judged.verdict is not None:
            self.documents += 1
            self.verdicts[judged.verdict.status, judged.verdict.kind or judged.verdict.reason or ""] += 1


async def replay(
    pages: Iterable[Page | WrongLine],
    detector: NearDupDetector,
    on_event: Callable[[StoryEvent], None] | None = None,
) -> AsyncIterator[Judged]:
    """Judge pages in their order. A page without a time counts as seen together with the page before it.

    ``on_event`` gets each event after the pages of its story.
    """
    clock = time.time()
    iterator = iter(pages)
    # Reading a page may wait for a worker process: not in the event loop.
    while batch := await asyncio.to_thread(_take, iterator):
        documents: list[Document | None] = []
        for page in batch:
            if isinstance(page, WrongLine) or page.reason is not None:
                documents.append(None)
                continue
            clock = clock if page.recorded.time is None else page.recorded.time
            documents.append(_document(page, detector, clock))
        verdicts = iter(await detector.check_in_order([each for each in documents if each is not None]))
        for page, judged in zip(batch, documents, strict=True):
            if judged is not None:
                yield Judged(page, next(verdicts), judged)
            elif isinstance(page, WrongLine) or page.reason is None:
                yield Judged(page, None)
            else:
                yield Judged(page, unchecked(page.reason))
        for event in detector.take_events():
            if on_event is not None:
                on_event(event)


def _document(page: Page, detector: NearDupDetector, seen_at: float) -> Document:
    """Return the page's document. If a worker made its sketch, hand that to the detector."""
    recorded = page.recorded
    document = detector.document(
        page.text,
        url=recorded.url,
        title=page.title,
        seen_at=seen_at,
        canonical=page.canonical,
        language=page.language,
    )
    if page.sketch:
        detector.take_over(document, page.sketch)
    return document


def _take(iterator: Iterator[Page | WrongLine]) -> list[Page | WrongLine]:
    return list(islice(iterator, _TOGETHER))


class OutputFormat:
    """Makes the lines of the output, in which document ids of this run become ids of the input.

    To bound memory, the ids that were not written for the longest time are forgotten.
    """

    def __init__(self, most_bytes: int = _MOST_ID_BYTES) -> None:
        self._ids: OrderedDict[str, str | int] = OrderedDict()
        self._most_bytes = most_bytes
        self._bytes = 0

    def line(self, judged: Judged) -> str:
        """Return one JSON object. A wrong line of the input has the status ``unchecked`` and an ``error``."""
        page = judged.page
        given = page.id if isinstance(page, WrongLine) else page.recorded.id
        if judged.document is not None and given is not None:
            self._remember(judged.document.id, given)
        verdict = judged.verdict or Verdict("unchecked")
        row: dict[str, Any] = {
            "id": given,
            "status": verdict.status,
            "kind": verdict.kind,
            "original": self._given(verdict.original),
            "original_url": verdict.original_url,
            "match": self._given(verdict.match),
            "match_url": verdict.match_url,
            "similarity": verdict.similarity,
            "containment": verdict.containment,
            "share": verdict.share,
            "would_drop": verdict.would_drop,
            "story": self._given(verdict.story),
            "changes": list(verdict.changes),
            "event": verdict.event,
            "reason": verdict.reason,
        }
        if judged.error is not None:
            row["error"] = judged.error
        return json.dumps(row, ensure_ascii=False)

    def event_line(self, event: StoryEvent) -> str:
        """Return one JSON object: the special report."""
        return json.dumps(special_report(event, self._known), ensure_ascii=False)

    def _given(self, document: str | None) -> str | int | None:
        """Return the id in the input. A document of an earlier run keeps its document id."""
        return None if document is None else self._known(document)

    def _known(self, document: str) -> str | int:
        given = self._ids.get(document)
        if given is None:
            return document
        self._ids.move_to_end(document)
        return given

    def _remember(self, document: str, given: str | int) -> None:
        self._ids[document] = given
        self._bytes += _size(document, given)
        while self._bytes > self._most_bytes:
            self._bytes -= _size(*self._ids.popitem(last=False))


def _size(document: str, given: str | int) -> int:
    return sys.getsizeof(document) + sys.getsizeof(given) + _ENTRY_BYTES
