"""The content differences of two texts: the words of aligned sentences that change what is said.

A figure in any form, a date or a time, a code, a name, a quantity word or a negation is content. Spellings, typing
errors, inflection, two spellings of one name and the words with which a paper says the same are wording. In a sentence
that is otherwise equal, a word that stands in the place of another word is content too, unless both are spelled alike:
no list knows all words that change the news.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import takewhile
from typing import Literal, NamedTuple

from scrapy_neardup.evidence.changes import changed_figures, is_change
from scrapy_neardup.evidence.counted import is_of_page, meaning_of
from scrapy_neardup.evidence.figures import SENTENCE_ENDS, Figure, figures_of_title, find_figures
from scrapy_neardup.evidence.names import skeleton
from scrapy_neardup.evidence.number_words import COMMA, CURRENCIES, LINE_END, MONTHS, WEEKDAYS, WORDS, read_table
from scrapy_neardup.evidence.numbers import number_tokens, take_numbers
from scrapy_neardup.text.alignment import Aligned, align, read_sentences
from scrapy_neardup.text.folding import fold

Kind = Literal["number", "code", "time", "quantity", "negation", "name", "word"]

_TABLE: dict[str, str] = read_table("wording.json")
NEGATIONS, QUANTITIES, RELATIVE_DAYS, REPORTING, FUNCTION_WORDS = (
    frozenset(_TABLE[name].split()) for name in ("negations", "quantities", "relative_days", "reporting", "function_words")
)
_VAGUE = frozenset(_TABLE["vague"].split())
_TEASER = re.compile(rf"(?:{'|'.join(map(re.escape, sorted(_TABLE['teasers'].split('|'), key=len, reverse=True)))})\s*(?:[:>\-|!]|$)")
_LETTER = "[A-Za-z\u0370-\u052f]"
_CODE = re.compile(rf"(?<!\w)({_LETTER}{{1,4}}-?[0-9][\w-]*)")
_TO_LETTERS = str.maketrans("0123456789-", "qjzxkvwyhbg")
_CAPITALISED = re.compile(r"[^\W\d_][\w'-]+")
_INSIDE = re.compile(r"(?<=[\w,;] )([A-Z\u00c0-\u00de\u0100-\u024f\u0370-\u03ff\u0400-\u042f][\w'-]+)")
_BEFORE_MONEY = frozenset("n ngn rs r rm rp ksh kes tsh ush gh ghs us usd eur gbp inr lkr pkr zar p s".split())
_ARABIC_DECIMAL = re.compile("(?<=[0-9])\u0631(?=[0-9])")
_UNSPACED = re.compile("([\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff])")
_CLOCK = re.compile("([01]?[0-9]|2[0-4])[:.h]([0-5][0-9])")

NEAR = 0.7  # share of the tokens of two partners that are equal: then each differing word counts
_SAME_LETTERS = 0.85
_ARABIC_PREFIX = re.compile("^[\u0648\u0641]?[\u0628\u0644\u0643]?(?:\u0627\u0644)?(?=...)")
_SAME_BEGINNING = 0.6  # of the longer of two spellings of a word
_DATELINE, _LONGEST_DATELINE = 3, 5  # sentences that may begin with one; words of it
_TOLD_SHARE = 0.6
_SHORT = 3  # words: longer parts of a sentence that differ are another wording


class Token(NamedTuple):
    """A word or number in the form in which it is compared."""

    text: str
    kind: Kind
    printed: str


class Difference(NamedTuple):
    """What stands in the old sentence, and what in the new one; "" if nothing stands there."""

    kind: Kind
    old: str
    new: str
    before: str = ""  # words beside it, as they are printed
    behind: str = ""
    is_in_place: bool = False  # whether the words beside it are those beside the old ones


@dataclass(frozen=True, slots=True)
class Compared:
    """A sentence of the new text: its partner, the tokens that its partner holds, and the content differences."""

    text: str
    partner: str
    words: int
    held: int
    differences: tuple[Difference, ...] = ()
    is_title: bool = False

    @property
    def is_equal(self) -> bool:
        return bool(self.partner) and not self.differences and self.held == self.words


class Side(NamedTuple):
    """One of two texts that are compared."""

    title: str
    text: str
    source: str = ""
    language: str = ""


class _Known(NamedTuple):
    """What the two texts hold as a whole."""

    tokens: frozenset[str]  # of the old text
    skeletons: frozenset[str]  # of its names
    names: frozenset[str]  # words that both texts never begin with a small letter
    own_names: str  # of the papers
    title: frozenset[str]  # words of the new title
    language: str


def compare(new: Side, old: Side) -> list[Compared]:
    """Return the sentences of the new text, its title first, as they compare with the old text."""
    news, olds = read_sentences(f"{new.title}\n{new.text}", f"{old.title}\n{old.text}")
    aligned = align(news, olds)
    if all(each.is_equal for each in aligned):
        return [Compared(each.text, each.partner, each.words, each.words) for each in aligned]
    names = frozenset() if new.language == "de" else _names(f"{new.text}\n{old.text}")
    whole = tokens_of(f"{old.title}\n{old.text}", old.language, names)
    known = _Known(
        frozenset(each.text for each in whole),
        frozenset(skeleton(each.text) for each in whole if each.kind == "name") - {""},
        names,
        f"{new.source} {old.source}",
        frozenset(each.text for each in tokens_of(new.title, new.language)),
        new.language,
    )
    return [
        Compared(each.text, each.partner, each.words, each.words)
        if each.is_equal
        else _compared(each, known, number, is_title=bool(new.title) and number == 0)
        for number, each in enumerate(aligned)
    ]


def _names(text: str) -> frozenset[str]:
    """Return the words that stand with a capital inside a sentence, and nowhere without one."""
    folded = fold(text)
    words = _CAPITALISED.findall(folded)
    small = {word for word in words if word[0].islower()}
    return frozenset(
        found[1].casefold().replace("'", "") for found in _INSIDE.finditer(folded) if found[1].casefold() not in small
    ) - FUNCTION_WORDS


def tokens_of(text: str, language: str = "", names: frozenset[str] = frozenset()) -> list[Token]:
    """Return the tokens of a text: numbers by their value, codes whole, all else as folded words."""
    folded = _ARABIC_DECIMAL.sub(".", fold(text))
    codes: dict[str, str] = {}

    def as_word(found: re.Match[str]) -> str:
        code = found[1].casefold()
        letters = "".join(takewhile(str.isalpha, code))
        if letters in _BEFORE_MONEY or letters in CURRENCIES:
            return f"{letters} {code[len(letters):]}"
        word = "zq" + code.translate(_TO_LETTERS)
        codes[word] = found[1]
        return word

    folded = _CODE.sub(as_word, folded)
    tokens, starts = number_tokens(folded)
    raw = list(tokens)
    numbers = {first: (end, value, mark) for first, end, value, mark in take_numbers(tokens, starts, language)}
    found, place = [], 0
    while place < len(raw):
        token = raw[place]
        if place in numbers:
            end, value, mark = numbers[place]
            printed = " ".join(part.rstrip(".,;:)!?") for part in raw[place:end] if part)
            found.append(Token(value, "number", printed))
            place = end
            if len(found) > 2 and found[-2].text in WORDS["to"] and found[-3].kind == "number":
                low, to, high = found[-3:]
                found[-3:] = [Token(f"{low.text}-{high.text}", "number", f"{low.printed} {to.printed} {high.printed}")]
            continue
        place += 1
        if token in ("", LINE_END, COMMA) or not any(map(str.isalnum, token)):
            continue
        if token in codes:
            found.append(Token(token, "code", codes[token]))
        elif token[0].isdigit():
            core = token.rstrip(".,;:)!?")
            found.append(Token(_time(core, raw[place : place + 3]), "time", core))
        elif _UNSPACED.search(token):
            found += [Token(part, _kind(part, names), part) for part in _UNSPACED.split(token) if part]
        else:
            found.append(Token(token, _kind(token, names), token))
    return found


def _time(core: str, behind: Sequence[str]) -> str:
    """Return a time of day in minutes, and other dates as they are."""
    clock = _CLOCK.fullmatch(core)
    is_pm = behind[:1] == ["pm"] or behind[:3] == ["p", LINE_END, "m"]
    is_am = behind[:1] == ["am"] or behind[:3] == ["a", LINE_END, "m"]
    if not clock and not (is_pm or is_am):
        return core.lstrip("0") or "0"
    hour, minute = (int(clock[1]), int(clock[2])) if clock else (int(core) if core.isdigit() and len(core) < 3 else 0, 0)
    if (is_pm or is_am) and hour <= 12:
        hour = hour % 12 + 12 * is_pm
    return f"@{60 * hour + minute}"


def _kind(token: str, names: frozenset[str]) -> Kind:
    if token in NEGATIONS:
        return "negation"
    if token in QUANTITIES:
        return "quantity"
    if token in WEEKDAYS or token in MONTHS:
        return "time"
    return "name" if token in names else "word"


def _compared(aligned: Aligned, known: _Known, number: int, *, is_title: bool) -> Compared:
    new = tokens_of(aligned.text, known.language, known.names)
    words = max(1, len(new))
    if not is_title and _is_furniture(aligned.text, new, known):
        return Compared(aligned.text, "", 0, 0, (), is_title)
    if not aligned.partner:
        return Compared(aligned.text, "", words, 0, _of_new_sentence(new, known), is_title)
    old = tokens_of(aligned.partner, known.language, known.names)
    places, held = _places(new, old)
    is_lonely = len(places) == 1 and held >= NEAR * len(new)
    places = [each for each in places if each.is_content]
    if number < _DATELINE and places and places[0].is_dateline:
        held += len(places.pop(0).came)
    olds, news = (
        [each for place in places for each in place.gone if each.kind in ("number", "quantity")],
        [each for place in places for each in place.came if each.kind in ("number", "quantity")],
    )
    is_near = held >= _TOLD_SHARE * len(new) and len(olds) == len(news)
    found = [_differences(each, known, is_lonely=is_lonely, is_near=is_near) for each in places]
    held += sum(wording for _, wording in found)
    differences = tuple(difference for each, _ in found for difference in each)
    return Compared(aligned.text, aligned.partner, words, min(held, words), differences, is_title)


class _Place(NamedTuple):
    """A place where two partners differ: the words that are gone, those that came, and those beside them."""

    gone: list[Token]
    came: list[Token]
    before: str
    behind: str

    @property
    def is_dateline(self) -> bool:
        return not self.before and not self.gone and len(self.came) <= _LONGEST_DATELINE

    @property
    def is_content(self) -> bool:
        """Return False if only function words differ, or if words of the old sentence are just left out."""
        if any(each.text not in FUNCTION_WORDS for each in self.came):
            return True
        return len(self.gone) <= _SHORT and any(each.kind == "negation" for each in self.gone)


def _places(new: Sequence[Token], old: Sequence[Token]) -> tuple[list[_Place], int]:
    """Return the places where two partners differ, without words that only moved, and how many new words are held."""
    matcher = SequenceMatcher(None, [each.text for each in old], [each.text for each in new], autojunk=False)
    operations = [each[1:] for each in matcher.get_opcodes() if each[0] != "equal"]
    moved_out = Counter(old[i].text for first, end, _, _ in operations for i in range(first, end))
    moved = moved_out & Counter(new[i].text for _, _, start, stop in operations for i in range(start, stop))
    places = []
    for first, end, start, stop in operations:
        gone, came = ([each for each in side if not moved[each.text]] for side in (old[first:end], new[start:stop]))
        if came or 0 < first and end < len(old):
            places.append(_Place(gone, came, _printed(new[max(0, start - 3) : start]), _printed(new[stop : stop + 3])))
    return places, len(new) - sum(len(each.came) for each in places)


def _is_furniture(text: str, new: Sequence[Token], known: _Known) -> bool:
    """Decide whether a line is of the page, not of the article: a link to another article, a byline, an advertisement."""
    if text.endswith(SENTENCE_ENDS) and len(new) > 4:
        return False
    folded = fold(text).casefold()
    if "©" in folded or known.title.issuperset(each.text for each in new) or all(each.kind in ("name", "time") for each in new):
        return True
    if any(each.kind in STRICT and not _is_known(each, known) for each in new) and not _TEASER.match(folded):
        return False
    is_byline = 2 <= len(new) <= 4 and all(word[0].isupper() and not word.isupper() for word in text.split())
    is_own = len(new) <= 6 and any(len(each.text) > 3 and each.text in known.own_names for each in new)
    return len(new) < 2 or bool(_TEASER.match(folded)) or is_byline or is_own or (len(new) <= 12 and is_of_page(text))


def _printed(tokens: Sequence[Token]) -> str:
    return " ".join(each.printed for each in tokens)


def _of_new_sentence(new: Sequence[Token], known: _Known) -> tuple[Difference, ...]:
    kinds = ("number", "code", "quantity", "name")
    return tuple(
        Difference(each.kind, "", each.printed) for each in new if each.kind in kinds and not _is_known(each, known)
    )


def _is_known(token: Token, known: _Known) -> bool:
    if token.text in known.tokens:
        return True
    if token.kind != "name":
        return False
    return skeleton(token.text) in known.skeletons or (len(token.text) > 3 and token.text in known.own_names)


STRICT: frozenset[Kind] = frozenset(("number", "code", "time", "quantity", "negation"))


def _differences(place: _Place, known: _Known, *, is_lonely: bool, is_near: bool) -> tuple[list[Difference], int]:
    """Return the content differences of one place, and how many of the new words are wording only.

    ``is_lonely`` says that the rest of the sentence is equal.
    """
    gone, came = list(place.gone), list(place.came)
    wording = _take_glued(gone, came) + _take_glued(came, gone)
    for token in list(came):
        like = next((each for each in gone if is_spelling(each, token)), None)
        if like is not None:
            gone.remove(like)
            came.remove(token)
            wording += 1
    found = _strict_differences(gone, came, known)
    rest_old, rest_new = ([each for each in side if each.kind in ("name", "word") and _says(each)] for side in (gone, came))
    wording += sum(each.kind in ("name", "word") for each in came) - len(rest_new)
    names_old, names_new = ([each for each in side if each.kind == "name"] for side in (rest_old, rest_new))
    is_unknown = not all(_is_known(each, known) for each in rest_new)
    if names_new and (names_old or not all(_is_known(each, known) for each in names_new)):
        found.append(Difference("name", _printed(names_old or rest_old), _printed(names_new)))
    elif rest_new and rest_old and (_other_meaning(rest_old, rest_new) or (is_lonely and is_unknown and max(len(rest_old), len(rest_new)) <= _SHORT)):
        found.append(Difference("word", _printed(rest_old), _printed(rest_new)))
    else:
        wording += len(rest_new)
    is_in_place = is_near and max(len(place.gone), len(place.came)) <= _SHORT + 2
    return [each._replace(before=place.before, behind=place.behind, is_in_place=is_in_place) for each in found], wording


def _other_meaning(gone: Sequence[Token], came: Sequence[Token]) -> bool:
    """Decide whether other words say what happened to people: "injured" in place of "dead"."""
    old, new = ({meaning.kind for each in side if (meaning := meaning_of(each.text))} for side in (gone, came))
    return bool(old and new and old != new)


def _take_glued(some: list[Token], others: list[Token]) -> int:
    """Take words out that are written together on one side and apart on the other. Return how many there were."""
    taken = 0
    for token in list(others):
        for first in range(len(some)):
            for end in range(first + 1, min(len(some), first + 4) + 1):
                if token in others and "".join(each.text for each in some[first:end]) == token.text:
                    taken += 1
                    others.remove(token)
                    del some[first:end]
    return taken


def _says(token: Token) -> bool:
    """Decide whether a word may change what a sentence says: no article, no pronoun, no "said" or "stated"."""
    is_short = len(token.text) < 3 and token.text < "\u0e00"
    return not is_short and token.text not in FUNCTION_WORDS and token.text not in REPORTING and token.text not in RELATIVE_DAYS


def _strict_differences(gone: Sequence[Token], came: Sequence[Token], known: _Known) -> list[Difference]:
    found: list[Difference] = []
    for kinds in (("number", "quantity"), ("code",), ("negation",)):
        olds, news = ([each for each in side if each.kind in kinds] for side in (gone, came))
        for number in range(max(len(olds), len(news))):
            old, new = (side[number] if number < len(side) else None for side in (olds, news))
            if new and old:
                if new.kind != "negation" and new.text not in _VAGUE:
                    found.append(Difference(new.kind, old.printed, new.printed))
            elif new and new.text not in _VAGUE and (new.kind == "negation" or not _is_known(new, known)):
                found.append(Difference(new.kind, "", new.printed))
            elif old and old.kind == "negation" and len(gone) <= _SHORT:
                found.append(Difference("negation", old.printed, ""))
    olds, news = ([each for each in side if each.kind == "time"] for side in (gone, came))
    for old, new in zip(olds, news, strict=False):
        if _form(old) == _form(new):
            found.append(Difference("time", old.printed, new.printed))
    return found


def _form(token: Token) -> str:
    return token.text[0] if token.text[0] == "@" else "#" if token.text[0].isdigit() else "month" if token.text in MONTHS else "day"


@lru_cache(1 << 14)
def _alike(a: str, b: str) -> bool:
    """Decide whether two words are one word in two forms or spellings: other endings, or a letter or two."""
    if "\u0600" <= a[0] < "\u0700":
        a, b = (_ARABIC_PREFIX.sub("", word) for word in (a, b))
    if a == b:
        return True
    shorter, longer = sorted((a, b), key=len)
    if len(shorter) < 4 or shorter[0] != longer[0]:
        return False
    common = next((i for i, (x, y) in enumerate(zip(shorter, longer, strict=False)) if x != y), len(shorter))
    if common >= max(4, _SAME_BEGINNING * len(longer)):
        return True
    rest_a, rest_b = shorter[common:], longer[common:]
    is_one_letter = rest_a[1:] == rest_b[1:] or rest_a == rest_b[1:] or rest_a[:2] == rest_b[1::-1] and rest_a[2:] == rest_b[2:]
    if is_one_letter and len(longer) >= 5:
        return True
    return len(longer) >= 6 and SequenceMatcher(None, shorter, longer, autojunk=False).ratio() >= _SAME_LETTERS


def is_spelling(a: Token, b: Token) -> bool:
    """Decide whether two tokens are two spellings, or two forms, of one word."""
    if a.kind == b.kind == "time" and not (a.text + b.text).isdigit():
        shorter, longer = sorted((a.text, b.text), key=len)
        return longer.startswith(shorter) or (shorter[:4] == longer[:4] and len(shorter) > 4)
    if a.kind in STRICT or b.kind in STRICT:
        return a.text == b.text and a.kind == b.kind
    if "name" in (a.kind, b.kind):
        same = skeleton(a.text) == skeleton(b.text) != ""
        return (same and a.text[0] == b.text[0]) or (len(a.text) >= 8 and a.text[:3] == b.text[:3] and _alike(a.text, b.text))
    return _alike(a.text, b.text)


TOLD: frozenset[Kind] = frozenset(("number", "quantity", "time", "code"))


def told_changes(compared: Sequence[Compared], language: str = "") -> list[str]:
    """Return a line for each figure, time or code that has another value, such as "injured: 4 -> 12"."""
    lines: dict[tuple[str, str], str] = {}
    for sentence in compared:
        for each in sentence.differences:
            if each.kind in TOLD and each.old and each.new and each.is_in_place and (each.old, each.new) not in lines:
                label = _label(sentence, each, language)
                if label is not None:
                    lines[each.old, each.new] = f"{label}: {each.old} -> {each.new}" if label else f"{each.old} -> {each.new}"
    return list(lines.values())


def _label(sentence: Compared, difference: Difference, language: str) -> str | None:
    """Return what a changed figure counts, in English if a word says so, else in the words of the text.

    None if the two sentences count two things, or if it may be one value in two forms.
    """
    old, new = (
        _figure_of(text, value, language)
        for text, value in ((sentence.partner, difference.old), (sentence.text, difference.new))
    )
    if old and new and (not is_change(old, new) or _may_be_misread(old, new, difference)):
        return None
    label = (new and new.label) or (old and old.label)
    return label or " ".join(difference.behind.split()[:2]) or " ".join(difference.before.split()[-2:])


def _may_be_misread(old: Figure, new: Figure, difference: Difference) -> bool:
    """Decide whether one value may be the other one, cut or written otherwise."""
    in_digits = [any(map(str.isdigit, each)) for each in (difference.old, difference.new)]
    is_arabic = "\u0600" <= difference.new[-1] < "\u0700" or "\u0600" <= difference.old[-1] < "\u0700"
    if not all(in_digits) and (is_arabic or (any(in_digits) and not (old.label and new.label))):
        return True
    if sorted(old.value.split(".")) == sorted(new.value.split(".")):
        return True  # "1,13" and "13,1": some sites print the halves of a decimal in the other order
    shorter, longer = sorted((old.value, new.value), key=len)
    return not (old.value + new.value).isdigit() and (longer.startswith(shorter) or longer.endswith(shorter))


def _figure_of(text: str, printed: str, language: str) -> Figure | None:
    values = {each.text for each in tokens_of(printed, language)}
    found = next((each for each in find_figures(text) if each.value in values), None)
    return found or next((Figure(each.text, b"") for each in tokens_of(printed, language) if each.kind == "number"), None)


def all_changes(compared: Sequence[Compared], new: Side, old: Side) -> list[str]:
    lines = told_changes(compared, new.language)
    values = {(line.rsplit(": ", 1)[0].split()[-1]) for line in lines}
    figures_old = [*figures_of_title(old.title, old.language), *find_figures(old.text)]
    figures_new = [*figures_of_title(new.title, new.language), *find_figures(new.text)]
    for change in changed_figures(figures_old, figures_new, 0.0):
        if change.line and change.line.split(":")[0] not in values:
            lines.append("*" + change.line)
    return lines
