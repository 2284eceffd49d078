"""Which of the words that differ between two partners of an alignment change what is said."""

import re
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import NamedTuple

from scrapy_neardup.evidence.differing_places import LONGEST_DENIAL, Place
from scrapy_neardup.evidence.spellings import are_synonyms, is_same_form, is_same_spelling, is_spelled
from scrapy_neardup.evidence.tokens import (
    ABOUT,
    AGENCIES,
    ARTICLES,
    COURTESIES,
    FIRM,
    FIRST_SYLLABIC,
    FUNCTION_WORDS,
    INDEFINITE,
    QUALIFIERS,
    SAY_NOTHING,
    Token,
    TokenKind,
    is_unspaced,
    say_nothing,
)
from scrapy_neardup.evidence.value_words import differing, said_by, said_in
from scrapy_neardup.evidence.word_tables import MONTHS

# A letter or a Roman numeral in the place of another one: "hepatitis A", "hepatitis B". Some letters are words.
_OTHER_LETTER = re.compile("(?!(?:[aeioukswyz] ?){2}$)[a-z] [a-z]|[ivx]{2,} [ivx]{2,}")
_SHARES = {
    "1/2": "half",
    "50%": "half",
    "1/3": "third",
    "1/4": "quarter",
    "25%": "quarter",
    "1/5": "fifth",
    "20%": "fifth",
}
_LIKE_ABOUT = ABOUT - QUALIFIERS  # not "only"
_REPORTING = SAY_NOTHING - FUNCTION_WORDS
# Whether the old text has a word anywhere.
Has = Callable[[Token], bool]


class Difference(NamedTuple):
    """Words of the old sentence, and those in their place in the new one; "" if nothing stands there."""

    kind: TokenKind
    old: str
    new: str
    is_in_place: bool = False  # whether the sentences are so alike that this is another value of the same thing
    is_swapped: bool = False  # whether it is one name in the place of another one, in a sentence of a form
    is_alone: bool = False  # whether the rest of the sentence is equal


def differences_of(place: Place, has: Has, *, is_alone: bool) -> tuple[list[Difference], int]:
    """Return the content differences of one place, and how many other new words are held.

    Such words say nothing, or are only spelled otherwise. ``is_alone`` says that the rest of the sentence is equal.
    """
    for old, new in zip(place.gone, place.came, strict=True) if place.is_swap else ():
        if _OTHER_LETTER.fullmatch(f"{old.text} {new.text}"):
            return [Difference("code", old.printed, new.printed)], 0
    shorter, longer = sorted((place.gone, place.came), key=len)
    is_one_share = "" != _share_of(shorter) == _share_of(longer)  # "a third", "1/3"; "half", "50%"
    if is_one_share or not (place.is_content(is_alone=is_alone) or article_for_number(place.came, place.gone)):
        return [], len(place.came)
    gone, came = list(place.gone), list(place.came)
    _take_glued(gone, came)
    _take_glued(came, gone)
    _take_spellings(gone, came, is_same_spelling if place.is_only else is_same_form)
    wording = len(place.came) - sum(each.says or each.kind not in ("name", "word") for each in came)
    found = [*_firm_differences(gone, came, has)]
    if place.recounted and not found:
        found.append(
            Difference("number", printed_words(gone), f"{place.recounted.printed} {printed_words(came)}".strip())
        )
    other = _other_words(gone, came, has, may_be_known=not is_alone and not place.is_swap)
    if other is None and not found and (place.is_only or is_alone):
        other = _edited(place._replace(gone=gone, came=came), has)
    if other is not None:
        found.append(other)
    return found, wording


def _share_of(tokens: Sequence[Token]) -> str:
    text = "".join(
        each.text for each in tokens if each.text not in ARTICLES and each.text != "1" and each.kind != "name"
    )
    return _SHARES.get(text) or next((each.value for each in said_by(text) if each.of == "share"), "")


def _other_words(gone: Sequence[Token], came: Sequence[Token], has: Has, *, may_be_known: bool) -> Difference | None:
    """Return a name in the place of others, or another word for what happened to people.

    In a sentence with other words, a name that the old text has elsewhere ``may_be_known``: "Lund" for "the mayor".
    """
    olds, news = ([each for each in _of_kind(side, "name", "word") if each.says] for side in (gone, came))
    names_old, names_new = (_of_kind(side, "name") for side in (olds, news))
    if names_new and ((names_old and not may_be_known) or not all(map(has, names_new))):
        return Difference("name", printed_words(names_old or olds), printed_words(names_new))
    if olds and news and "fate" in differing(said_in(olds, ""), said_in(news, "")):  # "injured" in the place of "dead"
        return Difference("word", printed_words(olds), printed_words(news))
    return None


def _edited(place: Place, has: Has) -> Difference | None:
    """Return any other words in an equal sentence, but those that say the same or only who told it.

    If other sentences are reworded too, neither words that are left out count, nor those that the old text has
    elsewhere and that are only added, nor what stands beside "said".
    """
    gone, came = place.gone, place.came
    tells = say_nothing(gone) and any(each.text in _REPORTING for each in came)
    is_style = not place.is_only and (not came or tells or (not gone and all(map(has, came))))
    is_style |= not came and " ".join(each.text for each in gone) in COURTESIES
    if not place.has_another_sense and (is_style or _only_tell(place) or _says_the_same(place, gone, came)):
        return None
    return Difference("word", printed_words(gone), printed_words(came))


def _only_tell(place: Place) -> bool:
    """Decide whether words only tell who told a report, or when, or lead from one sentence to the next one."""
    gone, came = ([each for each in side if each.text not in FUNCTION_WORDS] for side in (place.gone, place.came))
    if not (gone or came):
        return not place.came and (place.before is None or not place.gone)
    if not place.came:  # not "what it said were", which makes a claim a fact
        is_apart = place.before is None or place.before.text in _REPORTING or place.gone[-1].closes
        return is_apart and any(each.text in SAY_NOTHING for each in gone)
    return _is_day(place, gone, came) or (say_nothing(gone) and say_nothing(came))


def _is_day(place: Place, gone: Sequence[Token], came: Sequence[Token]) -> bool:
    """Decide whether a day came in the place of a word such as "today", or a date behind its weekday."""
    if not place.gone and place.before is not None and place.before.kind == "time":
        return all(each.kind == "time" for each in place.came)  # not "and Tuesday"
    return len(gone) == 1 and say_nothing(gone) and all(each.kind == "time" for each in came)


def _says_the_same(place: Place, olds: Sequence[Token], news: Sequence[Token]) -> bool:
    """Decide whether words are only hedges, or who told a report, such as an agency behind "reported by"."""
    words = [[each.text for each in side] for side in (olds, news)]
    # Not "almost killed", "killed".
    are_hedges = any(place.numbers) and (
        _LIKE_ABOUT.issuperset(chain(*words)) or _LIKE_ABOUT.issuperset(map("".join, words))
    )
    # "Ten" became "some".
    is_vaguer = bool(olds and news) and INDEFINITE.issuperset(words[1]) and all(each.kind == "number" for each in olds)
    beside = place.behind[0] if place.before is None and place.behind else place.before
    is_source = beside is not None and beside.text in SAY_NOTHING and bool(olds) and AGENCIES.issuperset(words[0])
    return are_hedges or is_vaguer or is_source or are_synonyms(*words)


def _firm_differences(gone: Sequence[Token], came: Sequence[Token], has: Has) -> Iterable[Difference]:
    """Yield the numbers, codes, negations and times that differ, each with the one in its place."""
    olds = _of_kind(gone, "number", "quantity") or article_for_number(gone, came)
    news = _of_kind(came, "number", "quantity") or article_for_number(came, gone)
    if not olds and news:  # "no one has died" -> "three have died"
        olds = _of_kind(gone, "negation")
        gone = [each for each in gone if each.kind != "negation"]
    yield from _in_turn(olds, news, has)
    if olds and not news and any(each.text > FIRST_SYLLABIC for each in came):
        # The number words of these scripts are not known.
        yield Difference("number", printed_words(olds), printed_words(came))
    yield from _in_turn(_of_kind(gone, "code"), _of_kind(came, "code"), has)
    denied = _of_kind(gone, "negation")
    denies = _of_kind(came, "negation")
    if not denied:
        yield from _in_turn((), denies, has)
    elif not denies and len(gone) <= LONGEST_DENIAL:  # one "not" in the place of another says the same
        yield Difference("negation", denied[0].printed, "")
    yield from _times_and_units(gone, came)


def article_for_number(tokens: Sequence[Token], others: Sequence[Token]) -> list[Token]:
    """Return the last token as a number if it is an article in the place of one: "two thirds", "a third"."""
    if not tokens or not others or tokens[-1].text not in ARTICLES or any(each.says for each in tokens[:-1]):
        return []
    number = others[-1]
    is_several = number.kind == "number" and number.text.isdigit() and number.text != "1"
    return [tokens[-1]._replace(kind="number")] * is_several


def _of_kind(tokens: Sequence[Token], *kinds: TokenKind) -> list[Token]:
    return [each for each in tokens if each.kind in kinds]


def _times_and_units(gone: Sequence[Token], came: Sequence[Token]) -> Iterable[Difference]:
    news = _of_kind(came, "time", "unit")
    for old in _of_kind(gone, "time", "unit"):
        likes = (each for each in news if (each.kind, form_of(each)) == (old.kind, form_of(old)))
        if (new := next(likes, None)) is not None:
            news.remove(new)
            yield Difference(new.kind, old.printed, new.printed)


def _in_turn(olds: Sequence[Token], news: Sequence[Token], has: Has) -> Iterable[Difference]:
    # Not "some" for "ten".
    told = [each for each in news if each.text not in INDEFINITE or not olds or olds[0].kind != "number"]
    for number, new in enumerate(told):
        if number < len(olds):
            yield Difference(new.kind, olds[number].printed, new.printed)
        elif new.kind == "negation" or not has(new):
            yield Difference(new.kind, "", new.printed)


def form_of(time: Token) -> str:
    """Return how a time is told: "@" is a time of day, "#" the number of a date."""
    if time.text[0].isdigit():
        return "#"
    if time.text[0] == "@":
        return "@"
    return "month" if time.text in MONTHS else "day"


def _take_spellings(gone: list[Token], came: list[Token], is_same: Callable[[Token, Token], bool]) -> None:
    """Take the words out that are the same as one in the other row."""
    for token in list(came):
        like = next((each for each in gone if is_same(each, token)), None)
        if like is not None:
            gone.remove(like)
            came.remove(token)


def _take_glued(some: list[Token], others: list[Token]) -> None:
    """Take words out that are written together in ``others`` and apart in ``some``, or only with their initials."""
    glued = _glued(some) if others else []
    for token in list(others):
        may_be_short = token.says and token.kind not in FIRM
        for first, end, joined, initials in glued:
            if is_spelled(joined, token) or (may_be_short and initials == token.text):
                others.remove(token)
                del some[first:end]
                glued = _glued(some)
                break


def _glued(tokens: Sequence[Token]) -> list[tuple[int, int, str, str]]:
    """Return first token and end of some words, the words without their spaces, and the initials of those that name."""
    return [
        (
            first,
            end,
            "".join([each.printed for each in parts]),
            "".join([each.text[0] for each in parts if each.text not in FUNCTION_WORDS]),
        )
        for first in range(len(tokens))
        for end in range(first + 2, min(len(tokens), first + 8) + 1)  # words
        for parts in [tokens[first:end]]
    ]


def printed_words(tokens: Sequence[Token]) -> str:
    """Return words as they are told: characters of scripts without spaces stand together."""
    words = ""
    last = None
    for each in tokens:
        is_apart = last is not None and not (is_unspaced(each) and is_unspaced(last))
        words += " " * is_apart + each.printed
        last = each
    return words
