"""Read feeds and recorded documents, and bring together what belongs to one item.

Feeds may have any form that Scrapy exports: JSON lines, JSON or CSV, plain or packed. What cannot be read becomes a
WrongLine, so that a report can say what it left out: a crawl that was killed leaves a feed whose last item is half
written.

Texts are not kept: the rows of 200,000 items fit into memory, their texts do not. The few texts that the page shows are
read in a second pass.
"""

from __future__ import annotations

import csv
import io
import json
import os
import re
from codecs import BOM_UTF8
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any, cast

from scrapy_neardup.exceptions import InputError
from scrapy_neardup.lab.feed import (
    CUT_OFF,
    LONGEST_LINE,
    TOO_LONG,
    RecordedDocument,
    WrongLine,
    objects_of,
    read_feed,
    read_packed,
    require_object,
)
from scrapy_neardup.lab.pages import PageReader, RecordedPage
from scrapy_neardup.report.rows import LONGEST_NAME, LONGEST_TEXT, LONGEST_URL, Row, RowFormat, clean_line, clean_text
from scrapy_neardup.report.stories import is_report, items_of
from scrapy_neardup.settings import NearDupSettings

Raw = dict[str, Any]
Track = Callable[[Iterable[Raw | WrongLine]], Iterator[Raw | WrongLine]]

_MOST_PROBLEMS = 20  # listed; the others are counted
_CHUNK = 1 << 20  # characters
_BETWEEN_ITEMS = re.compile(r"[\s,\[\]]*")  # a crawl that appends to a JSON file leaves "][" in it


def read_rows(path: Path, columns: Sequence[str] = ()) -> Iterator[Raw | WrongLine]:
    """Return the items of a feed in their order. The form is recognised by the first character.

    Raise InputError at once if nothing can be read. Text is taken for CSV only if one of its columns is in ``columns``.
    """
    rows = read_packed(path, lambda file: _rows(file, path, columns))
    return chain(list(islice(rows, 1)), rows)


def _rows(file: IO[bytes], path: Path, columns: Sequence[str]) -> Iterator[Raw | WrongLine]:
    first = cast("io.BufferedReader", file).peek(64).removeprefix(BOM_UTF8).lstrip()[:1]
    if first == b"{":
        yield from (content for _, _, content in objects_of(file, path, "replace"))
    elif first == b"[":
        yield from _json_array(io.TextIOWrapper(file, "utf-8-sig", errors="replace"), path)
    else:
        yield from _csv(io.TextIOWrapper(file, "utf-8-sig", errors="replace", newline=""), path, columns)


def _json_array(source: io.TextIOWrapper, path: Path) -> Iterator[Raw | WrongLine]:
    """Read a list of items in chunks, so that a feed of any size takes little memory."""
    decoder = json.JSONDecoder()
    buffer, place, number = source.read(_CHUNK), 0, 1
    while True:
        place = cast("re.Match[str]", _BETWEEN_ITEMS.match(buffer, place)).end()
        try:
            row, place = decoder.raw_decode(buffer, place)
        except (ValueError, RecursionError):
            rest = buffer[place:]
            more = "" if len(rest) > LONGEST_LINE else source.read(max(_CHUNK, len(rest)))
            if not more:
                if rest:
                    problem = CUT_OFF if len(rest) <= LONGEST_LINE else TOO_LONG
                    yield WrongLine(number, None, f"{path}: item {number}: {problem}")
                return
            buffer, place = rest + more, 0
            continue
        try:
            yield require_object(row)
        except InputError as error:
            yield WrongLine(number, None, f"{path}: item {number}: {error}")
        number += 1


def _csv(source: io.TextIOWrapper, path: Path, columns: Sequence[str]) -> Iterator[Raw | WrongLine]:
    csv.field_size_limit(max(csv.field_size_limit(), LONGEST_LINE))
    reader = csv.DictReader(_csv_lines(source))
    try:
        names = reader.fieldnames or ()
        if names and columns and not set(columns) & set(names):
            raise InputError(
                f"{path}: is neither JSON lines nor JSON, and has no column {' or '.join(map(repr, columns[:3]))}"
            )
        for row in reader:
            row.pop(None, None)  # cells without a column
            if None in row.values():
                yield WrongLine(reader.line_num, None, f"{path}:{reader.line_num}: {CUT_OFF}")
            yield {name: value if value != "" else None for name, value in row.items()}
    except csv.Error as error:
        yield WrongLine(reader.line_num, None, f"{path}:{reader.line_num}: not CSV: {error}")


def _csv_lines(source: io.TextIOWrapper) -> Iterator[str]:
    while line := source.readline(LONGEST_LINE):
        if len(line) == LONGEST_LINE:
            raise csv.Error(TOO_LONG)
        yield line


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
