"""Read feeds and recorded documents, and bring together what belongs to one item.

Texts are not kept: the rows of 200,000 items fit into memory, their texts do not. The few texts that the page shows are
read in a second pass.
"""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from sys import intern
from typing import Any

from scrapy_neardup.content import language_code
from scrapy_neardup.document import LEVELS
from scrapy_neardup.lab.feed import Recorded, WrongLine, read_feed
from scrapy_neardup.lab.pages import Page, PageReader
from scrapy_neardup.report.clean import clean_line, clean_text
from scrapy_neardup.report.reading import Raw, read_rows
from scrapy_neardup.report.rows import LONGEST_NAME, LONGEST_TEXT, LONGEST_TITLE, LONGEST_URL, Row, RowFormat, source_in
from scrapy_neardup.settings import NearDupSettings

Track = Callable[[Iterable[Raw | WrongLine]], Iterator[Raw | WrongLine]]

_MOST_PROBLEMS = 20  # listed; the others are counted
_MOST_EVENTS = 10_000  # reports read


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
    fields: Counter[str] = field(default_factory=Counter)  # tags that were there, by the number of items
    has_named_dropped: bool = False
    repeated: int = 0  # items that an earlier feed has too

    def __post_init__(self) -> None:
        self.format = RowFormat(self.settings)

    def texts(self, wanted: set[int], workers: int = os.cpu_count() or 1) -> dict[int, str]:
        """Return the texts of these rows, by their numbers. Rows without a text are left out."""
        in_feeds = {number for number in wanted if self.rows[number].characters}
        found = {number: self.format.text(raw) for number, raw in self._items() if number in in_feeds}
        by_document = {
            self.rows[number].document: number for number in wanted - in_feeds if self.rows[number].document >= 0
        }
        if by_document:
            found.update(self._recorded_texts(by_document, workers))
        return {number: text for number, text in found.items() if text}

    def _recorded_texts(self, numbers: dict[int, int], workers: int) -> Iterator[tuple[int, str]]:
        chosen = [each for place, each in enumerate(_recorded(self.documents)) if place in numbers]
        rows = [numbers[place] for place in sorted(numbers)]
        with PageReader(self.settings, workers) as reader:
            for row, page in zip(rows, reader.read(chosen), strict=True):
                if isinstance(page, Page) and page.error is None:
                    yield row, clean_text(page.text, LONGEST_TEXT)

    def _items(self) -> Iterator[tuple[int, Raw]]:
        """Yield the items of all feeds with their numbers: without wrong lines and without reports of events."""
        number = 0
        for path in (*self.feeds, *self.dropped):
            for raw in read_rows(path, self.format.columns):
                if not isinstance(raw, WrongLine) and not _is_event(raw):
                    yield number, raw
                    number += 1

    def note_problem(self, problem: str) -> None:
        self.problem_count += 1
        if len(self.problems) < _MOST_PROBLEMS:
            self.problems.append(problem)


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
    counts = [(path, _read_feed(path, gathered, track)) for path in (*feeds, *dropped)]
    start, earlier = 0, set[int]()
    for path, count in counts:
        rows = gathered.rows[start : start + count]
        start += count
        keys = [key for row in rows if (key := _item_key(row)) is not None]
        gathered.repeated += sum(key in earlier for key in keys)
        earlier.update(keys)
        if path in dropped or (len(feeds) > 1 and _are_dropped(rows, gathered.rows)):
            gathered.has_named_dropped = True
            for row in rows:
                row.is_dropped = True
    if documents:
        _add_documents(gathered)
    return gathered


def _read_feed(path: Path, gathered: Gathered, track: Track) -> int:
    """Read a feed, and return the number of its items."""
    before = len(gathered.rows)
    for raw in track(read_rows(path, gathered.format.columns)):
        if isinstance(raw, WrongLine):
            gathered.note_problem(raw.error)
        elif _is_event(raw):
            if len(gathered.events) < _MOST_EVENTS:
                gathered.events.append(raw)
        else:
            row = gathered.format.read(len(gathered.rows), raw)
            gathered.fields.update(_tags_of(row))
            gathered.rows.append(row)
    return len(gathered.rows) - before


def _tags_of(row: Row) -> list[str]:
    """Return the tags without which part of the page has nothing to show."""
    return [name for name in ("match", "story") if getattr(row, name)]


def _is_event(raw: Raw) -> bool:
    return raw.get("level") in LEVELS and isinstance(raw.get("members"), list) and "growth" in raw


def _are_dropped(rows: Sequence[Row], all_rows: Sequence[Row]) -> bool:
    """Recognise a feed of dropped items: all of them would be dropped, and none of the other feeds would be."""
    return bool(rows) and all(row.would_drop for row in rows) and sum(row.would_drop for row in all_rows) == len(rows)


def _item_key(row: Row) -> int | None:
    """Return what an item has in every feed that holds it, None if another visit of its page may have the same.

    The verdict is no part of it: it differs if two crawls judged the item in windows of their own.
    """
    is_another_visit = row.kind == "revisit" or row.status in ("update", "unchecked")
    if not (row.url or row.id) or (is_another_visit and row.time is None):
        return None
    return hash((row.id, row.url, row.title, row.time))


def _recorded(paths: Sequence[Path]) -> Iterator[Recorded]:
    return (entry for path in paths for entry in read_feed(path) if isinstance(entry, Recorded))


def _add_documents(gathered: Gathered) -> None:
    """Fill what the rows lack from the recorded documents: by id, else by url, the first visit of a page first."""
    by_id = {each.id: each for each in reversed(gathered.rows) if each.id}
    by_url: defaultdict[str, list[Row]] = defaultdict(list)
    for each in reversed(gathered.rows):
        if each.url:
            by_url[each.url].append(each)
    place = -1
    for path in gathered.documents:
        for entry in read_feed(path):
            if isinstance(entry, WrongLine):
                gathered.note_problem(entry.error)
                continue
            place += 1
            row: Row | None = by_id.get(clean_line(str(entry.id), LONGEST_NAME))
            visits = by_url.get(clean_line(entry.url, LONGEST_URL), [])
            while (row is None or row.document >= 0) and visits:
                row = visits.pop()
            if row is not None and row.document < 0:
                _fill(row, entry, place)


def _fill(row: Row, entry: Recorded, place: int) -> None:
    row.document, row.is_page = place, entry.text is None
    row.title = row.title or clean_line(entry.title, LONGEST_TITLE)
    row.time = entry.time if row.time is None else row.time
    if not row.url:
        row.url = clean_line(entry.url, LONGEST_URL)
        row.source = source_in(row.url)
    language = entry.extra.get("language")
    if not row.language and isinstance(language, str):
        row.language = intern(language_code(language))
