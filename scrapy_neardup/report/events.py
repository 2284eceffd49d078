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
from scrapy_neardup.report.rows import LONGEST_NAME, LONGEST_URL, clean_line
from scrapy_neardup.report.stories import FeedStory

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
    sent: defaultdict[FeedStory, list[Report]] = defaultdict(list)
    for report in sorted(reports, key=_order):
        if (key := _name(report.get("story"))) in by_key:
            sent[by_key[key]].append(report)
    for story in stories:
        if story in sent:
            levels = [(str(report["level"]), _time_of_level(report)) for report in sent[story]]
            disagreements = _objects(sent[story][-1], "disagreements")
            values = ((each, _objects(each, "values")) for each in disagreements)
            story.disagreements = [
                (_name(each.get("figure")), [(_name(value.get("source")), _name(value.get("value"))) for value in said])
                for each, said in values
                if said
            ]
        else:
            levels = [(row.event, row.time) for row in story.members if row.event in LEVELS]
        story.levels = list(dict.fromkeys((level, time) for level, time in levels if time is not None))


def reasons_of(reports: Sequence[Report]) -> dict[str, str]:
    """Return why members joined, such as "topic 0.43: budget, senate, veto", by their urls."""
    members = (member for report in reports for member in _objects(report, "members"))
    reasons = {_url(member): _name(member.get("why")) for member in members}
    return {url: why for url, why in reasons.items() if why.startswith("topic")}


def _time_of_level(report: Report) -> float | None:
    raised = (member for member in _objects(report, "members") if member.get("id") == report.get("item"))
    return _time(next(raised, report))


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
