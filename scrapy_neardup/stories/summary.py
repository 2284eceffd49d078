"""What a story says: its headline, the figures that have changed, and one sentence about the first of them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence
from datetime import datetime, timezone, tzinfo
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from scrapy_neardup.evidence.figures.counted import FigureKind, in_words, kind_of, rank_of
from scrapy_neardup.evidence.figures.figure import find_figures
from scrapy_neardup.evidence.titles import names_site, title_without_site
from scrapy_neardup.records.membership import sources_needed
from scrapy_neardup.stories.event import StoryEvent
from scrapy_neardup.story import Member

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

    New ones come first, then those that mean most to people. A figure is left out if the owners who printed it have
    printed another value since.
    """
    current = _current(event.members)
    needed = sources_needed(len(event.story.sources))
    facts: list[Fact] = []
    replaced = set[tuple[str, str]]()  # labels and values of earlier statements on the same figure
    for number, change in reversed(confirmed_changes(event)):
        statements = [each for each in current if each.change.is_on_same_figure(change)]
        supporters = tuple(each.member for each in statements if each.change.new == change.new)
        is_outdated = not replaced.isdisjoint({(change.label, change.old), (change.label, change.new)})
        replaced.add((change.label, change.old))
        # Copies of the newer text are not known by name, and may be among those who print another value now.
        if not is_outdated and (len(supporters) > 1 or len(supporters) == len(statements) == 1):
            is_new = event.level != "ended" and number >= event.story.signalled.confirmed_changes
            facts.append(Fact(change, is_new, supporters, len(supporters) >= needed))
    told: list[Fact] = []
    for fact in sorted(facts, key=lambda fact: (rank_of(fact.change.label), not fact.is_new)):
        if not any(_is_same(fact.change, other.change) for other in told):
            told.append(fact)
    return sorted(told, key=lambda fact: not fact.is_new)


def _is_same(change: FigureChange, told: FigureChange) -> bool:
    """Decide whether a fact was told already: "people: 3 -> 7" after "killed: 3 -> 7", or an earlier toll."""
    kind, other = kind_of(change.label), kind_of(told.label)
    if kind == other < FigureKind.OTHER:
        return change.new in (told.new, told.old)
    return (change.old, change.new) == (told.old, told.new) and max(kind, other) == FigureKind.OTHER


def figure_summary(fact: Fact, now: int, zone: tzinfo = timezone.utc) -> str:
    """Say in one sentence the newest value of a figure, and who prints it."""
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


def confirmed_changes(event: StoryEvent) -> list[tuple[int, FigureChange]]:
    """Return the changes that enough independent sources print, with their numbers, in the order of confirmation.

    Changes of a member that is not kept are left out.
    """
    changes = {member.id: member.changes for member in event.members}
    return [
        (number, read_change(changes[key][at]))
        for number, (key, at) in enumerate(event.story.changes)
        if at < len(changes.get(key, ()))
    ]


class _Statement(NamedTuple):
    member: Member
    change: FigureChange


def _current(members: Sequence[Member]) -> list[_Statement]:
    """Return the latest statement of each owner on each figure, by time.

    A statement that is repeated keeps its first time.
    """
    found: list[_Statement] = []
    for member in sorted(members, key=lambda member: (member.seen_at, member.number)):
        for change in map(read_change, member.changes if member.owner else ()):
            own = [e for e in found if e.member.owner == member.owner and e.change.is_on_same_figure(change)]
            if not any(each.change.new == change.new for each in own):
                found = [each for each in found if each not in own] + [_Statement(member, change)]
    return found


def _place(member: Member, now: int, zone: tzinfo) -> str:
    seen_at, today = (datetime.fromtimestamp(second, zone) for second in (member.seen_at, now))
    day = "" if seen_at.date() == today.date() else f"on {seen_at:%Y-%m-%d} "
    return f"{member.source or member.owner} {day}at {seen_at:%H:%M}"


_FEWEST_VOTERS = 3  # so one newest title of two proves nothing
_LONGEST_FILLER = 3  # characters of words that say little

_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]")


def headline_of(members: Sequence[Member], outdated: Collection[str] = ()) -> str:
    """Return the headline of a story, "" if no member has a title that is more than the name of its site.

    ``members`` are in the order they joined. The newest titles of different owners vote: as many as confirm a figure,
    at least three. If most of them say much the same, the newest of these is the headline. Otherwise it is the first
    title that has no figure of ``outdated``; these are values that newer ones have replaced.
    """
    titles = [(member, title) for member in members if (title := _headline(member))]
    current = [row for row in titles if outdated and not _figures_of(row[1]) & set(outdated)] or titles
    return _supported(current) or next((title for _, title in current), "")


def _supported(titles: Sequence[tuple[Member, str]]) -> str:
    languages = Counter(member.language for member, _ in titles if member.language).most_common(1)
    newest: dict[str, str] = {}
    for member, title in titles:
        if member.owner and (not languages or member.language in ("", languages[0][0])):
            newest.pop(member.owner, None)  # an owner's place is that of its newest title
            newest[member.owner] = title
    voters = list(newest.values())[-max(_FEWEST_VOTERS, sources_needed(len(newest))) :]
    for title in reversed(voters):
        if 2 * sum(_agree(title, other) for other in voters) > max(len(voters), _FEWEST_VOTERS):
            return title
    return ""


def _agree(title: str, other: str) -> bool:
    """Decide whether two titles share half the words of the shorter one, and have no different figures."""
    words, others = _words(title), _words(other)
    figures, other_figures = _figures_of(title), _figures_of(other)
    is_alike = 2 * len(words & others) >= min(len(words), len(others)) > 0
    return is_alike and (figures <= other_figures or other_figures <= figures)


def _words(title: str) -> set[str]:
    if unspaced := _UNSPACED.findall(title):
        return {first + second for first, second in pairwise(unspaced)}
    return {word for word in re.findall(r"[^\W\d_]+", title.casefold()) if len(word) > _LONGEST_FILLER}


@lru_cache(maxsize=1000)
def _figures_of(title: str) -> set[str]:
    return {figure.value for figure in find_figures(title)}


def _headline(member: Member) -> str:
    """Return a member's title without the name of its site, "" if there is no more."""
    title = title_without_site(" ".join(member.title.split()), member.source)
    return "" if names_site(title, member.source) else title
