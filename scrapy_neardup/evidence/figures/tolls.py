"""The tolls of an article: how many are dead, hurt or missing, as its own news says it.

A toll is a figure of a kind that a ledger keeps, with the words that bound it ("at least", "between 40 and 50"), and
whether it adds to an earlier figure ("two more") or corrects one. Figures of history, of plans and of fears are left
out, and so are parts of another figure ("including three children").
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal
from functools import lru_cache, partial
from itertools import pairwise
from typing import Literal, NamedTuple

from scrapy_neardup.evidence.figures.counted import LABELS, FigureKind, is_of_page, kind_of, meaning_of
from scrapy_neardup.evidence.figures.figure import MAX_CHARACTERS, SENTENCE_ENDS, Placed, is_plain, place_figures
from scrapy_neardup.evidence.figures.number_words import HEDGES, MONTHS, TABLES, WORDS, language_of
from scrapy_neardup.evidence.figures.numbers import number_tokens
from scrapy_neardup.text.body import sentence_starts
from scrapy_neardup.text.folding import fold, fold_with_places
from scrapy_neardup.text.reading import Reading

_REACH = 6  # tokens on either side of a figure that may bound it
_HEAD = 4  # sentences, the title among them, that say what the news is about
_MOST_SENTENCES = 400
_OF_HEAD = {"votes": FigureKind.VOTES, "score": FigureKind.SCORE, "magnitude": FigureKind.MAGNITUDE}
_NO_TOLLS = (FigureKind.VICTIMS, FigureKind.OTHER)
# Figures of these kinds are tolls only if the sentence has words of an epidemic, of damage or of a match.
_WITH_CUE = {FigureKind.CASES: "disease", FigureKind.HOMES: "damage", FigureKind.SCORE: "match"}
_AROUND = ("at least", "about", "more", "between", "not news", "with others", "confirmed", "suspected")
_ANYWHERE = ("history", "corrects", *_WITH_CUE.values())
_UNLESS_KNOWN = {"disease": ".?", "damage": ".?"}  # without a table, every sentence is taken to have such words
_WITHOUT_SPACES = ("zh", "ja", "th")
_YEAR = re.compile("(?:19|20)[0-9]{2}")
_SCORE = re.compile("([0-9]+)-([0-9]+)")
_RANGE = re.compile(r"(?<![\w.,-])([0-9]+) ?[-–] ?([0-9]+)(?= ?[^\W\d_]{3})")
_SPLIT = re.compile(r"(?<![0-9,.])([0-9]{1,3}), ([0-9]{3})(?![0-9,])")  # "166, 767"
_LONGEST_SUM = 12  # tokens between two parts of a sum: "two teachers and five students"


Qualifier = Literal["exact", "at least", "about", "range"]


class Toll(NamedTuple):
    """A figure of the article's own news.

    ``high`` is None if the value has no upper bound ("at least 12"). A score has its two numbers in ``low``
    and ``high``. ``is_increment`` says that the value adds to an earlier one: "two more"; "a second body" adds 1.
    """

    kind: FigureKind
    low: Decimal
    high: Decimal | None
    qualifier: Qualifier
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
    pattern = partial(_pattern, has_spaces=language not in _WITHOUT_SPACES)
    rewritten = tuple((pattern(old), new) for old, new in words.get("read as", {}).items())
    around = {role: pattern(words.get(role, "")) for role in _AROUND}
    anywhere = {role: pattern(words.get(role, _UNLESS_KNOWN.get(role, ""))) for role in _ANYWHERE}
    return _Cues(rewritten, around, anywhere)


def _pattern(phrases: str, *, has_spaces: bool) -> re.Pattern[str]:
    """Return a pattern for phrases. A star before or behind a phrase stands for the rest of a word."""
    if not phrases:
        return re.compile("(?!)")
    if not has_spaces:
        return re.compile(phrases.replace("*", "[^ ]*"))
    return re.compile(rf"(?<![^\W_])(?:{phrases})(?:(?<=\W)|(?![^\W_]))")


def tolls_of(title: str, text: str, language: str = "") -> list[Toll]:
    """Return the tolls of an article, each once, those of its title first.

    ``language`` is an ISO 639-1 code, or "" if it is not known. Reads the first ``MAX_CHARACTERS`` characters. If
    title and first sentences tell no harm, tolls further below are the background of other news.
    """
    text = text[:MAX_CHARACTERS]
    language = language or language_of(number_tokens(f"{title}\n{text}")[0])
    cues = _cues_of(language)
    newest_year = max(_YEAR.findall(f"{title}\n{text}"), default="")
    tolls: dict[object, Toll] = {}
    is_harm = corrects_all = False
    for number, sentence in enumerate([title, *_sentences(text)][:_MOST_SENTENCES]):
        if number and not sentence.endswith(SENTENCE_ENDS) and is_of_page(sentence):
            continue
        folded = _RANGE.sub(_spelled_range, _SPLIT.sub(r"\1\2", fold(sentence).casefold()))
        for pattern, replacement in cues.rewritten:
            folded = pattern.sub(replacement, folded)
        tokens, starts = number_tokens(folded)
        if number < _HEAD:
            is_harm = is_harm or any(map(meaning_of, tokens))
        words = list(tokens)  # as ``place_figures`` overwrites the numbers
        placed = place_figures(tokens, starts, language, len(tokens))
        is_correction = cues.anywhere["corrects"].search(folded) is not None
        if not placed:
            corrects_all = corrects_all or cues.anywhere["corrects"].match(folded) is not None
        if cues.anywhere["history"].search(folded) or _is_of_other_time(words, tokens, newest_year):
            continue
        for kind, low, high, qualifier, is_increment in _tolls_in(folded, words, placed, cues):
            if kind < FigureKind.OTHER or number < _HEAD:
                key = kind if kind > FigureKind.OTHER else (kind, low, high, is_increment)
                toll = Toll(kind, low, high, qualifier, is_increment, is_correction, sentence)
                tolls.setdefault(key, toll)
    told = [each for each in tolls.values() if is_harm or each.kind > FigureKind.OTHER]
    return [each._replace(is_correction=True) for each in told] if corrects_all else told


def _sentences(text: str) -> list[str]:
    reading = Reading.of(text)
    _, printed, places = fold_with_places(text)
    begin = int(reading.bounds[0])
    edges = [*(places[start - begin] for start in sentence_starts(reading).tolist()), len(printed)]
    return [printed[start:end].strip() for start, end in pairwise(edges)]


def _spelled_range(found: re.Match[str]) -> str:
    """Return "40-50" as "40 to 50"; what falls is a score, and no range."""
    return f"{found[1]} to {found[2]}" if int(found[1]) < int(found[2]) else found[0]


def _is_of_other_time(words: list[str], tokens: list[str], newest_year: str) -> bool:
    """Decide whether a sentence names a month or a year without a day, or a day of an earlier year."""
    for place, word in enumerate(words):
        is_year = tokens[place] == "" and _YEAR.match(word) is not None and not word[4:5].isdigit()
        if is_year or (word in MONTHS and tokens[place] == word):
            beside = (*words[max(0, place - 3) : place], *words[place + 1 : place + 3])
            is_day = any(each[:1].isdigit() and not _YEAR.match(each) for each in beside)
            if not is_day or (is_year and word[:4] < newest_year):
                return True
    return False


_Read = tuple[FigureKind, Decimal, Decimal | None, Qualifier, bool]


def _tolls_in(folded: str, words: list[str], placed: list[Placed], cues: _Cues) -> Iterator[_Read]:
    """Yield kind, bounds, qualifier and whether it is an increment, of each toll of a sentence."""
    earlier_kinds = set[FigureKind]()
    low_of_range: Placed | None = None
    parts = _parts_of_sums(words, placed)
    scores = sum(LABELS[each.figure.kind] == "score" for each in placed)
    for each in placed:
        around = " ".join((*words[max(0, each.first - _REACH) : each.first], "#", *words[each.end : each.end + _REACH]))
        start = low_of_range
        low_of_range = each if cues.around["between"].search(around) else None
        kind = _kind_of(each, around, cues)
        if low_of_range or kind is None:
            continue
        cue = cues.anywhere.get(_WITH_CUE.get(kind, ""))
        is_meant = cue is None or cue.search(folded) is not None
        is_more = cues.around["more"].search(around) is not None
        # "Smith and two others"; "four were shot, and another two were killed elsewhere"
        is_part = each in parts or (not earlier_kinds and cues.around["with others"].search(around))
        is_part = is_part or (is_more and each != placed[0] and earlier_kinds <= {kind})
        is_one_score = kind is not FigureKind.SCORE or scores == 1
        if is_meant and is_one_score and not is_part and not cues.around["not news"].search(around):
            low, high, qualifier = _bounds(each, start, around, cues)
            yield kind, low, high, qualifier, is_more and each == placed[0]
        earlier_kinds.add(kind)


def _parts_of_sums(words: list[str], placed: list[Placed]) -> list[Placed]:
    """Return the figures that are parts of a sum nobody prints: "two teachers and five students were killed"."""
    parts = []
    for one, other in pairwise(placed):
        between = words[one.end : other.first]
        while between and between[-1] in HEDGES:
            between.pop()
        is_sum = 1 < len(between) <= _LONGEST_SUM and between[-1] in WORDS["and"] and not any(map(meaning_of, between))
        if is_sum and (min(one.figure.kind, other.figure.kind) == 0 or one.figure.kind == other.figure.kind):
            parts += [one, other]
    return parts


def _kind_of(each: Placed, around: str, cues: _Cues) -> FigureKind | None:
    """Return the kind of a figure, None if no ledger keeps it."""
    label = LABELS[each.figure.kind]
    kind = _OF_HEAD.get(label) or kind_of(label)
    if kind is FigureKind.CASES and cues.around["confirmed"].search(around):
        return FigureKind.CONFIRMED_CASES
    if kind is FigureKind.CASES and cues.around["suspected"].search(around):
        return FigureKind.SUSPECTED_CASES
    is_year = kind is FigureKind.MONEY and _YEAR.fullmatch(each.figure.value)  # "Euro 2020"
    is_readable = is_plain(each.figure.value) or kind is FigureKind.SCORE
    return None if is_year or not is_readable or kind in _NO_TOLLS else kind


def _bounds(each: Placed, start: Placed | None, around: str, cues: _Cues) -> tuple[Decimal, Decimal | None, Qualifier]:
    score = _SCORE.fullmatch(each.figure.value)
    if score:
        return Decimal(score[1]), Decimal(score[2]), "exact"
    number = Decimal(each.figure.value)
    if start and is_plain(start.figure.value) and Decimal(start.figure.value) < number:
        return Decimal(start.figure.value), number, "range"
    if cues.around["at least"].search(around):
        return number, None, "at least"
    return number, number, "about" if cues.around["about"].search(around) else "exact"
