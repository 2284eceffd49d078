"""Run recorded documents through the detector at their own times."""

from __future__ import annotations

import asyncio
import sys
import time
from collections import Counter, OrderedDict
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, fields, replace
from typing import Any, get_args

from scrapy_neardup.detector import NearDupDetector
from scrapy_neardup.document import KINDS, STATUSES, Document, Reason, Verdict, unchecked
from scrapy_neardup.lab.feed import WrongLine, take
from scrapy_neardup.lab.pages import Page
from scrapy_neardup.stories import StoryEvent

_ENTRY_BYTES = 100  # of an ordered dictionary
_MOST_ID_BYTES = 128 << 20  # some 500,000 documents
_MOST_IDS = 500_000
_VERDICT = [each.name for each in fields(Verdict) if each.name != "id"]
_TOGETHER = 256  # checks that may travel together; they are made in input order all the same


@dataclass(frozen=True, slots=True)
class Judged:
    """The verdict of one input line. A wrong line is ``unchecked`` without a reason."""

    page: Page | WrongLine
    verdict: Verdict
    document: Document | None = None


@dataclass(slots=True)
class Tally:
    """Counts for the summary."""

    documents: int = 0
    errors: int = 0  # wrong lines, and pages that cannot be read
    wrong_lines: int = 0
    verdicts: Counter[tuple[str, str]] = field(default_factory=Counter)
    events: Counter[str] = field(default_factory=Counter)
    stories_united: int = 0
    repeated: int = 0  # lines with the id of an earlier line
    first_repeated: str = ""  # file, line and id of the first of them
    _ids: set[int] = field(default_factory=set)  # hashes of ids, at most ``_MOST_IDS``

    def add(self, judged: Judged) -> None:
        verdict = judged.verdict
        self.errors += judged.page.error is not None
        self.wrong_lines += isinstance(judged.page, WrongLine)
        if isinstance(judged.page, Page):
            self.documents += 1
            self.verdicts[verdict.status, verdict.kind or verdict.reason or ""] += 1
            self._look_for_repeats(judged.page)

    def _look_for_repeats(self, page: Page) -> None:
        key = hash((type(page.recorded.id), page.recorded.id))
        if key in self._ids:
            self.repeated += 1
            self.first_repeated = self.first_repeated or f"{page.recorded.where}: {page.recorded.id!r}"
        elif len(self._ids) < _MOST_IDS:
            self._ids.add(key)

    def share(self, name: str) -> float:
        """Return the share of the documents with this status, kind or reason. Raise KeyError if there is no such."""
        if name not in (*STATUSES, *KINDS, *get_args(Reason)):
            raise KeyError(name)
        return sum(count for names, count in self.verdicts.items() if name in names) / max(1, self.documents)


@asynccontextmanager
async def opened(detector: NearDupDetector) -> AsyncIterator[NearDupDetector]:
    """Open a detector, and close it at the end."""
    await detector.open()
    try:
        yield detector
    finally:
        await detector.close()


async def replay(
    pages: Iterable[Page | WrongLine],
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
        answers: list[Judged] = []
        for page in batch:
            if isinstance(page, WrongLine):
                answers.append(Judged(page, Verdict("unchecked")))
            elif page.reason is not None:
                answers.append(Judged(page, unchecked(page.reason)))
            else:
                clock = clock if page.recorded.time is None else page.recorded.time
                answers.append(Judged(page, Verdict("unchecked"), _document(page, detector, clock)))
        verdicts = iter(await detector.check_in_order([each.document for each in answers if each.document is not None]))
        for each in answers:
            yield each if each.document is None else _with_verdict(each, each.document, next(verdicts))
        for event in detector.take_events():
            on_event(event)
    await detector.finish(all_over=all_over)
    for event in detector.take_events():
        on_event(event)


def _with_verdict(judged: Judged, document: Document, verdict: Verdict) -> Judged:
    return replace(judged, verdict=verdict, document=replace(document, id=verdict.id or document.id))


def _document(page: Page, detector: NearDupDetector, seen_at: float) -> Document:
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

    def __init__(self, most_bytes: int = _MOST_ID_BYTES) -> None:
        self._ids: OrderedDict[str, str | int] = OrderedDict()
        self._most_bytes = most_bytes
        self._bytes = 0

    def row(self, judged: Judged) -> dict[str, Any]:
        """Return the verdict. A wrong line of the input has the status ``unchecked`` and an ``error``."""
        page = judged.page
        given = page.id if isinstance(page, WrongLine) else page.recorded.id
        if judged.document is not None and given is not None:
            self._remember(judged.document.id, given)
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

    def _remember(self, document: str, given: str | int) -> None:
        self._ids[document] = given
        self._bytes += _size(document, given)
        while self._bytes > self._most_bytes:
            self._bytes -= _size(*self._ids.popitem(last=False))


def _size(document: str, given: str | int) -> int:
    return sys.getsizeof(document) + sys.getsizeof(given) + _ENTRY_BYTES
