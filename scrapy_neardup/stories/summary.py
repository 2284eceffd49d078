"""One sentence for people: which figure has changed, and which independent sources print the new value."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import datetime, timezone
from typing import NamedTuple

from scrapy_neardup.document import Member, sources_needed
from scrapy_neardup.stories.event import StoryEvent

_CHANGE = re.compile("(.+): (.+) -> (.+)", re.DOTALL)
_NO_LABEL = "figure"  # the label of a figure that has no word of its own
_MOST_SOURCES_LISTED = 3  # if there are more, the sentence gives only their number
_NUMBERS = {2: "Two", 3: "Three", 4: "Four", 5: "Five", 6: "Six", 7: "Seven", 8: "Eight", 9: "Nine"}


class FigureChange(NamedTuple):
    """The value that a document gives a figure, and the value before."""

    figure: str  # its label, "" if the change cannot be read
    old: str
    new: str

    @property
    def subject(self) -> tuple[str, str]:
        """Return what identifies the figure: its label, or its old value if it has no label."""
        return (self.figure, "") if self.figure not in ("", _NO_LABEL) else ("", self.old)


def read_change(line: str) -> FigureChange:
    """Read a line such as "dead: 4 -> 12". A line in any other form is a value without a label."""
    found = _CHANGE.fullmatch(line)
    return FigureChange(*found.groups()) if found else FigureChange("", "", line)


def figure_summary(event: StoryEvent) -> str:
    """Say in one sentence which newer figure enough independent sources print, "" if there is none.

    If there are several, take the one that was confirmed last. Leave out owners who have printed another value since.
    """
    latest, needed = _latest(event.members), sources_needed(len(event.story.sources))
    for change in reversed(confirmed_changes(event)):
        statements = latest.get(change.subject, {})
        supporters = [member for member, other in statements.values() if other.new == change.new]
        # Copies of the newer text are not known by name, and may be among those who print another value now.
        if len(supporters) > 1 or len(supporters) == len(statements) == 1:
            return _sentence(change, supporters, event.time, is_all=len(supporters) >= needed)
    return ""


def confirmed_changes(event: StoryEvent) -> list[FigureChange]:
    """Return the changes that enough independent sources print, in the order in which they were confirmed."""
    changes = {member.id: member.changes for member in event.members}
    return [read_change(changes[key][at]) for key, at in event.story.changes if at < len(changes.get(key, ()))]


def confirmed_by_members(members: Sequence[Member], needed: int) -> tuple[tuple[str, int], ...]:
    """Return the changes that so many owners have recorded, as in ``Story.changes``.

    For reports that are made from items. A store also counts copies of the newer text, which have no changes.
    """
    owners: dict[tuple[tuple[str, str], str], set[str]] = {}
    found = []
    for member, number, change in _statements(members):
        known = owners.setdefault((change.subject, change.new), set())
        if len(known) == needed - 1 and member.owner not in known:
            found.append((member.id, number))
        known.add(member.owner)
    return tuple(found)


def _statements(members: Sequence[Member]) -> Iterator[tuple[Member, int, FigureChange]]:
    """Yield the changes that each member with an owner prints, with their numbers, by time."""
    for member in sorted(members, key=lambda member: (member.seen_at, member.number)):
        for number, line in enumerate(member.changes if member.owner else ()):
            yield member, number, read_change(line)


def _latest(members: Sequence[Member]) -> dict[tuple[str, str], dict[str, tuple[Member, FigureChange]]]:
    """Return the latest statement of each owner on each figure, by the figure's subject and the owner.

    A statement that is repeated keeps its first time.
    """
    found: dict[tuple[str, str], dict[str, tuple[Member, FigureChange]]] = {}
    for member, _, change in _statements(members):
        by_owner = found.setdefault(change.subject, {})
        if member.owner not in by_owner or by_owner[member.owner][1].new != change.new:
            by_owner[member.owner] = member, change
    return found


def _sentence(change: FigureChange, members: Sequence[Member], now: int, *, is_all: bool) -> str:
    label, _ = change.subject
    value = f'"{label}: {change.new}"' if label else change.new
    before = f" (before: {change.old})" if change.old else ""
    count = _NUMBERS.get(max(2, len(members)), str(len(members)))
    if not is_all:
        least = f"At least {count.lower()} sources now say {value}{before}"
        return f"{least}, the first of them {_place(members[0], now)} UTC."
    places = ", ".join(_place(member, now) for member in members[:_MOST_SOURCES_LISTED])
    more = f" and {len(members) - _MOST_SOURCES_LISTED} more" if len(members) > _MOST_SOURCES_LISTED else ""
    return f"{count} sources now say {value}{before}: {places} UTC{more}."


def _place(member: Member, now: int) -> str:
    """Return "a.example at 10:15", with the day if it is not the day of the event."""
    seen_at, today = (datetime.fromtimestamp(second, timezone.utc) for second in (member.seen_at, now))
    day = "" if seen_at.date() == today.date() else f"on {seen_at:%Y-%m-%d} "
    return f"{member.source or member.owner} {day}at {seen_at:%H:%M}"
