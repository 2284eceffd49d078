"""One sentence for people: which figure has changed, and which independent sources say so."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import datetime, timezone
from typing import NamedTuple

from scrapy_neardup.document import Member
from scrapy_neardup.stories.event import StoryEvent

_CHANGE = re.compile("(.+): (.+) -> (.+)", re.DOTALL)
_NO_LABEL = "figure"  # what a change says if its figure has no word of its own
_NAMED = 3  # sources; of more, the sentence gives only the number
_NUMBERS = {2: "Two", 3: "Three", 4: "Four", 5: "Five", 6: "Six", 7: "Seven", 8: "Eight", 9: "Nine"}


class FigureChange(NamedTuple):
    """What a document says of a figure, and what was said before."""

    figure: str  # its label, "" if the change cannot be read
    old: str
    new: str

    @property
    def subject(self) -> tuple[str, str]:
        """What tells this figure from others: its label, or what was said before if it has none."""
        return (self.figure, "") if self.figure not in ("", _NO_LABEL) else ("", self.old)


class _Statement(NamedTuple):
    member: Member
    change: FigureChange


class _Confirmation(NamedTuple):
    by_store: bool  # the story's own list says that there is a second owner
    member: Member | None = None  # the document of the second owner, if it is known


def read_change(line: str) -> FigureChange:
    """Read "dead: 4 -> 12". A line in any other form is a value without a label."""
    found = _CHANGE.fullmatch(line)
    return FigureChange(*found.groups()) if found else FigureChange("", "", line)


def figure_summary(event: StoryEvent) -> str:
    """Say in one sentence which newer figure at least two independent sources print, "" if there is none.

    Of several figures it is the one that was confirmed last. Owners who have said something else since are left out.
    """
    members = sorted(event.members, key=lambda member: (member.seen_at, member.number))
    latest = _latest(members)
    for change, confirmation in _confirmed(event, members):
        said = latest.get(change.subject, {})
        named = {owner: each.member for owner, each in said.items() if each.change.new == change.new}
        confirming = confirmation.member
        if named and confirming is not None and confirming.owner and confirming.owner not in said:
            named[confirming.owner] = confirming
        # A second source that is not known by name may be one of those that say something else now.
        is_alone = len(named) == 1 and confirmation.by_store and len(said) == 1
        if len(named) > 1 or is_alone:
            return _sentence(change, list(named.values()), event.time)
    return ""


def _latest(members: Sequence[Member]) -> dict[tuple[str, str], dict[str, _Statement]]:
    """Return what each owner has last said of each figure, by the figure's subject and the owner.

    Who says the same again keeps the time at which he said it first.
    """
    found: dict[tuple[str, str], dict[str, _Statement]] = {}
    for member in members:
        for change in map(read_change, member.changes if member.owner else ()):
            said = found.setdefault(change.subject, {})
            if member.owner not in said or said[member.owner].change.new != change.new:
                said[member.owner] = _Statement(member, change)
    return found


def _confirmed(event: StoryEvent, members: Sequence[Member]) -> Iterator[tuple[FigureChange, _Confirmation]]:
    """Find the changes that a second owner prints too, the newest first.

    The story's own list does not say who the second owner is, and a copy of the newer version has no changes of its
    own. But an update is raised by the document that confirms a figure.
    """
    by_id = {member.id: member for member in members}
    confirmed_now = event.level == "update" and len(event.story.changes) > event.story.signalled.confirmed_changes
    confirming = by_id.get(event.item or "") if confirmed_now else None
    for key, number in reversed(event.story.changes):
        if key in by_id and number < len(by_id[key].changes):
            yield read_change(by_id[key].changes[number]), _Confirmation(True, confirming)
        confirming = None
    for change in reversed(_said_twice(members)):
        yield change, _Confirmation(False)


def _said_twice(members: Sequence[Member]) -> list[FigureChange]:
    """Return the changes that two owners have recorded, in the order in which the second of them did."""
    owners: dict[tuple[tuple[str, str], str], set[str]] = {}
    found = []
    for member in members:
        for change in map(read_change, member.changes if member.owner else ()):
            known = owners.setdefault((change.subject, change.new), set())
            if known and member.owner not in known and len(known) == 1:
                found.append(change)
            known.add(member.owner)
    return found


def _sentence(change: FigureChange, members: Sequence[Member], now: int) -> str:
    label, _ = change.subject
    said = f'"{label}: {change.new}"' if label else change.new
    before = f" (before: {change.old})" if change.old else ""
    if len(members) == 1:
        return f"At least two sources now say {said}{before}, the first of them {_place(members[0], now)} UTC."
    count = _NUMBERS.get(len(members), str(len(members)))
    places = ", ".join(_place(member, now) for member in members[:_NAMED])
    more = f" and {len(members) - _NAMED} more" if len(members) > _NAMED else ""
    return f"{count} sources now say {said}{before}: {places} UTC{more}."


def _place(member: Member, now: int) -> str:
    """Return "a.example at 10:15"; with the day if it is another one than that of the event."""
    seen_at, today = (datetime.fromtimestamp(second, timezone.utc) for second in (member.seen_at, now))
    day = "" if seen_at.date() == today.date() else f"on {seen_at:%Y-%m-%d} "
    return f"{member.source or member.owner} {day}at {seen_at:%H:%M}"
