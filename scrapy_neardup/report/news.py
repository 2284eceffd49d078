"""What is new, for the opening of the page and a digest; and the numbers: by verdict, over time, and by source."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import islice
from typing import Any, NamedTuple

from scrapy_neardup.document import STATUSES
from scrapy_neardup.evidence.counted import kind_of
from scrapy_neardup.report.rows import UNTAGGED, Row
from scrapy_neardup.report.stories import FeedStory, Links
from scrapy_neardup.stories.summary import read_change

DAY = 86_400
Subject = tuple[str, str]
"""Identifies a figure, see ``FigureChange.subject``."""

_MOST_DAYS = 14  # that can be chosen, the fullest ones
_MOST_LISTED = 5
_MOST_EVENTS = 30
_MOST_FIGURES = 30
_MUCH = 0.05  # of a text: the news tell of drops that lose more
VERDICTS = (*STATUSES, UNTAGGED)

_MOST_SOURCES = 24  # lines of a table
_MOST_BARS = 72
_STEPS = {600: "10 minutes", 3600: "1 hour", 10_800: "3 hours", 21_600: "6 hours", 86_400: "1 day", 604_800: "7 days"}
"""Lengths of a bar in seconds, and their names."""

REMEDIES = {
    "no-text": "Set text in NEARDUP_ITEM_FIELDS to the field that holds it, or yield items from the response of their "
    "page, with its url, so that the page's own text is extracted.",
    "too-short": "Nothing to fix: a text of fewer than NEARDUP_MIN_WORDS words is recognised only if it is repeated.",
    "boilerplate": "Nothing to fix if these pages are notices. Else see what was extracted: scrapy neardup explain.",
    "store-unavailable": "The store was away: look at the log. If it is only slow, raise NEARDUP_STORE_TIMEOUT.",
    "extraction-failed": "Look at the log for the error. NEARDUP_EXTRACT_TIMEOUT limit a page.",
    "internal-error": "An error of scrapy-neardup: the log has its trace. Please report it.",
}


class ToldFigure(NamedTuple):
    """A figure of a story whose value changed."""

    label: str  # "" if the figure has no word of its own
    values: list[str]  # the oldest first
    first: Row  # the item that printed the newest value first
    sources: int  # independent ones that print the newest value


class News(NamedTuple):
    """The news of a day, or of all days. A story is listed once: as an event, or among the largest or the newest.

    Counts of a story are those of all feeds, also if only a part of it is of this day.
    """

    start: float | None  # of the day, in Unix seconds; None for all days
    items: int
    stories: int  # of two items or more
    copies: int
    drops: int
    events: list[FeedStory]
    figures: list[tuple[FeedStory, list[ToldFigure]]]
    losing: list[Row]  # drops that lose much of their text, the worst first
    largest: list[FeedStory]
    newest: list[FeedStory]


def news_by_day(stories: Sequence[FeedStory], links: Links) -> list[News]:
    """Return the news of all feeds, and then those of each day if there are several, the newest day first."""
    counts = Counter(row.time // DAY for story in stories for row in story.coverage if row.time is not None)
    days = sorted((day for day, _ in counts.most_common(_MOST_DAYS)), reverse=True) if len(counts) > 1 else []
    return [news_of(None, stories, links), *(news_of(int(day * DAY), stories, links) for day in days)]


def last_day(stories: Sequence[FeedStory]) -> float | None:
    """Return the beginning of the 24 hours before the end of the feeds, None if no item has a time."""
    times = sorted(row.time for story in stories for row in story.coverage if row.time is not None)
    return usual_span(times)[1] - DAY + 1 if times else None


def news_of(start: float | None, stories: Sequence[FeedStory], links: Links) -> News:
    """Return the news of a day, or of all days; ``stories`` are the largest first."""
    has = partial(_is_of_day, start)
    stories = [story for story in stories if any(has(row.time) for row in story.coverage)]
    rows = [row for story in stories for row in story.coverage if has(row.time)]
    several = [story for story in stories if story.size > 1]
    events = [story for story in stories if any(has(time) for _, time in story.levels)][:_MOST_EVENTS]
    others = [story for story in several if story not in events]
    begun = [story for story in others[_MOST_LISTED:] if has(story.members[0].time)]
    drops = [row for row in rows if row.is_drop]
    return News(
        start,
        items=len(rows),
        stories=len(several),
        copies=sum(row.status == "duplicate" for row in rows),
        drops=len(drops),
        events=events,
        figures=list(islice(_changed(start, stories, links), _MOST_FIGURES)),
        losing=[row for row in sorted(drops, key=lambda row: -row.lost)[:_MOST_LISTED] if row.lost > _MUCH],
        largest=others[:_MOST_LISTED],
        newest=sorted(begun, key=lambda story: -(story.members[0].time or 0))[:_MOST_LISTED],
    )


def _changed(
    start: float | None, stories: Sequence[FeedStory], links: Links
) -> Iterator[tuple[FeedStory, list[ToldFigure]]]:
    """Yield the stories with figures that changed on this day."""
    for story in stories:
        if figures := [each for each in figures_of(story, links) if _is_of_day(start, each.first.time)]:
            yield story, figures


def _is_of_day(start: float | None, time: float | None) -> bool:
    return start is None or (time is not None and start <= time < start + DAY)


def figures_of(story: FeedStory, links: Links) -> list[ToldFigure]:
    """Return the figures whose values changed: dead, injured and missing first, then in the order of their changes."""
    values: dict[Subject, list[str]] = {}
    firsts: dict[tuple[Subject, str], Row] = {}
    owners: defaultdict[tuple[Subject, str], set[str]] = defaultdict(set)
    says: dict[int, list[tuple[Subject, str]]] = {}  # what an item prints; a copy prints what its match prints
    for row in story.coverage:
        match = links.match(row) if row.status == "duplicate" else None
        says[row.number] = list(says.get(match.number, [])) if match else []
        for change in map(read_change, filter(None, row.changes.split("; "))):
            said = values.setdefault(change.subject, [change.old])
            if change.new != said[-1]:
                said.append(change.new)
            firsts.setdefault((change.subject, change.new), row)
            says[row.number].append((change.subject, change.new))
        for statement in says[row.number]:
            owners[statement].add(row.owner)
    newest = {subject: (subject, said[-1]) for subject, said in values.items()}
    figures = [
        ToldFigure(subject[0], values[subject], firsts[statement], len(owners[statement]))
        for subject, statement in newest.items()
        if statement in firsts
    ]
    return sorted(figures, key=lambda figure: kind_of(figure.label))


def numbers_of(all_rows: Sequence[Row], stories: Sequence[FeedStory], links: Links) -> dict[str, Any]:
    """Return what the part "Numbers" shows. A page that came again unchanged is in no number but ``again``."""
    rows = [row for row in all_rows if not row.is_revisit and not row.is_reported]
    times = sorted(row.time for row in rows if row.time is not None)
    counts = Counter(row.status for row in rows)
    step, bars, outside = _over_time(rows, times)
    return {
        "items": len(rows),
        "again": sum(row.is_revisit for row in all_rows),
        "verdicts": {status: counts[status] for status in VERDICTS if counts[status]},
        "kinds": dict(Counter(row.kind for row in rows if row.kind and row.status == "duplicate").most_common()),
        "stories": sum(story.size > 1 for story in stories),
        "sources": len({row.source for row in rows} - {""}),
        "would_drop": sum(row.would_drop and not row.is_dropped for row in rows),
        "dropped": sum(row.is_dropped for row in rows),
        "span": (times[0], times[-1]) if times else None,
        "step": step,
        "step_name": _STEPS[step],
        "bars": bars,  # start and counts by verdict
        "outside": outside,  # items before the first bar or after the last one, which are counted there
        "by_source": _by_source(rows, stories),
        "copying": _copying(rows, links),
        "unchecked": _unchecked(rows),
    }


def _unchecked(rows: Sequence[Row]) -> list[tuple[str, int, str]]:
    """Return the reasons why items were not judged, the commonest first, with their number and what to do."""
    reasons = Counter(row.reason or "unknown" for row in rows if row.status == "unchecked")
    return [(name, count, REMEDIES.get(name, "Look at the log.")) for name, count in reasons.most_common()]


def _over_time(rows: Sequence[Row], times: Sequence[float]) -> tuple[int, list[tuple[int, Counter[str]]], int]:
    """Count items in equal periods. Return the seconds of a period, the periods, and the items outside of them.

    The items outside are a few with wrong or very old times, and they are counted in the first or the last period.
    """
    if not times:
        return 600, [], 0
    first, last = usual_span(times)
    step = next((step for step in _STEPS if (last - first) / step < _MOST_BARS), 604_800)
    end = int(last) // step
    start = max(int(first) // step, end - _MOST_BARS)
    bars = {place: Counter[str]() for place in range(start, end + 1)}
    for row in rows:
        if row.time is not None:
            bars[min(max(start, int(row.time) // step), end)][row.status] += 1
    outside = sum(int(time) // step not in bars for time in times)
    return step, [(place * step, counts) for place, counts in bars.items()], outside


def usual_span(times: Sequence[float]) -> tuple[float, float]:
    """Return the first and the last time, without the outermost 1 % if they make the span over four times as long."""
    edge = len(times) // 100
    inner = times[edge], times[-1 - edge]
    whole = times[0], times[-1]
    return inner if whole[1] - whole[0] > 4 * max(inner[1] - inner[0], 3600) else whole


def _by_source(rows: Sequence[Row], stories: Sequence[FeedStory]) -> list[tuple[str, int, int, int, int]]:
    """Return for each source its items, its copies, and in how many stories of several it was the first or later."""
    items = Counter(row.source for row in rows if row.source)
    copies = Counter(row.source for row in rows if row.status == "duplicate")
    first, later = Counter[str](), Counter[str]()
    for story in stories:
        sources = list(dict.fromkeys(row.source for row in story.coverage if row.source))
        if len(sources) > 1:
            first[sources[0]] += 1
            later.update(sources[1:])
    return [(name, n, copies[name], first[name], later[name]) for name, n in items.most_common(_MOST_SOURCES)]


def _copying(rows: Sequence[Row], links: Links) -> list[tuple[tuple[str, str], int]]:
    """Count the duplicates and updates of a source whose match is of another source. Return the commonest pairs."""
    pairs: Counter[tuple[str, str]] = Counter()
    for row in rows:
        match = links.match(row) if row.status in ("duplicate", "update") and row.source else None
        if match is not None and match.source not in ("", row.source):
            pairs[row.source, match.source] += 1
    return pairs.most_common(_MOST_SOURCES)
