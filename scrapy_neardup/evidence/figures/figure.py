"""Find the numbers of a text and what they count, so that "4 dead" -> "12 dead" is seen.

A figure is a number, in digits or words, with what it counts (see ``counted``). Dates, clock times, years and phone
numbers are left out. ``changes`` compares the figures of two texts.
"""

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from xxhash import xxh32_intdigest

from scrapy_neardup.evidence.figures.counted import (
    KINDS,
    LABELS,
    PEOPLE,
    SILENT,
    Counted,
    FigureKind,
    is_of_page,
    what_is_counted,
)
from scrapy_neardup.evidence.figures.number_words import (
    COMMA,
    LINE_END,
    WORDS,
)
from scrapy_neardup.evidence.figures.numbers import number_tokens, take_numbers, with_scales
from scrapy_neardup.text.folding import fold

MAX_CHARACTERS = 60_000

REACH = 16  # tokens looked at on either side; bounds the work on pages that are all numbers
SENTENCE_ENDS = tuple(".!?\"'”’»」』)]:;。！？؟۔।።။។…")
_PLAIN = re.compile("[0-9]+(?:[.][0-9]+)?")
SCORE = re.compile("([0-9]{1,3})-([0-9]{1,3})")
_OF_THE = WORDS["of"] | WORDS["determiners"]


class Figure(NamedTuple):
    """A number of a text, and what it counts.

    ``value`` is a plain decimal ("1200", "6.1"), or several for scores and ranges ("3-1"), fractions and rows of
    numbers ("7/32").
    """

    value: str
    kind: int = 0  # an index of ``counted.LABELS``

    @property
    def label(self) -> str:
        """Return what the figure counts, in English, "" if that is not known."""
        return LABELS[self.kind]

    @property
    def is_grave(self) -> bool:
        """Return whether it counts people in danger, or their homes, or is the magnitude of an earthquake."""
        return 0 < self.kind < FigureKind.OTHER or self.label == "magnitude"


def figures_of(title: str, text: str, language: str = "") -> list[Figure]:
    """Return the figures of an article, those of its title first. Counters and links to other articles have none."""
    kept = (
        line
        for line in text[:MAX_CHARACTERS].split("\n")
        # "Read also: ..." and "12 comments" are short. "Shares cost 12 euros, a rise of 21 %." is no counter.
        if (line.endswith(SENTENCE_ENDS) and len(line.split()) > 8) or len(line) > 80 or not is_of_page(line)
    )
    return [*find_figures(title, language), *find_figures("\n".join(kept), language)]


def counted_figures(figures: Iterable[Figure]) -> frozenset[Figure]:
    """Return the figures that say what they count."""
    return frozenset(each for each in figures if each.label)


@lru_cache(4)  # few, since texts may be long: of a headline, beside each sentence that may be its lead
def find_figures(text: str, language: str = "") -> tuple[Figure, ...]:
    """Return the figures of a text. Its ``language`` is an ISO 639-1 code, or "" if it is not known.

    Reads the first ``MAX_CHARACTERS`` characters, in linear time. Never raises; the same in every process.
    """
    tokens, starts = number_tokens(with_scales(fold(text[:MAX_CHARACTERS])))
    return tuple(each.figure for each in place_figures(tokens, starts, language))


class Placed(NamedTuple):
    """A figure, its first token, and the token behind it."""

    figure: Figure
    first: int
    end: int
    mark: str = ""  # of ``toll_words.MARKS``: "a second body"
    ordinal: int = 0  # 2 for "a second body"


def place_figures(tokens: list[str], starts: list[int], language: str) -> list[Placed]:
    """Return the figures, and overwrite their tokens, as ``take_numbers`` does."""
    figures: list[Placed] = []
    claimed = 0  # the place behind the word that says what the figure before this one counts
    last_mark = ""
    for first, next_token, value, mark in take_numbers(tokens, starts, language):
        before = tokens[max(0, first - REACH) : first][::-1]
        behind = tokens[next_token : next_token + REACH]
        kind, place, _ = _kind(value, mark, before[: max(0, first - claimed)], behind)
        if figures and not last_mark and first - figures[-1].end <= 2:  # words
            last = figures[-1].figure
            between = tokens[figures[-1].end : first]
            # Both figures count the same thing. The one that is not the newest value counts nothing.
            leads_on = not between or (max(map(len, between)) < 5 and not WORDS["to"].isdisjoint(between))
            leads_to_whole = bool(between) and between[0] in WORDS["of"] and _OF_THE.issuperset(between)
            # "The dead rose from four to nine"
            if not kind and 0 < last.kind < FigureKind.OTHER and leads_on:
                kind = last.kind
                figures[-1] = figures[-1]._replace(figure=last._replace(kind=SILENT))
            # "49 of the 50 died", "two of her three children"
            elif leads_to_whole and 0 < kind < FigureKind.OTHER and last.kind in (0, PEOPLE):
                figures[-1] = figures[-1]._replace(figure=last._replace(kind=kind))
                kind = SILENT
        figures.append(Placed(Figure(short_value(value), kind), first, next_token))
        last_mark = mark
        claimed = next_token + place
    return figures


def short_value(value: str) -> str:
    """Return a value, or of a long one its first characters and a hash: nobody computes with it."""
    if len(value) <= 16:
        return value
    return f"{value[:3]}~{xxh32_intdigest(value.encode()) % 10_000:04}"


def _kind(value: str, mark: str, before: list[str], behind: list[str]) -> Counted:
    """Return what a figure counts, and how far behind it the word stands that says so."""
    if mark in KINDS:
        return Counted(KINDS[mark])
    if _is_name_or_age(value, mark, before, behind):
        return Counted(SILENT)
    if is_plain(value):
        return what_is_counted(before, [] if mark else behind)
    following = next(iter(behind), "")
    if SCORE.fullmatch(value) and (
        mark or following in WORDS["behind scores"] or (len(following) <= 2 and following < "\u0900")
    ):  # small words; that of Sinhala is an ending
        return Counted(KINDS["score"])
    counted = what_is_counted(before, [])
    return counted if counted.kind < PEOPLE else Counted(0)


def _is_name_or_age(value: str, mark: str, before: list[str], behind: list[str]) -> bool:
    """Decide whether a number is a name, as in "art. 109", or an age, as in "John Smith, 45, ..."."""
    nearest = next((word for word in before[:2] if word != LINE_END), "")
    is_between_commas = nearest in (COMMA, "(") and (mark != "" or behind[:1] == [COMMA])
    is_age = is_between_commas and value.isdigit() and int(value[:9]) <= 110
    is_of_one = nearest in WORDS["before ages"] and not WORDS["one person"].isdisjoint(before[1:2])  # "a boy of 12"
    return is_age or is_of_one or nearest in WORDS["named"]


def is_plain(value: str) -> bool:
    """Decide whether a value is one number, and no score, range, fraction or row of numbers."""
    return _PLAIN.fullmatch(value) is not None
