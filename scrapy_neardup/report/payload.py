"""The data of a page: columns of items, and chunks of texts, packed so that a page of 200,000 items stays small.

JSON is packed by gzip and written in base64. So nothing in it can end a script element or become markup, whatever a
title or text contains. The browser unpacks it by itself (DecompressionStream).
"""

from __future__ import annotations

import base64
import gzip
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from scrapy_neardup.document import KINDS
from scrapy_neardup.report.overview import VERDICTS
from scrapy_neardup.report.passages import MarkedText
from scrapy_neardup.report.review import Sample
from scrapy_neardup.report.rows import Row
from scrapy_neardup.report.stories import Links, Story

_CHUNK = 1 << 20  # characters of texts
_NONE = -1
_WOULD_DROP, _DROPPED, _AGAIN = 1, 2, 4


@dataclass(slots=True)
class Payload:
    """What the scripts of a page read. ``chunks`` hold the texts; ``chunk_of`` says where the text of an item is."""

    index: str
    chunks: list[str] = field(default_factory=list)
    places: dict[int, int] = field(default_factory=dict)  # row number -> position of the item in the page
    chunk_of: dict[int, int] = field(default_factory=dict)  # position of the item -> chunk

    @property
    def size(self) -> int:
        return len(self.index) + sum(map(len, self.chunks))


def pack(value: object) -> str:
    """Return JSON, packed, in base64."""
    data = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
    return base64.b64encode(gzip.compress(data, 6, mtime=0)).decode("ascii")


def inert_json(value: object) -> str:
    """Return JSON that cannot end the script element it stands in."""
    text = json.dumps(value, ensure_ascii=True, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def index_of(stories: Sequence[Story], links: Links) -> Payload:
    """Return the columns of all items, story after story in the given order. Stories with one item need no offset."""
    rows = [row for story in stories for row in story.members]
    places = {row.number: place for place, row in enumerate(rows)}
    sources, languages, reasons, events = (
        _names(getattr(row, name) for row in rows) for name in ("source", "language", "reason", "event")
    )
    elsewhere: dict[int, str] = {}
    columns: dict[str, Any] = {
        "title": [row.title for row in rows],
        "url": [row.url or row.id for row in rows],
        "source": [sources[row.source] for row in rows],
        "language": [languages[row.language] for row in rows],
        "time": [_NONE if row.time is None else int(row.time) for row in rows],
        "verdict": [VERDICTS.index(row.status) for row in rows],
        "kind": [KINDS.index(row.kind) if row.kind in KINDS else _NONE for row in rows],
        "match": [_place_of(places, links.match(row), row, row.match or row.original, elsewhere) for row in rows],
        "original": [_place_of(places, links.original(row), row, row.original, {}) for row in rows],
        **{name: [_thousandths(getattr(row, name)) for row in rows] for name in ("similarity", "containment", "share")},
        "flags": [_WOULD_DROP * row.would_drop + _DROPPED * row.is_dropped + _AGAIN * row.is_revisit for row in rows],
        "reason": {place: reasons[row.reason] for place, row in enumerate(rows) if row.reason},
        "event": {place: events[row.event] for place, row in enumerate(rows) if row.event},
        "changes": {place: row.changes for place, row in enumerate(rows) if row.changes},
        "elsewhere": elsewhere,
        "starts": _starts(stories),
        "headline": [story.headline for story in stories if len(story.members) > 1],
        "sources": list(sources),
        "owners": _owners(rows, sources),
        "languages": list(languages),
        "reasons": list(reasons),
        "events": list(events),
    }
    return Payload(pack(columns), places=places)


def _owners(rows: Sequence[Row], sources: Mapping[str, int]) -> list[int]:
    """Return for each source the number of its owner: sources with one owner are not independent."""
    numbers: dict[str, int] = {}
    of_source = {row.source: numbers.setdefault(row.owner, len(numbers)) for row in rows}
    return [of_source[source] for source in sources]


def _names(values: Iterable[str]) -> dict[str, int]:
    """Number names, the commonest first."""
    return {name: place for place, (name, _) in enumerate(Counter(values).most_common())}


def _starts(stories: Sequence[Story]) -> list[int]:
    """Return where each story of several items begins, and where the last of them ends."""
    starts = [0]
    for story in stories:
        if len(story.members) > 1:
            starts.append(starts[-1] + len(story.members))
    return starts


def _place_of(places: Mapping[int, int], found: Row | None, row: Row, name: str, elsewhere: dict[int, str]) -> int:
    """Return the position of a linked item. If no item has the name, note the name for this item."""
    if found is not None and found.number in places:
        return places[found.number]
    if name and row.number in places:
        elsewhere[places[row.number]] = name
    return _NONE


def _thousandths(share: float | None) -> int:
    return _NONE if share is None else round(share * 1000)


def add_texts(payload: Payload, numbers: Iterable[int], texts: Mapping[int, MarkedText], most: int) -> int:
    """Add texts in this order until the page would have more than ``most`` characters. Return how many were added."""
    chunk: dict[int, Any] = {}
    room = 0
    for number in numbers:
        if number not in texts or number not in payload.places:
            continue
        text = texts[number]
        chunk[payload.places[number]] = [text.text, *map(_flat, (text.figures, text.short))]
        room += len(text.text)
        if room >= _CHUNK:
            if not _add_chunk(payload, chunk, most):
                return len(payload.chunk_of)
            chunk, room = {}, 0
    if chunk:
        _add_chunk(payload, chunk, most)
    return len(payload.chunk_of)


def _add_chunk(payload: Payload, chunk: dict[int, Any], most: int) -> bool:
    packed = pack(chunk)
    if payload.size + len(packed) > most:
        return False
    payload.chunk_of.update(dict.fromkeys(chunk, len(payload.chunks)))
    payload.chunks.append(packed)
    return True


def _flat(places: Iterable[tuple[int, int]]) -> list[int]:
    return [place for pair in places for place in pair]


def review_data(sample: Sample, payload: Payload) -> dict[str, Any]:
    """Return the pairs of a review for the scripts, with ids by which ``eval`` and an import know the documents."""
    pairs = [pair for pair in sample.pairs if {pair.match.number, pair.row.number} <= payload.places.keys()]
    rows = {row.number: row for pair in pairs for row in (pair.match, pair.row)}
    ids: dict[str, int] = {}
    for row in sorted(rows.values(), key=lambda row: row.number):
        name = row.id or row.url or f"item {row.number + 1}"
        ids[name if name not in ids else f"{name} (item {row.number + 1})"] = row.number
    names = {number: name for name, number in ids.items()}
    return {
        "pairs": [
            {
                "match": payload.places[pair.match.number],
                "item": payload.places[pair.row.number],
                "group": pair.group,
                "score": pair.score,
            }
            for pair in pairs
        ],
        "ids": {payload.places[number]: name for number, name in names.items()},
        "population": sample.population,
        "threshold": sample.threshold,
    }
