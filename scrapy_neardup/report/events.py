"""The special reports of a feed of events: they add levels, reasons and disagreements to the stories of the items.

Times are those of the items, so that a page has one clock: a level is reached at the time of the item that raised it.
Figures and counts come from the items too. Members that the feeds lack, such as dropped items, come from the reports.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from scrapy_neardup.content.dates import parse_time
from scrapy_neardup.document import LEVELS
from scrapy_neardup.report.clean import clean_line
from scrapy_neardup.report.rows import LONGEST_NAME, LONGEST_URL
from scrapy_neardup.report.stories import Story

_MOST_VALUES = 200

Report = Mapping[str, Any]


def is_report(raw: Report) -> bool:
    return raw.get("level") in LEVELS and isinstance(raw.get("members"), list) and "growth" in raw


def items_of(reports: Sequence[Report], known: set[str]) -> Iterator[dict[str, Any]]:
    """Yield the members of the newest report of each story, in the form of a replay's output.

    Leave out members whose url or id is in ``known``: the feeds have them.
    """
    newest = {_name(report.get("story")): report for report in sorted(reports, key=lambda each: _time(each) or 0)}
    for key, report in newest.items():
        figures = defaultdict(list)
        for change in _objects(report, "figures"):
            figures[clean_line(change.get("url"), LONGEST_URL)].append(
                f"{change.get('figure')}: {change.get('old')} -> {change.get('new')}"
            )
        for member in _objects(report, "members", most=None):
            url = clean_line(member.get("url"), LONGEST_URL)
            if known.isdisjoint((url, _name(member.get("id")))):
                yield {**member, "story": key, "changes": figures.pop(url, None)}


def add_reports(reports: Sequence[Report], stories: Sequence[Story]) -> None:
    """Add to each story what its reports say. Without a report the tags of its items tell the levels."""
    by_key = {key: story for story in stories for key in story.keys}
    for story in stories:
        story.levels = [(row.event, row.time) for row in story.members if row.event in LEVELS and row.time is not None]
    told: defaultdict[str, list[Report]] = defaultdict(list)
    for report in reports:
        key = _name(report.get("story"))
        if key in by_key:  # a story may have become a part of another one since
            told[next(iter(by_key[key].keys))].append(report)
    for key, sent in told.items():
        sent.sort(key=lambda report: _time(report) or 0)
        times = ((str(report["level"]), _time_of_level(report)) for report in sent)
        by_key[key].levels = list(dict.fromkeys((level, time) for level, time in times if time is not None))
        by_key[key].disagreements = [
            (_name(each.get("figure")), [(_name(value.get("source")), _name(value.get("value"))) for value in values])
            for each in _objects(sent[-1], "disagreements")
            if (values := _objects(each, "values"))
        ]


def reasons_of(reports: Sequence[Report]) -> dict[str, str]:
    """Return why members joined, such as "topic 0.43: budget, senate, veto", by their urls."""
    members = (member for report in reports for member in _objects(report, "members", most=None))
    return {
        clean_line(member.get("url"), LONGEST_URL): why
        for member in members
        if (why := _name(member.get("why"))).startswith("topic")
    }


def _time_of_level(report: Report) -> float | None:
    raised = (member for member in _objects(report, "members", most=None) if member.get("id") == report.get("item"))
    return _time(next(raised, report))


def _time(value: Report) -> float | None:
    try:
        return parse_time(value.get("time"))
    except ValueError:
        return None


def _list(report: Report, name: str) -> list[Any]:
    value = report.get(name)
    return value if isinstance(value, list) else []


def _objects(report: Report, name: str, most: int | None = _MOST_VALUES) -> list[Report]:
    return [each for each in _list(report, name)[:most] if isinstance(each, Mapping)]


def _name(value: object) -> str:
    return clean_line(str(value) if isinstance(value, int) else value, LONGEST_NAME)
