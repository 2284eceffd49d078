"""Events as a reader wants them: the special report, and the curve of its growth."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from scrapy_neardup.content.dates import parse_time
from scrapy_neardup.document import LEVELS, STATUSES, Level, Member
from scrapy_neardup.document import Story as StoryCounters
from scrapy_neardup.report.clean import clean_line
from scrapy_neardup.report.rows import LONGEST_NAME, LONGEST_TITLE, LONGEST_URL, Row
from scrapy_neardup.report.stories import Story
from scrapy_neardup.settings import NearDupSettings
from scrapy_neardup.stories import StoryEvent, special_report

MOST_EVENTS = 60  # shown
_MOST_LINES = 200  # of a table of one event
_LARGEST_COUNT = 10**9


@dataclass(frozen=True, slots=True)
class Step:
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


@dataclass(slots=True)
class EventView:
    """One event with all levels that it reached, from its newest special report."""

    story: str
    headline: str
    summary: str
    url: str
    items: int
    copies: int
    levels: list[tuple[str, int]]  # with times, the earliest first
    sources: list[Place] = field(default_factory=list)  # the first item of each
    growth: list[Step] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)
    disagreements: list[tuple[str, list[tuple[str, str]]]] = field(default_factory=list)  # figure: source, value
    languages: list[tuple[str, int]] = field(default_factory=list)
    related: list[tuple[str, str]] = field(default_factory=list)  # title, url

    @property
    def level(self) -> str:
        """Return the highest level that the event reached, without updates and its end."""
        reached = [level for level, _ in self.levels if level in ("watch", "breaking")]
        return "breaking" if "breaking" in reached else "watch"

    @property
    def is_over(self) -> bool:
        return any(level == "ended" for level, _ in self.levels)


def events_of(
    reports: Sequence[Mapping[str, Any]], stories: Sequence[Story], settings: NearDupSettings
) -> list[EventView]:
    """Return the events of special reports, the largest first. Without reports they are made from the tags of items."""
    if not reports:
        reports = [_report_from_items(story, settings) for story in stories if any(row.event for row in story.members)]
    by_story: defaultdict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for report in reports:
        by_story[_line(report.get("story"), LONGEST_NAME)].append(report)
    views = [_view(story, found) for story, found in by_story.items()]
    return sorted(views, key=lambda view: -view.items)


def _view(story: str, reports: Sequence[Mapping[str, Any]]) -> EventView:
    """Read reports carefully: a feed may have been edited, or come from a later version."""
    timed = sorted(reports, key=lambda report: (_time(report.get("time")) or 0, _count(report.get("items"))))
    newest = timed[-1]
    levels = [(_line(report.get("level"), LONGEST_NAME), _time(report.get("time"))) for report in timed]
    made_levels = newest.get("levels") or []
    return EventView(
        story=story,
        headline=_line(newest.get("headline"), LONGEST_TITLE),
        summary=_line(newest.get("summary"), 1000),
        url=_line(newest.get("url"), LONGEST_URL),
        items=_count(newest.get("items")),
        copies=_count(newest.get("copies")),
        levels=list(dict.fromkeys((level, time) for level, time in made_levels or levels if time is not None)),
        sources=[_place(each, "owner") for each in _objects(newest.get("sources"))],
        growth=_growth(_objects(newest.get("growth"))),
        changes=[_change(each) for each in _objects(newest.get("figures"))],
        disagreements=[
            (
                _line(each.get("figure"), LONGEST_NAME),
                [
                    (_line(value.get("source"), LONGEST_NAME), _line(value.get("value"), LONGEST_NAME))
                    for value in _objects(each.get("values"))
                ],
            )
            for each in _objects(newest.get("disagreements"))
        ],
        languages=[
            (_line(each.get("language"), 20), _count(each.get("items"))) for each in _objects(newest.get("languages"))
        ],
        related=[
            (_line(each.get("title"), LONGEST_TITLE), _line(each.get("url"), LONGEST_URL))
            for each in _objects(newest.get("related"))
        ],
    )


def _objects(value: object) -> list[Mapping[str, Any]]:
    return [each for each in value[:_MOST_LINES] if isinstance(each, Mapping)] if isinstance(value, list) else []


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


def _growth(steps: Iterable[Mapping[str, Any]]) -> list[Step]:
    found: list[Step] = []
    items = sources = 0
    for step in steps:
        if (time := _time(step.get("time"))) is not None:
            items += _count(step.get("items"))
            sources += _count(step.get("new_sources"))
            found.append(Step(time, items, sources))
    return sorted(found, key=lambda step: step.time)


# Events of a feed of items


def _report_from_items(story: Story, settings: NearDupSettings) -> dict[str, Any]:
    """Return the special report that the items of a story allow. Items without a time are left out."""
    rows = [row for row in story.members if row.time is not None]
    members = tuple(_member(row, number, settings) for number, row in enumerate(rows))
    firsts: dict[str, int] = {}
    for member in members:
        firsts.setdefault(member.owner, member.seen_at)
    firsts.pop("", None)
    raised = [(row.event, int(row.time or 0)) for row in rows if row.event in LEVELS]
    level: Level = raised[-1][0] if raised else "watch"
    counters = StoryCounters(
        id=next(iter(story.keys), f"item {story.members[0].number + 1}"),
        joined=len(members),
        items=len(members),
        copies=sum(row.status == "duplicate" for row in rows),
        times=tuple(member.seen_at for member in members),
        sources=tuple(sorted(firsts.values())),
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
        owner=settings.source_owners.get(row.source, row.source),
        status=row.status if row.status in STATUSES else "related",
        changes=tuple(filter(None, row.changes.split("; "))),
        language=row.language,
        number=number + 1,
    )
