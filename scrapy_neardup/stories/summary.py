"""One sentence for people: which figure has changed, and which independent sources print the new value."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import datetime, timezone
from typing import NamedTuple

from scrapy_neardup.document import Member
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
    """Say in one sentence which newer figure at least two independent sources print, "" if there is none.

    If there are several, take the one that was confirmed last. Leave out owners who have printed another value since.
    """
    members = sorted(event.members, key=lambda member: (member.seen_at, member.number))
    latest = _latest(members)
    by_members = ((change, None, False) for change in reversed(_confirmed_by_members(members)))
    for change, confirming, by_store in (*_confirmed_by_store(event), *by_members):
        statements = latest.get(change.subject, {})
        supporters = {owner: member for owner, (member, other) in statements.items() if other.new == change.new}
        if supporters and confirming is not None and confirming.owner and confirming.owner not in statements:
            supporters[confirming.owner] = confirming
        # A second source that is not known by name may be one of those that print another value now.
        is_alone = len(supporters) == 1 and by_store and len(statements) == 1
        if len(supporters) > 1 or is_alone:
            return _sentence(change, list(supporters.values()), event.time)
    return ""


def _statements(members: Sequence[Member]) -> Iterator[tuple[Member, FigureChange]]:
    """Yield the changes that each member with an owner prints."""
    return ((member, read_change(line)) for member in members if member.owner for line in member.changes)


def _latest(members: Sequence[Member]) -> dict[tuple[str, str], dict[str, tuple[Member, FigureChange]]]:
    """Return the latest statement of each owner on each figure, by the figure's subject and the owner.

    A statement that is repeated keeps its first time.
    """
    found: dict[tuple[str, str], dict[str, tuple[Member, FigureChange]]] = {}
    for member, change in _statements(members):
        by_owner = found.setdefault(change.subject, {})
        if member.owner not in by_owner or by_owner[member.owner][1].new != change.new:
            by_owner[member.owner] = member, change
    return found


def _confirmed_by_store(event: StoryEvent) -> Iterator[tuple[FigureChange, Member | None, bool]]:
    """Find the changes of which the story's own list says that a second owner prints them, the newest first.

    The list does not say who the second owner is, and a copy of the newer version has no changes of its own. But an
    update is raised by the document that confirms a figure: it is the member beside the newest change.
    """
    by_id = {member.id: member for member in event.members}
    confirmed_now = event.level == "update" and len(event.story.changes) > event.story.signalled.confirmed_changes
    confirming = by_id.get(event.item or "") if confirmed_now else None
    for key, number in reversed(event.story.changes):
        if key in by_id and number < len(by_id[key].changes):
            yield read_change(by_id[key].changes[number]), confirming, True
        confirming = None


def _confirmed_by_members(members: Sequence[Member]) -> list[FigureChange]:
    """Return the changes that two owners have recorded, in the order in which the second of them did."""
    owners: dict[tuple[tuple[str, str], str], set[str]] = {}
    found = []
    for member, change in _statements(members):
        known = owners.setdefault((change.subject, change.new), set())
        if len(known) == 1 and member.owner not in known:
            found.append(change)
        known.add(member.owner)
    return found


def _sentence(change: FigureChange, members: Sequence[Member], now: int) -> str:
    label, _ = change.subject
    value = f'"{label}: {change.new}"' if label else change.new
    before = f" (before: {change.old})" if change.old else ""
    if len(members) == 1:
        return f"At least two sources now say {value}{before}, the first of them {_place(members[0], now)} UTC."
    count = _NUMBERS.get(len(members), str(len(members)))
    places = ", ".join(_place(member, now) for member in members[:_MOST_SOURCES_LISTED])
    more = f" and {len(members) - _MOST_SOURCES_LISTED} more" if len(members) > _MOST_SOURCES_LISTED else ""
    return f"{count} sources now say {value}{before}: {places} UTC{more}."


def _place(member: Member, now: int) -> str:
    """Return "a.example at 10:15", with the day if it is not the day of the event."""
    seen_at, today = (datetime.fromtimestamp(second, timezone.utc) for second in (member.seen_at, now))
    day = "" if seen_at.date() == today.date() else f"on {seen_at:%Y-%m-%d} "
    return f"{member.source or member.owner} {day}at {seen_at:%H:%M}"
