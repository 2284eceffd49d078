"""Read feeds and recorded documents, and bring together what belongs to one item.

Texts are not kept: the rows of 200,000 items fit into memory, their texts do not. The few texts that the page shows are
read in a second pass.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from scrapy_neardup.lab.feed import RecordedDocument, WrongLine, read_feed
from scrapy_neardup.lab.pages import PageReader, RecordedPage
from scrapy_neardup.report.reading import Raw, read_rows
from scrapy_neardup.report.rows import LONGEST_NAME, LONGEST_TEXT, LONGEST_URL, Row, RowFormat, clean_line, clean_text
from scrapy_neardup.report.stories import is_report, items_of
from scrapy_neardup.settings import NearDupSettings

Track = Callable[[Iterable[Raw | WrongLine]], Iterator[Raw | WrongLine]]

_MOST_PROBLEMS = 20  # listed; the others are counted


@dataclass
class Gathered:
    """The items of all feeds in their order, the special reports of events, and what could not be read."""

    settings: NearDupSettings
    feeds: Sequence[Path]
    documents: Sequence[Path] = ()
    dropped: Sequence[Path] = ()
    rows: list[Row] = field(default_factory=list)
    events: list[dict[str, Any]] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    problem_count: int = 0

    def __post_init__(self) -> None:
        self.format = RowFormat(self.settings)

    def texts(self, wanted: set[int]) -> dict[int, str]:
        """Return the texts of these rows, by their numbers. Rows without a text are left out."""
        in_feeds = {number for number in wanted if self.rows[number].characters}
        found: dict[int, str] = {}
        number = 0
        for path in (*self.feeds, *self.dropped):
            for raw in read_rows(path, self.format.columns):
                if not isinstance(raw, WrongLine) and not is_report(raw):
                    if number in in_feeds:
                        found[number] = self.format.text(raw)
                    number += 1
        by_document = {
            self.rows[number].document: number for number in wanted - in_feeds if self.rows[number].document >= 0
        }
        if by_document:
            found.update(self._recorded_texts(by_document))
        return {number: text for number, text in found.items() if text}

    def _recorded_texts(self, numbers: dict[int, int]) -> Iterator[tuple[int, str]]:
        entries = (entry for path in self.documents for entry in read_feed(path))
        documents = (entry for entry in entries if isinstance(entry, RecordedDocument))
        chosen = (each for place, each in enumerate(documents) if place in numbers)
        rows = [numbers[place] for place in sorted(numbers)]
        with PageReader(self.settings, os.cpu_count() or 1) as reader:
            for row, page in zip(rows, reader.read(chosen), strict=True):
                if isinstance(page, RecordedPage) and page.error is None:
                    yield row, clean_text(page.text, LONGEST_TEXT)

    def note_problem(self, wrong: WrongLine) -> None:
        self.problem_count += 1
        if len(self.problems) < _MOST_PROBLEMS:
            self.problems.append(wrong.error)


def gather(
    feeds: Sequence[Path],
    settings: NearDupSettings,
    documents: Sequence[Path] = (),
    dropped: Sequence[Path] = (),
    *,
    track: Track = iter,
) -> Gathered:
    """Read everything but the texts. Raise InputError if a file cannot be read at all.

    ``track`` passes on the items that it is given, and may show how many have come.
    """
    gathered = Gathered(settings, feeds, documents, dropped)
    earlier = set[int]()
    for path in (*feeds, *dropped):
        start = len(gathered.rows)
        _read_feed(path, gathered, track)
        rows = gathered.rows[start:]
        for row in rows:
            row.is_dropped, row.is_again = path in dropped, _item_key(row) in earlier
        earlier.update(map(_item_key, rows))
    if documents:
        _add_documents(gathered)
    for raw in items_of(gathered.events, {name for row in gathered.rows for name in (row.url, row.id)}):
        row = gathered.format.read(len(gathered.rows), raw)
        row.is_reported = True
        gathered.rows.append(row)
    return gathered


def _read_feed(path: Path, gathered: Gathered, track: Track) -> None:
    for raw in track(read_rows(path, gathered.format.columns)):
        if isinstance(raw, WrongLine):
            gathered.note_problem(raw)
        elif is_report(raw):
            gathered.events.append(raw)
        else:
            gathered.rows.append(gathered.format.read(len(gathered.rows), raw))


def _item_key(row: Row) -> int:
    """Return what a page has in the feeds of all runs that met it unchanged. An update is new in each run."""
    name, visit = row.url or row.id or row.number, (row.time, row.changes) if row.status == "update" else ()
    return hash((name, row.title, *visit))


def _add_documents(gathered: Gathered) -> None:
    """Fill what the rows lack from the recorded documents: by id, else by url, the first visit of a page first."""
    by_id = {each.id: each for each in reversed(gathered.rows) if each.id}
    by_url: defaultdict[str, list[Row]] = defaultdict(list)
    for each in reversed(gathered.rows):
        by_url[each.url].append(each)
    place = -1
    for path in gathered.documents:
        for entry in read_feed(path):
            if isinstance(entry, WrongLine):
                gathered.note_problem(entry)
                continue
            place += 1
            row: Row | None = by_id.get(clean_line(str(entry.id), LONGEST_NAME))
            visits = by_url.get(clean_line(entry.url, LONGEST_URL), []) if entry.url else []
            while (row is None or row.document >= 0) and visits:
                row = visits.pop()
            if row is not None and row.document < 0:
                row.document = place
                gathered.format.fill(row, entry)
