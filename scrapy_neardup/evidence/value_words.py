"""Words that have a value or a contrary: units, currencies, days, months, shares such as "half", "rose" and "fell".

They are known in any of their forms ("понедельника", "kilometreye"), and other words may begin alike. So such a word
counts only in the place of another one of its class.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from scrapy_neardup.evidence.figures.counted import FigureKind, meaning_of
from scrapy_neardup.evidence.figures.number_words import CURRENCIES, DAYS_BY_NUMBER, MONTHS_BY_NUMBER, UNITS
from scrapy_neardup.evidence.tokens import CLASSES, Token, has_no_spaces, is_unspaced

_LONGEST_ENDING = 3  # letters
_LEAST_STEM = 4  # letters
_SHARE_OF_STEM = 0.65  # of a word
_FIRST_HANGUL = "\uac00"  # a letter of this script is a syllable
_ARABIC_PREFIXES = ("\u0648\u0627\u0644", "\u0628\u0627\u0644", "\u0644\u0644", "\u0627\u0644")  # "and the", "in the"

VALUES = frozenset(("unit", "currency", "share", "day", "month"))
_FATES = frozenset((FigureKind.DEAD, FigureKind.INJURED, FigureKind.MISSING, FigureKind.ARRESTED, FigureKind.RESCUED))


class ValueWord(NamedTuple):
    """What a word says, such as ("unit", "km"), ("share", "half") or ("month", "6")."""

    of: str
    value: str


def _all_words() -> Iterator[tuple[str, ValueWord]]:
    yield from ((word, ValueWord("unit", unit)) for word, unit in UNITS.items())
    yield from ((word, ValueWord("currency", sign)) for word, sign in CURRENCIES.items())
    for of, table in (*CLASSES.items(), ("day", DAYS_BY_NUMBER), ("month", MONTHS_BY_NUMBER)):
        yield from ((word, ValueWord(of, value)) for value, words in table.items() for word in words.split())


@lru_cache(1)
def _tables() -> tuple[dict[str, set[ValueWord]], dict[str, set[ValueWord]]]:
    """Return what words say, and what stems say: words without their last letters."""
    words = defaultdict[str, set[ValueWord]](set)
    stems = defaultdict[str, set[ValueWord]](set)
    for word, value in _all_words():
        words[word].add(value)
        stems[word[:-1]].add(value)
        stems[word[:-2]].add(value)
    return dict(words), dict(stems)


@lru_cache(1 << 14)
def said_by(word: str, language: str = "") -> frozenset[ValueWord]:
    """Return what a word says, in any form that it has in a language; nothing if it has no value."""
    meaning = meaning_of(word)
    if meaning and meaning.kind in _FATES:
        return frozenset((ValueWord("fate", meaning.kind.name),))
    words, stems = _tables()
    bare = next((word.removeprefix(each) for each in _ARABIC_PREFIXES if word.startswith(each)), word)
    if found := words.get(word) or words.get(bare):
        return frozenset(found)
    if language == "en" and word.isascii():  # a general is no January, and roses are no rise
        return frozenset()
    shortest = _LEAST_STEM if word < _FIRST_HANGUL else 2
    least = max(shortest, len(word) - _LONGEST_ENDING, round(_SHARE_OF_STEM * len(word)))
    forms = (word[:size] for size in range(len(word), least - 1, -1))
    return frozenset(next(filter(None, (words.get(form) or stems.get(form) for form in forms)), ()))


def said_in(tokens: Sequence[Token], language: str) -> frozenset[ValueWord]:
    """Return what the words among some tokens say. Characters of scripts without spaces are read together."""
    text = "".join(each.text for each in tokens if is_unspaced(each))
    words = [word for word in _tables()[0] if word in text and has_no_spaces(word)] if text else []
    words += [each.text for each in tokens if not is_unspaced(each)]
    return frozenset[ValueWord]().union(*(said_by(each, language) for each in words))


def differing(old: frozenset[ValueWord], new: frozenset[ValueWord]) -> set[str]:
    """Return the classes of which both say something, and not the same: "unit" for a week and a month."""
    classes = {each.of for each in old} & {each.of for each in new}
    return {of for of in classes if {each for each in old if each.of == of}.isdisjoint(new)}
