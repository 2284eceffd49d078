"""The changes that are told of two texts: "dead: 4 -> 12", "valley by: 18:00 -> 15:00", "prices rose: 2% -> over 3%".

A figure, a time or a code in the place of another one is told only if both sentences count the same thing: words beside
both values are the same, and one of them names it. So is another newest toll of the dead in titles and first sentences,
however these are written. What is not sure is no line: its sentence is in the news of the document.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from decimal import ROUND_DOWN, ROUND_HALF_UP, Decimal
from itertools import dropwhile, islice, product, takewhile
from typing import NamedTuple

from scrapy_neardup.evidence.differences import Comparison, Sentence
from scrapy_neardup.evidence.figures.counted import HARMED, SILENT, FigureKind
from scrapy_neardup.evidence.figures.figure import (
    Figure,
    figures_of,
    find_figures,
    is_plain,
    short_value,
)
from scrapy_neardup.evidence.figures.number_words import CURRENCIES, UNITS, WORDS, all_languages
from scrapy_neardup.evidence.figures.tolls import cached_tolls_of
from scrapy_neardup.evidence.page_lines import Side, words_of
from scrapy_neardup.evidence.replacements import form_of, printed_words
from scrapy_neardup.evidence.tokens import (
    ABOUT,
    BEFORE_MONEY,
    BOUNDS,
    FRACTIONS,
    FUNCTION_WORDS,
    INCREMENTS,
    WITHOUT_SIZE,
    Token,
    is_same_word,
    is_unspaced,
    names_of,
    tokens_of,
)
from scrapy_neardup.text.display import one_line
from scrapy_neardup.text.folding import fold

_LOST_WORDS = (10**3, 10**5, 10**6, 10**7, 10**9, 10**12)  # thousand, lakh, million, crore, billion, trillion
_LEAST_ROUNDED = 10**6  # smaller whole numbers are told exactly
_LEAST_VAGUE = 100  # "more than 300" may be 315
_NEARLY = Decimal("0.9")
_MOST_READ = 4_000  # characters of an older text
_LONGEST_HEAD = 400  # characters
_MOST_GROWTH = 20  # of a toll from one text to the next, if no words around it are the same
_WORD = re.compile(r"[\w'\u2019\u200c-]+")
_LETTERS = re.compile(r"[^\W\d_]+")
_DATE_PART = re.compile(r"\d+(?=[-./]\d)|(?<=\d[-./])\d+")
_DIGITS = re.compile("[0-9]+")
_ARABIC = re.compile("[\u0600-\u06ff]")
_BESIDE_SIGN = re.compile("(?<=[^\\w\\s]) (?=[0-9])| (?=%)")
_LONGEST_LINE = 120  # characters of a change that is told
_REACH = 6  # words on either side of a value that may say what it counts
_MOST_VALUES = 30  # of a text, that are compared with those of another one
_LEAST_COMMON = 2  # of these words, those that both sentences have
_ALIKE = 0.7  # share of the longer sentence that is equal: then both count the same things
_DATELINE = 4  # words
_LONGEST_LABEL = 2  # words that say something
_ENGLISH = frozenset(("people", "score", "magnitude", "votes"))  # labels that are told in English
_JOINED = frozenset("\u0648\u0628\u0644\u0641")
_TOLD = ("number", "quantity", "time", "code")
_READ = (*_TOLD, "negation")  # "no deaths" -> "three deaths"


class Change(NamedTuple):
    """A figure with another value, as a line for people. ``is_toll`` says that it counts people harmed."""

    line: str
    is_toll: bool = False


def changes_between(new: Side, old: Side, comparison: Comparison) -> tuple[Change, ...]:
    """Return the changes from the old text to the new one, each once: if a headline repeats it, it is told once."""
    changes: dict[tuple[str, str], Change] = {}
    repeated = {each.text for each in comparison.sentences}
    # A headline may count another thing than the sentence that is most like it.
    alike = (each for each in comparison.sentences if each.is_title == (each.partner in old.title))
    for sentence in alike:
        for before, after in _replaced(sentence, new.language) if sentence.partner not in repeated else ():
            if label := _label(before, after, sentence.text):
                shown = f"{_value_of(before, sentence.partner)} -> {_value_of(after, sentence.text)}"
                change = Change(
                    one_line(f"{label}: {shown}", _LONGEST_LINE), bool(HARMED & {before.figure.kind, after.figure.kind})
                )
                changes.setdefault((before.token.value, after.token.value), change)
    for known, newest in _newest_toll(new, old):
        changes.setdefault((known, newest), Change(f"dead: {known} -> {newest}", is_toll=True))
    return tuple({each.line: each for each in changes.values()}.values())


def recounted(sentences: Iterable[str], new: Side, old: Side) -> list[str]:
    """Return the sentences of a new text that give another value of what the old text counts, in other words.

    The old value is nowhere in the new text, and the new one nowhere in the old text.
    """
    gone = [each for _, each in _numbers_among(old.text[:_MOST_READ].split("\n"), new, old)]
    came = _numbers_among(sentences if gone else (), old, new)
    return [line for line, value in came if any(_count_the_same(each, value) for each in gone)]


def _numbers_among(lines: Iterable[str], other: Side, own: Side) -> list[tuple[str, _Value]]:
    """Return the numbers in digits of the lines of one text that the other text has nowhere, each with its line."""
    known = {*_DIGITS.findall(other.text)}
    values = (
        (line, each)
        for line in lines
        if not known.issuperset(_DIGITS.findall(line))
        for each in _values_of(line, tokens_of(line, own.language), crosses=False)
    )
    own_values = (
        (line, each)
        for line, each in values
        if each.token.kind == "number" and not known.issuperset(_DIGITS.findall(each.token.printed))
    )
    return [*islice(own_values, _MOST_VALUES)]


def _count_the_same(old: _Value, new: _Value) -> bool:
    """Decide whether two values, which are no days, have one unit, and two of the words beside them."""
    is_day = not new.unit and len(new.token.printed) < 3
    return not is_day and _is_other_value(old, new) and _common((old, new)) >= _LEAST_COMMON


class _Value(NamedTuple):
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


def _replaced(sentence: Sentence, language: str) -> Iterator[tuple[_Value, _Value]]:
    """Yield the values in the place of others, beside the same words; none if a name is in the place of another one."""
    replaced = {(each.old, each.new): each for each in sentence.differences if each.old and each.new}
    told = [key for key, each in replaced.items() if each.kind in _TOLD and each.is_in_place]
    if not told or "name" in {each.kind for each in replaced.values()}:
        return
    texts = sentence.partner, sentence.text
    sides = [tokens_of(text, language) for text in texts]
    is_alike = sentence.held >= _ALIKE * max(map(len, sides)) or any(each.is_alone for each in replaced.values())
    olds, news = (_values_of(*side, crosses=is_alike) for side in zip(texts, sides, strict=True))
    best = _best_pairs(olds, news)
    least = 0 if is_alike else _LEAST_COMMON
    yield from (best[key] for key in told if key in best and _common(best[key]) >= least)


def _best_pairs(olds: Sequence[_Value], news: Sequence[_Value]) -> dict[tuple[str, str], tuple[_Value, _Value]]:
    """Return the values of two sentences that stand beside most of the same words, by how they are printed."""
    counts = [Counter(each.token.text for each in side if each.token.kind != "time") for side in (olds, news)]
    gone, came = counts[0] - counts[1], counts[1] - counts[0]
    sums = [sum(map(Decimal, filter(is_plain, each.elements()))) for each in (gone, came)]
    if gone.total() != came.total() and sums[0] == sums[1]:
        return {}  # "7 dead or hurt" -> "4 dead, 3 hurt"
    pairs = sorted(product(olds, news), key=_common)
    return {
        (old.token.printed, new.token.printed): (old, new)
        for old, new in pairs
        if (old.token.text in gone) == (new.token.text in came)  # not "35, 37" -> "35"
    }


def _values_of(text: str, tokens: Sequence[Token], *, crosses: bool) -> list[_Value]:
    """Return the values of a sentence. The words before a value may stand before a comma only if it ``crosses``."""
    figures = [*find_figures(text)]
    found = []
    for at, token in enumerate(tokens):
        if not _is_value(token, at):
            continue
        value = short_value(token.text)
        figure = next((each for each in figures if each.value == value), Figure(value))
        if figure in figures:
            figures.remove(figure)
        start, end, shown, unit = _shown_at(tokens, at)
        bound = _bound(tokens[:start]) if token.kind == "number" else []
        start -= len(bound)
        before = takewhile(lambda each: crosses or not each.closes, reversed(tokens[max(0, start - _REACH) : start]))
        is_in_brackets = at > 0 and token.closes and tokens[at - 1].closes  # "men (9) and women (4)"
        behind = _clause_behind(tokens, end, is_in_brackets=is_in_brackets)
        found.append(_Value(token, figure, [*bound, *shown], unit, bool(bound), [*before], [*behind]))
    return found


def _clause_behind(tokens: Sequence[Token], end: int, *, is_in_brackets: bool) -> Sequence[Token]:
    """Return the words behind a value, up to the end of its clause. The bracket behind it is no end."""
    closing = (n for n, each in enumerate(tokens[end - 1 :]) if each.closes and (n or not is_in_brackets))
    return tokens[end : end + min(next(closing, _REACH), _REACH)]


def _is_value(token: Token, at: int) -> bool:
    """Decide whether a token is a value; the date of a dateline is none."""
    return token.kind in _READ and (at >= _DATELINE or token.kind != "time")


def _shown_at(tokens: Sequence[Token], at: int) -> tuple[int, int, list[Token], str]:
    """Return the first token of a value, the one behind it, the tokens that are told, and the unit of a number."""
    token, end = tokens[at], at + 1
    if token.kind == "time":
        return _date_at(tokens, at)
    if not _DIGITS.search(token.printed):
        token = token._replace(printed=token.value)
    following = tokens[end] if tokens[end:] else token
    if following.kind == "unit":
        is_sign = following.text != "%" and CURRENCIES.keys().isdisjoint(token.printed.split())
        first = at - (at > 0 and tokens[at - 1].text in BEFORE_MONEY)  # "Rs 4,000"
        return first, end + 1, [following, token] if is_sign else [token], following.text
    if UNITS.get(following.text, "years") != "years":  # most years are ages
        return at, end + 1, [token, following], UNITS[following.text]
    if at and tokens[at - 1].text in BEFORE_MONEY:
        return at - 1, end, [tokens[at - 1], token], tokens[at - 1].text
    return at, end, [token._replace(printed=token.value)], ""


def _date_at(tokens: Sequence[Token], at: int) -> tuple[int, int, list[Token], str]:
    """Return the same for a date or time: "Thursday, 10th of June at 18:00"."""
    first = end = at
    for place in range(max(0, at - _REACH), min(len(tokens), at + _REACH)):
        between = tokens[min(place, at) : max(place, at)]
        if tokens[place].kind == "time" and all(each.kind == "time" or _is_small(each) for each in between):
            first, end = min(first, place), max(end, place)
    date = [each for each in tokens[first : end + 1] if each.kind == "time" or each.text in FUNCTION_WORDS]
    return first, end + 1, date, ""


def _bound(before: Sequence[Token]) -> Sequence[Token]:
    """Return the words before a number that bound it: "more than", "at least"."""
    near = list(takewhile(lambda each: _is_small(each) or _bounds(each), reversed(before)))
    size = max((number for number, each in enumerate(near, 1) if _bounds(each)), default=0)
    size += size > 0 and BOUNDS.get(near[size - 1].text, 0) > 1 and len(near) > size
    return before[len(before) - size :]


def _bounds(token: Token) -> bool:
    word = _bare(token)
    return word in BOUNDS or (word in ABOUT and len(word) > 3)


def _bare(token: Token) -> str:
    """Return a word without an Arabic "and", "in" or "for" that is joined to it."""
    return token.text[1:] if token.text[0] in _JOINED else token.text


def _is_small(token: Token) -> bool:
    is_short = len(token.text) < 3 and token.kind == "word" and not is_unspaced(token)
    return token.text in FUNCTION_WORDS or is_short


def _names(token: Token) -> bool:
    """Return whether a word may name what is counted."""
    return token.kind in ("word", "name", "code", "quantity") and not _is_small(token) and not _bounds(token)


def _common(values: tuple[_Value, _Value]) -> int:
    """Return how many of the words beside two values are the same."""
    old, new = values
    sides = (old.before, new.before), (old.behind, new.behind)
    return sum(
        any(is_same_word(one, each) for each in others) for ones, others in sides for one in filter(_names, ones)
    )


def _label(old: _Value, new: _Value, text: str) -> str:
    """Return the words that say in both sentences what is counted, "" if there are none, or the value is the same."""
    if not _is_other_value(old, new):
        return ""
    figure = new.figure
    is_known = old.figure.label == figure.label or old.token.kind == "quantity"  # "many reported dead"
    if is_known and (0 < figure.kind < FigureKind.OTHER or figure.label in _ENGLISH):
        return figure.label
    if _are_without_size(old.token, new.token):
        return ""
    before = _equal(old.before, new.before)[::-1]
    if new.token.kind in ("time", "code"):
        small = list(takewhile(_is_small, new.before))[::-1]
        return _as_printed(text, [*before, *small]) if before else ""
    # "lost catch, $29 billion special damages"
    is_of_next = any(each.closes for each in new.before[:1]) and any(map(_names, old.behind[:1] + new.behind[:1]))
    # "boeing: 737 -> 787"
    is_told_before = figure.kind == SILENT or new.token.closes or (new.unit and not is_of_next)
    behind = _equal(old.behind, new.behind)
    return _as_printed(text, before or behind if is_told_before else behind or before)


def _are_without_size(old: Token, new: Token) -> bool:
    """Decide whether two words tell no number: "most", "the majority", or "not only sad" and "both sad"."""
    is_denial = old.kind == "negation" and new.kind != "number"
    return is_denial or not WITHOUT_SIZE.isdisjoint((old.text, new.text))


def _equal(old: Sequence[Token], new: Sequence[Token]) -> list[Token]:
    """Return the first words of two rows that are the same and may name what is counted. "And" leads to other words."""
    rows = [list(dropwhile(lambda each: not _names(each) and each.text not in WORDS["and"], row)) for row in (old, new)]
    pairs = takewhile(lambda pair: all(map(_names, pair)) and is_same_word(*pair), zip(*rows, strict=False))
    return [
        each for number, (_, each) in enumerate(pairs) if number < (_REACH - 1 if is_unspaced(each) else _LONGEST_LABEL)
    ]


def _as_printed(text: str, tokens: Sequence[Token]) -> str:
    """Return words of a sentence with their capitals and accents."""
    words = [*_WORD.findall(text), *_LETTERS.findall(text)]
    printed = {fold(word).casefold().replace("'", ""): word for word in reversed(words)}
    told = " ".join(printed.get(word, word) for word in printed_words(tokens).split(" "))
    return _BESIDE_SIGN.sub("", told)


def _value_of(value: _Value, text: str) -> str:
    """Return a value as it is told: "at least 12"."""
    shown = _as_printed(text, value.shown)
    return shown[0].lower() + shown[1:] if value.is_bounded else shown


def _is_other_value(old: _Value, new: _Value) -> bool:
    """Decide whether two values are neither one value in two forms, nor parts or roundings of each other."""
    if old.is_added != new.is_added or old.unit != new.unit or 0 < old.figure.kind != new.figure.kind > 0:
        return False
    if new.token.kind == "time":
        return _is_other_date(old.shown, new.shown)
    if _may_be_misread(old.token.printed, new.token.printed):
        return False
    values = old.figure.value, new.figure.value
    if not all(map(is_plain, values)):
        return SILENT not in (old.figure.kind, new.figure.kind) and _is_other_row(*values)  # "3rd" and "third"
    is_bounded = old.is_bounded != new.is_bounded or (old.is_bounded and new.figure.kind not in HARMED)
    before, after = map(Decimal, values)
    is_vaguer = new.is_bounded and _LEAST_VAGUE < _NEARLY * before < after < before  # "315", "more than 300"
    digits = 1 if is_vaguer else 2
    is_rounded = (is_bounded or is_vaguer) and _is_rounded(before, after, digits)  # "136", "over 130"
    return not is_rounded and not _are_equal(old.figure, new.figure)


def _is_other_date(old: Sequence[Token], new: Sequence[Token]) -> bool:
    """Decide whether a day, month, year or time of day stands in the place of another one: "10 June", "June 11"."""
    olds, news = _parts_of_date(old), _parts_of_date(new)
    gone = [each for each in olds if not any(is_same_word(each, other) for other in news)]
    came = [each for each in news if not any(is_same_word(each, other) for other in olds)]
    return any(form_of(a) == form_of(b) and (len(a.text) > 2) == (len(b.text) > 2) for a, b in product(gone, came))


def _parts_of_date(tokens: Sequence[Token]) -> list[Token]:
    """Return day, month and year one by one: a date in digits may be one in words, "15-07-2015" and "15 July 2015"."""
    parts = ((each, _DATE_PART.findall(each.text) or [each.text]) for each in tokens)
    return [each._replace(text=part.lstrip("0") or "0") for each, found in parts for part in found]


def _may_be_misread(old: str, new: str) -> bool:
    """Decide whether one number may be the other one: "13,1" and "1,13", as some sites print it; "300" and "3.00"."""
    digits = [_DIGITS.findall(each) for each in (old, new)]
    if any(digits) and not all(digits) and _ARABIC.search(old + new):
        return True  # number words of this script are read in part
    has_same = sorted(digits[0]) == sorted(digits[1]) or "".join(digits[0]) == "".join(digits[1])
    return has_same and max(map(len, digits)) > 1


def _is_other_row(old: str, new: str) -> bool:
    """Decide the same for values that are no plain numbers: scores, ranges, codes, and words such as "dozens"."""
    has_part = not (FRACTIONS.keys() | all_languages().scales.keys()).isdisjoint((old, new))
    if is_plain(old) != is_plain(new) and has_part:
        return False  # "two thirds" -> "half"; "millions" is what is left of a number in words
    # If one row only has more numbers than the other, only one text has these figures. "2 a 0" is the score 2-0.
    is_of_scores = ("-" in old) == ("-" in new)
    parts, others = (Counter(re.split("/" if is_of_scores else "[/-]", each)) for each in (old, new))
    return bool(parts - others) and bool(others - parts)


def _are_equal(before: Figure, after: Figure) -> bool:
    """Decide whether two plain values are one number, or one of them is the other one, rounded.

    If one is exactly a million (a lakh, a crore, a billion) times the other, a word was lost: "20 million" -> "20". But
    a number of harmed people may rise from 1 to 1,000 within a day, and is never rounded.
    """
    if before.value == after.value:
        return True
    low, high = sorted((Decimal(before.value), Decimal(after.value)))
    is_of_harmed = not HARMED.isdisjoint((before.kind, after.kind))
    is_exact = is_of_harmed or (high < _LEAST_ROUNDED and low == int(low) and high == int(high))
    if not is_exact and _is_rounded(low, high):
        return True
    return bool(low) and (high >= _LEAST_ROUNDED or not is_of_harmed) and high / low in _LOST_WORDS


def _is_rounded(low: Decimal, high: Decimal, digits: int = 2) -> bool:
    """Decide whether one number is the other one, rounded to so many digits or more."""
    coarse, fine = sorted((low, high), key=lambda value: value.normalize().as_tuple().exponent, reverse=True)
    has_digits = len(coarse.normalize().as_tuple().digits) >= digits
    rounded = [fine.quantize(coarse.normalize(), rounding) for rounding in (ROUND_HALF_UP, ROUND_DOWN)]
    return has_digits and coarse in rounded


def _newest_toll(new: Side, old: Side) -> Iterator[tuple[str, str]]:
    """Yield the tolls of the dead: the greatest of title and first sentences, as the others are parts of it."""
    known, newest = _highest_toll(old), _highest_toll(new)
    if not (known and newest) or known == newest or newest > _MOST_GROWTH * (1 + known) or _name_others(new, old):
        return
    if str(newest) not in _told_dead(old.title, old.text, old.language) and not _is_sum_or_part(known, newest, new):
        yield str(known), str(newest)


def _name_others(new: Side, old: Side) -> bool:
    """Decide whether both titles have names, such as those of two towns, and none of them is the same."""
    names = names_of(f"{new.text}\n{old.text}")
    of_titles = [names & words_of(side.title) for side in (new, old)]
    return all(of_titles) and of_titles[0].isdisjoint(of_titles[1])


def _highest_toll(side: Side) -> Decimal:
    head = f"{side.title}\n{side.text[:_LONGEST_HEAD]}"
    tolls = cached_tolls_of(side.title, side.text, side.language)
    of_dead = (each for each in tolls if each.kind is FigureKind.DEAD and not each.is_increment)
    return max((each.low for each in of_dead if each.text[:_LONGEST_HEAD] in head), default=Decimal(0))


def _told_dead(title: str, text: str, language: str) -> list[str]:
    return [each.value for each in figures_of(title, text, language) if each.kind == FigureKind.DEAD]


def _is_sum_or_part(known: Decimal, newest: Decimal, new: Side) -> bool:
    """Decide whether the new text has the old toll too: "three children among the nine dead", "14 here, 29 in all"."""
    if newest < known:
        return str(known) in _told_dead(new.title, new.text, new.language)
    return str(known) in _told_dead("", new.text[:_LONGEST_HEAD], new.language)[:1]


def contradict(some: Sequence[Figure], others: Sequence[Figure]) -> bool:
    """Decide whether two texts give tolls of one kind, and none of them is the same."""
    tolls = [
        [each for each in side if 0 < each.kind < FigureKind.HOMES and is_plain(each.value)] for side in (some, others)
    ]
    pairs = [(one, other) for one, other in product(*tolls) if one.kind == other.kind]
    return not {one.kind for one, _ in pairs} <= {one.kind for one, other in pairs if _are_equal(one, other)}
