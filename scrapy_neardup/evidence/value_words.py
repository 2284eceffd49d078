"""Words that have a value or a contrary: units, currencies, days, shares, "rose" and "fell", "mayor", "cholera".

They are known in any of their forms ("понедельника", "kilometreye"), and other words may begin alike. So such a word
counts only in the place of another one of its class.
"""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import chain, pairwise
from typing import NamedTuple

from scrapy_neardup.evidence.figures.counted import FigureKind, meaning_of
from scrapy_neardup.evidence.figures.number_words import CURRENCIES, UNITS
from scrapy_neardup.evidence.tokens import CLASSES, DENIALS, Token, is_unspaced
from scrapy_neardup.evidence.word_tables import CLDR

# The shortest stem, by the first letter of a script: of Hangul and in India a letter is a syllable.
_SHORTEST = (("\uac00", 2), ("\u0900", 3), ("", 4))
# What is written to the beginning of a word: "and", "in" and "the" in Arabic and Hebrew; "he will" in Swahili.
PREFIX = re.compile(
    "^(?:[\u05d5\u05d4\u05d1\u05dc\u05de\u05e9\u05db]{1,2}(?=...)|[\u0648\u0641]?(?:\u0644\u0644|[\u0628\u0644\u0643]?(?:\u0627\u0644)?)(?=...))"
)
_PREFIX_OF = {"sw": re.compile("^(?:ha)?(?:ni|tu|wa|li|ya|ki|vi|zi|ku|pa|mu|u|m|a|i)(?:na|li|me|ta|ku|ka)?(?=...)")}

# What is written to a word so that it denies. Vowels of Turkish follow each other: "oldu", "olmadı".
_BEFORE, _INSIDE, _BEHIND = (tuple(DENIALS[place].split()) for place in ("before", "inside", "behind"))

VALUES = frozenset(("unit", "currency", "share", "day", "month"))


class ValueWord(NamedTuple):
    """What a word says, such as ("unit", "km"), ("share", "half") or ("month", "6")."""

    of: str
    value: str


def _all_words() -> Iterator[tuple[str, ValueWord]]:
    yield from ((word, ValueWord("unit", unit)) for word, unit in UNITS.items())
    yield from ((each, ValueWord("currency", sign)) for word, sign in CURRENCIES.items() for each in (word, sign))
    for of, table in (*CLASSES.items(), ("day", CLDR["weekdays"]), ("month", CLDR["months"])):
        yield from ((word, ValueWord(of, value)) for value, words in table.items() for word in words.split())


@lru_cache(1)
def _tables() -> list[dict[str, frozenset[ValueWord]]]:
    """Return what words say, what stems say, and what two words say together, by the first of them.

    Stems are words without their last letters.
    """
    words: dict[str, frozenset[ValueWord]] = {}
    stems: dict[str, frozenset[ValueWord]] = {}
    alone: dict[ValueWord, frozenset[ValueWord]] = {}  # many words say one thing
    for word, value in _all_words():
        said = alone.setdefault(value, frozenset((value,)))
        for form, table in ((word, words), (word[:-1], stems), (word[:-2], stems)):
            known = table.get(form, said)
            table[form] = known if said <= known else known | said
    return [words, stems, {word.partition("_")[0]: said for word, said in words.items() if "_" in word}]


@lru_cache(1 << 14)
def said_by(word: str, language: str = "") -> frozenset[ValueWord]:
    """Return what a word says, in any form that it has in a language; nothing if it has no value."""
    meaning = meaning_of(word)
    fates = {ValueWord("fate", meaning.kind.name)} if meaning and meaning.kind < FigureKind.HOMES else set()
    return frozenset(fates | _values_of(word, language))


def _values_of(word: str, language: str) -> frozenset[ValueWord]:
    words, stems, _ = _tables()
    bare = _bare(word, language)
    if found := words.get(word) or words.get(bare):
        return found
    if language == "en" and word.isascii():  # a general is no January, and roses are no rise
        return frozenset()
    for form in chain.from_iterable(map(_forms, {word: 0, bare: 0})):
        if found := words.get(form) or stems.get(form):
            return found
    halves = [
        (word[:at], word[at:].removeprefix("s")) for at in range(4, len(word) - 3) if word[:at] in words
    ]  # "Montagabend"
    return frozenset[ValueWord]().union(*(words[a] | words[b] for a, b in halves if b in words))


def _bare(word: str, language: str) -> str:
    return _PREFIX_OF.get(language, PREFIX).sub("", word, count=1)


def _forms(word: str) -> Iterator[str]:
    """Return a word without its last letters, the longest form first."""
    least = next(size for first, size in _SHORTEST if word >= first)
    if least > 2:  # a word of Hangul may be a short noun and a verb
        least = max(least, len(word) - 3, round(0.65 * len(word)))  # of letters, and of a word
    return (word[:size] for size in range(len(word), least - 1, -1))


def said_in(tokens: Sequence[Token], language: str) -> frozenset[ValueWord]:
    """Return what the words among some tokens say, and each two together, as "ban_ngay" is in the tables.

    Characters of scripts without spaces are read together, the longest word that they make.
    """
    words = [each.printed for each in tokens if not is_unspaced(each)]
    words += [
        pair
        for pair in map("_".join, pairwise(words))
        # Most words begin no two that say something.
        if not _tables()[2].keys().isdisjoint(each.partition("_")[0] for each in (pair, _bare(pair, language)))
    ]
    text = "".join(each.text for each in tokens if is_unspaced(each))
    # Pieces of up to 12 characters may be words of a script without spaces.
    pieces = {text[at : at + size] for at in range(len(text)) for size in range(1, 12 + 1)}
    known = pieces & _tables()[0].keys()
    words += (each for each in known if not any(each in other for other in known if other != each))
    return frozenset[ValueWord]().union(*(said_by(each, language) for each in words))


def differing(old: frozenset[ValueWord], new: frozenset[ValueWord]) -> set[str]:
    """Return the classes of which both say something, and not the same: "unit" for a week and a month."""
    classes = {each.of for each in old} & {each.of for each in new}
    return {of for of in classes if {each for each in old if each.of == of}.isdisjoint(new)}


def are_denied(a: str, b: str, language: str = "") -> bool:
    """Decide whether one of two words is the other one and denies it: "valid", "invalid"; "oldu", "olmadı"."""
    shorter, longer = sorted((each.translate(str.maketrans("aou", "eii")) for each in (a, b)), key=len)
    is_inside = shorter != longer and any(shorter == longer.replace(each, "", 1) for each in _INSIDE)
    is_behind = a.endswith(_BEHIND) != b.endswith(_BEHIND) and longer.startswith(shorter[: max(3, len(shorter) - 3)])
    is_before = len(shorter) > 1 and any(longer == each + shorter for each in _BEFORE)
    # "Ha" denies a verb of Swahili, whose last letter may change.
    is_swahili = language == "sw" and a.startswith("ha") != b.startswith("ha")
    is_verb = is_swahili and _bare(a, "sw")[:-1] == _bare(b, "sw")[:-1]
    return is_inside or is_verb or is_behind or is_before
