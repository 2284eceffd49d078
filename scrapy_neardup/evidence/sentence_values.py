"""The values of a sentence: its numbers, times and codes, with the words beside them; and whether two values differ.

Two values are no other values if they are one number in two forms, one is the other one rounded, or one may be misread.
"""

import re
from collections import Counter
from collections.abc import Sequence
from decimal import ROUND_DOWN, ROUND_HALF_UP, Decimal
from itertools import dropwhile, product, takewhile
from typing import NamedTuple

from scrapy_neardup.evidence.figures.counted import HARMED, SILENT
from scrapy_neardup.evidence.figures.figure import Figure, find_figures, is_plain, short_value
from scrapy_neardup.evidence.figures.number_words import (
    BEFORE_MONEY,
    CURRENCIES,
    UNITS,
    WORDS,
    all_languages,
)
from scrapy_neardup.evidence.figures.numbers import DAYS, FRACTIONS
from scrapy_neardup.evidence.replacements import form_of, printed_words
from scrapy_neardup.evidence.spellings import is_same_word
from scrapy_neardup.evidence.tokens import (
    ABOUT,
    BOUNDS,
    FUNCTION_WORDS,
    INCREMENTS,
    Token,
    is_unspaced,
)
from scrapy_neardup.text.folding import fold

DIGITS = re.compile("[0-9]+")
LETTERS = re.compile(r"[^\W\d_]+")
_WORD = re.compile(r"[\w'\u2019\u200c-]+")
_BESIDE_SIGN = re.compile("(?<=[^\\w\\s\u0900-\u109f]) (?=[0-9])| (?=%)")
REACH = 6  # words on either side of a value that may say what it counts
TOLD = ("number", "quantity", "time", "code")
_READ = (*TOLD, "negation")  # "no deaths" -> "three deaths"


class Value(NamedTuple):
    """A number, time or code of a sentence, and the words beside it, the nearest first."""

    token: Token
    figure: Figure
    shown: list[Token]  # the value, with its unit and the words that bound it
    unit: str  # a currency, "%" or a measure, "" if a number has none
    is_bounded: bool  # "more than 130"
    before: list[Token]
    behind: list[Token]

    @property
    def is_added(self) -> bool:
        """Return whether the value is added to another one: "two more", or has more words: "8 and a half"."""
        beside = {each.text for each in (*self.before[:1], *self.behind[:1])}
        is_more = not self.is_bounded and not INCREMENTS.isdisjoint(beside)
        return is_more or any(_bare(each) in FRACTIONS for each in self.behind[:3])


def values_of(text: str, tokens: Sequence[Token], *, crosses: bool, dateline: int) -> list[Value]:
    """Return the values of a sentence, but no date in the first words, which may be its ``dateline`` if it has a comma.

    The words before a value may stand before a comma only if it ``crosses``.
    """
    figures = [*find_figures(text)]
    dateline *= any(each.closes for each in tokens[:dateline])
    found = []
    for at, token in enumerate(tokens):
        if token.kind not in _READ or (at < dateline and token.kind == "time"):
            continue
        value = short_value(token.text)
        figure = next((each for each in figures if each.value == value), Figure(value))
        if figure in figures:
            figures.remove(figure)
        start, end, shown, unit = _shown_at(tokens, at)
        bound = _bound(tokens[:start]) if token.kind == "number" else []
        start -= len(bound)
        before = takewhile(lambda each: crosses or not each.closes, reversed(tokens[max(0, start - REACH) : start]))
        is_in_brackets = at > 0 and token.closes and tokens[at - 1].closes  # "men (9) and women (4)"
        behind = _clause_behind(tokens, end, is_in_brackets=is_in_brackets)
        found.append(Value(token, figure, [*bound, *shown], unit, bool(bound), [*before], [*behind]))
    return found


def _clause_behind(tokens: Sequence[Token], end: int, *, is_in_brackets: bool) -> Sequence[Token]:
    """Return the words behind a value, up to the end of its clause. The bracket behind it is no end."""
    sizes = (size for size, each in enumerate(tokens[end - 1 :]) if each.closes and (size or not is_in_brackets))
    return tokens[end : end + min(next(sizes, REACH), REACH)]


def _shown_at(tokens: Sequence[Token], at: int) -> tuple[int, int, list[Token], str]:
    """Return the first token of a value, the one behind it, the tokens that are told, and the unit of a number.

    Of "Rs 4,000 were" these are the places of "Rs" and "were", both words, and "Rs".
    """
    token, end = tokens[at], at + 1
    if token.kind == "time":
        return _date_at(tokens, at)
    value = token._replace(printed=token.value)
    if not DIGITS.search(token.printed):
        token = value
    following = tokens[end] if tokens[end:] else token
    if following.kind == "unit":
        is_sign = following.text != "%" and CURRENCIES.keys().isdisjoint(token.printed.split())
        first = at - (at > 0 and tokens[at - 1].text in BEFORE_MONEY)  # "Rs 4,000"
        return first, end + 1, [following, token] if is_sign else [token], following.text
    if UNITS.get(following.text, "years") != "years":  # most years are ages
        return at, end + 1, [token, following], UNITS[following.text]
    if at and tokens[at - 1].text in BEFORE_MONEY:
        return at - 1, end, [tokens[at - 1], token], tokens[at - 1].text
    return at, end, [value], ""


def _date_at(tokens: Sequence[Token], at: int) -> tuple[int, int, list[Token], str]:
    """Return the same for a date or time: "Thursday, 10th of June at 18:00"."""
    first = end = at
    for place in range(max(0, at - REACH), min(len(tokens), at + REACH)):
        between = tokens[min(place, at) : max(place, at)]
        if tokens[place].kind == "time" and all(each.kind == "time" or is_small(each) for each in between):
            first, end = min(first, place), max(end, place)
    date = [each for each in tokens[first : end + 1] if each.kind == "time" or each.text in FUNCTION_WORDS]
    return first, end + 1, date, ""


def _bound(before: Sequence[Token]) -> Sequence[Token]:
    """Return the words before a number that bound it: "more than", "at least"."""
    near = list(takewhile(lambda each: not each.closes and (is_small(each) or _bounds(each)), reversed(before)))
    size = max((number for number, each in enumerate(near, 1) if _bounds(each)), default=0)
    # "Least" and "most" have one more word before them: "at least".
    size += size > 0 and BOUNDS.get(near[size - 1].text, 0) > 1 and len(near) > size
    return before[len(before) - size :]


def _bounds(token: Token) -> bool:
    word = _bare(token)
    return word in BOUNDS or (word in ABOUT and len(word) > 3)


def _bare(token: Token) -> str:
    """Return a word without an Arabic "and", "in" or "for" that is joined to it."""
    return token.text[1:] if token.text[0] in "\u0648\u0628\u0644\u0641" else token.text


def is_small(token: Token) -> bool:
    return token.text in FUNCTION_WORDS or (len(token.text) < 3 and token.kind == "word" and not is_unspaced(token))


def may_name(token: Token) -> bool:
    """Return whether a word may name what is counted."""
    return token.kind in ("word", "name", "code", "quantity") and not is_small(token) and not _bounds(token)


def count_common(values: tuple[Value, Value]) -> int:
    """Return how many of the words beside two values are the same."""
    old, new = values
    sides = (old.before, new.before), (old.behind, new.behind)
    return sum(
        any(is_same_word(one, each) for each in others) for ones, others in sides for one in filter(may_name, ones)
    )


def is_other_value(old: Value, new: Value) -> bool:
    """Decide whether two values are neither one value in two forms, nor parts or roundings of each other."""
    if old.is_added != new.is_added or old.unit != new.unit or 0 < old.figure.kind != new.figure.kind > 0:
        return False
    if new.token.kind == "time":
        return _is_other_date(old, new)
    if _may_be_misread(old.token.printed, new.token.printed):
        return False
    values = old.figure.value, new.figure.value
    if not all(map(is_plain, values)):
        return SILENT not in (old.figure.kind, new.figure.kind) and _is_other_row(*values)  # "3rd" and "third"
    is_bounded = old.is_bounded != new.is_bounded or (old.is_bounded and new.figure.kind not in HARMED)
    before, after = map(Decimal, values)
    is_vaguer = new.is_bounded and 100 < Decimal("0.9") * before < after < before  # "315", "more than 300"
    # "136", "over 130"
    is_rounded = (is_bounded or is_vaguer) and _is_rounded(before, after, digits=1 if is_vaguer else 2)
    return not is_rounded and not are_equal(old.figure, new.figure)


def _is_other_date(old: Value, new: Value) -> bool:
    """Decide whether a day, month, year or time of day stands in the place of another one: "10 June", "June 11".

    Each text has its own "today (21)".
    """
    are_today = all(each.before and each.before[0].text in DAYS for each in (old, new))
    olds, news = _parts_of_date(old.shown), _parts_of_date(new.shown)
    gone = [each for each in olds if not any(is_same_word(each, other) for other in news)]
    came = [each for each in news if not any(is_same_word(each, other) for other in olds)]
    return not are_today and any(
        form_of(a) == form_of(b) and (len(a.text) > 2) == (len(b.text) > 2) for a, b in product(gone, came)
    )


def _parts_of_date(tokens: Sequence[Token]) -> list[Token]:
    """Return day, month and year one by one: a date in digits may be one in words, "15-07-2015" and "15 July 2015"."""
    parts = ((each, re.findall(r"\d+(?=[-./]\d)|(?<=\d[-./])\d+", each.text) or [each.text]) for each in tokens)
    return [each._replace(text=part.lstrip("0") or "0") for each, found in parts for part in found]


def _may_be_misread(old: str, new: str) -> bool:
    """Decide whether one number may be the other one: "13,1" and "1,13", as some sites print it; "300" and "3.00".

    A word may be lost too: "20 million" and "20".
    """
    of_old, of_new = (DIGITS.findall(each) for each in (old, new))
    # Number words of this script are read in part.
    is_part = bool(of_old) != bool(of_new) and re.search("[\u0600-\u06ff]", old + new) is not None
    is_turned = of_old == of_new[::-1] and [*map(len, of_old)] != [*map(len, of_new)]  # not "1.2", "2.1"
    has_same_digits = is_turned or "".join(of_old) == "".join(of_new)
    may_have_lost_word = not all(map(LETTERS.search, (old, new)))
    return is_part or (has_same_digits and bool(of_old or of_new) and may_have_lost_word)


def _is_other_row(old: str, new: str) -> bool:
    """Decide whether values that are no plain numbers differ: scores, ranges, codes, and words such as "dozens"."""
    has_part = not (FRACTIONS.keys() | all_languages().scales.keys()).isdisjoint((old, new))
    # "Two thirds" -> "half"; "millions" is what is left of a number in words.
    is_part = is_plain(old) != is_plain(new) and has_part
    # If one row only has more numbers than the other, only one text has these figures. "2 a 0" is the score 2-0.
    is_of_scores = ("-" in old) == ("-" in new)
    parts, others = (Counter(re.split("/" if is_of_scores else "[/-]", each)) for each in (old, new))
    return not is_part and bool(parts - others) and bool(others - parts)


def are_equal(before: Figure, after: Figure) -> bool:
    """Decide whether two plain values are one number, or one is the other one, rounded; no number of harmed people."""
    if before.value == after.value:
        return True
    low, high = sorted((Decimal(before.value), Decimal(after.value)))
    is_of_harmed = not HARMED.isdisjoint((before.kind, after.kind))
    # Smaller whole numbers are told exactly.
    is_exact = is_of_harmed or (high < 10**6 and low == int(low) and high == int(high))
    return not is_exact and _is_rounded(low, high)


def _is_rounded(low: Decimal, high: Decimal, digits: int = 2) -> bool:
    """Decide whether one number is the other one, rounded to so many digits or more."""
    coarse, fine = sorted((low, high), key=lambda value: value.normalize().as_tuple().exponent, reverse=True)
    has_digits = len(coarse.normalize().as_tuple().digits) >= digits
    rounded = [fine.quantize(coarse.normalize(), rounding) for rounding in (ROUND_HALF_UP, ROUND_DOWN)]
    return has_digits and coarse in rounded


def equal_words(old: Sequence[Token], new: Sequence[Token]) -> list[Token]:
    """Return the first words of two rows that are the same and may name what is counted. "And" leads to other words."""
    rows = [
        list(dropwhile(lambda each: not may_name(each) and each.text not in WORDS["and"], row)) for row in (old, new)
    ]
    pairs = takewhile(lambda pair: all(map(may_name, pair)) and is_same_word(*pair), zip(*rows, strict=False))
    return [each for number, (_, each) in enumerate(pairs) if number < (REACH - 1 if is_unspaced(each) else 2)]


def as_printed(text: str, tokens: Sequence[Token]) -> str:
    """Return words of a sentence with their capitals and accents."""
    words = [*_WORD.findall(text), *LETTERS.findall(text)][::-1]
    printed = {fold(word).casefold().replace("'", ""): word for word in sorted(words, key=str.islower)}
    told = " ".join(printed.get(word, word) for word in printed_words(tokens).split(" "))
    return _BESIDE_SIGN.sub("", told)
