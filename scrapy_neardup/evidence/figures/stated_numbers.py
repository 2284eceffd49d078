"""The numbers that a sentence tells as news: also those for which words stand, and no old values.

"No one was hurt" is 0, "a first death" 1, "a second body" one more. In "rose from 30 to 45" and "not 12 but 9" the
first number is old. One rule reads them in all languages; the tables have the words.
"""

import re
from collections.abc import Sequence
from itertools import pairwise, takewhile, zip_longest
from operator import attrgetter

from scrapy_neardup.evidence.figures.counted import (
    CLAUSE,
    CURRENCY_SIGNS,
    PEOPLE,
    PERSONS,
    SILENT,
    FigureKind,
    Meaning,
    is_next,
    kinds_told,
    meaning_of,
    nearest_meaning,
)
from scrapy_neardup.evidence.figures.figure import Figure, Placed, is_plain
from scrapy_neardup.evidence.figures.number_words import (
    BEFORE_MONEY,
    COMMA,
    FIGURE,
    HEDGES,
    LINE_END,
    WORDS,
    NumberWords,
    all_languages,
)
from scrapy_neardup.evidence.figures.toll_words import ENDS, MARKS, Cues, has_died

_REACH = 8  # tokens on either side of a figure that may bound it
_BESIDE = 2  # tokens from a word such as "first" to the noun that says what it counts
_NEAR = 3  # tokens from "no" to it, and to a word for a person
_FAR = 9  # tokens to a verb that says it
_ENDS_OF_SEARCH = WORDS["and"] | {LINE_END}  # "75 volunteers search for four missing climbers"
# before "second": "جثة ثانية", "kasus kedua", "korban luka pertama"
_OF_ORDINALS = (FigureKind.DEAD, FigureKind.INJURED, FigureKind.ILL, FigureKind.VICTIMS, FigureKind.CASES)
_LONG = 5  # letters of a word that is no small word
_TAKEN = (FigureKind.HOSPITALISED, FigureKind.EVACUATED, FigureKind.RESCUED)  # also bodies are
_TAKEN_APART = frozenset((0, PEOPLE, FigureKind.INJURED, FigureKind.HOSPITALISED))
_OF_ONE_NUMBER = {FigureKind.DEAD, FigureKind.INJURED, FigureKind.MISSING}
_AND_OR = WORDS["and"] | WORDS["or"]
_ENDS_OF_CLAUSE = {LINE_END, COMMA, ""}
_MARKS = re.compile("|".join(MARKS))
_ADDING = (WORDS["adding ahead"] | WORDS["adding behind"]) - WORDS["or"]
_BORDERS = frozenset((LINE_END, FIGURE, *MARKS)) - {"xxone"}
_PAUSES = frozenset((LINE_END, COMMA, *MARKS)) - {"xxone"}


def around(words: Sequence[str], each: Placed) -> str:
    """Return the words around a figure, for which "#" stands, without signs of money: "about Rs 25 million"."""
    before = words[max(0, each.first - _REACH) : each.first - (words[each.first - 1] in BEFORE_MONEY)]
    found = (*before, "#", *words[each.end : each.end + _REACH])
    return " ".join(word for word in found if word and word not in CURRENCY_SIGNS)


def mark_numbers(folded: str, cues: Cues, language: str) -> tuple[str, list[str]]:
    """Return a sentence with a mark in place of each phrase that stands for a number, and these phrases."""
    table = all_languages().by_name.get(language, NumberWords({}, {}))
    phrases = []
    folded = _MARKS.sub(" ", folded)  # words of the page

    def mark(found: re.Match[str]) -> str:
        behind = folded[found.end() :].split(maxsplit=_NEAR)
        following = next((word for word in behind if word not in WORDS["adding ahead"]), "")
        if following[:1].isdigit() or following in table.small or following in table.scales:
            return found[0]  # "another 13", "a further dozen"
        phrases.append(found[0].strip())
        return f" {found.lastgroup} "

    return cues["marks"].sub(mark, folded), phrases


def place_marks(
    figures: Sequence[Placed], tokens: Sequence[str], words: list[str], phrases: Sequence[str], cues: Cues
) -> list[Placed]:
    """Return the figures of a sentence with the numbers for which marks stand, if they count something.

    The other marks become phrases again. If anything else is counted, "a man" is no number: "a man killed three".
    """
    placed = [*figures]
    marks = [place for place, token in enumerate(tokens) if token in MARKS]
    for place, phrase in zip(marks, phrases, strict=True):
        mark = tokens[place]
        ahead = [*takewhile(lambda token: token not in _BORDERS, tokens[place + 1 : place + 1 + _FAR])]
        back = [*takewhile(lambda token: token not in _PAUSES, tokens[:place][: -_FAR - 1 : -1])]
        if mark == "xxnone" and not cues["none behind"].search(phrase):
            back = []
        kinds = _kinds_beside(mark, ahead, back, cues)
        words[place] = MARKS[mark] if kinds else phrase
        placed += [Placed(Figure(MARKS[mark], kind), place, place + 1, mark, cues.ordinal(phrase)) for kind in kinds]
    is_alone = sum(each.figure.kind != SILENT for each in placed) == 1
    return sorted((each for each in placed if is_alone or each.mark != "xxone"), key=attrgetter("first"))


def _kinds_beside(mark: str, ahead: Sequence[str], back: Sequence[str], cues: Cues) -> list[int]:
    """Return what a word that stands for a number counts: the nearest word that says so, on either side."""
    has_person = not PERSONS.isdisjoint((*takewhile(lambda token: token not in ENDS, ahead[:_NEAR]), *back[:1]))
    sides = []
    for side, others, part in ((ahead, back, slice(CLAUSE)), (back, ahead, slice(-CLAUSE, None))):
        found = nearest_meaning(side, others, part)
        if (
            found
            and cues["harm"].search(side[found[0]])
            and _goes_with(mark, side, found, is_back=side is back, has_person=has_person)
        ):
            sides.append((found[1], side[found[0] :], found[2]))
    if not sides or _is_of_others(mark, ahead, back):
        return []
    # "A fourth worker died in hospital"
    _, rest, meaning = min(sides, key=lambda each: (each[2].kind in _TAKEN, each[0]))
    if mark == "xxnone":  # it denies both of "no deaths or injuries"
        conjunction, noun = (*rest[1:3], "", "")[:2]
        other = meaning_of(noun) if conjunction in WORDS["or"] else None
        return [_of_people(each, mark) for each in (meaning, other) if each]
    return [FigureKind.DEAD if any(has_died([word], cues) for word in rest) else _of_people(meaning, mark)]


def _is_of_others(mark: str, ahead: Sequence[str], back: Sequence[str]) -> bool:
    """Decide whether somebody is counted with others: "a woman and a man were killed". Some write "and" to a word."""
    if mark == "xxone":
        is_behind = not WORDS["and"].isdisjoint(back[:1]) and not PERSONS.isdisjoint(back[1:2])
        return is_behind or any(word.startswith(("و", "ו")) and word[1:] in PERSONS for word in ahead[:2])
    return mark == "xxanother" and FIGURE in back[:_BESIDE]


def _of_people(meaning: Meaning, mark: str) -> FigureKind:
    # A couple may be the victim of a theft.
    return FigureKind.DEAD if meaning.kind is FigureKind.VICTIMS and mark != "xxone" else meaning.kind


def _goes_with(
    mark: str, side: Sequence[str], found: tuple[int, int, Meaning], *, is_back: bool, has_person: bool
) -> bool:
    """Decide whether a word that stands for a number goes with another word: not "no" in "no new cases".

    "First" and "second" go with any word if a word for a person is near.
    """
    place, distance, meaning = found
    is_clear = COMMA not in side[:place]
    if mark == "xxnone":
        # Nobody counts who was not brought away.
        is_clear &= meaning.kind < FigureKind.EVACUATED or meaning.kind is FigureKind.HOMES
        reach = _NEAR if is_back or meaning.word_class == "nouns" else _FAR
        return is_clear and distance <= reach and _ADDING.isdisjoint(side[: place + _NEAR])
    is_verb = meaning.kind is FigureKind.DEAD and meaning.word_class != "nouns" and not is_back
    is_of_people = meaning.word_class == "nouns" and meaning.kind < FigureKind.HOMES and not is_back
    # "Its first West Nile death"
    is_near = distance <= _BESIDE + is_of_people and (not is_back or meaning.kind in _OF_ORDINALS)
    return has_person or (is_clear and ENDS.isdisjoint(side[:place]) and (is_near or is_verb))


def is_more(words: Sequence[str], each: Placed, cues: Cues) -> bool:
    """Decide whether a figure adds to an earlier one."""
    return each.mark in ("xxanother", "xxone") or cues["more"].search(around(words, each)) is not None


def parts_of_sums(words: Sequence[str], placed: Sequence[Placed]) -> list[Placed]:
    """Return the figures that are parts of a sum nobody prints: "two teachers and five students were killed".

    Of several numbers of homes some are ruins and others damaged.
    """
    parts = []
    for one, other in pairwise(placed):
        between = [word for word in words[one.end : other.first] if word not in HEDGES - WORDS["and"]]
        is_joined = 1 < len(between) <= 12 and between[-1] in WORDS["and"] and COMMA not in between  # tokens
        kinds = {one.figure.kind, other.figure.kind}
        is_of_one = len(kinds) == 1 or not kinds.isdisjoint((0, PEOPLE))
        is_sum = is_joined and is_of_one and other.figure.value != "0" and not any(map(meaning_of, between))
        is_added = not _ADDING.isdisjoint(words[max(0, one.first - _NEAR) : one.end + _NEAR])
        is_list = kinds == {FigureKind.HOMES} and len(between) > 1 and not is_added
        if is_sum or is_list or _are_of_hospitals(one, other, between, words[other.end :]):
            parts += [one, other]
    return parts


def counted_together(words: Sequence[str], placed: Sequence[Placed]) -> list[Placed]:
    """Return the figures that count two kinds of people in one number: "60 dead and injured"."""
    told = [(place, meaning.kind) for place, meaning in enumerate(map(meaning_of, words)) if meaning]
    ends = [*(place for place, _ in told[2:]), len(words)]
    figures = []
    for (one, kind), (other, next_kind), end in zip(told, told[1:], ends, strict=False):
        if kind != next_kind and {kind, next_kind} <= _OF_ONE_NUMBER and _are_joined(words, one, other):
            figures += _only_figure(words, placed, one, other, end)
    return figures


def _are_joined(words: Sequence[str], one: int, other: int) -> bool:
    """Decide whether only "and" or "or" is between two words. In Arabic it is written with the second word."""
    between = [word for word in words[one + 1 : other] if len(word) > 2 or word in _AND_OR or word.isdigit()]
    if is_next(words[other]):
        return not between
    return len(between) == 1 and between[0] in _AND_OR


def _only_figure(words: Sequence[str], placed: Sequence[Placed], one: int, other: int, end: int) -> list[Placed]:
    """Return the number that two joined words share: the one before them, "12 dead and injured", or behind them.

    ``one`` and ``other`` are the places of the words, and ``end`` that of the next word that says what is counted.
    """
    in_one_word = is_next(words[other])
    ahead = [each for each in placed if 0 <= one - each.end <= (_REACH if in_one_word else _NEAR)]
    behind = [each for each in placed if other < each.first <= min(end, other + _REACH)]
    if ahead:
        # The clause ends behind the words. It may go on with "in" and the like behind a number of two digits: "two dead
        # and injured in a crash" has two dead, and "12 dead and injured in a crash" 12.
        following = next(iter(words[other + 1 :]), "")
        is_ended = following in _ENDS_OF_CLAUSE or (len(ahead[0].figure.value) > 1 and following in ENDS)
        is_shared = is_ended and not behind and not in_one_word
    else:
        # Not "the driver died and injured four": the clause begins with the words, or with "the number of".
        is_begin = _ENDS_OF_CLAUSE.issuperset(words[max(0, one - 1) : one])
        is_begin |= not WORDS["number of"].isdisjoint(words[:one])
        # Not "dead and injured: 12 dead".
        is_last = len(behind) == 1 and (end == len(words) or end - behind[0].end > _NEAR)
        is_shared = is_last and (in_one_word or is_begin)
    return [each for each in (*ahead, *behind) if is_shared and each.mark not in MARKS and each.figure.value != "1"][:1]


def _are_of_hospitals(one: Placed, other: Placed, between: Sequence[str], behind: Sequence[str]) -> bool:
    """Decide whether two numbers are those of two hospitals: a word stands as far behind one as behind the other.

    "20 to the old hospital, 7 to the new hospital".
    """
    is_of_hospital = other.figure.kind == FigureKind.HOSPITALISED and one.figure.kind in _TAKEN_APART
    are_parallel = any(
        len(word) > _LONG and word[:_LONG] == each[:_LONG] and not meaning_of(word) and word not in PERSONS
        for word, each in zip(between, behind, strict=False)
    )
    return is_of_hospital and are_parallel and FigureKind.INJURED not in kinds_told(between)


def newest_values(
    words: Sequence[str], placed: Sequence[Placed], cues: Cues, topic: int, *, is_correction: bool
) -> tuple[list[Placed], bool]:
    """Return the figures of a sentence without old values, and whether they correct these.

    ``topic`` is the kind that the title tells: "14 dead" was wrong, it is 11.
    """
    if not placed or not (any(map(meaning_of, words)) or (topic and is_correction)):
        return [*placed], is_correction
    old = _old_values(words, placed, cues)
    is_correction |= any(cues["right" if each not in old else "not"].search(around(words, each)) for each in placed)
    kind, counted = _counted_as_others(words, placed, old, cues, topic, is_correction=is_correction)
    newest = [
        each._replace(figure=each.figure._replace(kind=kind)) if each in counted else each
        for each in placed
        if each in counted or each not in old
    ]
    least = min((float(each.figure.value) for each in old if is_plain(each.figure.value)), default=0.0)
    # The dead and the injured do not become fewer.
    fallen = (each.figure for each in newest if each.figure.kind in (FigureKind.DEAD, FigureKind.INJURED))
    return newest, is_correction or any(is_plain(each.value) and float(each.value) < least for each in fallen)


def _counted_as_others(
    words: Sequence[str],
    placed: Sequence[Placed],
    old: Sequence[Placed],
    cues: Cues,
    topic: int,
    *,
    is_correction: bool,
) -> tuple[int, list[Placed]]:
    """Return the one kind that a sentence tells, and its numbers of no kind that are of this one.

    They follow an old value, add to one, sum up or correct.
    """
    newest = [each for each in placed if each not in old]
    numbers = [*filter(_is_number, newest)]
    kind, is_subject = _kind_told(words, placed, cues) if numbers else (0, False)
    kind = kind or topic * (bool(old) and is_correction and bool(numbers))
    if not kind:
        return 0, []
    if old and len(numbers) == 1:
        return kind, numbers
    more = [*filter(lambda each: is_more(words, each, cues), newest)]
    counted = [each for each in more if _is_of_people(words, each)]
    # "nine, not fourteen: five had stayed ashore"
    right = [one for one, each in pairwise(placed) if one in newest and each in old and each.first - one.end <= _NEAR]
    counted += right or [each for before, each in pairwise(placed) if before in old]
    if old or is_correction or is_subject or more:
        counted += filter(lambda each: cues["total"].search(around(words, each)), numbers)
    return kind, [*filter(_is_number, counted)]


def _is_of_people(words: Sequence[str], each: Placed) -> bool:
    return each.figure.kind == PEOPLE or words[each.end] in PERSONS or words[each.end].startswith(("名", "人", "位"))


def _is_number(each: Placed) -> bool:
    """Decide whether a figure is a number that counts nothing else, or people."""
    return each.figure.kind in (0, PEOPLE) and each.figure.value.isdigit()


def _old_values(words: Sequence[str], placed: Sequence[Placed], cues: Cues) -> list[Placed]:
    """Return the old values. One of several figures is the newest: that which is said to be right, or not denied.

    A single one may be wrong: "Reports of ten deaths were incorrect".
    """
    said = {each: around(words, each) for each in placed}
    right = [each for each in placed if cues["right"].search(said[each])]
    if right:
        return [each for each in placed if each not in right]
    denied = [each for each in placed if cues["not"].search(said[each])]
    old = [
        each
        for each, following in zip_longest(placed, placed[1:])
        if each in denied
        or cues["old"].search(said[each])
        or (following and _is_before_newer(words, each, following, said[each], cues))
    ]
    if 0 < len(denied) < len(placed) == len(old):
        return denied
    is_wrong = len(placed) == 1 and cues["wrong"].search(said[placed[0]]) is not None
    return old[: len(placed) - (not is_wrong)]


def _is_before_newer(words: Sequence[str], each: Placed, following: Placed, said: str, cues: Cues) -> bool:
    """Decide whether the next number is the newest one: "from 30 to 41", "the number of deaths rose by four to 19"."""
    between = words[each.end : following.first]
    if each.figure.kind == following.figure.kind == FigureKind.MISSING:  # "75 volunteers search for four climbers"
        return _ENDS_OF_SEARCH.isdisjoint(between)
    if len(between) > 4:  # tokens
        return False
    if cues["from"].search(said):
        return True
    values = [int(number.figure.value) for number in (each, following) if number.figure.value.isdigit()]
    is_greater = _is_number(following) and values[:-1] < values[1:] and not cues["between"].search(said)
    is_number_of = not WORDS["number of"].isdisjoint(words[: each.first])
    return is_greater and is_number_of and not (WORDS["reaches"] | WORDS["to"]).isdisjoint(between[-1:])


def _kind_told(words: Sequence[str], placed: Sequence[Placed], cues: Cues) -> tuple[int, bool]:
    """Return the one kind that a sentence tells, or 0, and whether it tells "the number of" these."""
    places = [place for place, word in enumerate(words) if word in WORDS["number of"]]
    place = max((each for each in places if each < placed[0].first), default=min(places, default=len(words)))
    beside = (*words[max(0, place - 1) : place], *words[place : place + _BESIDE + 2]) if place < len(words) else ()
    subject: int = next((meaning.kind for meaning in map(meaning_of, beside) if meaning), 0)
    known = (each.figure for each in placed if 0 < each.figure.kind < FigureKind.OTHER and each.figure.value != "0")
    kinds: set[int] = {each.kind for each in known} - {FigureKind.VICTIMS}
    is_of_words = not kinds
    if is_of_words:
        kinds |= kinds_told(filter(cues["harm"].search, words)) - {FigureKind.VICTIMS}
    kind = min(kinds) if len(kinds) == 1 else subject
    return kind, is_of_words and kind == subject
