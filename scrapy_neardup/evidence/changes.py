"""The changes that are told of two texts: "dead: 4 -> 12", "by: 18:00 -> 15:00", "polling units: 2195 -> 2445".

A figure, a time or a code in the place of another one in aligned sentences is a change, unless it may be the same value
in another form. So is another newest toll of people in titles and first sentences, however these are written.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from decimal import ROUND_HALF_UP, Decimal
from typing import NamedTuple

from xxhash import xxh32_digest

from scrapy_neardup.evidence.counted import HARMED, LABELS, SILENT, FigureKind
from scrapy_neardup.evidence.differences import Comparison, Difference, Sentence, Side
from scrapy_neardup.evidence.figures import NO_WORDS, Figure, figures_of, find_figures, is_plain, short_value
from scrapy_neardup.evidence.tokens import FUNCTION_WORDS, tokens_of
from scrapy_neardup.wording import one_line

_LOST_WORDS = (10**3, 10**5, 10**6, 10**7, 10**9, 10**12)  # thousand, lakh, million, crore, billion, trillion
_LEAST_ROUNDED = 10**6  # smaller whole numbers are told exactly
_MOST_GROWTH = 20  # of a toll from one text to the next, if no words around it are the same
_LONGEST_LINE = 120  # characters of a change that is told
_DIGITS = re.compile("[0-9]+")
_ARABIC = re.compile("[\u0600-\u06ff]")
_TOLD = ("number", "quantity", "time", "code")


class Change(NamedTuple):
    """A figure with another value: a ``line`` for people, and its ``value_hashes`` before and after."""

    line: str
    before: bytes
    after: bytes


def value_hashes(figures: Iterable[Figure]) -> bytes:
    """Return 4 bytes for each figure, a hash of what it counts and its value."""
    named = ((LABELS[each.kind].encode() or each.context, each.value.encode()) for each in figures)
    return b"".join(xxh32_digest(name + value) for name, value in named)


def changes_between(new: Side, old: Side, comparison: Comparison) -> tuple[Change, ...]:
    """Return the changes from the old text to the new one, each once: if a headline repeats it, it is told once."""
    changes: dict[tuple[str, str], Change] = {}
    repeated = {each.text for each in comparison.sentences}
    for sentence, each in comparison.differences:
        if each.kind in _TOLD and each.old and each.is_one_of_one and sentence.partner not in repeated:
            _add(changes, sentence, each, new.language)
    for before, after in _newest_tolls(*(figures_of(each.title, each.text, each.language) for each in (old, new))):
        if (before.value, after.value) not in changes and is_change(before, after):
            line = f"{after.label}: {before.value} -> {after.value}"
            changes[before.value, after.value] = Change(line, value_hashes([before]), value_hashes([after]))
    return tuple(changes.values())


def _add(changes: dict[tuple[str, str], Change], sentence: Sentence, difference: Difference, language: str) -> None:
    """Add a change, unless the sentences count two things, or one value in two forms."""
    old = _figure_of(sentence.partner, difference.old, language)
    new = _figure_of(sentence.text, difference.new, language)
    if difference.kind == "number" and (not is_change(old, new) or _may_be_misread(old, new, difference)):
        return
    if not difference.is_in_place and not old.label == new.label != "":
        return
    behind, before = difference.behind.split()[:2], difference.before.split()[-2:]
    named = [word for word in before if new.kind == SILENT and word not in FUNCTION_WORDS]  # "boeing: 737 -> 787"
    words = next((each for each in (named, behind, before) if not FUNCTION_WORDS.issuperset(each)), behind or before)
    label = new.label or old.label or " ".join(words)
    values = f"{_shown(old, difference.old)} -> {_shown(new, difference.new)}"
    line = one_line(f"{label}: {values}" if label else values, _LONGEST_LINE)
    changes.setdefault((old.value, new.value), Change(line, value_hashes([old]), value_hashes([new])))


def _shown(figure: Figure, printed: str) -> str:
    """Return a number as a decimal, whatever its words, and all else as it is printed."""
    return figure.value if is_plain(figure.value) else printed


def _figure_of(text: str, printed: str, language: str) -> Figure:
    """Return the figure of a sentence that is printed so. The value of a time or a code is what is printed."""
    values = {each.text for each in tokens_of(printed, language) if each.kind == "number"}
    found = next((each for each in find_figures(text) if each.value in values), None)
    return found or Figure(short_value(next(iter(values), printed)), NO_WORDS + NO_WORDS)


def _may_be_misread(old: Figure, new: Figure, difference: Difference) -> bool:
    """Decide whether one value may be the other one, cut or written otherwise."""
    in_digits = [any(map(str.isdigit, each)) for each in (difference.old, difference.new)]
    if not all(in_digits):
        return _ARABIC.search(difference.old + difference.new) is not None
    if sorted(_DIGITS.findall(difference.old)) == sorted(_DIGITS.findall(difference.new)):
        return True  # "1,13" and "13,1": some sites print the two halves of a decimal in the other order
    shorter, longer = sorted((old.value, new.value), key=len)
    return not (old.value + new.value).isdigit() and (longer.startswith(shorter) or longer.endswith(shorter))


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


def _newest_tolls(old: Sequence[Figure], new: Sequence[Figure]) -> Iterator[tuple[Figure, Figure]]:
    """Pair the newest tolls: the greatest of title and first sentence, as the others are parts of it.

    If the new text has the old toll too, a smaller one above it is a part of it: "three children among the nine dead".
    """
    before, after = (_tolls(figures).get(FigureKind.DEAD, []) for figures in (old, new))
    known, newest = (
        max((toll for toll in tolls if toll.in_head), key=lambda toll: Decimal(toll.value), default=None)
        for tolls in (before, after)
    )
    if known is None or newest is None:
        return
    is_known = any(_are_equal(newest, each) for each in before)
    is_history = any(_are_equal(known, each) for each in after)
    is_part = is_history and Decimal(newest.value) < Decimal(known.value)
    if not is_known and not is_part and Decimal(newest.value) <= _MOST_GROWTH * (1 + Decimal(known.value)):
        yield known, newest


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
        if 0 < figure.kind < FigureKind.HOMES and _are_plain(figure):
            found.setdefault(figure.kind, []).append(figure)
    return found
