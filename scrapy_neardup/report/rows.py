"""One judged item of a feed, in one form whatever feed it comes from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from sys import intern
from typing import Any

from scrapy_neardup.content import language_code, source_of
from scrapy_neardup.content.dates import parse_time
from scrapy_neardup.document import KINDS, STATUSES
from scrapy_neardup.report.clean import clean_line, clean_text, length_of, share_of, truth_of
from scrapy_neardup.settings import NearDupSettings

LONGEST_NAME = 200  # characters
LONGEST_TITLE = 300
LONGEST_URL = 2_000
LONGEST_TEXT = 20_000
UNTAGGED = "untagged"
"""The status of an item without tags, or with a status that this version does not know."""

_LONGEST_CHANGES = 500
_RECORDED = "time"
"""The key in which ``NEARDUP_RECORD`` writes the time."""

_TIME_FIELDS = (_RECORDED, "published", "published_at", "date", "timestamp", "seen_at", "scraped_at", "crawled_at")


@dataclass(slots=True)
class Row:
    """An item with its verdict. ``original`` and ``match`` are urls or ids, as the feed gives them."""

    number: int  # position over all feeds
    id: str
    url: str
    title: str
    source: str
    owner: str
    time: float | None  # Unix seconds, UTC
    language: str
    status: str
    kind: str
    reason: str
    original: str
    match: str
    similarity: float | None
    containment: float | None
    share: float | None
    story: str
    changes: str
    event: str
    would_drop: bool
    is_dropped: bool = False
    is_again: bool = False  # in an earlier feed too
    is_reported: bool = False  # known from the report of an event only
    characters: int = 0  # of the text in the feed
    document: int = -1  # position among the recorded documents

    @property
    def is_revisit(self) -> bool:
        """Return whether its page came again unchanged. Such an item is listed, and counted nowhere."""
        return self.is_again or self.kind == "revisit"

    @property
    def lost(self) -> float:
        """Return the share of its text that its match lacks, in [0, 1]."""
        held = self.similarity if self.share is None else self.share
        return 0.0 if held is None else 1 - held

    @property
    def has_text(self) -> bool:
        return self.characters > 0 or self.document >= 0


class RowFormat:
    """Reads rows as the settings name their fields.

    Without a time in ``NEARDUP_ITEM_FIELDS`` the usual names of times are tried, and the first that holds a time is
    used. A row that lacks this field may be a recorded document, whose time is in ``time``.
    """

    def __init__(self, settings: NearDupSettings) -> None:
        self._tags = {tag.removeprefix("neardup_"): name for tag, name in settings.fields.items()}
        self._fields = settings.item_fields
        self.owner_of = cache(settings.owner_of)
        self.time_field = settings.item_fields["time"]
        self._times: Sequence[str] = (self.time_field, _RECORDED) if self.time_field else _TIME_FIELDS

    @property
    def columns(self) -> list[str]:
        """Return the names of the columns by which a CSV feed is recognised."""
        given = [self._fields["url"], self._fields["title"], self._fields["text"], "id", *self._tags.values()]
        return [name for name in given if name]

    def read(self, number: int, raw: Mapping[str, Any]) -> Row:
        """Return an item, or a line of the output of ``scrapy neardup replay``."""
        tags: Mapping[str, Any] = {tag: raw[name] for tag, name in self._tags.items() if name in raw}
        if "status" not in tags and raw.get("status") in STATUSES and "id" in raw:
            tags = raw  # output of a replay
        status, kind, language = tags.get("status"), tags.get("kind"), self._value(raw, "language")
        url = clean_line(self._value(raw, "url"), LONGEST_URL)
        source = source_in(url)
        return Row(
            number=number,
            id=clean_line(str(raw["id"]), LONGEST_NAME) if isinstance(raw.get("id"), str | int) else "",
            url=url,
            title=clean_line(self._value(raw, "title"), LONGEST_TITLE),
            source=source,
            owner=self.owner_of(source) if source else "",
            time=self._time(raw),
            language=intern(language_code(language[:20]) if isinstance(language, str) else ""),
            status=intern(status) if isinstance(status, str) and status in STATUSES else UNTAGGED,
            kind=intern(kind) if isinstance(kind, str) and kind in KINDS else "",
            reason=intern(clean_line(tags.get("reason"), LONGEST_NAME)),
            original=_name(tags.get("original")),
            match=_name(tags.get("match")),
            similarity=share_of(tags.get("similarity")),
            containment=share_of(tags.get("containment")),
            share=share_of(tags.get("share")),
            story=intern(_name(tags.get("story"))),
            changes=_changes(tags.get("changes")),
            event=intern(clean_line(tags.get("event"), LONGEST_NAME)),
            would_drop=truth_of(tags.get("would_drop")),
            characters=min(length_of(self._value(raw, "text")), LONGEST_TEXT),
        )

    def text(self, raw: Mapping[str, Any]) -> str:
        """Return the beginning of an item's text."""
        text = clean_text(self._value(raw, "text"), LONGEST_TEXT)
        return text if text.strip() else ""

    def _value(self, raw: Mapping[str, Any], part: str) -> Any:
        name = self._fields[part]
        return raw.get(name) if name else None

    def _time(self, raw: Mapping[str, Any]) -> float | None:
        for name in self._times:
            if raw.get(name) is not None:
                with suppress(ValueError):
                    time = parse_time(raw[name])
                    if self.time_field is None:
                        self._times, self.time_field = (name,), name
                    return time
        return None


def source_in(url: str) -> str:
    """Return the publisher of a page. The urls of one host share the answer, which is remembered."""
    return intern(source_of("/".join(url.split("/", 3)[:3]))) if url else ""


def _name(value: object) -> str:
    return clean_line(str(value), LONGEST_URL) if isinstance(value, str | int) and not isinstance(value, bool) else ""


def _changes(value: object) -> str:
    """Return changed figures on one line. A replay writes them as a list."""
    if isinstance(value, list):
        value = "; ".join(map(str, value[:100]))
    return clean_line(value, _LONGEST_CHANGES)
