"""The changes that are told of two texts: "dead: 4 -> 12", "by: 18:00 -> 15:00", "polling units: 2195 -> 2445".

A figure, a time or a code in the place of another one in aligned sentences is a change, unless it may be the same value
in another form. So is another newest toll of the dead in titles and first sentences, however these are written.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from decimal import ROUND_DOWN, ROUND_HALF_UP, Decimal
from itertools import permutations, product
from typing import NamedTuple

from scrapy_neardup.evidence.differences import Comparison, Sentence
from scrapy_neardup.evidence.figures.counted import HARMED, SILENT, FigureKind, kind_of
from scrapy_neardup.evidence.figures.figure import (
    Figure,
    figures_of,
    figures_of_head,
    find_figures,
    is_plain,
    short_value,
)
from scrapy_neardup.evidence.figures.number_words import all_languages
from scrapy_neardup.evidence.figures.tolls import cached_tolls_of
from scrapy_neardup.evidence.page_lines import Side
from scrapy_neardup.evidence.replacements import Difference
from scrapy_neardup.evidence.tokens import FRACTIONS, FUNCTION_WORDS
from scrapy_neardup.text.display import one_line
from scrapy_neardup.text.folding import fold

_LOST_WORDS = (10**3, 10**5, 10**6, 10**7, 10**9, 10**12)  # thousand, lakh, million, crore, billion, trillion
_LEAST_ROUNDED = 10**6  # smaller whole numbers are told exactly
_MOST_GROWTH = 20  # of a toll from one text to the next, if no words around it are the same
_WORD = re.compile(r"[\w'\u2019\u200c-]+")
_LONGEST_LINE = 120  # characters of a change that is told
_DIGITS = re.compile("[0-9]+")
_YEAR, _DAY = re.compile("(?:19|20)[0-9]{2}"), re.compile("[12]?[0-9]|3[01]")
_ARABIC = re.compile("[\u0600-\u06ff]")
_TOLD = ("number", "quantity", "time", "code")


class Change(NamedTuple):
    """A figure with another value, as a line for people. ``is_toll`` says that it counts people harmed."""

    line: str
    is_toll: bool = False


def changes_between(new: Side, old: Side, comparison: Comparison) -> tuple[Change, ...]:
    """Return the changes from the old text to the new one, each once: if a headline repeats it, it is told once."""
    changes: dict[tuple[str, str], Change] = {}
    repeated = {each.text for each in comparison.sentences}
    for sentence, each in comparison.differences:
        if each.kind in _TOLD and each.old and each.new and each.is_one_of_one and sentence.partner not in repeated:
            _add(changes, sentence, each)
    for before, after in _newest_toll(new, old):
        line = f"{after.label}: {before.value} -> {after.value}"
        changes.setdefault((before.value, after.value), Change(line, is_toll=True))
    if not changes:
        return ()
    # "Two more died" is no fall to two.
    added = {str(each.low) for each in cached_tolls_of(new.title, new.text, new.language) if each.is_increment}
    changes = {
        (before, after): change
        for (before, after), change in changes.items()
        if after not in added or not is_plain(before) or Decimal(after) > Decimal(before)
    }
    return tuple({each.line: each for each in changes.values()}.values())


def _add(changes: dict[tuple[str, str], Change], sentence: Sentence, difference: Difference) -> None:
    """Add a change, unless the sentences count two things, or one value in two forms."""
    olds, news = map(_figures_with, (sentence.partner, sentence.text), difference.values)
    # "4 dead and 4 hurt" has the value twice
    old, new = next(((a, b) for a, b in product(olds, news) if a.label == b.label), (olds[0], news[0]))
    has_part = not (FRACTIONS.keys() | all_languages().scales.keys()).isdisjoint((old.value, new.value))
    if is_plain(old.value) != is_plain(new.value) and has_part:
        return  # "two thirds" -> "half"; "millions" is what is left of a number in words
    if any(_YEAR.fullmatch(one) and _DAY.fullmatch(other) for one, other in permutations((old.value, new.value))):
        return  # "June 10" and "10 June 2021"
    if difference.kind == "number" and (not is_change(old, new) or _may_be_misread(old, new, difference)):
        return
    if not difference.is_in_place and not old.label == new.label != "":
        return
    is_name = new.kind == SILENT  # "boeing: 737 -> 787"
    label = new.label or old.label or _as_printed(sentence.text, _words_beside(difference, is_name=is_name))
    values = f"{_as_printed(sentence.partner, old.value)} -> {_as_printed(sentence.text, new.value)}"
    line = one_line(f"{label}: {values}" if label else values, _LONGEST_LINE)
    changes.setdefault((old.value, new.value), Change(line, not HARMED.isdisjoint((old.kind, new.kind))))


def _words_beside(difference: Difference, *, is_name: bool) -> str:
    """Return the words that say what a figure counts: those behind it, or before it if there are none."""
    before, behind = difference.before.split(), difference.behind.split()
    is_told_before = difference.kind in ("time", "code") or (is_name and FUNCTION_WORDS.isdisjoint(before[-1:]))
    if is_told_before and before:
        return before[-1]  # "by", "until", "lot"
    while behind and behind[0] in FUNCTION_WORDS:
        behind.pop(0)
    counted = behind[:2]
    if counted[1:] and counted[1] in FUNCTION_WORDS:
        counted.pop()
    return " ".join(counted or before[-2:])


def _as_printed(text: str, folded: str) -> str:
    """Return words of a sentence with their capitals and accents."""
    words = [*_WORD.findall(text), *_WORD.findall(text.replace("-", " "))]
    printed = {fold(word).casefold().replace("'", ""): word for word in reversed(words)}
    return " ".join(printed.get(word, word) for word in folded.split())


def _figures_with(text: str, value: str) -> list[Figure]:
    """Return the figures of a sentence that have a value, at least one."""
    return [each for each in find_figures(text) if each.value == value] or [Figure(short_value(value))]


def _may_be_misread(old: Figure, new: Figure, difference: Difference) -> bool:
    """Decide whether one value may be the other one, written otherwise."""
    in_digits = [any(map(str.isdigit, each)) for each in (difference.old, difference.new)]
    if not all(in_digits):
        return _ARABIC.search(difference.old + difference.new) is not None
    digits = [sorted(_DIGITS.findall(each)) for each in (difference.old, difference.new)]
    if digits[0] == digits[1] and len(digits[0]) > 1:
        return True  # "1,13" and "13,1": some sites print the two halves of a decimal in the other order
    # Another currency, of which one is not known.
    return (kind_of(old.label) is FigureKind.MONEY) != (kind_of(new.label) is FigureKind.MONEY)


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
    rounded = [fine.quantize(coarse.normalize(), rounding) for rounding in (ROUND_HALF_UP, ROUND_DOWN)]
    if not is_exact and has_two_digits and coarse in rounded:
        return True
    return bool(low) and (high >= _LEAST_ROUNDED or not is_of_harmed) and high / low in _LOST_WORDS


def _newest_toll(new: Side, old: Side) -> Iterator[tuple[Figure, Figure]]:
    """Pair the tolls of the dead: the greatest of title and first sentence, as the others are parts of it.

    If the new text has the old toll too, a smaller one above it is a part of it: "three children among the nine dead".
    """
    heads = [_dead(figures_of_head(side.title, side.text, side.language)) for side in (old, new)]
    if not all(heads):
        return
    known, newest = (max(tolls, key=lambda toll: Decimal(toll.value)) for tolls in heads)
    if _are_equal(known, newest):
        return
    before, after = (_dead(figures_of(side.title, side.text, side.language)) for side in (old, new))
    is_known = any(_are_equal(newest, each) for each in before)
    is_history = any(_are_equal(known, each) for each in after)
    is_part = is_history and Decimal(newest.value) < Decimal(known.value)
    if not is_known and not is_part and Decimal(newest.value) <= _MOST_GROWTH * (1 + Decimal(known.value)):
        yield known, newest


def _dead(figures: Sequence[Figure]) -> list[Figure]:
    return _tolls(figures).get(FigureKind.DEAD, [])


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
