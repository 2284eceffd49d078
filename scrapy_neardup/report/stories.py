"""Group items into stories, and find the items that originals and matches name."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from scrapy_neardup.content.document_maker import parse_time
from scrapy_neardup.document import LEVELS, Member
from scrapy_neardup.report.rows import LONGEST_NAME, LONGEST_TITLE, LONGEST_URL, UNTAGGED, Row, clean_line
from scrapy_neardup.stories.messages import message_of
from scrapy_neardup.stories.summary import headline_of, read_change
from scrapy_neardup.wording import coverage_words

_MOST_TITLES = 20  # the first and the last ones, which may be the headline


class Signal(NamedTuple):
    """What an event said when it reached a level."""

    level: str
    time: float
    words: str  # "9 dead, was 4", as the alert has them
    lead: str


@dataclass(eq=False)
class FeedStory:
    """The items of one story, the earliest first. ``keys`` are its ids in the feed: several if stories were united.

    A page that came again is one of the ``members``, but no coverage. ``watch``, events and the log of a crawl count
    in the same way.
    """

    keys: dict[str, None] = field(default_factory=dict)
    members: list[Row] = field(default_factory=list)
    signals: list[Signal] = field(default_factory=list)  # of an event, the earliest first

    @cached_property
    def coverage(self) -> list[Row]:
        pages = {row.url or row.number: row for row in reversed(self.members) if not row.is_revisit}
        return sorted(pages.values(), key=order_of) or self.members[:1]

    @property
    def size(self) -> int:
        return len(self.coverage)

    @property
    def words(self) -> str:
        """Return how many papers print the story, in the words of the alerts."""
        own = {row.owner for row in self.coverage if row.status in ("original", "related", UNTAGGED)}
        sites = {row.source for row in self.coverage if row.source}
        return coverage_words(len(self.owners), len(sites), self.size, len(set(self.owners) - own))

    @cached_property
    def owners(self) -> list[str]:
        """Return the independent sources in the order of their first items."""
        return list(dict.fromkeys(row.owner for row in self.coverage if row.owner))

    @property
    def level(self) -> str:
        """Return the highest level of an event, "" if the story is none."""
        levels = [signal.level for signal in self.signals]
        return "breaking" if "breaking" in levels else "watch" if levels else ""

    @property
    def lead(self) -> str:
        return next((signal.lead for signal in reversed(self.signals) if signal.lead), "")

    @property
    def last_update(self) -> Signal | None:
        """Return the newest signal that said something new."""
        return next((signal for signal in reversed(self.signals) if signal.level != "ended"), None)

    def until(self, end: float) -> FeedStory:
        """Return the story as it was at a time."""
        rows = [row for row in self.members if row.time is None or row.time < end]
        signals = [signal for signal in self.signals if signal.time < end]
        is_whole = (len(rows), len(signals)) == (len(self.members), len(self.signals))
        return self if is_whole else FeedStory(self.keys, rows, signals)

    @cached_property
    def headline(self) -> str:
        """Return the headline as a message about the story would have it, or else any title."""
        rows = [*self.coverage[:_MOST_TITLES], *self.coverage[_MOST_TITLES:][-_MOST_TITLES:]]
        members = [
            Member("0" * 16, row.url, row.title, row.source, row.owner, "original", language=row.language)
            for row in rows
            if row.title
        ]
        outdated = {read_change(line).old for row in rows for line in row.changes.split("; ")} - {""}
        return headline_of(members, outdated) or next((row.title for row in self.members if row.title), "")


def group_stories(rows: Sequence[Row], links: Links) -> list[FeedStory]:
    """Return all stories, the largest first. An item is in the story of its match, and else in one of its own.

    Two stories that a crawl united have two ids in the feed: an item that joined after that has the id of one of them,
    while its match may have the other.
    """
    by_key: defaultdict[str, FeedStory] = defaultdict(FeedStory)
    keys = {row.number: row.story or f" {row.number}" for row in rows}  # no id begins with a space
    for row in rows:
        by_key[keys[row.number]].members.append(row)
        by_key[keys[row.number]].keys[keys[row.number]] = None
    for row in rows:
        if (match := links.match(row)) is not None:
            both = by_key[keys[row.number]], by_key[keys[match.number]]
            smaller, larger = sorted(both, key=lambda story: len(story.members))
            if smaller is not larger:
                larger.members += smaller.members
                larger.keys |= smaller.keys
                by_key |= dict.fromkeys(smaller.keys, larger)
    stories = list(dict.fromkeys(by_key.values()))
    for story in stories:
        story.members.sort(key=order_of)
    return sorted(stories, key=_rank)


def _rank(story: FeedStory) -> tuple[int, int, float]:
    """Sort by size, and stories of one size by their newest item."""
    return -story.size, -len(story.members), -max(row.time or 0 for row in story.members)


def order_of(row: Row) -> tuple[bool, float, int]:
    """Sort by time. Items without a time come last, in the order of their feed."""
    return row.time is None, row.time or 0.0, row.number


class Links:
    """Finds the item that a tag names by its url or id. Several items may have the same url: visits of one page."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self._by_name: defaultdict[str, list[Row]] = defaultdict(list)
        for row in sorted(rows, key=order_of):
            for name in {row.url, row.id} - {""}:
                self._by_name[name].append(row)
        self._matches = {row.number: self._find(row, row.match or row.original) for row in rows}

    def match(self, row: Row) -> Row | None:
        """Return the latest item under the name of the match that came before this one."""
        return self._matches[row.number]

    def _find(self, row: Row, name: str) -> Row | None:
        visits = self._by_name.get(name, [])
        before = visits[: bisect_left(visits, order_of(row), key=order_of)]
        others = before or [visit for visit in visits if visit is not row]
        same_story = [visit for visit in others if visit.story == row.story] or others
        return same_story[-1] if same_story else None


Report = Mapping[str, Any]


def is_report(raw: Report) -> bool:
    return raw.get("level") in LEVELS and isinstance(raw.get("members"), list) and "growth" in raw


def items_of(reports: Sequence[Report], known: set[str]) -> Iterator[dict[str, Any]]:
    """Yield the members of the newest report of each story, in the form of a replay's output.

    Leave out members whose url or id is in ``known``: the feeds have them.
    """
    newest = {_name(report.get("story")): report for report in sorted(reports, key=_order)}
    for key, report in newest.items():
        figures = defaultdict(list)
        for change in _objects(report, "figures"):
            figures[_url(change)].append(f"{change.get('figure')}: {change.get('old')} -> {change.get('new')}")
        for member in _objects(report, "members"):
            if known.isdisjoint((_url(member), _name(member.get("id")))):
                yield {**member, "story": key, "changes": figures.pop(_url(member), None)}


def add_reports(reports: Sequence[Report], stories: Sequence[FeedStory]) -> None:
    """Add to each story what its reports say. Without a report the tags of its items tell the levels."""
    by_key = {key: story for story in stories for key in story.keys}
    sent: defaultdict[FeedStory | None, list[Report]] = defaultdict(list)
    for report in sorted(reports, key=_order):
        sent[by_key.get(_name(report.get("story")))].append(report)
    for story in stories:
        told = sent.get(story, [])
        signals = filter(None, map(_signal, told)) if told else filter(None, map(_signal_of_item, story.members))
        story.signals = sorted(dict.fromkeys(signals), key=lambda each: (each.time, LEVELS.index(each.level)))


def _signal(report: Report) -> Signal | None:
    """Read a report. A feed of events may hold anything, so what cannot be read is left out."""
    raised = (member for member in _objects(report, "members") if member.get("id") == report.get("item"))
    time, level = _time(next(raised, report)), _name(report["level"])
    try:
        words = message_of(report).title.partition(": ")[2]
    except (AttributeError, KeyError, TypeError, ValueError):
        words = ""
    return None if time is None else Signal(level, time, words, clean_line(report.get("lead"), LONGEST_TITLE))


def _signal_of_item(row: Row) -> Signal | None:
    """Return the signal that an item's tags tell of."""
    if row.event not in LEVELS or row.time is None:
        return None
    words = "; ".join(read_change(line).words for line in row.changes.split("; ") if line) or row.title
    return Signal(row.event, row.time, words, "")


def reasons_of(reports: Sequence[Report]) -> dict[str, str]:
    """Return why members joined, such as "topic 0.43: budget, senate, veto", by their urls."""
    members = (member for report in reports for member in _objects(report, "members"))
    reasons = {_url(member): _name(member.get("why")) for member in members}
    return {url: why for url, why in reasons.items() if why.startswith("topic")}


def _order(report: Report) -> float:
    return _time(report) or 0.0


def _time(value: Report) -> float | None:
    try:
        return parse_time(value.get("time"))
    except ValueError:
        return None


def _objects(report: Report, name: str) -> list[Report]:
    value = report.get(name)
    return [each for each in value if isinstance(each, Mapping)] if isinstance(value, list) else []


def _name(value: object) -> str:
    return clean_line(str(value) if isinstance(value, int) else value, LONGEST_NAME)


def _url(member: Report) -> str:
    return clean_line(member.get("url"), LONGEST_URL)
