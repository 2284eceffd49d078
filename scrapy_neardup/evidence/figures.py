"""The figures guard: the numbers of a text and what they count, so that "4 dead" -> "12 dead" is seen.

A figure is a number, in digits or words, with what it counts (see ``counted``) and a hash of the words around it.
Dates, clock times, years and phone numbers are left out, and so are lines of the page. There are
at most ``MAX_FIGURES`` figures of a document. ``changes`` compares the figures of two texts.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from xxhash import xxh32_digest, xxh32_intdigest

from scrapy_neardup.evidence.counted import (
    HARMED,
    KINDS,
    LABELS,
    PEOPLE,
    SILENT,
    Counted,
    FigureKind,
    is_of_page,
    is_part_of,
    leads_on,
    what_is_counted,
)
from scrapy_neardup.evidence.number_words import (
    COMMA,
    CURRENCIES,
    FIGURE,
    HEDGES,
    LINE_END,
    MONTHS,
    PERCENT,
    WEEKDAYS,
    WORDS,
)
from scrapy_neardup.evidence.numbers import number_tokens, take_numbers

MAX_FIGURES = 120
MAX_CHARACTERS = 60_000
_CUT = "~"  # in a long value, between its beginning and a hash
CONTEXT_WORDS = 2  # on either side of a figure
REACH = 16  # tokens looked at on either side; bounds the work on pages that are all numbers
_LONGEST_VALUE = 16  # characters of a value that is kept as it is
NO_WORDS = bytes(2)
_STEM = 5  # letters of a word: "человек" and "человека" are one
_FIRST, _LAST = slice(3), slice(-3, None)  # characters of a clause that stand near a figure
# Thai; with few exceptions, Thai and all scripts with higher code points are written without spaces.
_UNSPACED = "\u0e00"
_PASSED_OVER = HEDGES | WEEKDAYS | MONTHS | PERCENT | frozenset(CURRENCIES)
SENTENCE_ENDS = tuple(".!?\"')]:;。！？؟۔।…")
_FIRST_SENTENCE_WORDS = 8
_OLDEST = 110
_MOST_IN_TITLE = 20
_SHORTEST_GAP = 2  # words between two values of one thing
_PLAIN = re.compile("[0-9]+(?:[.][0-9]+)?")
_SCORE = re.compile("[0-9]{1,3}-[0-9]{1,3}")
_LONGEST_OF_PAGE = 80  # characters of a line that may be of the page: "Read also: ...", "12 comments"


class Figure(NamedTuple):
    """A number of a text, what it counts and where it stands.

    ``value`` is a plain decimal ("1200", "6.1"), or several for scores and ranges ("3-1"), fractions and rows of
    numbers ("7/32"). ``context`` has 4 bytes: 2 hash the words before, 2 the words behind. If one side has no words,
    words farther off on the other side stand in for them, or zeros.
    """

    value: str
    context: bytes
    kind: int = 0  # an index of ``counted.LABELS``
    in_head: bool = False  # whether it stands in the title or the first sentence

    @property
    def label(self) -> str:
        """Return what the figure counts, in English, "" if that is not known."""
        return LABELS[self.kind]


def figures_of(title: str, text: str, language: str = "") -> list[Figure]:
    """Return the figures of an article, those of its title first. Lines of the page have none: "12 comments"."""
    lines = text[:MAX_CHARACTERS].split("\n")
    article = "\n".join(line for line in lines if len(line) > _LONGEST_OF_PAGE or not is_of_page(line))
    return [*figures_of_title(title, language), *find_figures(article)]


def find_figures(text: str) -> tuple[Figure, ...]:
    """Return the figures of a text, up to ``MAX_FIGURES``.

    Reads the first ``MAX_CHARACTERS`` characters, in linear time. Never raises; the same in every process.
    """
    return _most(_all_figures(text))


def figures_of_title(title: str, language: str = "") -> list[Figure]:
    """Return the figures of a title in this language, which is an ISO 639-1 code, or "" if it is not known."""
    found = _most(_all_figures(title, language))[:_MOST_IN_TITLE]
    return [each._replace(in_head=True) for each in found]


def _all_figures(text: str, language: str = "") -> list[Figure]:
    tokens, starts = number_tokens(text[:MAX_CHARACTERS])
    numbers = take_numbers(tokens, starts, language)
    if not numbers:
        return []
    head = next((i for i, token in enumerate(tokens) if token == LINE_END and i >= _FIRST_SENTENCE_WORDS), len(tokens))
    figures: list[Figure] = []
    last_end = claimed = 0  # behind the figure before this one, and behind the word that says what it counts
    last_mark = ""
    for first, end, value, mark in numbers:
        before, behind = tokens[max(0, first - REACH) : first][::-1], tokens[end : end + REACH]
        kind, place, _ = _kind(value, mark, before[: max(0, first - claimed)], behind)
        if figures and not last_mark and first - last_end <= _SHORTEST_GAP:
            kind = _shared_kind(figures, kind, tokens[last_end:first])
        figures.append(Figure(short_value(value), _context(before, behind), kind, first < head))
        last_end, last_mark, claimed = end, mark, end + place
    return figures


def short_value(value: str) -> str:
    """Return a value, or of a long one its first characters and a hash: nobody computes with it."""
    return value if len(value) <= _LONGEST_VALUE else f"{value[:3]}{_CUT}{xxh32_intdigest(value.encode()) % 10_000:04}"


def _shared_kind(figures: list[Figure], kind: int, between: Sequence[str]) -> int:
    """Return the kind of a figure that counts the same as the last one: "from four to nine", "49 of the 50 died".

    Of the two, the one that is not the newest value counts nothing.
    """
    last = figures[-1]
    if not kind and 0 < last.kind < FigureKind.OTHER and leads_on(between):
        figures[-1] = last._replace(kind=SILENT)
        return last.kind
    if 0 < kind < FigureKind.OTHER and last.kind in (0, PEOPLE) and is_part_of(between):
        figures[-1] = last._replace(kind=kind)
        return SILENT
    return kind


def _kind(value: str, mark: str, before: list[str], behind: list[str]) -> Counted:
    """Return what a figure counts, and how far behind it the word stands that says so."""
    if mark in KINDS:
        return Counted(KINDS[mark])
    if _is_name_or_age(value, mark, before, behind):
        return Counted(SILENT)
    if is_plain(value):
        return what_is_counted(before, [] if mark else behind)
    following = behind[0] if behind else ""
    if _SCORE.fullmatch(value) and (mark or following in WORDS["behind scores"] or len(following) <= 2):
        return Counted(KINDS["score"])
    counted = what_is_counted(before, [])
    return counted if counted.kind < PEOPLE else Counted(0)


def _is_name_or_age(value: str, mark: str, before: list[str], behind: list[str]) -> bool:
    """Decide whether a number is a name, as in "art. 109", or an age, as in "John Smith, 45, ..."."""
    nearest = next((word for word in before[:2] if word != LINE_END), "")
    is_between_commas = nearest in (COMMA, "(") and (mark or behind[:1] == [COMMA])
    is_age = is_between_commas and value.isdigit() and int(value[:9]) <= _OLDEST
    return bool(is_age) or nearest in WORDS["named"]


def _context(before: list[str], behind: list[str]) -> bytes:
    words_before, words_behind = _words(before, _LAST), _words(behind, _FIRST)
    hash_before, hash_behind = _hash(words_before), _hash(words_behind)
    # If the line begins or ends with the number, words farther off on the other side stand in for the missing ones.
    if not words_before:
        hash_before = _hash(_words(behind, _FIRST, 2 * CONTEXT_WORDS)[1 + CONTEXT_WORDS :])
    elif not words_behind:
        hash_behind = _hash(_words(before, _LAST, 2 * CONTEXT_WORDS)[1 + CONTEXT_WORDS :])
    return hash_before + hash_behind


def _words(tokens: list[str], near: slice, count: int = CONTEXT_WORDS) -> list[str]:
    """Return how many numbers stand before the next word, and the nearest ``count`` words of the line; or nothing.

    Words of one or two letters say little. In scripts without spaces a token is a clause, and its near end counts.
    """
    words: list[str] = []
    passed = 0
    for token in tokens:
        if token == LINE_END or len(words) == count:
            break
        if token == FIGURE:
            passed += not words
        elif token > _UNSPACED:
            words.append(token[near])
        elif len(token) > 2 and token not in _PASSED_OVER:
            words.append(token[:_STEM])
    return [str(passed), *words] if words else words


def _hash(words: list[str]) -> bytes:
    return xxh32_digest(" ".join(words).encode("utf-8", "surrogatepass"))[:2] if words else NO_WORDS


def _most(figures: list[Figure]) -> tuple[Figure, ...]:
    """Return as many figures as are kept: of a text full of numbers the tolls, and the first others.

    The last one stands for all the rest: its context is a hash of their contexts, and its value one of their values.
    """
    if len(figures) > MAX_FIGURES:
        figures = sorted(figures, key=lambda figure: figure.kind not in HARMED)
        rest = figures[MAX_FIGURES - 1 :]
        value = xxh32_intdigest(" ".join(figure.value for figure in rest).encode())
        context = xxh32_digest(b"".join(figure.context for figure in rest))
        figures = [*figures[: MAX_FIGURES - 1], Figure(str(value), context)]
    return tuple(figures)


def is_plain(value: str) -> bool:
    """Decide whether a value is one number, and no score, range, fraction or row of numbers."""
    return _PLAIN.fullmatch(value) is not None
