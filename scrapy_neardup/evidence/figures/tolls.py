"""The tolls of an article: how many are dead, hurt or missing, as its own news says it.

A toll is a figure of a kind that a ledger keeps, with the words that bound it ("at least", "between 40 and 50"), and
whether it adds to an earlier figure ("two more") or corrects one. Figures of history, of plans and of fears are left
out, and so are parts of another figure ("including three children").
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal
from functools import lru_cache
from itertools import pairwise
from typing import Literal, NamedTuple

from scrapy_neardup.evidence.figures.counted import LABELS, FigureKind, kind_of
from scrapy_neardup.evidence.figures.figure import MAX_CHARACTERS, Placed, is_plain, place_figures
from scrapy_neardup.evidence.figures.number_words import TABLES, language_of
from scrapy_neardup.evidence.figures.numbers import number_tokens
from scrapy_neardup.text.body import sentence_starts
from scrapy_neardup.text.folding import fold, fold_with_places
from scrapy_neardup.text.reading import Reading

_REACH = 6  # tokens on either side of a figure that may bound it
_HEAD = 3  # sentences, the title among them, whose money, votes and scores are the news
_MOST_SENTENCES = 400
_OF_HEAD = {"votes": FigureKind.VOTES, "score": FigureKind.SCORE}
_NO_TOLLS = (FigureKind.VICTIMS, FigureKind.OTHER)
_YEAR = re.compile(r"(?<![\w.,-])(?:19|20)[0-9]{2}(?![\w%]|[.,][0-9])")
_AROUND = ("at least", "about", "more", "between", "not news", "confirmed", "suspected")
_SCORE = re.compile("([0-9]+)-([0-9]+)")
_RANGE = re.compile(r"(?<![\w.,-])([0-9]+) ?[-–] ?([0-9]+)(?= ?[^\W\d_]{3})")


class Toll(NamedTuple):
    """A figure of the article's own news.

    ``high`` is None if the value has no upper bound ("at least 12"). A score has its two numbers in ``low``
    and ``high``. ``is_increment`` says that the value adds to an earlier one: "two more"; "a second body" adds 1.
    """

    kind: FigureKind
    low: Decimal
    high: Decimal | None
    qualifier: Literal["exact", "at least", "about", "range"]
    is_increment: bool
    is_correction: bool
    text: str  # the sentence


class _Cues(NamedTuple):
    """What the words around a figure say of it, for one language."""

    rewritten: tuple[tuple[re.Pattern[str], str], ...]  # "no one" is 0, "a first" is 1
    around: dict[str, re.Pattern[str]]  # in a sentence in which "#" stands for the figure
    anywhere: dict[str, re.Pattern[str]]  # in a sentence


@lru_cache(maxsize=64)
def _cues_of(language: str) -> _Cues:
    words = TABLES.get(language, {}).get("tolls", {})
    rewritten = tuple((_pattern(old), new) for old, new in words.get("read as", {}).items())
    around = {role: _pattern(words.get(role, "")) for role in _AROUND}
    anywhere = {role: _pattern(words.get(role, "")) for role in ("history", "corrects")}
    return _Cues(rewritten, around, anywhere)


def _pattern(phrases: str) -> re.Pattern[str]:
    """Return a pattern for phrases. A star stands for the rest of a word."""
    if not phrases:
        return re.compile("(?!)")
    return re.compile(rf"(?<![^\W_])(?:{phrases.replace('*', r'[^ ]*')})(?![^\W_])")


def tolls_of(title: str, text: str, language: str = "") -> list[Toll]:
    """Return the tolls of an article, each once, those of its title first.

    ``language`` is an ISO 639-1 code, or "" if it is not known. Reads the first ``MAX_CHARACTERS`` characters.
    """
    text = text[:MAX_CHARACTERS]
    language = language or language_of(number_tokens(f"{title}\n{text}")[0])
    cues = _cues_of(language)
    sentences = [title, *_sentences(text)][:_MOST_SENTENCES]
    newest_year = max(_YEAR.findall(f"{title}\n{text}"), default="")
    tolls: dict[tuple[object, ...], Toll] = {}
    corrects_all = False
    for number, sentence in enumerate(sentences):
        found = [*_tolls_in(sentence, language, cues, newest_year, is_of_head=number < _HEAD)]
        corrects_all |= not found and cues.anywhere["corrects"].match(fold(sentence).casefold()) is not None
        for toll in found:
            tolls.setdefault(toll[:5], toll)
    return [toll._replace(is_correction=toll.is_correction or corrects_all) for toll in tolls.values()]


def _sentences(text: str) -> list[str]:
    reading = Reading.of(text)
    _, printed, places = fold_with_places(text)
    begin = int(reading.bounds[0])
    edges = [*(places[start - begin] for start in sentence_starts(reading).tolist()), len(printed)]
    return [printed[start:end].strip() for start, end in pairwise(edges)]


def _tolls_in(sentence: str, language: str, cues: _Cues, newest_year: str, *, is_of_head: bool) -> Iterator[Toll]:
    folded = fold(sentence).casefold()
    if cues.anywhere["history"].search(folded) or any(year < newest_year for year in _YEAR.findall(folded)):
        return
    folded = _RANGE.sub(_spelled_range, folded)
    for pattern, replacement in cues.rewritten:
        folded = pattern.sub(replacement, folded)
    tokens, starts = number_tokens(folded)
    words = list(tokens)  # as ``place_figures`` overwrites the numbers
    is_correction = cues.anywhere["corrects"].search(folded) is not None
    placed = place_figures(tokens, starts, language, len(tokens))
    earlier_kinds = set[FigureKind]()
    low_of_range: Placed | None = None
    for each in placed:
        around = _around(words, each)
        kind = _kind_of(each, around, cues, is_of_head=is_of_head)
        if cues.around["between"].search(around):
            low_of_range = each
            continue
        start, low_of_range = low_of_range, None
        if kind is None:
            continue
        if not cues.around["not news"].search(around):
            low, high, qualifier = _bounds(each, start, around, cues)
            is_increment = earlier_kinds <= {kind} and cues.around["more"].search(around) is not None
            yield Toll(kind, low, high, qualifier, is_increment, is_correction, sentence)
        earlier_kinds.add(kind)


def _spelled_range(found: re.Match[str]) -> str:
    """Return "40-50" as "40 to 50"; what falls is a score, and no range."""
    return f"{found[1]} to {found[2]}" if int(found[1]) < int(found[2]) else found[0]


def _around(words: list[str], each: Placed) -> str:
    """Return the words around a figure, for which "#" stands."""
    before = words[max(0, each.first - _REACH) : each.first]
    return " ".join((*before, "#", *words[each.end : each.end + _REACH]))


def _kind_of(each: Placed, around: str, cues: _Cues, *, is_of_head: bool) -> FigureKind | None:
    """Return the kind of a figure, None if no ledger keeps it."""
    label = LABELS[each.figure.kind]
    if label == "magnitude":
        return FigureKind.MAGNITUDE
    kind = _OF_HEAD.get(label) or kind_of(label)
    if kind is FigureKind.CASES and cues.around["confirmed"].search(around):
        return FigureKind.CONFIRMED_CASES
    if kind is FigureKind.CASES and cues.around["suspected"].search(around):
        return FigureKind.SUSPECTED_CASES
    is_readable = is_plain(each.figure.value) or kind is FigureKind.SCORE
    if not is_readable or kind in _NO_TOLLS or (kind > FigureKind.OTHER and not is_of_head):
        return None
    return kind


def _bounds(
    each: Placed, start: Placed | None, around: str, cues: _Cues
) -> tuple[Decimal, Decimal | None, Literal["exact", "at least", "about", "range"]]:
    value = each.figure.value
    if found := _SCORE.fullmatch(value):
        return Decimal(found[1]), Decimal(found[2]), "exact"
    number = Decimal(value)
    if start is not None and Decimal(start.figure.value) < number:
        return Decimal(start.figure.value), number, "range"
    if cues.around["at least"].search(around):
        return number, None, "at least"
    return number, number, "about" if cues.around["about"].search(around) else "exact"
