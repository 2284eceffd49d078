"""Compare the figures of two texts: what changed from one to the other, and what one of them lacks.

Two figures are one figure with another value if the words around it are the same, or if it is the newest toll of the
same kind: people killed, injured, missing, ill, arrested and so on.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from decimal import ROUND_HALF_UP, Decimal
from typing import NamedTuple

from xxhash import xxh32_digest

from scrapy_neardup.evidence.counted import HARMED, LABELS, PEOPLE, SILENT, FigureKind
from scrapy_neardup.evidence.figures import MAX_FIGURES, NO_WORDS, Figure, Place, is_plain, unpack_figures

# Two texts of one source are different reports if at least this many figures differ, and more differ than agree.
_LEAST_OTHER_FIGURES = 3
_LOST_WORDS = (10**3, 10**5, 10**6, 10**7, 10**9, 10**12)  # thousand, lakh, million, crore, billion, trillion
_LEAST_ROUNDED = 10**6  # smaller whole numbers are told exactly
_MOST_GROWTH = 20  # of a toll from one text to the next, if no words around it are the same
SAME_BUT_FIGURES = 0.8  # resemblance of two texts of which only figures differ
SAME_STATEMENTS = 0.3  # least resemblance of two texts whose figures count the same if the words around them agree


class Change(NamedTuple):
    """One figure with another value: a ``line`` for people, and its ``value_hashes`` before and after.

    The line is "" if no word says what the figure counts: such a change is not told.
    """

    line: str
    before: bytes
    after: bytes


def value_hashes(figures: Iterable[Figure]) -> bytes:
    """Return 4 bytes for each figure, a hash of what it counts and its value."""
    named = ((LABELS[each.kind].encode() or each.context, each.value.encode()) for each in figures)
    return b"".join(xxh32_digest(name + value) for name, value in named)


def changed_figures(old: Sequence[Figure], new: Sequence[Figure], likeness: float = 1.0) -> tuple[Change, ...]:
    """Return the changes from ``old`` to ``new``, each once, with lines such as "dead: 4 -> 12".

    A change is another value with the same words around it, or in copies another newest toll of one kind. A figure that
    only one text has is not a change. If two figures change from one value to another ("Fire kills 3", "3 people"), the
    change is told once.

    ``likeness`` is the resemblance of the two texts, 0 if they are no copies: then only people in title or first
    sentence count. Of copies that share little, tolls count. Ages and numbers that are names count only if nothing but
    figures differs.
    """
    pairs = list(_same_context(old, new))
    if likeness == 0:
        pairs = [pair for pair in pairs if all(map(_is_main_toll, pair))]
    else:
        pairs = [pair for pair in pairs if _counts(pair, likeness)] + list(_newest_tolls(old, new))
    changes: dict[tuple[str, str], Change] = {}
    for before, after in pairs:
        values = before.value, after.value
        label = after.label or before.label
        if is_change(before, after) and (label or values not in changes):
            line = f"{label}: {values[0]} -> {values[1]}" if label else ""
            changes[values] = Change(line, value_hashes([before]), value_hashes([after]))
    return tuple(changes.values())


def _counts(pair: tuple[Figure, Figure], likeness: float) -> bool:
    kinds = {figure.kind for figure in pair}
    if SILENT in kinds:
        return likeness >= SAME_BUT_FIGURES
    return likeness >= SAME_STATEMENTS or all(0 < kind < FigureKind.HOMES for kind in kinds)


def is_change(before: Figure, after: Figure) -> bool:
    if before.kind and after.kind and before.kind != after.kind:
        return False
    if _are_plain(before, after):
        return not _are_equal(before, after)
    # If one row only has more numbers than the other, it is no change: only one text has these figures. "2 a 0" is the
    # score 2-0.
    is_of_scores = ("-" in before.value) == ("-" in after.value)
    old, new = (Counter(re.split("/" if is_of_scores else "[/-]", each.value)) for each in (before, after))
    return bool(old - new) and bool(new - old)


def _are_plain(*figures: Figure) -> bool:
    return all(is_plain(figure.value) for figure in figures)


def _are_equal(before: Figure, after: Figure) -> bool:
    """Decide whether two plain values are one number, or one of them is the other one, rounded.

    If one is exactly a million (a lakh, a crore, a billion) times the other, a word was lost: "20 million" -> "20". But
    a number of harmed people may rise from 1 to 1,000 within a day, and is never rounded.
    """
    if before.value == after.value:
        return True
    low, high = sorted((Decimal(before.value), Decimal(after.value)))
    coarse, fine = sorted((low, high), key=lambda value: value.normalize().as_tuple().exponent, reverse=True)
    is_of_harmed = not HARMED.isdisjoint((before.kind, after.kind))
    is_exact = is_of_harmed or (high < _LEAST_ROUNDED and low == int(low) and high == int(high))
    has_two_digits = len(coarse.normalize().as_tuple().digits) > 1
    if not is_exact and has_two_digits and fine.quantize(coarse.normalize(), ROUND_HALF_UP) == coarse:
        return True
    return bool(low) and (high >= _LEAST_ROUNDED or not is_of_harmed) and high / low in _LOST_WORDS


def _same_context(old: Sequence[Figure], new: Sequence[Figure]) -> Iterator[tuple[Figure, Figure]]:
    """Pair figures with the same words on both sides. If a context comes more than once, equal values cancel out.

    If several values are left, nobody knows which is which: they lose their kinds, so that their change is not told.
    """
    before, after = _by_context(old), _by_context(new)
    for context, figures in after.items():
        olds, news = list(before.get(context, ())), []
        for figure in figures:
            same = next((other for other in olds if other.value == figure.value), None)
            if same:
                olds.remove(same)
            else:
                news.append(figure)
        if len(olds) == len(news) == 1:
            yield olds[0], news[0]
        else:
            yield from ((a._replace(kind=0), b._replace(kind=0)) for a, b in zip(olds, news, strict=False))


def _by_context(figures: Sequence[Figure]) -> dict[bytes, list[Figure]]:
    found: dict[bytes, list[Figure]] = {}
    for figure in figures:
        found.setdefault(figure.context, []).append(figure)
    return found


def _is_main_toll(figure: Figure) -> bool:
    return figure.in_head and (0 < figure.kind < FigureKind.HOMES or figure.kind == PEOPLE)


def _newest_tolls(old: Sequence[Figure], new: Sequence[Figure]) -> Iterator[tuple[Figure, Figure]]:
    """Pair the newest tolls of each kind: those in the title or nearest to the top. Tolls below them are history.

    If the new text has the old toll too, a smaller one above it is a part of it: "three children among the nine dead".
    """
    before, after = _tolls(old), _tolls(new)
    for kind in before.keys() & after.keys():
        newest, known = _newest(after[kind]), _newest(before[kind])
        is_known = any(_are_equal(newest, each) for each in before[kind])
        is_history = any(_are_equal(known, each) for each in after[kind])
        if is_known or (is_history and Decimal(newest.value) < Decimal(known.value)):
            continue
        is_only_one = len(before[kind]) == len(after[kind]) == 1 and not known.in_head
        are_near = Decimal(newest.value) <= _MOST_GROWTH * (1 + Decimal(known.value))
        if _share_side(known, newest) or (are_near and (newest.in_head or is_only_one)):
            yield known, newest


def _newest(tolls: Sequence[Figure]) -> Figure:
    """Return the greatest toll of title and first sentence, as the others are parts of it, or else the first one."""
    return max((toll for toll in tolls if toll.in_head), key=lambda toll: Decimal(toll.value), default=tolls[0])


def _share_side(a: Figure, b: Figure) -> bool:
    """Decide whether two figures have the same words before them or behind them."""
    return not _sides(a.context).isdisjoint(_sides(b.context))


def _sides(context: bytes) -> set[tuple[int, bytes]]:
    """Return the words before and the words behind, each with its side."""
    return {(at, context[at : at + 2]) for at in (0, 2) if context[at : at + 2] != NO_WORDS}


def contradict(some: Sequence[Figure], others: Sequence[Figure]) -> bool:
    """Decide whether two texts give tolls of one kind, and none of them is the same."""
    tolls, other_tolls = _tolls(some), _tolls(others)
    return any(
        not any(_are_equal(one, another) for one in tolls[kind] for another in other_tolls[kind])
        for kind in tolls.keys() & other_tolls.keys()
    )


def _tolls(figures: Sequence[Figure]) -> dict[int, list[Figure]]:
    found: dict[int, list[Figure]] = {}
    for figure in figures:
        if 0 < figure.kind < FigureKind.HOMES and figure.place != Place.CAPTION and _are_plain(figure):
            found.setdefault(figure.kind, []).append(figure)
    return found


def lacks_toll(kept: bytes, new: bytes) -> bool:
    """Decide whether a text tells of harmed people, or in its title or first sentence, a figure that a kept text lacks.

    Such a text is never dropped.
    """
    if kept == new:
        return False
    olds = unpack_figures(kept)
    told = (each for each in unpack_figures(new) if each.kind in HARMED or (each.in_head and each.kind != SILENT))
    return not all(any(_is_held(figure, other) for other in olds) for figure in told)


def _is_held(figure: Figure, other: Figure) -> bool:
    if figure.kind in HARMED and other.kind != figure.kind and (other.kind or not _share_side(figure, other)):
        return False  # "12 engines" are not "12 dead"
    return _are_equal(figure, other) if _are_plain(figure, other) else figure.value == other.value


def have_other_figures(a: bytes, b: bytes) -> bool:
    """Decide whether most figures of two texts differ, as in the reports of two lottery draws. Both are packed.

    A figure of one text is in the other one if its value is there, with the same words on one side.
    """
    fewer, more = sorted((set(_figures_of_text(a)), set(_figures_of_text(b))), key=len)
    known = {(side, value) for context, value in more for side in _sides(context)}
    others = sum(known.isdisjoint((side, value) for side in _sides(context)) for context, value in fewer - more)
    return others >= _LEAST_OTHER_FIGURES and 2 * others > len(fewer)


def share_of_new_figures(new: bytes, old: bytes) -> float:
    """Return the share of a text's figures of which another text has neither the value nor the place, in [0, 1].

    If the other text has more figures than are kept, nothing is known of them: 0.
    """
    figures, others = set(_figures_of_text(new)), _figures_of_text(old)
    if not figures or len(others) == MAX_FIGURES:
        return 0.0
    known = {part for figure in others for part in figure}
    return len([each for each in figures if known.isdisjoint(each)]) / len(figures)


def _figures_of_text(packed: bytes) -> list[tuple[bytes, str]]:
    """Return context and value of the figures that are not in the title."""
    return [(each.context, each.value) for each in unpack_figures(packed) if each.place != Place.TITLE]
