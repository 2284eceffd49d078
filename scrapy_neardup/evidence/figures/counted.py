"""What a figure counts: people killed, injured, missing or ill, homes, money, percent.

The words that say so are in the tables of the languages. A star stands for any ending. *Verbs* may stand some words
away from their number ("nine people on board were killed"), *nouns* stand beside it ("nine deaths"). Units, months and
currencies are in ``number_words``.
"""

import re
from collections.abc import Iterable, Sequence
from enum import IntEnum
from functools import lru_cache
from itertools import groupby, takewhile
from operator import itemgetter
from typing import NamedTuple

from scrapy_neardup.evidence.figures.number_words import (
    COMMA,
    CURRENCIES,
    FIGURE,
    HEDGES,
    LINE_END,
    UNITS,
    WORDS,
    words_by_role,
)
from scrapy_neardup.text.folding import fold

# What a figure counts. What happened to people comes first; ``rank_of`` has the order of all figures.
FigureKind = IntEnum(
    "FigureKind",
    "DEAD INJURED MISSING ILL HOSPITALISED CASES CONFIRMED_CASES SUSPECTED_CASES VICTIMS ARRESTED EVACUATED DISPLACED"
    " RESCUED HOMES OTHER MONEY MAGNITUDE VOTES SCORE",
)
HARMED = frozenset(kind for kind in FigureKind if kind < FigureKind.ARRESTED)
_THINGS = {word: thing for thing, words in words_by_role("things").items() for word in words}
_PAGE = words_by_role("page")


def pattern_of(words: Iterable[str], signs: Iterable[str]) -> str:
    # Words with the same first letter are tried together, which takes a quarter of the time.
    grouped = "|".join(
        f"{letter}(?:{'|'.join(each[1:] for each in same)})"
        for letter, same in groupby(sorted(words, reverse=True), itemgetter(0))
    )
    return "|".join((rf"(?<!\w)(?:{grouped})(?!\w)", *signs)).replace("*", r"\w*").replace("_", " ")


_OF_PAGE = re.compile(f"{pattern_of(_PAGE['words'], _PAGE['signs'])}|^(?:by|von|par|por) ")
_COUNTER = re.compile(pattern_of(_PAGE["counters"], _PAGE["counter signs"]))
_LOST = tuple(word.rstrip("*") for word in WORDS["lost"])
SILENT = len(FigureKind) + 1  # ages, ordinals and names count nothing: a change of them is not told
CURRENCY_SIGNS = dict.fromkeys(CURRENCIES.values())
# What is told of a figure, by its kind.
LABELS: tuple[str, ...] = (
    "",
    *(kind.name.lower().replace("_", " ") for kind in FigureKind if kind < FigureKind.OTHER),
    *[""] * (SILENT + 1 - FigureKind.OTHER),
    *("people", "%", "score"),
    *sorted(set(UNITS.values()) - {"uncounted", "years"}),  # most years are ages
    *CURRENCY_SIGNS,
    *dict.fromkeys(_THINGS.values()),
)
KINDS = {label: kind for kind, label in enumerate(LABELS) if label}
PEOPLE = KINDS["people"]
PERSONS = WORDS["people"] | WORDS["persons"]  # a number of the latter is told as "sailors: 3"
# Behind homes come other numbers of people, then money and votes, then all that are not named here, and scores last.
_RANKS: dict[str, int] = {
    **dict.fromkeys(("people", "patients", "magnitude"), FigureKind.OTHER),
    **dict.fromkeys((*CURRENCY_SIGNS, "votes", "seats"), FigureKind.OTHER + 1),
    "": FigureKind.OTHER + 2,
    **dict.fromkeys(("score", "points", "%"), FigureKind.OTHER + 3),
}

_BORDERS = frozenset((LINE_END, FIGURE))
_ENDS = _BORDERS | WORDS["and"] | {"xxnone"}  # "300 passengers, nobody was hurt"
# No word before these tells what the number behind them counts: "two deaths in 9 days", "the toll is 9".
_BY = WORDS["prepositions"] - {"bei"}
_GERUNDS = ("killing", "injuring", "wounding", "ando", "iendo", "endo", "uant", "essant")
_AGE = re.compile(
    "year-?old|yrs?$|jahrig|enne|enni|jarig|летн|річн|letni|latk|latek|lety|rocn|arig|aring|vuotia|yasin|eves|ετων|χρον|godisnj|годишњ|ساله|岁|歲|歳"
)
_UNSPACED = "\u0e00"

_ARABIC_PREFIX = re.compile("[وفب]?ال|[وفب]")  # "and", "in" or "for", and "the" are written with a word
CUT = "\u3000"  # Chinese, Japanese and Korean: only the next characters of a clause count
CLAUSE = 8  # characters


class Meaning(NamedTuple):
    """What a word says of a number near it. Its ``word_class`` is "verbs", "nouns", "lives" or "signs"."""

    kind: FigureKind
    word_class: str


_OF_DISEASES = (Meaning(FigureKind.CASES, "nouns"), Meaning(FigureKind.ILL, "nouns"))
_MEANINGS = {
    word: meaning
    for role, words in words_by_role("counted").items()
    for meaning in [Meaning(FigureKind[role.split()[0].upper()], role.split()[-1])]
    for word in words
}
_STEMS = {word[:-1]: meaning for word, meaning in _MEANINGS.items() if word.endswith("*")}
_LONGEST = max(map(len, _STEMS))
_BEGINNINGS = {stem[:2] for stem in _STEMS}
_SIGNS = {word: meaning for word, meaning in _MEANINGS.items() if meaning.word_class == "signs"}  # parts of a clause


@lru_cache(maxsize=1 << 16)
def meaning_of(word: str) -> Meaning | None:
    """Return what a folded word says that is counted. In scripts without spaces a word is a clause."""
    stems = [word[:size] for size in range(min(len(word), _LONGEST), 0, -1)] if word[:2] in _BEGINNINGS else ()
    found = _MEANINGS.get(word) or next(filter(None, map(_STEMS.get, stems)), None)
    if found:
        return found
    if word > _UNSPACED:
        places = ((word.find(sign), meaning) for sign, meaning in _SIGNS.items() if sign in word)
        return min(places, default=(0, None))[1]
    prefix = _ARABIC_PREFIX.match(word)
    return meaning_of(word[prefix.end() :]) if prefix else None


def kinds_told(words: Iterable[str]) -> set[FigureKind]:
    """Return what folded words say that is counted."""
    return {meaning.kind for meaning in filter(None, map(meaning_of, words))}


class Counted(NamedTuple):
    """The kind of a figure, and the word that says so: its place behind the figure, and how many words away it is."""

    kind: int
    place: int = 0  # 0 if it stands before the figure
    distance: int = 0


def _has(role: str, tokens: Iterable[str]) -> bool:
    """Decide whether one of these tokens has this role beside a number."""
    return not WORDS[role].isdisjoint(tokens)


def what_is_counted(before: Sequence[str], behind: Sequence[str]) -> Counted:
    """Return what a number counts, from the words before it, the nearest first, and those behind it."""
    if _counts_nothing(before, behind):
        return Counted(SILENT)
    first = next((word for word in behind if word not in HEDGES), "")
    if unit := UNITS.get(first):
        return Counted(KINDS.get(unit, SILENT))
    thing = _THINGS.get(first) or next((_THINGS[word] for word in before[:2] if word == "magnitude"), "")
    if thing:
        return Counted(KINDS[thing])
    by_behind = _by_words_behind(behind, _clause(before))
    by_before = _by_words_before(before, _clause(behind))
    is_of_next = by_behind is not None and _is_of_next(behind, by_behind.place)
    if by_behind and is_of_next and behind[by_behind.place - 1].endswith(_GERUNDS):
        by_behind = None  # "shot three, killing one"
    if by_behind and by_before:
        # "the toll of the wreck rose to 37 missing"
        return by_behind if by_behind.distance <= max(1, by_before.distance) and not is_of_next else by_before
    return by_behind or by_before or Counted(PEOPLE if first in WORDS["people"] else 0)


def _counts_nothing(before: Sequence[str], behind: Sequence[str]) -> bool:
    """Decide whether a number is an age, an ordinal or a time of day, or stands behind "the" and before no word."""
    nearest = next(iter(behind), "")
    is_age = _has("age", before[:2]) or _AGE.match(nearest) is not None
    is_hour = _has("before hours", before[:1]) and UNITS.get(nearest) == "hours"
    is_time_of_day = is_hour or any(UNITS.get(word) == "hours" for word in before[:1])
    is_the = not behind and _has("articles", before[:1])  # "a los 56"
    return is_age or is_time_of_day or is_the or nearest in WORDS["ordinals and times"]


def _clause(tokens: Iterable[str]) -> list[str]:
    return list(takewhile(lambda token: token not in _BORDERS, tokens))


def nearest_meaning(tokens: Sequence[str], others: Sequence[str], near: slice) -> tuple[int, int, Meaning] | None:
    """Return the place of the first token that says what is counted, how many words away it is, and its meaning.

    ``others`` are the tokens on the other side of the number.
    """
    distance = 0
    for place, token in enumerate(takewhile(lambda token: token not in _ENDS, tokens)):
        if token < _UNSPACED and (len(token) <= 2 or token in HEDGES):
            continue
        distance += 1
        meaning = meaning_of(token[near] if token > CUT else token)
        if meaning and _means_it(token, meaning, (*tokens[max(0, place - 4) : place + 6], *others[:4])):
            if meaning.kind is FigureKind.VICTIMS and place + 1 < len(tokens):  # "deadly victims", "korban luka"
                meaning = meaning_of(tokens[place + 1]) or meaning
            return place, distance, meaning
    return None


def _means_it(token: str, meaning: Meaning, around: Sequence[str]) -> bool:
    """Decide whether a word is used in its meaning: "lost their lives", but not "the time of our lives"."""
    if token == "tot":  # in Dutch it is "until"
        return _has("beside tot", around)
    if token == "oldu":  # in Turkish it is "became" and "died"
        return not PERSONS.isdisjoint(around)
    return meaning.word_class != "lives" or any(word.startswith(_LOST) for word in around)


def _by_words_behind(tokens: Sequence[str], others: Sequence[str]) -> Counted | None:
    """Return what a number counts by the words behind it. ``others`` are those before it, the nearest first."""
    found = nearest_meaning(tokens, others, slice(CLAUSE))
    if found is None:
        return None
    place, distance, meaning = found
    word = tokens[place]
    between = tokens[:place]
    following = tokens[place + 1 : place + 2]  # "xxone" is "a man", see ``toll_words``
    is_active = following == ["xxone"] or (_has("determiners", following) and not _has("to be", between))
    if is_next(word) or is_active or (distance > 1 and _is_mention(word, between)):  # "two men killed the driver"
        return None
    people = sum(token in PERSONS for token in between[:2])
    if meaning.word_class == "nouns" and COMMA in between:
        return None  # "84,000 people affected, death toll rises to 16"
    # Words behind the number. Not "4 people lost their houses", but "six new measles infections".
    reach = 2 + people * (meaning.kind is not FigureKind.HOMES) + (meaning in _OF_DISEASES)
    is_predicate = people > 0 or (_has("auxiliaries", between) and COMMA not in between)
    if meaning.word_class != "nouns" and is_predicate:
        reach = 7
    return Counted(meaning.kind, place + 1, distance) if distance <= reach else None


def is_next(word: str) -> bool:
    """Decide whether an Arabic word is written with "and": "and injured 31"."""
    return word.startswith("و") and meaning_of(word[1:]) is not None


def _is_mention(word: str, before: Sequence[str]) -> bool:
    """Decide whether a word far from a number only mentions people: "12 cars with the injured", "4 men in killing"."""
    is_with_article = word.startswith(("ال", "وال", "بال", "لل")) and before[-1] not in WORDS["of"]
    is_behind_article = before[-1] in WORDS["articles"] and not _has("of", before[-2:-1])
    is_deed = before[-1] in _BY and not PERSONS.isdisjoint(before[:2]) and FigureKind.DEAD in kinds_told([word])
    return is_with_article or is_behind_article or is_deed or before[-1] in WORDS["about"]


def _by_words_before(tokens: Sequence[str], others: Sequence[str]) -> Counted | None:
    """Return what a number counts by the words before it, the nearest first. ``others`` are those behind it."""
    clause = tuple(takewhile(lambda token: token not in (COMMA, "("), tokens[tokens[:1] == ["("] :]))
    nearest = next((token for token in clause if token not in HEDGES), "")
    found = nearest_meaning(clause, others, slice(-CLAUSE, None))
    if found is None or (nearest in _BY and not _has("to", others[:1])):
        return None
    place, distance, meaning = found
    if _is_number_of(tokens, nearest, others):
        return Counted(meaning.kind)
    # "In memory of the dead, 18 boats ..." only mentions people.
    is_mention = clause[place] in WORDS["only beside"] or _has("about", clause[place + 1 : place + 2])
    if clause[place] in WORDS["only behind"] or (distance > 1 and is_mention):
        return None
    is_noun = meaning.word_class == "nouns"
    reach = 5 if is_noun else 2  # words
    if PERSONS.isdisjoint(others[:2]):
        reach = 1
    is_told = distance <= reach and (is_noun or _has_object(clause, place, others))
    return Counted(meaning.kind, 0, distance) if is_told else None


def _is_of_next(behind: Sequence[str], place: int) -> bool:
    """Decide whether the word at a place belongs to the next number: "killed four, injured 31"."""
    rest = (token for token in behind[place:] if len(token) > 2 or token in _BORDERS)
    return next((token for token in rest if token not in HEDGES and token not in PERSONS), "") == FIGURE


def _is_number_of(tokens: Sequence[str], nearest: str, others: Sequence[str]) -> bool:
    """Decide whether words before a number say that it is a number of people: "the toll of the fire rose to nine"."""
    is_reached = nearest in WORDS["number of"] or nearest in WORDS["reaches"]
    is_value = is_reached or not PERSONS.isdisjoint(others[:2]) or _has("to", others[:1])
    is_subject = nearest in WORDS["are"] and others[:1] in ([], [LINE_END], [COMMA])  # "the missing are 12"
    return is_subject or (is_value and _has("number of", _clause(tokens)))


def _has_object(clause: Sequence[str], place: int, others: Sequence[str]) -> bool:
    """Decide whether a verb before a number may count it: not "killed in 2 attacks", "was killed with 9 others"."""
    is_passive = clause[place].endswith("ed") and _has("to be", clause[place + 1 : place + 3])
    return not is_passive and (not PERSONS.isdisjoint(others[:1]) or not _has("prepositions", clause[:place]))


def is_of_page(line: str) -> bool:
    """Decide whether a short line is of the page, not of the article: a counter, a byline or a link to another one.

    Some words make a line one only if it has numbers, and no other word: "12 likes · 3 shares".
    """
    folded = fold(line).casefold().replace("'", "")
    if _OF_PAGE.search(folded):
        return True
    if "%" in folded or not any(map(str.isdigit, folded)) or not _COUNTER.search(folded):
        return False
    return not any(map(str.isalpha, _COUNTER.sub("", folded)))


def without_page_words(line: str) -> str:
    """Return a folded line with a sign in the place of each word by which it may be one of the page."""
    return _COUNTER.sub(" \u00b6 ", _OF_PAGE.sub(" \u00b6 ", line.casefold()))


def kind_of(label: str) -> FigureKind:
    """Return what a figure with this label counts."""
    if label in CURRENCY_SIGNS:
        return FigureKind.MONEY
    return FigureKind(min(KINDS.get(label, FigureKind.OTHER), FigureKind.OTHER))


def rank_of(label: str) -> int:
    """Return the place of a figure with this label among others: the lower, the more it means to people.

    What happened to people and homes comes first, then other numbers of people, money and votes, and everything else.
    Scores and percentages, such as those of markets, are last.
    """
    kind = kind_of(label)
    return kind if kind < FigureKind.OTHER else _RANKS.get(label, _RANKS[""])


def in_words(label: str, old: str, new: str) -> str:
    """Return a changed figure in words: "7 dead, was 3". What happened to people is said in English."""
    told = f"{label}: {new}".removeprefix(": ")
    if label and (kind_of(label) is FigureKind.MONEY or (label in KINDS and label not in ("magnitude", "score"))):
        told = f"{new} {label}"
    if old:
        told += f", was {old}"
    return told
