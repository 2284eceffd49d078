"""Group items into stories, and find the items that originals and matches name."""

import math
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from scrapy_neardup import Member
from scrapy_neardup.document import STATUSES
from scrapy_neardup.evidence.figures.counted import in_words
from scrapy_neardup.stories.event import SpecialReport
from scrapy_neardup.stories.summary import headline_of, message_of, read_change
from scrapy_neardup.story import LEVELS
from scrapy_neardup.text.display import coverage_words
from scrapy_neardup.tools.report.gathering import (
    LONGEST_NAME,
    LONGEST_TITLE,
    UNTAGGED,
    Row,
    clean_line,
    clean_name,
    objects_in,
    time_of,
    url_of,
)

Matches = Mapping[int, Row | None]  # of items, by their numbers

_COPIES = ("duplicate", "update")
_MOST_TITLES = 20  # the first and the last ones, which may be the headline


class ToldFigure(NamedTuple):
    """A figure of a story whose value changed."""

    label: str  # "" if the figure has no word of its own
    values: list[str]  # the oldest first
    first: Row  # the item that printed the newest value first
    papers: int  # independent ones that print the newest value
    against: str = ""  # what contradicts it: "2 say 4"

    @property
    def words(self) -> str:
        """Return the change in the words of the alerts: "9 dead, was 4 (2 say 4)"."""
        *before, newest = self.values
        told = in_words(self.label, next(reversed(before), ""), newest)
        return f"{told} ({self.against})" if self.against else told


class Signal(NamedTuple):
    """What an event said when it reached a level."""

    level: str
    time: float
    words: str  # "9 dead, was 4", as the alert has them
    lead: str
    pages: tuple[str, ...] = ()  # the urls of those that first print the figures of ``words``
    states: tuple[ToldFigure, ...] = ()  # of the ledger
    section: str = ""


class Period(NamedTuple):
    """What is told together: what has a time from ``start`` on and before ``end``.

    Times are Unix seconds. What has no time is only of the whole time.
    """

    name: str
    start: float = -math.inf
    end: float = math.inf

    def has(self, told: Row | Signal) -> bool:
        return self.start == -math.inf if told.time is None else self.start <= told.time < self.end


ALL = Period("all days")


@dataclass(eq=False)
class FeedStory:
    """The items of one story, the earliest first. ``keys`` are its ids in the feed: several if stories were united.

    A page that came again is one of the ``members``, but no coverage. ``watch``, events and the log of a crawl count
    in the same way. Only coverage of the ``period`` counts. Headline, lead and figures are those at its end.
    """

    keys: dict[str, None] = field(default_factory=dict)
    members: list[Row] = field(default_factory=list)
    signals: list[Signal] = field(default_factory=list)  # of an event, the earliest first
    period: Period = ALL

    @cached_property
    def coverage(self) -> list[Row]:
        pages: dict[str | int, Row] = {}
        for row in filter(self.period.has, self.told):
            pages.setdefault(row.url or row.number, row)
        return list(pages.values())

    @cached_property
    def told(self) -> list[Row]:
        """Return the members without pages that came again unchanged."""
        return [row for row in self.members if not row.is_revisit] or self.members[:1]

    @property
    def size(self) -> int:
        return len(self.coverage)

    @property
    def words(self) -> str:
        """Return how many papers print the story, in the words of the alerts."""
        own = {row.owner for row in self.coverage if row.verdict.status != "duplicate"}
        sites = {row.source for row in self.coverage if row.source}
        return coverage_words(len(self.owners), len(sites), self.size, len(set(self.owners) - own))

    @property
    def steps(self) -> list[Row]:
        """Return the items of the period that told news or changed a figure, the latest last."""
        return [row for row in self.told if (row.verdict.news or row.verdict.changes) and self.period.has(row)]

    @cached_property
    def owners(self) -> list[str]:
        """Return the independent sources in the order of their first items."""
        return list(dict.fromkeys(row.owner for row in self.coverage if row.owner))

    @cached_property
    def whole(self) -> "FeedStory":
        return FeedStory(self.keys, self.members, self.signals)

    @property
    def new_levels(self) -> list[str]:
        return list(dict.fromkeys(signal.level for signal in self.signals if self.period.has(signal)))

    @property
    def is_new_event(self) -> bool:
        """Return whether the event was raised in the period: at first, or again after it had ended."""
        before = ["ended", *(signal.level for signal in self.signals)]
        raised = (signal for last, signal in zip(before, self.signals, strict=False) if last == "ended")
        return any(map(self.period.has, raised))

    @property
    def is_begun(self) -> bool:
        return self.period.has(self.told[0])

    @property
    def level(self) -> str:
        """Return the highest level of an event, "" if the story is none."""
        if any(signal.level == "breaking" for signal in self.signals):
            return "breaking"
        return "watch" if self.signals else ""

    @property
    def lead(self) -> str:
        return next((signal.lead for signal in reversed(self.signals) if signal.lead), "")

    @property
    def last_update(self) -> Signal | None:
        return next((signal for signal in reversed(self.signals) if signal.level != "ended"), None)

    def printing(self, signal: Signal) -> list[Row]:
        """Return the items that first print the figures of a signal, as far as the feeds have them."""
        changed_first = sorted(self.told, key=lambda row: not row.verdict.changes)
        by_url = {row.url: row for row in reversed(changed_first)}  # of several visits, the first that changed a figure
        return [by_url[url] for url in signal.pages if url in by_url]

    def within(self, period: Period) -> "FeedStory | None":
        """Return the story as a period tells it, None if it tells nothing of it."""
        found = sum(map(period.has, self.members))
        if not found:
            return None
        if found == len(self.members) and all(map(period.has, self.signals)):
            return self
        return FeedStory(
            self.keys,
            [row for row in self.members if row.time is None or row.time < period.end],
            [each for each in self.signals if each.time < period.end],
            period,
        )

    @cached_property
    def headline(self) -> str:
        """Return the headline as a message about the story would have it, or else any title."""
        rows = [row for row in self.told if row.title]
        if len(rows) < 2:
            return next((each.title for each in rows), "")
        rows = [*rows[:_MOST_TITLES], *rows[_MOST_TITLES:][-_MOST_TITLES:]]
        members = [
            Member(
                f"{int(row.time or 0):08x}",
                row.url,
                row.title,
                row.source,
                row.owner,
                "original",
                language=row.language,
            )
            for row in rows
        ]
        outdated = {read_change(line).old for row in rows for line in row.verdict.changes} - {""}
        return headline_of(members, outdated) or rows[0].title


def group_stories(rows: Sequence[Row], matches: Matches) -> list[FeedStory]:
    """Return all stories, the largest first. An item is in the story of its match, and else in one of its own.

    Two stories that a crawl united have two ids in the feed: an item that joined after that has the id of one of them,
    while its match may have the other.
    """
    keys = [row.verdict.story or f" {row.number}" for row in rows]  # no id begins with a space
    return sorted(
        _grouped(rows, matches, keys),
        key=lambda story: (-story.size, -len(story.members), -max(row.time or 0 for row in story.members)),
    )


def _grouped(
    rows: Sequence[Row], matches: Matches, keys: Sequence[str], statuses: Collection[str] = (*STATUSES, UNTAGGED)
) -> list[FeedStory]:
    """Group rows by their keys, and unite the groups of a row with one of these statuses and of its match."""
    by_key: defaultdict[str, FeedStory] = defaultdict(FeedStory)
    for row, key in zip(rows, keys, strict=True):
        by_key[key].members.append(row)
        by_key[key].keys[key] = None
    for row in rows:
        if row.verdict.status in statuses and (match := matches[row.number]) is not None:
            both = by_key[keys[row.number]], by_key[keys[match.number]]
            smaller, larger = sorted(both, key=lambda story: len(story.members))
            if smaller is not larger:
                larger.members += smaller.members
                larger.keys |= smaller.keys
                by_key |= dict.fromkeys(smaller.keys, larger)
    stories = list(dict.fromkeys(by_key.values()))
    for story in stories:
        story.members.sort(key=order_of)
    return stories


def order_of(row: Row) -> tuple[bool, float, int]:
    """Sort by time. Items without a time come last, in the order of their feed."""
    return row.time is None, row.time or 0.0, row.number


def matches_of(rows: Sequence[Row]) -> Matches:
    """Return the match of each item: the latest one under the url or id of its match that came before this one.

    Several items may have the same url: visits of one page.
    """
    by_name: defaultdict[str, list[Row]] = defaultdict(list)
    for row in sorted(rows, key=order_of):
        for name in {row.url, row.id} - {""}:
            by_name[name].append(row)
    matches: dict[int, Row | None] = {}
    for row in rows:
        visits = by_name.get(row.verdict.match or row.verdict.original or "", [])
        before = visits[: bisect_left(visits, order_of(row), key=order_of)]
        others = before or [visit for visit in visits if visit is not row]
        same_story = [visit for visit in others if visit.verdict.story == row.verdict.story] or others
        matches[row.number] = next(reversed(same_story), None)
    return matches


def on_one_site(rows: Sequence[Row], matches: Matches) -> set[int]:
    """Return the numbers of the rows whose article no other source has: neither a copy nor an update of it.

    Rows are left out if nobody knows: they were not judged, or it is not known of what they or others of their story
    are copies.
    """
    unsure = {row.verdict.story for row in rows if row.is_reported and row.verdict.status == "duplicate"}
    articles = _grouped(rows, matches, [f" {row.number}" for row in rows], _COPIES)
    return {row.number for each in articles if _has_one_source(each.members, matches, unsure) for row in each.members}


def _has_one_source(article: Sequence[Row], matches: Matches, unsure: set[str | None]) -> bool:
    statuses = ((row.verdict.status, matches[row.number]) for row in article)
    is_known = all(status in ("original", "related") or (status in _COPIES and match) for status, match in statuses)
    sources = {row.source for row in article}
    return (
        is_known and len(sources) == 1 and "" not in sources and unsure.isdisjoint(row.verdict.story for row in article)
    )


def add_reports(reports: Sequence[SpecialReport], stories: Sequence[FeedStory]) -> None:
    """Add to each story what its reports say. Without a report the tags of its items tell the levels."""
    by_key = {key: story for story in stories for key in story.keys}
    sent: defaultdict[FeedStory | None, list[SpecialReport]] = defaultdict(list)
    for report in sorted(reports, key=time_of):
        sent[by_key.get(clean_name(report.get("story")))].append(report)
    for story in stories:
        pages = {row.url: row for row in reversed(story.told)}
        signals = [_signal(each, pages) for each in sent.get(story, [])] or [*map(_signal_of_item, story.members)]
        found = {(each.time, LEVELS.index(each.level), each.words): each for each in signals if each}
        # Of one second, updates stay in the order of their feed.
        story.signals = sorted(found.values(), key=lambda each: (each.time, LEVELS.index(each.level)))


def _signal(report: SpecialReport, rows: Mapping[str, Row]) -> Signal | None:
    """Read a report. A feed of events may hold anything, so what cannot be read is left out.

    ``rows`` are the items of the story, by their urls.
    """
    raised = (member for member in objects_in(report, "members") if member.get("id") == report.get("item"))
    if not (time := time_of(next(raised, report))):
        return None
    try:
        words = message_of(report).title.partition(": ")[2]
    except (AttributeError, KeyError, TypeError, ValueError):
        words = ""
    facts = objects_in(report, "facts")
    return Signal(
        level=clean_name(report["level"]),
        time=time,
        words=words,
        lead=clean_line(report.get("lead"), LONGEST_TITLE),
        pages=tuple(dict.fromkeys(url_of(fact) for fact in facts if fact.get("is_new"))),
        states=tuple(_state(fact, rows[url_of(fact)]) for fact in facts if url_of(fact) in rows),
        section=clean_name(report.get("section")),
    )


def _state(fact: Mapping[str, Any], first: Row) -> ToldFigure:
    label, old, new = (clean_line(fact.get(name), LONGEST_NAME) for name in ("figure", "old", "new"))
    against = [
        f"{each.get('sources')} say {clean_line(each.get('value'), LONGEST_NAME)}"
        for each in objects_in(fact, "against")
    ]
    known = fact["sources"] if isinstance(fact.get("sources"), int) else 0
    return ToldFigure(label, [each for each in (old, new) if each], first, known, "; ".join(against))


def _signal_of_item(row: Row) -> Signal | None:
    if row.verdict.event not in LEVELS or row.time is None:
        return None
    words = "; ".join(read_change(line).words for line in row.verdict.changes)
    return Signal(row.verdict.event, row.time, words or row.title, "", (row.url,) if words else ())
