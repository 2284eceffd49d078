"""One judged item of a feed, in one form whatever feed it comes from.

Titles, texts and urls are written by strangers, so they are made safe to show.
"""

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from sys import intern
from typing import Any

from scrapy_neardup import NearDupSettings, Verdict
from scrapy_neardup.content.document_maker import parse_time
from scrapy_neardup.content.head import language_code
from scrapy_neardup.document import KINDS, STATUSES, TAGS
from scrapy_neardup.evidence.news import LONGEST_NEWS, MOST_NEWS
from scrapy_neardup.evidence.sources import source_of
from scrapy_neardup.settings.values import name_of, text_of
from scrapy_neardup.text.display import one_line, printable
from scrapy_neardup.tools.lab.feed import RecordedDocument

LONGEST_NAME = 200  # characters
LONGEST_TITLE = 300
LONGEST_URL = 2_000
LONGEST_TEXT = 20_000
UNTAGGED = "untagged"  # the status of an item without tags, or with a status that this version does not know

_LONGEST_CHANGES = 5_000
_WEB = re.compile("https?://", re.IGNORECASE)
_BREAKS = re.compile("\r\n?|[\u0085\u2028\u2029]")
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
    return printable(_BREAKS.sub("\n", value[:most]))


def clean_line(value: object, most: int) -> str:
    """Return a text on one line. A text that is longer than ``most`` characters ends with "…"."""
    return one_line(clean_text(value, most + 1), most)


def web_address(url: str) -> str:
    """Return the url if a browser may follow it, "" for ``javascript:`` and everything else that is no web page."""
    return url if _WEB.match(url) else ""


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
            "changes": tuple(filter(None, clean_line(changes, _LONGEST_CHANGES).split("; "))),
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
