"""What is new: the opening of the page, and the whole of a digest."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from datetime import datetime, timezone
from itertools import islice
from typing import NamedTuple

from scrapy_neardup.evidence.number_words import kind_of
from scrapy_neardup.report.overview import usual_span
from scrapy_neardup.report.rows import Row
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


class Period(NamedTuple):
    """A day, or all times, also unknown ones."""

    name: str = "all days"
    start: float | None = None  # Unix seconds

    def has(self, time: float | None) -> bool:
        return self.start is None or (time is not None and self.start <= time < self.start + DAY)


class Figure(NamedTuple):
    """A figure of a story whose value changed."""

    label: str  # "" if the figure has no word of its own
    values: list[str]  # the oldest first
    first: Row  # the item that printed the newest value first
    sources: int  # independent ones that print the newest value


class News(NamedTuple):
    """The news of a period. A story is listed once: as an event, or among the largest, or else among the newest.

    Counts of a story are those of all feeds, also if only a part of it is of this period.
    """

    period: Period
    items: int
    stories: int  # of two items or more
    copies: int
    drops: int
    events: list[FeedStory]
    figures: list[tuple[FeedStory, list[Figure]]]
    losing: list[Row]  # drops that lose much of their text, the worst first
    largest: list[FeedStory]
    newest: list[FeedStory]


def news_by_day(stories: Sequence[FeedStory], links: Links) -> list[News]:
    """Return the news of all feeds, and then those of each day if there are several, the newest day first."""
    counts = Counter(int(row.time // DAY) for story in stories for row in story.coverage if row.time is not None)
    news = [news_of(Period(), stories, links)]
    for day in sorted((day for day, _ in counts.most_common(_MOST_DAYS)), reverse=True) if len(counts) > 1 else ():
        period = Period(f"{datetime.fromtimestamp(day * DAY, timezone.utc):%Y-%m-%d}", day * DAY)
        of_day = [story for story in stories if any(period.has(row.time) for row in story.coverage)]
        news.append(news_of(period, of_day, links))
    return news


def last_day(stories: Sequence[FeedStory]) -> Period:
    """Return the 24 hours before the end of the feeds."""
    times = sorted(row.time for story in stories for row in story.coverage if row.time is not None)
    return Period("24 hours", usual_span(times)[1] - DAY + 1) if times else Period()


def news_of(period: Period, stories: Sequence[FeedStory], links: Links) -> News:
    """Return the news of a period; ``stories`` are the largest first."""
    rows = [row for story in stories for row in story.coverage if period.has(row.time)]
    drops = [row for row in rows if row.would_drop or row.is_dropped]
    several = [story for story in stories if story.size > 1]
    events = [story for story in stories if any(period.has(time) for _, time in story.levels)][:_MOST_EVENTS]
    changed = ((story, figures_of(story, links)) for story in stories)
    of_period = ((story, [each for each in figures if period.has(each.first.time)]) for story, figures in changed)
    largest = [story for story in several if story not in events][:_MOST_LISTED]
    listed = {*events, *largest}
    begun = [story for story in several if story not in listed and period.has(story.members[0].time)]
    return News(
        period,
        items=len(rows),
        stories=len(several),
        copies=sum(row.status == "duplicate" for row in rows),
        drops=len(drops),
        events=events,
        figures=list(islice((each for each in of_period if each[1]), _MOST_FIGURES)),
        losing=sorted((row for row in drops if row.lost > _MUCH), key=lambda row: -row.lost)[:_MOST_LISTED],
        largest=largest,
        newest=sorted(begun, key=lambda story: -(story.members[0].time or 0))[:_MOST_LISTED],
    )


def figures_of(story: FeedStory, links: Links) -> list[Figure]:
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
        Figure(subject[0], values[subject], firsts[statement], len(owners[statement]))
        for subject, statement in newest.items()
        if statement in firsts
    ]
    return sorted(figures, key=lambda figure: kind_of(figure.label))
