"""Read feeds and recorded documents, and bring together what belongs to one item, in one form whatever its feed is.

Feeds are JSON lines or JSON, plain or packed. A report says which lines could not be read: a crawl that was killed
leaves a feed whose last item is half written. Titles, texts and urls are written by strangers, so they are made safe to
show.

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
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from itertools import count
from pathlib import Path
from sys import intern
from typing import IO, Any, cast

from scrapy_neardup import NearDupSettings, Verdict
from scrapy_neardup.content.document_maker import parse_time
from scrapy_neardup.content.head import language_code
from scrapy_neardup.document import KINDS, STATUSES, TAGS
from scrapy_neardup.evidence.news import LONGEST_NEWS, MOST_NEWS
from scrapy_neardup.evidence.sources import source_of
from scrapy_neardup.exceptions import InputError
from scrapy_neardup.settings.values import name_of, text_of
from scrapy_neardup.stories.event import SpecialReport
from scrapy_neardup.story import LEVELS
from scrapy_neardup.text.display import one_line, printable
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

LONGEST_NAME = 200  # characters
LONGEST_TITLE = 300
LONGEST_URL = 2_000
LONGEST_TEXT = 20_000
UNTAGGED = "untagged"  # the status of an item without tags, or with a status that this version does not know

# The first is the key in which ``NEARDUP_RECORD`` writes the time.
_TIME_FIELDS = ("time", "published", "published_at", "date", "timestamp", "seen_at", "scraped_at", "crawled_at")


def clean_text(value: object, most: int) -> str:
    """Return the beginning of a text, with a replacement character for each character that could mislead a reader.

    What is no text is "".
    """
    if not isinstance(value, str):
        return ""
    if value.isprintable():  # most titles and urls
        return value[:most]
    return printable(re.sub("\r\n?|[\u0085\u2028\u2029]", "\n", value[:most]))


def clean_line(value: object, most: int) -> str:
    """Return a text on one line. A text that is longer than ``most`` characters ends with "…"."""
    return one_line(clean_text(value, most + 1), most)


def as_share(value: object) -> float | None:
    """Return a number from 0 to 1. Anything else is None."""
    return value if isinstance(value, int | float) and 0 <= value <= 1 else None


@dataclass(slots=True)
class Row:
    """An item. In its verdict ``original`` and ``match`` are urls or ids, as the feed gives them.

    What the feed does not say of a verdict is "" there. The status may be ``UNTAGGED``.
    """

    number: int  # position over all feeds
    id: str
    url: str
    title: str
    source: str
    owner: str
    time: float | None  # Unix seconds, UTC
    language: str
    verdict: Verdict
    is_dropped: bool = False
    is_again: bool = False  # in an earlier feed too
    is_reported: bool = False  # known from the report of an event only
    document: int = -1  # position among the recorded documents

    @property
    def visit(self) -> tuple[object, ...]:
        """Return what is the same in the feeds of all runs that met the page unchanged. An update is new in each."""
        when = (self.time, self.verdict.changes) if self.verdict.status == "update" else ()
        return self.url or self.id or self.number, self.title, *when

    @property
    def is_revisit(self) -> bool:
        """Return whether its page came again unchanged. Such an item is listed, and counted nowhere."""
        return self.is_again or self.verdict.kind == "revisit"

    @property
    def is_drop(self) -> bool:
        return self.verdict.would_drop or self.is_dropped

    @property
    def lost(self) -> float:
        """Return the share of its text that its match lacks, in [0, 1]."""
        known = (share for share in (self.verdict.share, self.verdict.similarity) if share is not None)
        return 1 - next(known, 1.0)


class RowFormat:
    """Reads rows: tags under their own names, other fields as the settings name them.

    A row that lacks the time in ``NEARDUP_ITEM_FIELDS`` may be a recorded document. If no time is named there, the
    usual names of times are tried.
    """

    def __init__(self, settings: NearDupSettings) -> None:
        self._fields = settings.item_fields
        self._owner_of = cache(settings.owner_of)
        given = settings.item_fields["time"]
        self._times = (given, _TIME_FIELDS[0]) if given else _TIME_FIELDS

    def read(self, number: int, raw: Mapping[str, Any]) -> Row:
        """Return an item, or a line of the output of ``scrapy neardup replay``."""
        tags: Mapping[str, Any] = {tag.removeprefix("neardup_"): raw[tag] for tag in TAGS if tag in raw}
        if "status" not in tags and raw.get("status") in STATUSES and "id" in raw:
            tags = raw  # output of a replay
        status = _one_of(STATUSES, tags.get("status"), UNTAGGED)
        url = clean_line(name_of(raw, self._fields["url"]), LONGEST_URL)
        source, owner = self._publisher(url)
        changes = tags.get("changes")
        if isinstance(changes, list):  # as a replay writes them
            changes = "; ".join(map(str, changes[:100]))
        # A feed has the sentences of the news as lines, and a replay as a list.
        news = clean_text(text_of(tags, "news"), MOST_NEWS * 2 * LONGEST_NEWS).split("\n")[:MOST_NEWS]
        verdict: dict[str, Any] = {
            "status": status,
            "kind": _one_of(KINDS, tags.get("kind")),
            "reason": intern(clean_line(tags.get("reason"), LONGEST_NAME)),
            "original": clean_name(tags.get("original"), LONGEST_URL),
            "match": clean_name(tags.get("match"), LONGEST_URL),
            "similarity": as_share(tags.get("similarity")),
            "containment": as_share(tags.get("containment")),
            "share": as_share(tags.get("share")),
            "story": "" if status in ("unchecked", UNTAGGED) else intern(clean_name(tags.get("story"), LONGEST_URL)),
            "changes": tuple(filter(None, clean_line(changes, 5_000).split("; "))),
            "news": tuple(clean_line(line, LONGEST_NEWS) for line in news if line.strip()),
            "event": intern(clean_line(tags.get("event"), LONGEST_NAME)),
            "would_drop": tags.get("would_drop") is True,
        }
        return Row(
            number=number,
            id=clean_name(raw.get("id")),
            url=url,
            title=clean_line(text_of(raw, self._fields["title"]), LONGEST_TITLE),
            source=source,
            owner=owner,
            time=self._time(raw),
            language=intern(language_code(name_of(raw, self._fields["language"]))),
            verdict=Verdict(**verdict),
        )

    def fill(self, row: Row, entry: RecordedDocument) -> None:
        row.title = row.title or clean_line(entry.title, LONGEST_TITLE)
        # Without a time in NEARDUP_ITEM_FIELDS the crawl judged by the time of the recording, whatever the item has.
        if row.time is None or (entry.time is not None and self._fields["time"] is None):
            row.time = entry.time
        if not row.url:
            row.url = clean_line(entry.url, LONGEST_URL)
            row.source, row.owner = self._publisher(row.url)
        row.language = row.language or intern(language_code(name_of(entry.extra, "language")))

    def text(self, raw: Mapping[str, Any]) -> str:
        return clean_text(text_of(raw, self._fields["text"]), LONGEST_TEXT)

    def _publisher(self, url: str) -> tuple[str, str]:
        source = intern(source_of("/".join(url.split("/", 3)[:3])))
        return source, self._owner_of(source)

    def _time(self, raw: Mapping[str, Any]) -> float | None:
        for name in self._times:
            with suppress(ValueError):
                return parse_time(raw.get(name))
        return None


def _one_of(allowed: Sequence[str], value: object, otherwise: str = "") -> str:
    return intern(value) if isinstance(value, str) and value in allowed else otherwise


def clean_name(value: object, most: int = LONGEST_NAME) -> str:
    """Return an id, a url or another name on one line, "" for what is none."""
    return clean_line(str(value), most) if isinstance(value, str | int) and not isinstance(value, bool) else ""


# The reports of events in a feed


def is_report(raw: Mapping[str, Any]) -> bool:
    return raw.get("level") in LEVELS and isinstance(raw.get("members"), list) and "growth" in raw


def items_of(reports: Sequence[SpecialReport], known: set[str]) -> Iterator[dict[str, Any]]:
    """Yield the members of the newest report of each story, in the form of a replay's output.

    Leave out members whose url or id is in ``known``: the feeds have them.
    """
    for key, report in {clean_name(each.get("story")): each for each in sorted(reports, key=time_of)}.items():
        figures = defaultdict(list)
        for change in objects_in(report, "figures"):
            if change.get("old"):  # else it is the first state, which changes nothing
                figures[url_of(change)].append(f"{change.get('figure')}: {change['old']} -> {change.get('new')}")
        for member in objects_in(report, "members"):
            if known.isdisjoint((url_of(member), clean_name(member.get("id")))):
                yield {**member, "story": key, "changes": figures.pop(url_of(member), None)}


def time_of(value: Mapping[str, Any]) -> float:
    """Return when a report was made or a member seen, 0 if it does not say."""
    with suppress(ValueError):
        return parse_time(value.get("time"))
    return 0.0


def objects_in(report: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    value = report.get(name)
    return [each for each in value if isinstance(each, Mapping)] if isinstance(value, list) else []


def url_of(member: Mapping[str, Any]) -> str:
    return clean_line(member.get("url"), LONGEST_URL)


# All feeds together


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
