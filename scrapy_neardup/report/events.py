"""Events as a reader wants them: the special report, and the curve of its growth."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from scrapy_neardup.content.dates import parse_time
from scrapy_neardup.document import LEVELS, STATUSES, Level, Member, sources_needed
from scrapy_neardup.document import Story as StoryCounters
from scrapy_neardup.report.clean import clean_line
from scrapy_neardup.report.rows import LONGEST_NAME, LONGEST_TITLE, LONGEST_URL, Row
from scrapy_neardup.report.stories import Story
from scrapy_neardup.settings import NearDupSettings
from scrapy_neardup.stories import StoryEvent, special_report
from scrapy_neardup.stories.report import TEN_MINUTES
from scrapy_neardup.stories.summary import confirmed_by_members

MOST_EVENTS = 60  # shown
_MOST_LINES = 200  # of a table of one event
_LARGEST_COUNT = 10**9


class Step(NamedTuple):
    """The number of items and of independent sources from a time on."""

    time: int
    items: int
    sources: int


@dataclass(frozen=True, slots=True)
class Place:
    """Who printed it, where and when."""

    source: str
    url: str
    time: int | None
    items: int = 0


@dataclass(frozen=True, slots=True)
class Change:
    """A figure that changed, and who printed the new value."""

    figure: str
    old: str
    new: str
    place: Place


class Count(NamedTuple):
    """The size of an event at some time."""

    items: int = 0
    sources: int = 0  # independent ones


@dataclass(slots=True)
class EventView:
    """One event with all levels that it reached.

    An event goes on growing after its last signal, so ``in_feeds`` may be larger than ``signalled``. If these feeds
    have all items of the newest special report at the same times, everything else is about the items in the feeds too.
    If they have not, it is what that report says.
    """

    story: str
    headline: str
    summary: str
    levels: list[tuple[str, int]]  # with times, the earliest first
    signalled: Count | None  # None if there is no special report
    signalled_at: int | None  # Unix seconds
    in_feeds: Count | None  # None if no item of these feeds is in the story
    copies: int
    sources: list[Place] = field(default_factory=list)  # the first item of each
    growth: list[Step] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)
    disagreements: list[tuple[str, list[tuple[str, str]]]] = field(default_factory=list)  # figure: source, value
    languages: list[tuple[str, int]] = field(default_factory=list)
    related: list[tuple[str, str]] = field(default_factory=list)  # title, url

    @property
    def size(self) -> Count:
        """Return the larger one of the two sizes."""
        return max(self.in_feeds or Count(), self.signalled or Count())

    @property
    def level(self) -> str:
        """Return the highest level that the event reached, without updates and its end."""
        reached = [level for level, _ in self.levels if level in ("watch", "breaking")]
        return "breaking" if "breaking" in reached else "watch"

    @property
    def is_over(self) -> bool:
        return any(level == "ended" for level, _ in self.levels)


Report = Mapping[str, Any]


def events_of(reports: Sequence[Report], stories: Sequence[Story], settings: NearDupSettings) -> list[EventView]:
    """Return the events of special reports, the largest first. Without reports they are made from the tags of items."""
    if not reports:
        raised = [story for story in stories if any(row.event in LEVELS for row in story.members)]
        views = [_view(_key_of(story), [], story, settings) for story in raised]
    else:
        by_key = {key: story for story in stories for key in story.keys}
        sent: defaultdict[str, list[Report]] = defaultdict(list)
        for report in reports:
            key = _line(report.get("story"), LONGEST_NAME)
            # A story may have become a part of another one since the report was sent.
            sent[_key_of(by_key[key]) if key in by_key else key].append(report)
        views = [_view(key, each, by_key.get(key), settings) for key, each in sent.items()]
    return sorted(views, key=lambda view: view.size, reverse=True)


def _view(key: str, reports: Sequence[Report], story: Story | None, settings: NearDupSettings) -> EventView:
    """Read reports carefully: a feed may have been edited, or come from a later version."""
    sent = sorted(reports, key=lambda report: (_time(report.get("time")) or 0, _count(report.get("items"))))
    newest: Report = sent[-1] if sent else {}
    made = _report_from_items(story, settings) if story else {}
    shown = made if story and _has_items_of(story, newest) else newest
    levels = [(_line(each.get("level"), LONGEST_NAME), _time(each.get("time"))) for each in sent]
    in_feeds = _size_of(story, settings) if story else None
    return EventView(
        story=key,
        headline=_line(newest.get("headline") or shown.get("headline") or (story and story.headline), LONGEST_TITLE),
        summary=_line(newest.get("summary") or shown.get("summary"), 1000),
        levels=list(
            dict.fromkeys((level, time) for level, time in levels or made.get("levels", ()) if time is not None)
        ),
        signalled=Count(_count(newest.get("items")), len(_objects(newest.get("sources")))) if newest else None,
        signalled_at=_time(newest.get("time")),
        in_feeds=in_feeds,
        copies=_count(shown.get("copies")),
        sources=[_place(each, "owner") for each in _objects(shown.get("sources"))[:_MOST_LINES]],
        growth=_growth(shown),
        changes=[_change(each) for each in _objects(shown.get("figures"))[:_MOST_LINES]],
        disagreements=[
            (
                _line(each.get("figure"), LONGEST_NAME),
                [
                    (_line(value.get("source"), LONGEST_NAME), _line(value.get("value"), LONGEST_NAME))
                    for value in _objects(each.get("values"))[:_MOST_LINES]
                ],
            )
            for each in _objects(shown.get("disagreements"))[:_MOST_LINES]
        ],
        languages=[
            (_line(each.get("language"), 20), _count(each.get("items")))
            for each in _objects(shown.get("languages"))[:_MOST_LINES]
        ],
        related=[
            (_line(each.get("title"), LONGEST_TITLE), _line(each.get("url"), LONGEST_URL))
            for each in _objects(newest.get("related"))[:_MOST_LINES]
        ],
    )


def _size_of(story: Story, settings: NearDupSettings) -> Count:
    """Count all items of a story in the feeds, and their owners, also of items without a time."""
    owners = {settings.owner_of(row.source) for row in story.coverage}
    return Count(len(story.coverage), len(owners - {""}))


def _key_of(story: Story) -> str:
    return next(iter(story.keys), f"item {story.members[0].number + 1}")


def _has_items_of(story: Story, report: Report) -> bool:
    """Decide whether the story has all items of a report, at the times that the report gives.

    The times differ if the feed has another time field.
    """
    members = {(row.url, int(row.time)) for row in story.members if row.time is not None}
    return all(
        (_line(each.get("url"), LONGEST_URL), _time(each.get("time"))) in members
        for each in _objects(report.get("members"))
    )


def _objects(value: object) -> list[Mapping[str, Any]]:
    return [each for each in value if isinstance(each, Mapping)] if isinstance(value, list) else []


def _line(value: object, most: int) -> str:
    return clean_line(str(value) if isinstance(value, int) else value, most)


def _count(value: object) -> int:
    return value if isinstance(value, int) and 0 <= value < _LARGEST_COUNT else 0


def _time(value: object) -> int | None:
    try:
        return int(parse_time(value))
    except ValueError:
        return None


def _place(value: Mapping[str, Any], name: str = "source") -> Place:
    source = _line(value.get(name) or value.get("source"), LONGEST_NAME)
    return Place(source, _line(value.get("url"), LONGEST_URL), _time(value.get("time")), _count(value.get("items")))


def _change(value: Mapping[str, Any]) -> Change:
    figure, old, new = (_line(value.get(name), LONGEST_NAME) for name in ("figure", "old", "new"))
    return Change(figure, old, new, _place(value))


def _growth(report: Report) -> list[Step]:
    """Return the size of the event at each time when it grew.

    The members of a report have their times. If it has none, its counts of ten minutes are reached when these end.
    """
    growth: Counter[tuple[int, bool]] = Counter()
    for name, is_source in (("members", False), ("sources", True)):
        for each in _objects(report.get(name)):
            if (time := _time(each.get("time"))) is not None:
                growth[time, is_source] += 1
    if not _objects(report.get("members")):
        growth.clear()
        for each in _objects(report.get("growth")):
            if (time := _time(each.get("time"))) is not None:
                growth[time + TEN_MINUTES, False] += _count(each.get("items"))
                growth[time + TEN_MINUTES, True] += _count(each.get("new_sources"))
    steps, size = list[Step](), Count()
    for time in sorted({time for time, _ in growth}):
        size = Count(size.items + growth[time, False], size.sources + growth[time, True])
        steps.append(Step(time, *size))
    return steps


# Events of a feed of items


def _report_from_items(story: Story, settings: NearDupSettings) -> dict[str, Any]:
    """Return the special report that the items of a story allow. Items without a time are left out."""
    rows = [row for row in story.coverage if row.time is not None]
    members = tuple(_member(row, number, settings) for number, row in enumerate(rows))
    firsts: dict[str, int] = {}
    for member in members:
        firsts.setdefault(member.owner, member.seen_at)
    firsts.pop("", None)
    raised = [(row.event, int(row.time or 0)) for row in rows if row.event in LEVELS]
    level: Level = raised[-1][0] if raised else "watch"
    counters = StoryCounters(
        id=_key_of(story),
        joined=len(members),
        items=len(members),
        copies=sum(row.status == "duplicate" for row in rows),
        times=tuple(member.seen_at for member in members),
        sources=tuple(sorted(firsts.values())),
        changes=confirmed_by_members(members, sources_needed(len(firsts))),
        languages=tuple(Counter(row.language for row in rows if row.language).most_common()),
    )
    event = StoryEvent(level, raised[-1][1] if raised else 0, "", counters, members)
    return {**special_report(event), "levels": raised}


def _member(row: Row, number: int, settings: NearDupSettings) -> Member:
    return Member(
        id=f"{int(row.time or 0):08x}{number:08x}",
        url=row.url,
        title=row.title,
        source=row.source,
        owner=settings.owner_of(row.source),
        status=row.status if row.status in STATUSES else "related",
        changes=tuple(filter(None, row.changes.split("; "))),
        language=row.language,
        number=number + 1,
    )
