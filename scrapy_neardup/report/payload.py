"""The data of a page: columns of items, chunks of texts, and the pairs of a review.

Items and texts are packed, so that a page of 200,000 items stays small.

JSON is packed by gzip and written in base64. So nothing in it can end a script element or become markup, whatever a
title or text contains. The browser unpacks it by itself (DecompressionStream).
"""

from __future__ import annotations

import base64
import gzip
import json
import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any, NamedTuple

from scrapy_neardup.document import KINDS
from scrapy_neardup.evidence.minima import Measure
from scrapy_neardup.report.news import VERDICTS
from scrapy_neardup.report.rows import Row, score_of
from scrapy_neardup.report.stories import FeedStory, Links
from scrapy_neardup.settings import NearDupSettings
from scrapy_neardup.sketch import Sketcher

_CHUNK = 300  # texts, so that a browser unpacks only those near to the one it shows
_NONE = -1
_WOULD_DROP, _DROPPED, _AGAIN = 1, 2, 4


NEAR_THRESHOLD = "nearest to the threshold"

_MOST_NEAR = 40
_MOST_OF_A_KIND = 20
LINKED = ("duplicate", "update", "related")
_CERTAIN = ("exact", "revisit")


def mark_text(text: str, sketcher: Sketcher) -> list[str]:
    """Cut a text into passages: in turn those that a fingerprint has, and the short lines that it leaves out.

    Short lines with only spaces between them are one passage. A whole line has its line end.
    """
    passages, end, done = list[str](), 0, 0
    for line, is_long in sketcher.read_texts([text])[0].body.read_lines:
        stripped = line.text.strip()
        start = text.find(stripped, end) if stripped else -1
        if start >= 0:
            end = start + len(stripped)
            if not is_long:
                is_whole = (start == 0 or text[start - 1] == "\n") and text.startswith("\n", end)
                end += is_whole
                if passages and not text[done:start].strip():
                    passages[-1] += text[done:end]
                else:
                    passages += [text[done:start], text[start:end]]
                done = end
    return [*passages, text[done:]]


@dataclass(slots=True)
class Payload:
    """What the scripts of a page read. ``chunks`` hold the texts; ``chunk_of`` says where the text of an item is."""

    index: str
    chunks: list[str] = field(default_factory=list)
    places: dict[int, int] = field(default_factory=dict)  # row number -> position of the item in the page
    chunk_of: dict[int, int] = field(default_factory=dict)  # position of the item -> chunk


def pack(value: object) -> str:
    """Return JSON, packed, in base64."""
    data = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
    return base64.b64encode(gzip.compress(data, 6, mtime=0)).decode("ascii")


def inert_json(value: object) -> str:
    """Return JSON that cannot end the script element it stands in."""
    text = json.dumps(value, ensure_ascii=True, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def index_of(stories: Sequence[FeedStory], links: Links, measure: Measure) -> Payload:
    """Return the columns of all items, story after story in the given order. Stories with one item need no offset."""
    rows = [row for story in stories for row in story.members]
    places = {row.number: place for place, row in enumerate(rows)}
    several = [story for story in stories if len(story.members) > 1]
    owner_of = {row.source: row.owner for row in rows}  # sources with one owner are not independent
    owners = _names(owner_of.values())
    sources, languages, reasons, events = (
        _names(getattr(row, name) for row in rows) for name in ("source", "language", "reason", "event")
    )

    def places_of(found: Iterable[Row | None]) -> list[int]:
        return [_NONE if row is None else places.get(row.number, _NONE) for row in found]

    matches = places_of(map(links.match, rows))
    names = [row.match or row.original for row in rows]
    columns: dict[str, Any] = {
        "title": [row.title for row in rows],
        "url": [row.url or row.id for row in rows],
        "source": [sources[row.source] for row in rows],
        "language": [languages[row.language] for row in rows],
        "time": [_NONE if row.time is None else int(row.time) for row in rows],
        "verdict": [VERDICTS.index(row.status) for row in rows],
        "kind": [KINDS.index(row.kind) if row.kind in KINDS else _NONE for row in rows],
        "match": matches,
        "original": places_of(map(links.original, rows)),
        **{name: [_thousandths(getattr(row, name)) for row in rows] for name in ("similarity", "containment", "share")},
        "score": [_thousandths(score_of(row, measure)) for row in rows],
        "flags": [_WOULD_DROP * row.would_drop + _DROPPED * row.is_dropped + _AGAIN * row.is_revisit for row in rows],
        "reason": {place: reasons[row.reason] for place, row in enumerate(rows) if row.reason},
        "event": {place: events[row.event] for place, row in enumerate(rows) if row.event},
        "changes": {place: row.changes for place, row in enumerate(rows) if row.changes},
        "elsewhere": {place: name for place, name in enumerate(names) if name and matches[place] == _NONE},
        "starts": list(accumulate((len(story.members) for story in several), initial=0)),
        "headline": [story.headline for story in several],
        "levels": {places[story.members[0].number]: story.levels for story in stories if story.levels},
        "sources": list(sources),
        "owners": [owners[owner_of[source]] for source in sources],
        "languages": list(languages),
        "reasons": list(reasons),
        "events": list(events),
    }
    return Payload(pack(columns), places=places)


def _names(values: Iterable[str]) -> dict[str, int]:
    """Number names, the commonest first."""
    return {name: place for place, (name, _) in enumerate(Counter(values).most_common())}


def _thousandths(share: float | None) -> int:
    return _NONE if share is None else round(share * 1000)


def add_texts(payload: Payload, numbers: Iterable[int], texts: Mapping[int, list[str]], most: int) -> int:
    """Add texts in this order until the page would have more than ``most`` characters. Return how many were added."""
    listed = [number for number in numbers if number in texts and number in payload.places]
    for start in range(0, len(listed), _CHUNK):
        chunk = {payload.places[number]: texts[number] for number in listed[start : start + _CHUNK]}
        packed = pack(chunk)
        if len(payload.index) + sum(map(len, [*payload.chunks, packed])) > most:
            break
        payload.chunk_of.update(dict.fromkeys(chunk, len(payload.chunks)))
        payload.chunks.append(packed)
    return len(payload.chunk_of)


class Pair(NamedTuple):
    """A match and the item that was judged to be like it. ``group`` is the sample that the pair belongs to."""

    match: Row
    row: Row
    group: str
    score: float | None


class Sample(NamedTuple):
    """The pairs, and how many pairs there are in each group that was sampled at random."""

    pairs: tuple[Pair, ...]
    population: dict[str, int]
    threshold: float
    without_match: int  # items whose match is in none of the feeds


def choose_pairs(rows: Sequence[Row], links: Links, settings: NearDupSettings) -> Sample:
    """Return the same pairs for the same feeds. A pair is in one group only."""
    preset = settings.resolved_preset()
    groups: defaultdict[str, list[Pair]] = defaultdict(list)
    without_match = 0
    for row in rows:
        if row.status in LINKED:
            match = links.match(row)
            if match is None:
                without_match += 1
                continue
            score = score_of(row, preset.measure)
            group = f"{row.status}, {row.kind}" if row.kind else row.status
            groups[group].append(Pair(match, row, group, row.similarity if score is None else score))
    near = _near_threshold(groups, preset.threshold)
    taken = {pair.row.number for pair in near}
    chosen = random.Random(0)  # the same sample each time
    sampled = []
    for pairs in sorted(groups.values(), key=len, reverse=True):
        left = [pair for pair in pairs if pair.row.number not in taken]
        sampled += chosen.sample(left, min(_MOST_OF_A_KIND, len(left)))
    population = {group: len(pairs) for group, pairs in groups.items()}
    return Sample((*near, *sampled), population, preset.threshold, without_match)


def _near_threshold(groups: dict[str, list[Pair]], threshold: float) -> list[Pair]:
    """Return the pairs whose score is nearest, at most a quarter of all, so that enough are left for the sample."""
    doubtful = [
        pair for pairs in groups.values() for pair in pairs if pair.score is not None and pair.row.kind not in _CERTAIN
    ]
    most = min(_MOST_NEAR, -(-len(doubtful) // 4))
    nearest = sorted(doubtful, key=lambda pair: (abs((pair.score or 0.0) - threshold), pair.row.number))[:most]
    return [pair._replace(group=NEAR_THRESHOLD) for pair in nearest]


def review_data(sample: Sample, payload: Payload) -> dict[str, Any]:
    """Return the pairs of a review for the scripts, with ids by which ``eval`` and an import know the documents."""
    places = payload.places
    pairs = [pair for pair in sample.pairs if {pair.match.number, pair.row.number} <= places.keys()]
    rows = {row.number: row for pair in pairs for row in (pair.match, pair.row)}
    ids: dict[int, str] = {}
    for number, row in sorted(rows.items()):
        name = row.id or row.url or f"item {number + 1}"
        ids[places[number]] = f"{name} (item {number + 1})" if name in ids.values() else name
    return {
        "pairs": [
            {"match": places[pair.match.number], "item": places[pair.row.number], "group": pair.group} for pair in pairs
        ],
        "ids": ids,
        "population": sample.population,
    }
