"""The figures of an event that have changed, in the order of their weight, and one sentence about the first."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import datetime, timezone, tzinfo
from typing import NamedTuple

from scrapy_neardup.document import Member
from scrapy_neardup.evidence.number_words import FigureKind, in_words, kind_of
from scrapy_neardup.rules.membership import sources_needed
from scrapy_neardup.stories.event import StoryEvent

_CHANGE = re.compile("(.+): (.+) -> (.+)", re.DOTALL)
_NO_LABEL = "figure"  # the label of a figure that has no word of its own
_MOST_SOURCES_LISTED = 3  # if there are more, the sentence gives only their number
_NUMBERS = {2: "two", 3: "three", 4: "four", 5: "five", 6: "six", 7: "seven", 8: "eight", 9: "nine"}


class FigureChange(NamedTuple):
    """The value that a document gives a figure, and the value before."""

    figure: str  # its label, "" if the change cannot be read
    old: str
    new: str

    @property
    def subject(self) -> tuple[str, str]:
        """Return what identifies the figure: its label, or its old value if it has no label."""
        return (self.label, "") if self.label else ("", self.old)

    def is_on_same_figure(self, other: FigureChange) -> bool:
        """Decide whether two changes are about one figure: both count the same, and have a value in common.

        In "7 workers and 20 workers of another plant" two figures have the same label.
        """
        values = {self.old, self.new} & {other.old, other.new}
        is_one_kind = kind_of(self.label) == kind_of(other.label) < FigureKind.OTHER
        return (self.label == other.label or is_one_kind) and bool(values)

    @property
    def words(self) -> str:
        """Return the figure in words: "7 dead, was 3"."""
        return in_words(self.label, self.old, self.new)

    @property
    def label(self) -> str:
        """Return the word beside the figure, "" if it has none."""
        return "" if self.figure == _NO_LABEL else self.figure


def read_change(line: str) -> FigureChange:
    """Read a line such as "dead: 4 -> 12". A line in any other form is a value without a label."""
    found = _CHANGE.fullmatch(line)
    return FigureChange(*found.groups()) if found else FigureChange("", "", line)


class Fact(NamedTuple):
    """The newest confirmed value of a figure, and who prints it."""

    change: FigureChange
    is_new: bool  # since the last signal
    supporters: tuple[Member, ...]  # whose latest value it is, as far as they are known by name, by time
    is_all: bool  # whether they are as many as confirmed it; else some of the sources are not known by name


def facts_of(event: StoryEvent) -> list[Fact]:
    """Return the newest value of each figure that enough independent sources print, each fact once.

    New ones come first, and the dead before the injured, before other figures, before money. A figure is left out if
    the owners who printed it have printed another value since.
    """
    current, needed = _current(event.members), sources_needed(len(event.story.sources))
    facts: list[Fact] = []
    replaced = set[tuple[str, str]]()  # labels and values of earlier statements on the same figure
    for number, change in reversed(_confirmed(event)):
        statements = [each for each in current if each.change.is_on_same_figure(change)]
        supporters = tuple(each.member for each in statements if each.change.new == change.new)
        is_outdated = not replaced.isdisjoint({(change.label, change.old), (change.label, change.new)})
        replaced.add((change.label, change.old))
        # Copies of the newer text are not known by name, and may be among those who print another value now.
        if not is_outdated and (len(supporters) > 1 or len(supporters) == len(statements) == 1):
            is_new = event.level != "ended" and number >= event.story.signalled.confirmed_changes
            facts.append(Fact(change, is_new, supporters, len(supporters) >= needed))
    told: list[Fact] = []
    for fact in sorted(facts, key=lambda fact: (kind_of(fact.change.label), not fact.is_new)):
        if not any(_is_same(fact.change, other.change) for other in told):
            told.append(fact)
    return sorted(told, key=lambda fact: not fact.is_new)


def _is_same(change: FigureChange, told: FigureChange) -> bool:
    """Decide whether a fact was told already: "people: 3 -> 7" after "killed: 3 -> 7", or an earlier toll."""
    kind, other = kind_of(change.label), kind_of(told.label)
    if kind == other < FigureKind.OTHER:
        return change.new in (told.new, told.old)
    return (change.old, change.new) == (told.old, told.new) and max(kind, other) == FigureKind.OTHER


def figure_summary(event: StoryEvent, zone: tzinfo = timezone.utc) -> str:
    """Say in one sentence the most important new figure, and who prints it, "" if there is none."""
    return next((_sentence(fact, event.time, zone) for fact in facts_of(event)), "")


def confirmed_changes(event: StoryEvent) -> list[FigureChange]:
    """Return the changes that enough independent sources print, in the order in which they were confirmed."""
    return [change for _, change in _confirmed(event)]


def _confirmed(event: StoryEvent) -> list[tuple[int, FigureChange]]:
    """Return the confirmed changes of which the member is known, with their numbers."""
    changes = {member.id: member.changes for member in event.members}
    return [
        (number, read_change(changes[key][at]))
        for number, (key, at) in enumerate(event.story.changes)
        if at < len(changes.get(key, ()))
    ]


class _Statement(NamedTuple):
    member: Member
    change: FigureChange


def _statements(members: Sequence[Member]) -> Iterator[_Statement]:
    """Yield the changes that each member with an owner prints, by time."""
    for member in sorted(members, key=lambda member: (member.seen_at, member.number)):
        for line in member.changes if member.owner else ():
            yield _Statement(member, read_change(line))


def _current(members: Sequence[Member]) -> list[_Statement]:
    """Return the latest statement of each owner on each figure, by time.

    A statement that is repeated keeps its first time.
    """
    found: list[_Statement] = []
    for new in _statements(members):
        own = [e for e in found if e.member.owner == new.member.owner and e.change.is_on_same_figure(new.change)]
        if not any(each.change.new == new.change.new for each in own):
            found = [each for each in found if each not in own] + [new]
    return found


def _sentence(fact: Fact, now: int, zone: tzinfo) -> str:
    sources = fact.supporters
    count = _NUMBERS.get(max(2, len(sources)), str(len(sources)))
    zone_name = datetime.fromtimestamp(now, zone).strftime("%Z")
    if not fact.is_all:
        return (
            f"{fact.change.words}: at least {count} sources say so, first {_place(sources[0], now, zone)} {zone_name}."
        )
    places = ", ".join(_place(member, now, zone) for member in sources[:_MOST_SOURCES_LISTED])
    more = f" and {len(sources) - _MOST_SOURCES_LISTED} more" if len(sources) > _MOST_SOURCES_LISTED else ""
    return f"{fact.change.words}: {count} sources say so, {places} {zone_name}{more}."


def _place(member: Member, now: int, zone: tzinfo) -> str:
    """Return "a.example at 10:15", with the day if it is not the day of the event."""
    seen_at, today = (datetime.fromtimestamp(second, zone) for second in (member.seen_at, now))
    day = "" if seen_at.date() == today.date() else f"on {seen_at:%Y-%m-%d} "
    return f"{member.source or member.owner} {day}at {seen_at:%H:%M}"
