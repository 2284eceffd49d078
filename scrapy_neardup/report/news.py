"""What is new, for the opening of the page and a digest; and the numbers by verdict and by source."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import date, datetime, time, timedelta, tzinfo
from itertools import islice
from typing import Any, NamedTuple

from scrapy_neardup.document import STATUSES
from scrapy_neardup.evidence.counted import in_words, kind_of
from scrapy_neardup.report.rows import UNTAGGED, Row
from scrapy_neardup.report.stories import FeedStory, Links
from scrapy_neardup.stories.summary import read_change

DAY = 86_400
Subject = tuple[str, str]  # identifies a figure, see ``FigureChange.subject``

_MOST_DAYS = 14  # that can be chosen, the fullest ones
_MOST_LISTED = 5
_MOST_EVENTS = 30
_MOST_FIGURES = 30
_MOST_SOURCES = 100  # lines of a table
_MUCH = 0.05  # of a text
VERDICTS = (*STATUSES, UNTAGGED)


class ToldFigure(NamedTuple):
    """A figure of a story whose value changed."""

    label: str  # "" if the figure has no word of its own
    values: list[str]  # the oldest first
    first: Row  # the item that printed the newest value first
    papers: int  # independent ones that print the newest value

    @property
    def words(self) -> str:
        """Return the change in the words of the alerts: "9 dead, was 4"."""
        *before, newest = self.values
        return in_words(self.label, before[-1] if before else "", newest)


class Period(NamedTuple):
    """A time whose news are told: from ``start`` on, and before ``end``, in Unix seconds."""

    name: str
    start: float = -math.inf
    end: float = math.inf

    def has(self, second: float | None) -> bool:
        """Return whether something is of this period. What has no time is only of the whole time."""
        return self.start == -math.inf if second is None else self.start <= second < self.end


class News(NamedTuple):
    """The news of a period. A story is listed once: as an event, or among the largest or the newest.

    Stories are as they were at the end of the period, with everything that they had before it.
    """

    period: Period
    items: int
    stories: int  # of two items or more
    begun: int  # of these, the stories that began in this period
    copies: int
    drops: int
    events: list[FeedStory]
    figures: list[tuple[FeedStory, list[ToldFigure]]]
    lost: float  # the largest share of its text that a drop loses, 0 if it is small
    largest: list[FeedStory]
    newest: list[FeedStory]


def periods_of(stories: Sequence[FeedStory], zone: tzinfo, since: float | None = None) -> list[Period]:
    """Return the time since the last report, the whole time, and the days if they are several, the newest first."""
    times = [row.time for story in stories for row in story.coverage if row.time is not None]
    counts = Counter(datetime.fromtimestamp(second, zone).date() for second in times)
    days = sorted((day for day, _ in counts.most_common(_MOST_DAYS)), reverse=True) if len(counts) > 1 else []
    new = [Period(f"since {datetime.fromtimestamp(since, zone):%Y-%m-%d %H:%M}", since)] if since is not None else []
    each_day = (Period(str(day), _midnight(day, zone), _midnight(day + timedelta(1), zone)) for day in days)
    return [*new, Period("all days"), *each_day]


def _midnight(day: date, zone: tzinfo) -> float:
    return datetime.combine(day, time(), zone).timestamp()


def news_of(period: Period, stories: Sequence[FeedStory], links: Links) -> News:
    """Return the news of a period; ``stories`` are the largest first."""
    stories = _of_period(period, stories)
    rows = [row for story in stories for row in _coverage(period, story)]
    several = sorted((story for story in stories if story.size > 1), key=lambda story: -story.size)
    events = [story for story in stories if any(map(period.has, (signal.time for signal in story.signals)))]
    events = events[:_MOST_EVENTS]
    others = [story for story in several if story not in events]
    begun = [story for story in several if period.has(story.members[0].time)]
    newest = [story for story in others[_MOST_LISTED:] if story in begun]
    return News(
        period,
        items=len(rows),
        stories=len(several),
        begun=len(begun),
        copies=sum(row.status == "duplicate" for row in rows),
        drops=sum(row.is_drop for row in rows),
        events=events,
        figures=list(islice(_changed(period, stories, links), _MOST_FIGURES)),
        lost=max(map(_much_lost, rows), default=0.0),
        largest=others[:_MOST_LISTED],
        newest=sorted(newest, key=lambda story: -(story.members[0].time or 0))[:_MOST_LISTED],
    )


def _of_period(period: Period, stories: Iterable[FeedStory]) -> list[FeedStory]:
    """Return the stories with items in this period, as they were at its end."""
    return [each.until(period.end) for each in stories if any(period.has(row.time) for row in each.coverage)]


def _coverage(period: Period, story: FeedStory) -> list[Row]:
    return [row for row in story.members if period.has(row.time) and not row.is_revisit]


def _much_lost(row: Row) -> float:
    """Return the share of its text that the drop of an item loses, 0 if that is little or it stays."""
    return row.lost if row.is_drop and row.lost > _MUCH else 0.0


def _changed(
    period: Period, stories: Sequence[FeedStory], links: Links
) -> Iterator[tuple[FeedStory, list[ToldFigure]]]:
    """Yield the stories with figures that changed in this period."""
    for story in stories:
        if figures := [each for each in figures_of(story, links) if period.has(each.first.time)]:
            yield story, figures


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
    times = [row.time for row in rows if row.time is not None]
    counts = Counter(row.status for row in rows)
    lines = _by_source(rows, stories, links)
    return {
        "items": len(rows),
        "again": sum(row.is_revisit for row in all_rows),
        "verdicts": {status: counts[status] for status in VERDICTS if counts[status]},
        "kinds": dict(Counter(row.kind for row in rows if row.kind and row.status == "duplicate").most_common()),
        "stories": sum(story.size > 1 for story in stories),
        "sources": len(lines),
        "would_drop": sum(row.would_drop and not row.is_dropped for row in rows),
        "dropped": sum(row.is_dropped for row in rows),
        "span": (min(times), max(times)) if times else None,
        "by_source": lines[:_MOST_SOURCES],
    }


def _by_source(
    rows: Sequence[Row], stories: Sequence[FeedStory], links: Links
) -> list[tuple[str, int, int, str, int, int]]:
    """Return each source with its items, those copied from other owners, and the source that it copies most.

    Then come the number of stories of several sources that it had before all others, and of those that it had later.
    Sources that copy most come first.
    """
    items, copied = Counter(row.source for row in rows if row.source), _copied(rows, links)
    first, later = Counter[str](), Counter[str]()
    for story in stories:
        sources = list(dict.fromkeys(row.source for row in story.coverage if row.source))
        if len(sources) > 1:
            first[sources[0]] += 1
            later.update(sources[1:])
    most = {name: max(counts, key=counts.__getitem__) for name, counts in copied.items()}
    lines = [(name, n, copied[name].total(), most.get(name, ""), first[name], later[name]) for name, n in items.items()]
    return sorted(lines, key=lambda line: (-line[2], -line[1]))


def _copied(rows: Sequence[Row], links: Links) -> defaultdict[str, Counter[str]]:
    """Count for each source whose texts its duplicates and updates match, other than those of its own owner."""
    copied: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for row in rows:
        match = links.match(row) if row.status in ("duplicate", "update") and row.source else None
        if match is not None and match.source and match.owner != row.owner:
            copied[row.source][match.source] += 1
    return copied
