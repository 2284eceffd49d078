"""What the ledger of a story says: the state of each kind, what it was, who prints it, and what contradicts it."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timezone, tzinfo
from typing import NamedTuple

from scrapy_neardup.evidence.figures.counted import LABELS, FigureKind, in_words, rank_of
from scrapy_neardup.rules.ledger import LEAST_SUPPORT, against, newest_of_owners, supporters_of
from scrapy_neardup.rules.membership import PEOPLE_HARMED
from scrapy_neardup.story import Ledger, Member, PrintedFigure

_MOST_SOURCES_LISTED = 3  # if there are more, the sentence gives only their number
UNCONFIRMED = "unconfirmed"  # what follows a number of people that is no state
_NUMBERS = {0: "no", 1: "one", 2: "two", 3: "three", 4: "four", 5: "five", 6: "six", 7: "seven", 8: "eight", 9: "nine"}


class Fact(NamedTuple):
    """A state of a ledger."""

    state: PrintedFigure  # as the first page prints it
    old: str  # the state before, "" if it is the first one
    is_new: bool  # since the last signal
    first: Member | None  # the first page, None if the story does not keep it
    supporters: tuple[Member, ...]  # the first page of each owner that prints it now, as far as they are kept, by time
    papers: int  # owners that print it now
    against: Mapping[str, int]  # values that contradict it, each with the owners that print it: two at least

    @property
    def label(self) -> str:
        return label_of(self.state.kind)

    @property
    def words(self) -> str:
        """Return the state in words: "12 dead, was 4"."""
        return in_words(self.label, self.old, self.state.words)


def label_of(kind: int) -> str:
    """Return the label of a figure that a ledger keeps."""
    return LABELS[kind] or FigureKind(kind).name.lower()


def states_of(ledger: Ledger, members: Sequence[Member], signalled: int) -> Iterator[Fact]:
    """Yield each state that the ledger keeps, in the order in which they came.

    ``signalled`` is the number of states at the last signal.
    """
    by_key = {bytes.fromhex(member.id): member for member in members}
    before: dict[int, str] = {}
    for number, state in enumerate(ledger.states, ledger.changed - len(ledger.states)):
        supporters = supporters_of(ledger, state)
        others = Counter(each.words for each in against(ledger, state))
        yield Fact(
            state,
            before.get(state.kind, ""),
            number >= signalled,
            by_key.get(state.document),
            tuple(by_key[each.document] for each in supporters if each.document in by_key),
            len(supporters),
            {value: count for value, count in others.items() if count >= LEAST_SUPPORT},
        )
        before[state.kind] = state.words


def unconfirmed(ledger: Ledger, members: Sequence[Member]) -> Fact | None:
    """Return how many people were harmed by most sources, if no state says it: of two numbers the lower one."""
    kinds = {each.kind for each in ledger.printed if each.kind in PEOPLE_HARMED and each.value[1] > 0}
    if not kinds or not PEOPLE_HARMED.isdisjoint(ledger.current):
        return None
    newest = [each for each in newest_of_owners(ledger, min(kinds)) if each.value[1] > 0]
    counts = Counter(each.value for each in newest)
    value = max(counts, key=lambda each: (counts[each], -each[0]))
    printed = [each for each in newest if each.value == value]
    by_key = {bytes.fromhex(member.id): member for member in members}
    supporters = tuple(by_key[each.document] for each in printed if each.document in by_key)
    return Fact(printed[0], "", True, None, supporters, len(printed), {})


def facts_of(states: Iterable[Fact]) -> list[Fact]:
    """Return the last state of each kind: those that are new since the last signal first, then what means most.

    That nobody was harmed is no fact, unless the state before was higher.
    """
    current = {each.state.kind: each for each in states}
    told = (fact for fact in current.values() if fact.old or fact.state.value[1] > 0)
    return sorted(told, key=lambda fact: (not fact.is_new, rank_of(fact.label)))


def sentence_of(fact: Fact, now: int, zone: tzinfo = timezone.utc, *, is_state: bool = True) -> str:
    """Say in one sentence a fact, who prints it, and what contradicts it."""
    known = fact.supporters
    places = ", ".join(_place(member, now, zone) for member in known[:_MOST_SOURCES_LISTED])
    more = f" and {fact.papers - _MOST_SOURCES_LISTED} more" if known and fact.papers > _MOST_SOURCES_LISTED else ""
    zone_name = f" {datetime.fromtimestamp(now, zone):%Z}" if known else ""
    sources = f"{_NUMBERS.get(fact.papers, str(fact.papers))} source{'s' * (fact.papers != 1)}"
    listed = f", {places}{zone_name}{more}" if places else ""
    others = "".join(f"; {count} say {value}" for value, count in fact.against.items())
    words = fact.words if is_state else f"{fact.words}, {UNCONFIRMED}"
    return f"{words}: {sources} say{'s' * (fact.papers == 1)} so{listed}{others}."


def _place(member: Member, now: int, zone: tzinfo) -> str:
    """Return "a.example at 10:15", with the day if it is not the day of the event."""
    seen_at, today = (datetime.fromtimestamp(second, zone) for second in (member.seen_at, now))
    day = "" if seen_at.date() == today.date() else f"on {seen_at:%Y-%m-%d} "
    return f"{member.source or member.owner} {day}at {seen_at:%H:%M}"
