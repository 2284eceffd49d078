"""The data of a page: items, stories and texts as JSON.

JSON is written so that nothing in it can end a script element or become markup, whatever a title or text contains.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, takewhile
from typing import Any

from scrapy_neardup.stories.summary import read_change
from scrapy_neardup.tools.report.feed_stories import FeedStory, Links, Period, on_one_site
from scrapy_neardup.tools.report.news import PeriodNews
from scrapy_neardup.tools.report.rows import Row

MOST_ITEMS = 20_000  # that a page lists

_ITEM = 500  # bytes of an item and its part of a story, besides its longest texts
_UNSAFE = re.compile("[<>&\u2028\u2029\ud800-\udfff]")


@dataclass(slots=True)
class Payload:
    """What the scripts of a page read. An item is named by its position in ``items``."""

    items: list[dict[str, Any]]
    stories: list[dict[str, Any]]
    places: dict[int, int]  # row number -> position of the item
    texts: dict[int, str] = field(default_factory=dict)  # by the position of the item


def inert_json(value: object) -> str:
    """Return JSON that cannot end the script element it stands in."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def size_of(value: object) -> int:
    return len(inert_json(value).encode())


def choose_stories(stories: Sequence[FeedStory], most_bytes: int, most_items: int = MOST_ITEMS) -> list[FeedStory]:
    """Return stories with about so many bytes, in their order, which is by size.

    Those with changed or dropped items come first, and then the others.
    """
    ordered = sorted(stories, key=lambda story: not any(row.status == "update" or row.is_drop for row in story.members))
    items = accumulate(len(story.members) for story in ordered)
    sizes = accumulate(
        sum(_ITEM + len(f"{row.url}{row.title}{row.changes}".encode()) for row in story.members) for story in ordered
    )
    fitting = takewhile(lambda sums: sums[0] <= most_items and sums[1] <= most_bytes, zip(items, sizes, strict=True))
    chosen = set(ordered[: sum(1 for _ in fitting)])
    return [story for story in stories if story in chosen]


Telling = Mapping[FeedStory, FeedStory]  # the stories that a period tells of, each as the period tells it


def payload_of(
    stories: Sequence[FeedStory],
    all_rows: Sequence[Row],
    links: Links,
    tellings: Mapping[Period, Telling],
    all_news: Sequence[PeriodNews],
) -> Payload:
    """Return the items of these stories, story after story. ``all_news`` are those of the periods of ``tellings``."""
    rows = [row for story in stories for row in story.members]
    places = {row.number: place for place, row in enumerate(rows)}
    alone = on_one_site(all_rows, links)
    items = [_item(row, places, links, is_alone=row.number in alone) for row in rows]
    lists = {
        "events": [set(news.events) for news in all_news],
        "figures": [{story for story, _ in news.figures} for news in all_news],
    }
    told = [_story(story, places[story.members[0].number], tellings.values(), lists) for story in stories]
    return Payload(items, told, places)


def _item(row: Row, places: Mapping[int, int], links: Links, *, is_alone: bool) -> dict[str, Any]:
    match = links.match(row)
    place = match and places.get(match.number)
    names = (
        "title",
        "source",
        "news",
        "language",
        "time",
        "kind",
        "similarity",
        "containment",
        "share",
        "reason",
        "event",
    )
    found = {
        **{name: getattr(row, name) for name in names},
        "changes": "; ".join(read_change(line).words for line in row.changes.split("; ") if line),
        "url": row.url or row.id,
        "verdict": row.status,
        "match": place,
        "elsewhere": row.match or row.original if place is None else None,
        "drops": row.would_drop,
        "dropped": row.is_dropped,
        "again": row.is_revisit,
        "isOnOneSite": is_alone,
    }
    return {name: value for name, value in found.items() if value not in (None, "", ()) and value is not False}


def _story(
    story: FeedStory, start: int, tellings: Iterable[Telling], lists: Mapping[str, Sequence[set[FeedStory]]]
) -> dict[str, Any]:
    """Return a story, with the periods whose ``lists`` have it, and what the periods tell of it."""
    told = [(place, telling.get(story, story)) for place, telling in enumerate(tellings)]
    found = {name: [place for place, each in told if each in sets[place]] for name, sets in lists.items()}
    return {
        "start": start,
        "end": start + len(story.members),
        "levels": [(signal.level, signal.time) for signal in story.signals],
        **_size_of_story(story),
        **{name: periods for name, periods in found.items() if periods},
        "told": {place: _size_of_story(each) for place, each in told if each is not story},
    }


def _size_of_story(story: FeedStory) -> dict[str, Any]:
    return {"headline": story.headline, "words": story.words, "size": story.size, "sources": len(story.owners)}


def add_texts(payload: Payload, numbers: Iterable[int], texts: Mapping[int, str], most: int) -> int:
    """Add texts in this order until they have more than ``most`` bytes. Return how many there are then."""
    chosen = [number for number in numbers if number in texts and number in payload.places]
    sizes = accumulate(size_of(texts[number]) + 10 for number in chosen)
    fitting = takewhile(lambda sized: sized[1] <= most, zip(chosen, sizes, strict=True))
    payload.texts |= {payload.places[number]: texts[number] for number, _ in fitting}
    return len(payload.texts)
