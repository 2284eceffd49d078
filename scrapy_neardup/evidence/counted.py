"""What a figure counts: people killed, injured, missing or ill, homes, money, percent.

The words that say so are in ``counted.json``. A star stands for any ending. *Verbs* may stand some words away from
their number ("nine people on board were killed"), *nouns* stand beside it ("nine deaths"). Units, months and currencies
are in ``number_words``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import IntEnum
from functools import lru_cache
from itertools import takewhile
from typing import Any, NamedTuple

from scrapy_neardup.evidence.number_words import (
    COMMA,
    CURRENCIES,
    FIGURE,
    HEDGES,
    LINE_END,
    UNITS,
    WORDS,
    read_table,
)
from scrapy_neardup.text.folding import fold


class FigureKind(IntEnum):
    """What a figure counts, in the order in which a message names them: the dead first, money last."""

    DEAD = 1
    INJURED = 2
    MISSING = 3
    ILL = 4
    CASES = 5
    VICTIMS = 6
    ARRESTED = 7
    EVACUATED = 8
    RESCUED = 9
    HOMES = 10
    OTHER = 11
    MONEY = 12


HARMED = frozenset(kind for kind in FigureKind if kind < FigureKind.ARRESTED)
_TABLE: dict[str, Any] = read_table("counted.json")
_THINGS = {word: thing for thing, joined in _TABLE.pop("things").items() for word in joined.split()}
_PAGE = "|".join(_TABLE.pop("page").replace("*", r"\w*").split()).replace("_", " ")
_PAGE_SIGNS = "|".join(_TABLE.pop("page_signs").split())
_OF_PAGE = re.compile(rf"(?<!\w)(?:{_PAGE})(?!\w)|^(?:by|von|par|por) |{_PAGE_SIGNS}")
_LOST = tuple(_TABLE.pop("lost").replace("*", "").split())
SILENT = (
    len(FigureKind) + 1
)  # ages, ordinals and numbers that are names: they count nothing, so a change of them is not told
_SIGNS = dict.fromkeys(CURRENCIES.values())
LABELS: tuple[str, ...] = (
    "",
    *(kind.name.lower() for kind in FigureKind if kind < FigureKind.OTHER),
    *["", "", ""],
    *("people", "%", "score"),
    *sorted(set(UNITS.values()) - {"uncounted", "years"}),  # most years are ages
    *_SIGNS,
    *dict.fromkeys(_THINGS.values()),
)
LABELS += ("",) * (64 - len(LABELS))  # the kind of a packed figure has six bits
"""What is told of a figure, by its kind."""
KINDS = {label: kind for kind, label in enumerate(LABELS) if label}
PEOPLE = KINDS["people"]
_MEASURES = frozenset(("magnitude", "score"))  # told as "score: 2-1"

_COMMAS = (COMMA, "(")
_BORDERS = frozenset((LINE_END, FIGURE))
_ENDS = _BORDERS | WORDS["and"]
# No word before these tells what the number behind them counts: "two deaths in 9 days", "the toll is 9".
_BY = WORDS["prepositions"] - {"bei"}
_GERUNDS = ("killing", "injuring", "wounding", "ando", "iendo", "endo", "uant", "essant")
_AGE = re.compile(
    "year-?old|jahrig|jarig|летн|річн|letni|lety|rocn|arig|aring|vuotia|yasin|eves|ετων|χρον|godisnj|годишњ|ساله"
)
_REACH_OF_VERBS, _REACH_OF_NOUNS = 7, 2  # words behind a number
_REACH_BACK_OF_VERBS, _REACH_BACK_OF_NOUNS = 2, 5
_UNSPACED = "\u0e00"
_ARABIC_ARTICLES = ("ال", "وال", "بال", "لل")
_ARABIC_AND = "و"
_ARABIC_PREFIXES = frozenset("وفب")
_CLAUSE = 8  # characters


class Meaning(NamedTuple):
    """What a word says of a number near it. Its ``word_class`` is "verbs", "nouns", "lives" or "signs"."""

    kind: FigureKind
    word_class: str

    @property
    def is_noun(self) -> bool:
        return self.word_class == "nouns"


class _Vocabulary(NamedTuple):
    words: dict[str, Meaning]
    stems: dict[str, Meaning]
    lengths: Sequence[int]  # of the stems, the longest first
    signs: dict[str, Meaning]  # parts of a clause, in scripts without spaces


@lru_cache(maxsize=1)
def _vocabulary() -> _Vocabulary:
    words, stems, signs = dict[str, Meaning](), dict[str, Meaning](), dict[str, Meaning]()
    for name, classes in _TABLE.items():
        for each, joined in classes.items():
            for word in joined.split():
                table = signs if each == "signs" else stems if word.endswith("*") else words
                table[word.rstrip("*")] = Meaning(FigureKind[name.upper()], each)
    return _Vocabulary(words, stems, sorted(set(map(len, stems)), reverse=True), signs)


@lru_cache(maxsize=1 << 14)
def meaning_of(word: str) -> Meaning | None:
    """Return what a folded word says that is counted. In scripts without spaces a word is a clause."""
    words, stems, lengths, signs = _vocabulary()
    found = words.get(word) or next((stems[word[:n]] for n in lengths if word[:n] in stems), None)
    if found is None and word > _UNSPACED:
        places = ((word.find(sign), meaning) for sign, meaning in signs.items() if sign in word)
        return min(places, default=(0, None))[1]
    if found is None and (shorter := _without_prefix(word)) != word:
        return meaning_of(shorter)
    return found


def _without_prefix(word: str) -> str:
    """Return an Arabic word without "and", "in" or "for" and "the", which are written with it."""
    if word[:1] in _ARABIC_PREFIXES and word[1:3] == "ال":
        return word[3:]
    return word.removeprefix("ال") if word.startswith("ال") else word[word[:1] in _ARABIC_PREFIXES :]


class Counted(NamedTuple):
    """The kind of a figure, and the word that says so: its place behind the figure, and how many words away it is."""

    kind: int
    place: int = 0  # 0 if it stands before the figure
    distance: int = 0


def what_is_counted(before: Sequence[str], behind: Sequence[str]) -> Counted:
    """Return what a number counts, from the words before it, the nearest first, and those behind it."""
    nearest = behind[0] if behind else ""
    if not behind and before[:1] and before[0] in WORDS["articles"]:
        return Counted(SILENT)  # "she died at the 56", in Spanish
    is_time_of_day = UNITS.get(before[0] if before else "") == "hours"
    is_age = not WORDS["age"].isdisjoint(before[:2]) or _AGE.match(nearest)
    if is_age or is_time_of_day or nearest in WORDS["ordinals and times"]:
        return Counted(SILENT)
    first = nearest if nearest not in HEDGES else next((word for word in behind if word not in HEDGES), "")
    if unit := UNITS.get(first):
        is_clock = unit == "hours" and not WORDS["before hours"].isdisjoint(before[:1])
        return Counted(SILENT if is_clock else KINDS.get(unit, SILENT))
    thing = _THINGS.get(first) or next((_THINGS[word] for word in before[:2] if word == "magnitude"), "")
    if thing:
        return Counted(KINDS[thing])
    return _by_words(before, behind) or Counted(PEOPLE if first in WORDS["people"] else 0)


def _by_words(before: Sequence[str], behind: Sequence[str]) -> Counted | None:
    """Return what the nearest words say that is counted, on the one side or the other."""
    ahead, back = _behind(behind, before), _before(before, behind)
    if ahead and behind[ahead.place - 1].endswith(_GERUNDS) and _is_of_next(behind, ahead.place):
        ahead = None  # "shot three, killing one"
    if ahead and back:
        is_ahead = ahead.distance <= back.distance and not _is_of_next(behind, ahead.place)
        return ahead if is_ahead else back
    return ahead or back


def _nearest_meaning(tokens: Sequence[str], others: Sequence[str], near: slice) -> tuple[int, int, Meaning] | None:
    """Return the place of the first token that says what is counted, how many words away it is, and its meaning.

    ``others`` are the tokens on the other side of the number.
    """
    distance = 0
    for place, token in enumerate(tokens):
        if token in _ENDS:
            return None
        is_word = token > _UNSPACED or (len(token) > 2 and token not in HEDGES)
        distance += is_word
        if is_word and (meaning := meaning_of(token if token < _UNSPACED else token[near])):
            around = (
                *tokens[max(0, place - 4) : place + 6],
                *takewhile(lambda other: other not in _BORDERS, others[:4]),
            )
            if _means_it(token, meaning, around):
                following = meaning_of(tokens[place + 1]) if place + 1 < len(tokens) else None
                is_deadly = meaning.kind is FigureKind.VICTIMS and following and following.kind is FigureKind.DEAD
                return place, distance, following if is_deadly and following else meaning
    return None


def _means_it(token: str, meaning: Meaning, around: Sequence[str]) -> bool:
    """Decide whether a word is used in its meaning: "lost their lives", but not "the time of our lives"."""
    if token == "tot":  # in Dutch it is "until"
        return not WORDS["beside tot"].isdisjoint(around)
    if token == "oldu":  # in Turkish it is "became" and "died"
        return not WORDS["people"].isdisjoint(around)
    return meaning.word_class != "lives" or any(word.startswith(_LOST) for word in around)


def _behind(tokens: Sequence[str], others: Sequence[str]) -> Counted | None:
    if (found := _nearest_meaning(tokens, others, slice(_CLAUSE))) is None:
        return None
    place, distance, meaning = found
    if tokens[place].startswith(_ARABIC_AND) and meaning_of(tokens[place][1:]):
        return None  # "and injured 31"
    has_object = not WORDS["determiners"].isdisjoint(tokens[place + 1 : place + 2])
    is_active = has_object and WORDS["to be"].isdisjoint(tokens[:place])
    if is_active or (distance > 1 and _is_mention(tokens[: place + 1][::-1])):
        return None  # "two men killed the driver", "12 cars with the injured"
    between = tokens[:place]
    people = sum(token in WORDS["people"] for token in between[:2])
    if meaning.is_noun:
        return Counted(meaning.kind, place + 1, distance) if distance <= _REACH_OF_NOUNS + people else None
    is_near = distance <= _REACH_OF_NOUNS or people or not WORDS["auxiliaries"].isdisjoint(between)
    return Counted(meaning.kind, place + 1, distance) if is_near and distance <= _REACH_OF_VERBS else None


def _is_mention(words: Sequence[str]) -> bool:
    """Decide whether the first of these words, which are in reversed order, only mentions people, as in "the dead"."""
    word, before = words[:2]
    if word.startswith(_ARABIC_ARTICLES) and before not in WORDS["of"]:
        return True
    return before in WORDS["about"] or (before in WORDS["articles"] and WORDS["of"].isdisjoint(words[2:3]))


def _before(tokens: Sequence[str], others: Sequence[str]) -> Counted | None:
    clause = tuple(takewhile(lambda token: token not in _COMMAS, tokens[tokens[:1] == ["("] :]))
    nearest = next((token for token in clause if token not in HEDGES), "")
    is_other = nearest in _BY and WORDS["to"].isdisjoint(others[:1])
    if is_other or (found := _nearest_meaning(clause, others, slice(-_CLAUSE, None))) is None:
        return None
    place, distance, meaning = found
    word, behind_word = clause[place], clause[place + 1 : place + 3]
    is_mention = word in WORDS["only beside"] or not WORDS["about"].isdisjoint(behind_word[:1])
    if word in WORDS["only behind"] or (is_mention and distance > 1):
        return None
    has_people = not WORDS["people"].isdisjoint(others[:2])
    if meaning.is_noun:
        is_near = distance == 1 or (has_people and distance <= _REACH_BACK_OF_NOUNS)
    else:
        is_passive = word.endswith("ed") and not WORDS["to be"].isdisjoint(behind_word)
        is_object = not is_passive and WORDS["prepositions"].isdisjoint(clause[:place])
        is_near = is_object and distance <= (_REACH_BACK_OF_VERBS if has_people else 1)
    return Counted(meaning.kind, 0, distance) if is_near or _is_number_of(tokens, nearest, others) else None


def _is_number_of(tokens: Sequence[str], nearest: str, others: Sequence[str]) -> bool:
    """Decide whether words before a number say that it is a number of people: "the toll of the fire rose to nine"."""
    number_of, reaches = WORDS["number of"], WORDS["reaches"]
    if number_of.isdisjoint(takewhile(lambda token: token not in _BORDERS, tokens)):
        return False
    return nearest in number_of | reaches or not (WORDS["people"] | WORDS["to"]).isdisjoint(others[:2])


def _is_of_next(behind: Sequence[str], place: int) -> bool:
    """Decide whether the word at a place belongs to the next number: "killed four, injured 31"."""
    rest = (token for token in behind[place:] if len(token) > 2 or token in _BORDERS)
    return next((token for token in rest if token not in HEDGES and token not in WORDS["people"]), "") == FIGURE


def is_of_page(line: str) -> bool:
    """Decide whether a short line is of the page, not of the article: a counter, a byline or a link to another one."""
    return _OF_PAGE.search(fold(line).casefold().replace("'", "")) is not None


def leads_on(between: Sequence[str]) -> bool:
    """Decide whether these words lead from the value before to the newest one: "from four to nine"."""
    return not between or (all(len(word) < 5 for word in between) and not WORDS["to"].isdisjoint(between))


def is_part_of(between: Sequence[str]) -> bool:
    """Decide whether these words make the value before a part of the one behind: "49 of the 50 people died"."""
    return bool(between) and WORDS["of"].issuperset(between)


@lru_cache(maxsize=1 << 10)
def kind_of(label: str) -> FigureKind:
    """Return what a figure with this label counts. The last word decides, but for money: "people killed"."""
    parts = fold(label).casefold().split() or [""]
    if label in LABELS[1 : FigureKind.OTHER]:
        return FigureKind(KINDS[label])
    meaning = meaning_of(parts[-1])
    is_money = not CURRENCIES.keys().isdisjoint(parts)
    return meaning.kind if meaning else FigureKind.MONEY if is_money else FigureKind.OTHER


def in_words(label: str, old: str, new: str) -> str:
    """Return a changed figure in words: "7 dead, was 3". What happened to people is said in English."""
    kind = kind_of(label)
    is_noun = kind is FigureKind.MONEY or (label in KINDS and label not in _MEASURES)
    noun = kind.name.lower() if kind < FigureKind.OTHER else label if is_noun else ""
    told = f"{new} {noun}" if noun else f"{label}: {new}" if label else new
    return f"{told}, was {old}" if old else told
