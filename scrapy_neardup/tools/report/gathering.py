"""Read feeds and recorded documents, and bring together what belongs to one item.

Feeds are JSON lines or JSON, plain or packed. A report says which lines could
not be read: a crawl that was killed leaves a feed whose last item is half written.

Texts are not kept: the rows of 200,000 items fit into memory, their texts do not. The few texts that the page shows are
read in a second pass.
"""

import io
import json
import os
import re
from codecs import BOM_UTF8
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import IO, Any, cast

from scrapy_neardup import NearDupSettings
from scrapy_neardup.exceptions import InputError
from scrapy_neardup.tools.lab.feed import (
    CUT_OFF,
    LONGEST_LINE,
    TOO_LONG,
    FeedLine,
    RecordedDocument,
    line_of,
    objects_of,
    read_feed,
    read_packed,
)
from scrapy_neardup.tools.lab.replay import PageReader
from scrapy_neardup.tools.report.feed_stories import is_report, items_of
from scrapy_neardup.tools.report.rows import (
    LONGEST_NAME,
    LONGEST_TEXT,
    LONGEST_URL,
    Row,
    RowFormat,
    clean_line,
    clean_text,
)

_BETWEEN_ITEMS = re.compile(r"[\s,\[\]]*")  # a crawl that appends to a JSON file leaves "][" in it


def read_rows(path: Path) -> Iterator[FeedLine]:
    """Yield the items of a feed in their order. Raise InputError if nothing can be read."""
    return read_packed(path, lambda file: _lines(file, path))


def _lines(file: IO[bytes], path: Path) -> Iterator[FeedLine]:
    first = cast("io.BufferedReader", file).peek(64).removeprefix(BOM_UTF8).lstrip()[:1]
    if first not in (b"{", b"[", b""):
        raise InputError(f"{path}: is neither JSON lines nor JSON: crawl with -O items.jsonl")
    if first == b"[":
        return _json_array(io.TextIOWrapper(file, "utf-8-sig", errors="replace"), path)
    return objects_of(file, path, "replace")


def _json_array(source: io.TextIOWrapper, path: Path) -> Iterator[FeedLine]:
    text = source.read()
    place = 0
    for number in count(1):
        place = cast("re.Match[str]", _BETWEEN_ITEMS.match(text, place)).end()
        if place == len(text):
            return
        where = f"{path}: item {number}"
        try:
            value, end = json.JSONDecoder().raw_decode(text, place)
        except (ValueError, RecursionError) as error:  # also of thousands of digits, or of lists in lists
            yield FeedLine(
                number,
                0,
                {},
                f"{where}: not JSON: {error}: perhaps {CUT_OFF}; this item and those behind it are not read",
            )
            return
        if end - place > LONGEST_LINE:
            yield FeedLine(number, 0, {}, f"{where}: {TOO_LONG}")
            return
        place = end
        yield line_of(number, 0, value, where)


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

    def __post_init__(self) -> None:
        self.format = RowFormat(self.settings)

    def add(self, raw: Mapping[str, Any]) -> Row:
        self.rows.append(self.format.read(len(self.rows), raw))
        return self.rows[-1]

    def texts(self, wanted: set[int]) -> dict[int, str]:
        """Return the texts of these rows, by their numbers. Rows without a text are left out."""
        lines = (line for path in (*self.feeds, *self.dropped) for line in read_rows(path))
        items = (line.row for line in lines if line.error is None and not is_report(line.row))
        found = {number: self.format.text(raw) for number, raw in enumerate(items) if number in wanted}
        lacking = {self.rows[number].document: number for number in wanted if not found.get(number)}
        lacking.pop(-1, None)
        chosen = (document for place, document in enumerate(self.recorded()) if place in lacking)
        with PageReader(self.settings, os.cpu_count() or 1) as reader:
            for place, page in zip(sorted(lacking), reader.read(chosen), strict=True):
                found[lacking[place]] = clean_text(page.text, LONGEST_TEXT)
        return {number: text for number, text in found.items() if text}

    def recorded(self) -> Iterator[RecordedDocument]:
        return (document for path in self.documents for document in read_feed(path))


def gather(
    feeds: Sequence[Path],
    settings: NearDupSettings,
    documents: Sequence[Path] = (),
    dropped: Sequence[Path] = (),
    *,
    track: Callable[[Iterable[FeedLine]], Iterator[FeedLine]] = iter,
) -> Gathered:
    """Read everything but the texts. Raise InputError if a file cannot be read at all.

    ``track`` passes on the lines that it is given, and may show how many have come.
    """
    gathered = Gathered(settings, feeds, documents, dropped)
    earlier = set[tuple[object, ...]]()
    for path in (*feeds, *dropped):
        visits = set[tuple[object, ...]]()
        for line in track(read_rows(path)):
            if line.error is not None:
                gathered.problems.append(line.error)
            elif is_report(line.row):
                gathered.events.append(line.row)
            else:
                row = gathered.add(line.row)
                row.is_dropped = path in dropped
                row.is_again = row.visit in earlier
                visits.add(row.visit)
        earlier |= visits
    _add_documents(gathered)
    for raw in items_of(gathered.events, {name for row in gathered.rows for name in (row.url, row.id)}):
        gathered.add(raw).is_reported = True
    return gathered


def _add_documents(gathered: Gathered) -> None:
    """Fill what the rows lack from the recorded documents: by id, else by url, the first visit of a page first."""
    by_id = {each.id: each for each in reversed(gathered.rows) if each.id}
    by_url: defaultdict[str, list[Row]] = defaultdict(list)
    for each in reversed(gathered.rows):
        by_url[each.url].append(each)
    for place, entry in enumerate(gathered.recorded()):
        if entry.error is not None:
            gathered.problems.append(entry.error)
            continue
        row: Row | None = by_id.get(clean_line(str(entry.id), LONGEST_NAME))
        visits = by_url.get(clean_line(entry.url, LONGEST_URL), []) if entry.url else []
        while (row is None or row.document >= 0) and visits:
            row = visits.pop()
        if row is not None and row.document < 0:
            row.document = place
            gathered.format.fill(row, entry)
