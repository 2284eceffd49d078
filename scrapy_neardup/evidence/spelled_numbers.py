"""Numbers in words: find the language of a text and read its number words.

The words come from ``number_words.json``, which the script ``number_tables.py`` of commit aa98d1a made with num2words.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import NamedTuple

MAX_WORDS = 12  # of one spelled number; "hundred hundred hundred ..." would grow without end

_FUNCTION_WORDS = {
    "en": "the of and to in that was for with by from this are have has not they were which would",
    "de": "der die das und ist in nicht mit von den dem auf für sich im auch nach bei wird werden",
    "es": "el la los las en que por con del una para su se al como más fue pero y es",
    "fr": "le la les des et est une dans pour que qui sur pas avec du au par ce plus sont",
    "it": "il la di che e in per una con della non sono si dei le nel gli alla più anche",
    "pt": "o a os as e que do da em um uma para com não no na dos por mais foi",
    "nl": "de het een van en in is dat op te zijn voor met die niet aan er om ook bij",
    "ru": "и в на не что с по это как для от его из к был за до или также после",
    "uk": "і та в на не що з це як для від його із до за або також після про але",
}
"""Twenty of the commonest words of each language; a word of two languages counts for both."""

_SECOND_LANGUAGE = 5  # a second language is read if the text has this many words of it, as in a notice

_SCALES_OF_ANY_LANGUAGE: dict[str, int] = {
    **dict.fromkeys("k тыс".split(), 1000),
    **dict.fromkeys("lakh lakhs".split(), 100_000),
    **dict.fromkeys("mn mln mio млн".split(), 10**6),
    **dict.fromkeys("crore crores".split(), 10**7),
    **dict.fromkeys("bn mrd млрд".split(), 10**9),
    **dict.fromkeys("trn tn трлн".split(), 10**12),
}
"""Abbreviations; "m" is not here: it is a million only behind a currency sign."""


@dataclass(frozen=True, slots=True)
class NumberWords:
    """The number words of one language, case-folded."""

    small: dict[str, float]
    """Words that are numbers by themselves: "twelve", "zweihundert", "mille"."""
    scales: dict[str, int]
    """Words that multiply the number before them. Behind an article they multiply one: "a million"."""
    articles: frozenset[str]
    ones: frozenset[str]
    """Words that mean 1, but only inside a number: "vingt et un", "двадцать один"."""
    conjunction: str
    """ "and", if it stands inside numbers."""
    words: frozenset[str]
    """All words with which a number may begin."""


class Languages(NamedTuple):
    """All tables, and joined tables to look a word up in all languages at once."""

    by_name: dict[str, NumberWords]
    of_word: dict[str, tuple[str, ...]]
    scales: dict[str, int]
    """Words that multiply the digits before them, in a text of any language: "5 million", "3 тысячи"."""


def number_words(tokens: Iterable[str]) -> dict[str, NumberWords]:
    """Return the number words of a text, each with the language in which to read it.

    The language of a text is the one with the most words in it. Only number words and the commonest other words of a
    language are counted, each word once. A sentence more or less does not change the answer, and equal texts get equal
    answers. Another language with half as many words, of a notice or a quotation, is read too.
    """
    languages = all_languages()
    known = languages.of_word.keys() & tokens
    votes = dict.fromkeys(languages.by_name, 0)
    for word in known:
        for name in languages.of_word[word]:
            votes[name] += 1
    first = max(votes, key=votes.__getitem__)  # English, which is the first one, if there are only digits
    least = max(_SECOND_LANGUAGE, votes[first] / 2)
    others = [name for name, count in votes.items() if name != first and count >= least]
    words: dict[str, NumberWords] = {}
    for name in (*others, first):
        language = languages.by_name[name]
        words.update(dict.fromkeys(language.words & known, language))
    return words


@lru_cache(maxsize=1)
def all_languages() -> Languages:
    """Read the tables, once a process."""
    tables = json.loads((files(__package__) / "number_words.json").read_text(encoding="utf-8"))
    languages = Languages({name: _read_table(**table) for name, table in tables.items()}, {}, {})
    for name, language in languages.by_name.items():
        for word in language.words.union(_FUNCTION_WORDS[name].split()):
            languages.of_word[word] = (*languages.of_word.get(word, ()), name)
        for word, scale in language.scales.items():
            if scale >= 1000 or scale == 12:
                languages.scales.setdefault(word, scale)
    languages.scales.update(_SCALES_OF_ANY_LANGUAGE)
    return languages


def _read_table(
    small: dict[str, float],
    scales: dict[str, int],
    articles: list[str],
    ones: list[str],
    conjunction: str,
    thousand: str,
) -> NumberWords:
    if thousand:  # "zwölftausend"
        small = small | {word + thousand: 1000 * number for word, number in small.items() if 1 < number < 1000}
    return NumberWords(small, scales, frozenset(articles), frozenset(ones), conjunction, frozenset([*small, *scales]))


def read_spelled(tokens: list[str], first: int, language: NumberWords) -> tuple[str, int]:
    """Read number words: "two hundred and five" -> ("205", index behind); "" if there is no number."""
    value: float = 0
    room: float = 10**15
    i = first
    # A scale behind an article, as in "a million". Without an article "million" has lost its number.
    if tokens[i] in language.scales and tokens[i - 1] in language.articles and tokens[i] not in language.small:
        value = room = language.scales[tokens[i]]
        i += 1
    while i < min(len(tokens), first + MAX_WORDS):
        token = tokens[i]
        number, scale = language.small.get(token, room), language.scales.get(token, 0)
        # The part of the number read so far that the scale multiplies: only "neuf" in "mille neuf cents".
        part = value % scale if scale else 0
        if number < room:
            value += number
            room = _room_behind(number)
        elif part:
            value += part * (scale - 1)
            room = scale
        elif token in language.ones and room > 1 and i > first:
            value, room = value + 1, 0
        elif not (token == language.conjunction and i > first and _continues(tokens[i + 1], room, language)):
            break
        i += 1
    return (str(int(value) if value == int(value) else value) if i > first else ""), i


def _continues(token: str, room: float, language: NumberWords) -> bool:
    return room > 1 and (language.small.get(token, room) < room or token in language.ones)


def _room_behind(number: float) -> int:
    """Return a bound: the next number belongs to this one if it is smaller.

    "twenty" leaves room for numbers up to nine.
    """
    if number in (60, 80):
        return 20  # "soixante-douze"
    return next((size for size in (10**12, 10**9, 10**6, 1000, 100, 10) if number and number % size == 0), 0)
