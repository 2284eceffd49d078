"""The ledger of a story: who printed which figure when, and which value counts now.

The *state* of a kind of figure is its newest value that enough owners print: a third of the story's owners, two at
least, and six are always enough. Each owner counts with the newest value that it prints, and with a greater number of
dead or hurt that it has not corrected. A number of people that falls needs the majority of all owners that print this
kind, or a page that says that it corrects.

Times decide what is newest, not the order in which pages are crawled: a crawl reads front pages newest first.
"""

import math
from collections import defaultdict
from collections.abc import Sequence

from scrapy_neardup.evidence.figures.counted import FigureKind
from scrapy_neardup.evidence.figures.tolls import Toll
from scrapy_neardup.story import Ledger, PrintedFigure

LEAST_SUPPORT = 2  # sources that print a figure

# How many values of a kind are kept of one owner: the newest, and the one before, to which "two more" are added.
MOST_OF_OWNER = 2

# How many printed figures a ledger keeps: the newest. And how many states: also the last one of each kind.
MOST_PRINTED = 240
MOST_STATES = 64

_RISING = (FigureKind.DEAD, FigureKind.INJURED)  # numbers that do not fall
_ABOUT = 0.1  # "about 50" is no other number than 54


def sources_needed(sources: int) -> int:
    """Return how many sources of a story must print a figure, so that it is a state.

    ``sources`` is the number of the story's independent sources. A third of them must print the figure, at least two.
    Six are always enough, because fewer can raise an event of their own anyway.
    """
    return min(6, max(LEAST_SUPPORT, math.ceil(sources / 3)))


def note(ledger: Ledger, tolls: Sequence[Toll], owner: bytes, document: bytes, time: int) -> None:
    """Note what a document of an owner prints. ``update_states`` says what that changes.

    ``time`` is that of the document, in Unix seconds. Of several values of a kind the first one counts.
    """
    blank = PrintedFigure(0, 0, 0, "exact", False, owner, document, time)
    for kind in dict.fromkeys(each.kind for each in tolls):
        _note_kind(ledger, [each for each in tolls if each.kind == kind], blank._replace(kind=kind))
    ledger.printed = sorted(ledger.printed, key=_order)[-MOST_PRINTED:]


def _note_kind(ledger: Ledger, tolls: Sequence[Toll], blank: PrintedFigure) -> None:
    """Note what a document prints of one kind, unless its owner has said the same before.

    ``blank`` is the entry to note, still without its value.
    """
    of_owner = [each for each in ledger.printed if each.owner == blank.owner and each.kind == blank.kind]
    before = (each for each in of_owner if each.time <= blank.time and each.document != blank.document)
    earlier = max(before, key=_order, default=None)
    new = _printed(tolls, earlier, blank)
    is_repeated = earlier is not None and new is not None and new.value == earlier.value
    if new is not None and new not in of_owner and (new.is_correction or not is_repeated):
        dropped = sorted((*of_owner, new), key=_order)[:-MOST_OF_OWNER]
        ledger.printed = [each for each in (*ledger.printed, new) if each not in dropped]


def _printed(tolls: Sequence[Toll], earlier: PrintedFigure | None, blank: PrintedFigure) -> PrintedFigure | None:
    """Return the value that a document gives a kind, None if it only adds to a value that nobody knows.

    It is the total that the document prints: "12 dead". If there is none, or if the total is the one that its owner
    printed ``earlier``, what the document adds is added to the earlier value: "two more have died".
    """
    total = _total(tolls)
    # Rather "two more" than "a first death", which only adds to 0.
    more = min((toll for toll in tolls if toll.is_increment), key=lambda toll: toll.is_first, default=None)
    if total is not None:
        new = blank._replace(
            low=float(total.low),
            high=None if total.high is None else float(total.high),
            qualifier=total.qualifier,
            is_correction=total.is_correction,
        )
        if more is None or earlier is None or new.value != earlier.value:
            return new
    if more is None or earlier is None or (more.is_first and earlier.low):
        return None
    return blank._replace(
        low=more.added_to(earlier.low),
        high=None if earlier.high is None else more.added_to(earlier.high),
        qualifier=earlier.qualifier,
    )


def _total(tolls: Sequence[Toll]) -> Toll | None:
    """Return the first value that adds to none, or one that says it better."""
    totals = [toll for toll in tolls if not toll.is_increment]
    first = next(iter(totals), None)
    if first is None or first.kind is FigureKind.SCORE:
        return first
    better = next((toll for toll in totals if _says_better(toll, first)), first)
    if first.high is None and better.low == first.low:  # "at least 12" says more than "12"
        return first
    return better


def _says_better(toll: Toll, first: Toll) -> bool:
    """Decide whether a value is an exact one in the range of the first one, or has a bound that this one leaves out.

    A headline says "dozens" or "12 dead", and its text "40", "at least 12" or "about 12".
    """
    if first.low == first.high:
        return toll.low == first.low and toll.qualifier in ("at least", "about")
    return toll.low == toll.high and first.low <= toll.low <= (first.high or toll.low)


def unite_ledgers(stays: Ledger, moves: Ledger, sources: int) -> None:
    """Add the ledger of a story to that of another one, whose states are newer. What was told is not told again.

    States of kinds that the other story has not are new to it.
    """
    stays.printed = sorted((*moves.printed, *stays.printed), key=_order)[-MOST_PRINTED:]
    new = [each for kind, each in moves.current.items() if kind not in stays.current]
    stays.states = [*(each for each in moves.states if each not in new), *stays.states, *new]
    stays.changed = max(stays.changed, moves.changed - len(new)) + len(new)
    update_states(stays, sources)


def update_states(ledger: Ledger, sources: int) -> bool:
    """Note each state that has changed. Return whether one has.

    ``sources`` is the number of the story's independent sources.
    """
    last, before = ledger.current, ledger.changed
    for kind in sorted({each.kind for each in ledger.printed}):
        state = _next_state(last.get(kind), _counted(ledger, kind), sources_needed(sources))
        if state is not None and (kind not in last or state.value != last[kind].value):
            ledger.states = [*ledger.states, state]
            ledger.changed += 1
    while len(ledger.states) > MOST_STATES:
        ledger.states.remove(next(each for each in ledger.states if each not in ledger.current.values()))
    return ledger.changed > before


def supporters_of(ledger: Ledger, state: PrintedFigure) -> list[PrintedFigure]:
    """Return what the owners print that agree with a state, by time."""
    return [each for each in _counted(ledger, state.kind) if each.value == state.value]


def against(ledger: Ledger, state: PrintedFigure) -> list[PrintedFigure]:
    """Return what owners print that contradicts a state since somebody printed it, by time.

    "At least 4" does not contradict 12. An owner that printed another value before that, and none since, may not know
    the state.
    """
    low, high = _span(state)
    supporters = {each.owner: each.time for each in supporters_of(ledger, state)}
    since = min(supporters.values(), default=state.time)
    newest = newest_of_owners(ledger, state.kind)
    others = [(each, *_span(each)) for each in newest if each.time > since and each.owner not in supporters]
    return [each for each, least, most in others if state.kind == FigureKind.SCORE or least > high or most < low]


def newest_of_owners(ledger: Ledger, kind: int) -> list[PrintedFigure]:
    """Return the newest value that each owner prints, under the time when it first did, by time."""
    current: dict[bytes, PrintedFigure] = {}
    for printed in [each for each in ledger.printed if each.kind == kind]:
        known = current.get(printed.owner)
        if known is None or known.value != printed.value or printed.is_correction:
            current[printed.owner] = printed
    return sorted(current.values(), key=_order)


def _counted(ledger: Ledger, kind: int) -> list[PrintedFigure]:
    """Return the values with which owners count: the newest, and a greater number of the dead or hurt that one printed.

    A paper that has told a new toll may still put out a page with the old one. It counts as long as another paper's
    newest number is the greater one.
    """
    newest = {each.owner: each for each in newest_of_owners(ledger, kind)}
    current_values = {each.value for each in newest.values()}
    greater = {
        (each.owner, each.value): each
        for each in reversed(ledger.printed)  # so the first time that an owner printed a value is kept
        if kind in _RISING and each.kind == kind and each.value in current_values
        if each.low > newest[each.owner].low and not newest[each.owner].is_correction
    }
    return sorted((*newest.values(), *greater.values()), key=_order)


def _order(printed: PrintedFigure) -> tuple[int, float]:
    """Return what sorts by time. Of two values of one second the greater one is the newer: tolls rise."""
    return printed.time, printed.low


def _span(printed: PrintedFigure) -> tuple[float, float]:
    """Return the least and the greatest number that a printed value may mean."""
    if printed.qualifier == "about":
        return printed.low * (1 - _ABOUT), printed.low * (1 + _ABOUT)
    return printed.low, math.inf if printed.high is None else printed.high


def _next_state(state: PrintedFigure | None, current: Sequence[PrintedFigure], needed: int) -> PrintedFigure | None:
    """Return the newest value that enough owners print, of those that may follow the state."""
    prints_of: defaultdict[tuple[float, float], list[PrintedFigure]] = defaultdict(list)
    for each in current:
        prints_of[each.value].append(each)
    enough = [prints for prints in prints_of.values() if len(prints) >= needed]
    owners = len({each.owner for each in current})
    # A value is as new as the print by which it had enough owners. Of two as new ones the greater comes first.
    for prints in sorted(enough, key=lambda prints: (-prints[needed - 1].time, -prints[0].low)):
        # A number of people does not fall by a few late reprints.
        is_fall = state is not None and state.kind < FigureKind.HOMES and prints[0].low < state.low
        if not is_fall or 2 * len(prints) > owners or any(each.is_correction for each in prints):
            return prints[0]
    return state
