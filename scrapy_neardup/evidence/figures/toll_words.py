"""What the words around a figure say of a toll, in each language: "at least", "two more", "last year"."""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import takewhile
from typing import NamedTuple

from scrapy_neardup.evidence.figures.counted import CUT, FigureKind, Meaning, meaning_of, nearest_meaning
from scrapy_neardup.evidence.figures.figure import Figure, Placed
from scrapy_neardup.evidence.figures.number_words import COMMA, FIGURE, HEDGES, LINE_END, TABLES, WORDS, all_languages

# Without a table, every sentence is taken to have words of an epidemic, damage or an election.
_UNLESS_KNOWN = {"disease": ".?", "damage": ".?", "election": ".?"}
_ENDS = WORDS["and"] | WORDS["prepositions"] | WORDS["determiners"]  # of the words that go with a figure
_BESIDE = HEDGES | WORDS["of"]
_CLAUSE = 8  # characters of a script without spaces
# The numbers that words stand for: "no one was hurt" is 0, "a first death" 1, "a second body" one more.
_MARKS = {"xxnone": "0", "xxfirst": "1", "xxanother": "1"}
_NEAR = 4  # tokens between such a word and the noun that says what it counts
_FAR = 9  # tokens to a verb that does
_BORDERS = frozenset((LINE_END, FIGURE, *_MARKS))
_PAUSES = WORDS["and"] | {COMMA, LINE_END}
_LONGEST = 16  # characters to the word that tells that the injured have died
_WITHOUT_SPACES = ("zh", "ja", "th")


class Patterns(dict[str, re.Pattern[str]]):
    """Patterns of the phrases of a language. Each is made when it is first needed, since all take 10 ms."""

    def __init__(self, phrases: Mapping[str, str], language: str) -> None:
        self._phrases = phrases
        self._language = language

    def __missing__(self, role: str) -> re.Pattern[str]:
        self[role] = _pattern(self._phrases.get(role, "(?!)"), has_spaces=self._language not in _WITHOUT_SPACES)
        return self[role]


class Cues(NamedTuple):
    """What the words around a figure say of it, for one language."""

    rewritten: Mapping[str, str]  # phrases: "no one" is 0, "a first" is 1
    phrases: Patterns  # those that are rewritten
    says: Patterns  # by their role; "#" stands for the figure


@lru_cache(maxsize=64)
def cues_of(language: str) -> Cues:
    """Return the cues of a language by its ISO 639-1 code. Without a table only few phrases are known."""
    words = TABLES.get(language, {}).get("tolls", {})
    rewritten = words.get("read as", {})
    roles = {
        **_UNLESS_KNOWN,
        **words,
        "read as": "|".join(rewritten or ["(?!)"]),
        "more": (more := f"{_increments(language)}|{words.get('more', '(?!)')}"),
        "adds": f"{more}|{words.get('total', '(?!)')}",
        "marks": "|".join(f"(?P<{mark}>{words.get(mark[2:], '(?!)')})" for mark in _MARKS),
    }
    return Cues(rewritten, Patterns({each: each for each in rewritten}, language), Patterns(roles, language))


def _increments(language: str) -> str:
    """Return the phrases by which a figure adds to an earlier one. Between the two may stand whom it counts."""
    roles = TABLES.get(language, {}).get("beside", {})
    ahead, behind, place = (
        "|".join(roles.get(role, "(?!)").split()).replace("_", " ")
        for role in ("adding ahead", "adding behind", "prepositions")
    )
    if language in _WITHOUT_SPACES:
        return f"*(?:{ahead})[^ ,]{{0,6}} #|# [^ ]{{0,4}}(?:{behind})"
    return rf"(?:{ahead}) #|# (?:(?!(?:{place}) )[^ ,]{{3,}} ){{0,2}}(?:{behind})(?! than )"


def _pattern(phrases: str, *, has_spaces: bool) -> re.Pattern[str]:
    """Return a pattern for phrases. A star before or behind a phrase stands for the rest of a word."""
    if not has_spaces:
        return re.compile(phrases.replace("*", "[^ ]*"))
    return re.compile(rf"(?<![^\W_])(?:{phrases})(?:(?<=\W)|(?![^\W_]))")


def has_died(behind: Sequence[str]) -> bool:
    """Decide whether the people whom these words tell of are dead by now: "two of the injured", "died in hospital"."""
    clause = [*takewhile(lambda word: word[:1].isalpha() and word not in _ENDS, behind)]
    words = [clause[0][at:_LONGEST] for at in range(_LONGEST)] if clause and clause[0] > CUT else clause
    return any(meaning.kind is FigureKind.DEAD for meaning in filter(None, map(meaning_of, words)))


def is_death_of(before: Sequence[str]) -> bool:
    """Decide whether the word before a figure tells of the death of these people: "the death of two injured"."""
    nearest = next((word for word in reversed(before) if word not in _BESIDE or word in WORDS["and"]), "")
    meaning = meaning_of(nearest)
    return meaning is not None and meaning.kind is FigureKind.DEAD


def is_beside_other(kind: int, before: Sequence[str]) -> bool:
    """Decide whether another kind is told before a figure: "A man died and another 13 were injured"."""
    told = {meaning.kind for meaning in filter(None, map(meaning_of, before))}
    places = {FigureKind.HOSPITALISED, FigureKind.VICTIMS, FigureKind.CASES}  # "in hospital", "in the case"
    return kind is not FigureKind.DEAD and not told <= {kind, *places}


def mark_numbers(folded: str, cues: Cues, language: str) -> tuple[str, list[str]]:
    """Return a sentence with a mark in place of each phrase that stands for a number, and these phrases."""
    table = all_languages().by_name.get(language)
    phrases = []

    def mark(found: re.Match[str]) -> str:
        following = folded[found.end() :].split(maxsplit=1)
        if following and (following[0][0].isdigit() or (table and following[0] in table.small)):
            return found[0]  # "another 13"
        phrases.append(found[0].strip())
        return f" {found.lastgroup} "

    return cues.says["marks"].sub(mark, folded), phrases


def place_marks(tokens: Sequence[str], words: list[str], phrases: Sequence[str]) -> list[Placed]:
    """Return the numbers for which marks stand, if they count something. The others become phrases again."""
    placed = []
    marks = [place for place, token in enumerate(tokens) if token in _MARKS]
    for place, phrase in zip(marks, phrases, strict=True):
        mark = tokens[place]
        is_adding = mark == "xxanother"
        before = [*takewhile(lambda token: token not in _PAUSES, tokens[max(0, place - 1) : max(0, place - 4) : -1])]
        is_behind = is_adding and FIGURE in before  # "3 cas supplementaires"
        kinds = [] if is_behind else _kinds_beside(tokens, place, is_none=mark == "xxnone")
        words[place] = _MARKS[mark] if kinds else phrase
        placed += [Placed(Figure(_MARKS[mark], kind), place, place + 1, is_adding) for kind in kinds]
    return placed


def _kinds_beside(tokens: Sequence[str], place: int, *, is_none: bool) -> list[int]:
    """Return what a word that stands for a number counts: the nearest word that says so, on either side."""
    ahead = [*takewhile(lambda token: token not in _BORDERS, tokens[place + 1 : place + 1 + _FAR])]
    clause = takewhile(lambda token: token not in _BORDERS and token != COMMA, tokens[max(0, place - 1) :: -1])
    back = [*clause][:_FAR] if place else []
    sides = []
    for side, others, near in ((ahead, back, slice(_CLAUSE)), (back, ahead, slice(-_CLAUSE, None))):
        found = nearest_meaning(side, others, near)
        if found:
            is_verb = found[2].word_class != "nouns"
            is_of_other = side is back and not is_verb and not WORDS["prepositions"].isdisjoint(side[: found[0]])
            if not is_of_other and (found[1] <= _NEAR or is_none or is_verb):
                sides.append((found[1], side[found[0] :], found[2]))
    if not sides:
        return []
    _, rest, meaning = min(sides, key=lambda each: each[0])
    if not is_none and any(has_died([word]) for word in rest):
        return [FigureKind.DEAD]
    kinds = [_of_people(meaning)]
    if is_none and len(rest) > 2 and rest[1] in WORDS["or"]:
        kinds += [_of_people(each) for each in filter(None, map(meaning_of, rest[2:3]))]
    return kinds


def _of_people(meaning: Meaning) -> FigureKind:
    return FigureKind.DEAD if meaning.kind is FigureKind.VICTIMS else meaning.kind
