"""The content differences of two texts: the words of aligned sentences that change what is said.

A figure in any form, a date or a time, a code, a name, a quantity word or a negation is content. Spellings, typing
errors, inflection, two spellings of one name and the words with which a paper says the same are wording. In a sentence
that is otherwise equal, a word that stands in the place of another word is content too, unless both are spelled alike:
no list knows all words that change the news.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property
from typing import NamedTuple

from scrapy_neardup.evidence.counted import is_of_page, meaning_of
from scrapy_neardup.evidence.figures import SENTENCE_ENDS, find_figures
from scrapy_neardup.evidence.names import skeleton
from scrapy_neardup.evidence.number_words import MONTHS
from scrapy_neardup.evidence.tokens import (
    FIRM,
    FUNCTION_WORDS,
    OPPOSITES,
    TEASERS,
    VAGUE,
    Token,
    TokenKind,
    is_same_word,
    is_spelled,
    is_unspaced,
    names_of,
    piece_of,
    say_nothing,
    tokens_of,
)
from scrapy_neardup.text.alignment import Aligned, align, read_sentences
from scrapy_neardup.text.folding import fold

SAME_ORDER = 0.3  # least share of a sentence that its partner has in one order
NEAR = 0.7  # share of a sentence that is equal: then a word in the place of another one counts
HALF = 0.5  # the same share, for a few words in the place of a few
FORM = 0.6  # share of two sentences that is equal: then a name in the place of another one is that of a form
IN_PLACE = 0.6  # share of a sentence that is equal: then a number in the place of another one is its new value
_SHORT = 3  # words: a longer part of a sentence that differs is another wording
_LONGEST_VALUE = 5  # words of a part of a sentence that has another value
_FIRST_IDEOGRAPH = "\u3040"
_Operation = tuple[int, int, int, int]  # first token and end in the old sentence, and in the new one
_WITHIN_WORD = 2  # equal characters inside a word of a script without spaces, of which the others differ
_LONGEST_CUT = 0.15  # share of a sentence: a neighbour of its partner that has more is joined to the partner
_BESIDE = 4  # words
_HEAD = 3  # sentences, the title among them, that say what a text is about; the first of them may begin with a dateline
_LONGEST_DATELINE, _LONGEST_LINE = 5, 12  # words
_TEASER = re.compile(rf"(?:{'|'.join(map(re.escape, TEASERS))})\s*(?:[:>\-|!]|$)")
_WORD = re.compile(r"\w+")
_CURRENCY_SIGN = re.compile("[$\u00a3\u00a5\u20a0-\u20c0]")
_SMALL_WORD = re.compile(r"(?<![\w'-])[^\W\d_A-Z][a-z]{3,}")
_NO_CAPITALS = ("de", "lb")  # in these languages every noun has a capital


class Side(NamedTuple):
    """One of two texts that are compared. ``language`` is an ISO 639-1 code, or "" if it is not known."""

    title: str
    text: str
    source: str = ""
    language: str = ""


class Difference(NamedTuple):
    """Words of the old sentence, and those in their place in the new one; "" if nothing stands there."""

    kind: TokenKind
    old: str
    new: str
    before: str = ""  # the words beside it in the new sentence
    behind: str = ""
    is_in_place: bool = False  # whether the sentences are so alike that this is another value of the same thing
    is_one_of_one: bool = False  # whether as many numbers are gone from the sentence as came
    is_swapped: bool = False  # whether it is one name in the place of another one, in a sentence of a form
    is_alone: bool = False  # whether the rest of the sentence is equal
    values: tuple[str, str] = ("", "")  # of numbers, as decimals; else as they are printed


class Sentence(NamedTuple):
    """A sentence of the new text, compared with its partner in the old one, which is "" if it has none.

    ``held`` of its ``words`` are in the partner. A sentence without words is of the page, not of the article.
    """

    text: str
    partner: str
    words: int
    held: int
    differences: tuple[Difference, ...] = ()
    is_title: bool = False

    @property
    def is_new(self) -> bool:
        """Return whether the old text does not have this sentence in any wording."""
        return self.words > 0 and not self.partner and not self.is_title

    @property
    def shown(self) -> str:
        """Return what differs, such as "4 -> 9", or the whole sentence if the old text has none like it."""
        return "; ".join(f"{each.old} -> {each.new}" for each in self.differences) or self.text


@dataclass(frozen=True)
class Comparison:
    """The sentences of a new text, its title first, as they compare with an old text of ``old_words`` words."""

    sentences: tuple[Sentence, ...]
    old_words: int
    held_head_of_old: float  # share of the first two sentences of the old text that the new one holds

    @cached_property
    def share(self) -> float:
        """Return the share of the new text that the old one holds, in [0, 1]. Titles do not count."""
        return self._held / max(1, self._words)

    @cached_property
    def share_of_old(self) -> float:
        """Return the share of the old text that the new one holds, in [0, 1]."""
        return min(1.0, self._held / max(1, self.old_words))

    @property
    def resemblance(self) -> float:
        """Return the share of the words of both texts that both have, in [0, 1]."""
        return min(1.0, self._held / max(1, self._words + self.old_words - self._held))

    @cached_property
    def held_head(self) -> float:
        """Return the share of the first two sentences that the old text holds."""
        head = [each for each in self.sentences if not each.is_title and each.words][: _HEAD - 1]
        return sum(each.held for each in head) / max(1, sum(each.words for each in head))

    @property
    def content(self) -> Sentence | None:
        """Return the first sentence that says what the old text does not say, None if there is none.

        Each paper writes its own titles: in a title only figures, times, codes, quantities and negations count, unless
        the rest of it is equal.
        """
        return next(self.differing, None)

    @property
    def differing(self) -> Iterator[Sentence]:
        return (each for each in self.sentences if each.is_new or any(_counted(each)))

    @property
    def differences(self) -> list[tuple[Sentence, Difference]]:
        return [(sentence, each) for sentence in self.sentences for each in _counted(sentence)]

    @property
    def has_other_names(self) -> bool:
        """Return whether a form was filled in with other names: at its beginning, or in several places."""
        places = [
            number
            for number, sentence in enumerate(self.sentences)
            for each in sentence.differences
            if each.kind == "name" and each.is_swapped
        ]
        is_in_head = bool(places) and places[0] < _HEAD and self.share >= FORM
        return is_in_head and (len(places) > 1 or self.has_other_figures)

    @property
    def has_other_figures(self) -> bool:
        """Return whether most figures have another value, as in the reports of two lottery draws."""
        changed = [each for _, each in self.differences if each.kind == "number" and each.old and each.is_in_place]
        return len(changed) > 2

    @property
    def _words(self) -> int:
        return sum(each.words for each in self.sentences if not each.is_title)

    @property
    def _held(self) -> int:
        return sum(each.held for each in self.sentences if not each.is_title)


def _counted(sentence: Sentence) -> Iterable[Difference]:
    return (each for each in sentence.differences if not sentence.is_title or each.kind in FIRM or each.is_alone)


class _Old:
    """What is looked up in the old text as a whole, and of both texts."""

    def __init__(self, new: Side, old: Side) -> None:
        self._side = old
        self.language = new.language
        self.papers = f"{new.source} {old.source}"
        titles = [each for each in (new.title, old.title) if _SMALL_WORD.search(each)]  # not "Police Find Missing Boy"
        self._bodies = "\n".join((*titles, new.text, old.text))
        self._title = new.title

    @cached_property
    def names(self) -> frozenset[str]:
        return frozenset() if self.language in _NO_CAPITALS else names_of(self._bodies)

    @cached_property
    def title(self) -> frozenset[str]:
        """Return the words of the new title."""
        return frozenset(each.text for each in tokens_of(self._title, self.language))

    @cached_property
    def _text(self) -> str:
        return f"{self._side.title}\n{self._side.text}"

    @cached_property
    def _words(self) -> frozenset[str]:
        return frozenset(_WORD.findall(fold(self._text).casefold()))

    @cached_property
    def _tokens(self) -> frozenset[str]:
        return frozenset(each.text for each in tokens_of(self._text, self._side.language))

    @cached_property
    def _skeletons(self) -> frozenset[str]:
        return frozenset(map(skeleton, self._words & self.names)) - {""}

    def has(self, token: Token) -> bool:
        """Return whether the old text has a word, or a name in any spelling. The name of a paper counts as known."""
        if token.text in self._words:
            return True
        if token.kind == "name":
            return skeleton(token.text) in self._skeletons or self.is_paper(token)
        return token.kind in FIRM and token.text in self._tokens

    def is_paper(self, token: Token) -> bool:
        return len(token.text) > 3 and token.text in self.papers


def compare(new: Side, old: Side, learned: Sequence[str] = ()) -> Comparison:
    """Compare two texts. ``learned`` are the lines of the new text that are boilerplate of its source."""
    sentences, olds = read_sentences(f"{new.title}\n{new.text}", f"{old.title}\n{old.text}")
    old_words = sum(len(each.tokens) for each in olds[bool(old.title) :])
    known = _Old(new, old)
    found = []
    for number, each in enumerate(align(sentences, olds)):
        is_title = bool(new.title) and number == 0
        if any(each.text in line for line in learned):
            found.append(Sentence(each.text, "", 0, 0))
        elif each.is_equal and (each.text == each.partner or _signs(each.text) == _signs(each.partner)):
            found.append(Sentence(each.text, each.partner, each.words, each.words, is_title=is_title))
        else:
            found.append(_compared(each, known, number, is_title=is_title))
    old_head = align(olds[bool(old.title) :][: _HEAD - 1], sentences)
    held_head = sum(each.held for each in old_head) / max(1, sum(each.words for each in old_head))
    return Comparison(tuple(found), old_words, held_head)


def _signs(text: str) -> list[str]:
    """Return the signs of currencies, which are no words."""
    return sorted(_CURRENCY_SIGN.findall(text))


def _compared(aligned: Aligned, known: _Old, number: int, *, is_title: bool) -> Sentence:
    may_be_of_page = not is_title and (aligned.words <= _SHORT + 1 or not aligned.text.endswith(SENTENCE_ENDS))
    if not aligned.partner and not may_be_of_page and not is_title:
        return Sentence(aligned.text, "", aligned.words, 0)
    new = tokens_of(aligned.text, known.language, known.names)
    words = max(1, len(new))
    if may_be_of_page and _is_of_page(aligned.text, new, known):
        return Sentence(aligned.text, "", 0, 0)
    old = tokens_of(aligned.partner, known.language, known.names) if aligned.partner else []
    places, equal = _places(new, old)
    if not equal:
        if not may_be_of_page and not is_title:
            return Sentence(aligned.text, "", words, 0)
        unknown = (each for each in new if each.kind in FIRM and not known.has(each))
        return Sentence(
            aligned.text, "", words, 0, tuple(Difference(each.kind, "", each.printed) for each in unknown), is_title
        )
    lonely = places[0] if len(places) == 1 else None
    is_lonely = lonely is not None and equal >= len(new) * (NEAR if lonely.size > _SHORT else HALF)
    held = equal
    if number < _HEAD and places and places[0].is_dateline:
        held += len(places.pop(0).came)
    is_one_of_one = _count_firm(each.gone for each in places) == _count_firm(each.came for each in places)
    is_alone = is_lonely
    if is_title and lonely is not None:  # each paper writes its own: only another word in the same title counts
        is_alone = is_lonely and lonely.size < _SHORT and equal >= NEAR * max(len(new), len(old))
    is_form = equal >= FORM * max(len(new), len(old))
    is_in_place = is_one_of_one and equal >= IN_PLACE * len(new)
    differences: list[Difference] = []
    for place in places:
        if place.is_content:
            found, wording = _differences(place, known, is_lonely=is_lonely)
            is_value = is_in_place and max(len(place.gone), len(place.came)) <= _LONGEST_VALUE
            is_swapped = is_form and len(place.gone) == len(place.came) <= _SHORT
            differences += [
                each._replace(
                    is_in_place=is_value, is_one_of_one=is_one_of_one, is_swapped=is_swapped, is_alone=is_alone
                )
                for each in found
            ]
            held += wording
        else:
            held += len(place.came)
    return Sentence(aligned.text, aligned.partner, words, min(held, words), tuple(differences), is_title)


def _count_firm(parts: Iterable[Sequence[Token]]) -> int:
    return sum(each.kind in ("number", "quantity", "negation") for part in parts for each in part)


def _is_of_page(text: str, tokens: Sequence[Token], known: _Old) -> bool:
    """Decide whether a line is of the page, not of the article: a link to another one, a byline, an advertisement."""
    folded = fold(text).casefold()
    if "©" in folded or _TEASER.match(folded) or known.title.issuperset(each.text for each in tokens):
        return True
    if all(each.kind in ("name", "time") for each in tokens):
        return True
    if len(tokens) <= _LONGEST_LINE and is_of_page(text) and not any(each.is_grave for each in find_figures(text)):
        return True  # a counter, such as "3 min read"
    if any(each.kind in FIRM and not known.has(each) for each in tokens):
        return False
    words = text.split()
    is_byline = 2 <= len(words) <= 4 and all(word[0].isupper() and not word.isupper() for word in words)
    is_of_paper = len(tokens) <= _LONGEST_LINE / 2 and any(map(known.is_paper, tokens))
    return len(tokens) < 2 or is_byline or is_of_paper


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
    def size(self) -> float:
        """Return how many words differ. In scripts without spaces four characters count as a word."""
        return max(sum(0.25 if is_unspaced(each) else 1 for each in side) for side in (self.gone, self.came))

    @property
    def is_opposite(self) -> bool:
        """Return whether a small word became its opposite: "before" and "after", "over" and "under"."""
        pair = {each.text for each in (*self.gone, *self.came)}
        return len(self.gone) == len(self.came) == 1 and pair in OPPOSITES

    @property
    def is_content(self) -> bool:
        """Return False if only function words differ, or if words of the old sentence are just left out."""
        if any(each.kind in FIRM or each.text not in FUNCTION_WORDS for each in self.came):
            return True
        if self.is_opposite:
            return True
        is_left_out = any(each.kind == "negation" for each in self.gone) or piece_of(self.gone) is not None
        return self.size <= _SHORT and is_left_out


def _places(new: Sequence[Token], old: Sequence[Token]) -> tuple[list[_Place], int]:
    """Return the places where two partners differ, without words that only moved, and how many new words are equal.

    Numbers, names and the like moved only together with the next word: two that changed places say something else. If
    too few words have one order, the sentences only share words: then none is equal.
    """
    matcher = SequenceMatcher(None, [each.text for each in old], [each.text for each in new], autojunk=False)
    if sum(block.size for block in matcher.get_matching_blocks()) < SAME_ORDER * len(new):
        return [], 0
    operations = _joined([each[1:] for each in matcher.get_opcodes() if each[0] != "equal"], new)
    left = [(at, first > 0 and end < len(old)) for first, end, _, _ in operations for at in range(first, end)]
    # A figure at the edge may be that of the next sentence, which came as a neighbour.
    moved_out = Counter(_with_next(old, at) for at, is_inside in left if is_inside or old[at].kind != "number")
    moved = moved_out & Counter(_with_next(new, at) for _, _, start, stop in operations for at in range(start, stop))
    if len(operations) == 1:
        moved.clear()
    places = []
    for first, end, start, stop in operations:
        gone = [old[at] for at in range(first, end) if not moved[_with_next(old, at)]]
        came = [new[at] for at in range(start, stop) if not moved[_with_next(new, at)]]
        is_inside = first > 0 and end < len(old)  # the partner may be longer
        is_denial = len(operations) == 1 and len(gone) < _SHORT and any(each.kind == "negation" for each in gone)
        if came or is_inside or is_denial:  # "not" is the last word in some languages
            places.append(_Place(gone, came, *_beside(new, start, stop)))
    return places, len(new) - sum(len(each.came) for each in places)


def _beside(tokens: Sequence[Token], start: int, stop: int) -> tuple[str, str]:
    """Return the words before and behind a place, up to the next comma or the end of the sentence."""
    before: list[Token] = []
    for each in reversed(tokens[max(0, start - _BESIDE) : start]):
        if each.closes:
            break
        before.insert(0, each)
    behind: list[Token] = []
    for at in range(stop, min(len(tokens), stop + _BESIDE)):
        if at and tokens[at - 1].closes:
            break
        behind.append(tokens[at])
    printed = [_printed([each for each in side if each.kind != "unit"]) for side in (before, behind)]
    return printed[0], printed[1]


def _joined(operations: list[_Operation], new: Sequence[Token]) -> list[_Operation]:
    """Join the parts of one word of a script without spaces, and leave out the ends of a sentence that was cut."""
    joined: list[_Operation] = []
    for first, end, start, stop in operations:
        is_cut = first == end and (start == 0 or stop == len(new)) and stop - start <= _LONGEST_CUT * len(new)
        if is_cut and all(is_unspaced(each) and each.kind not in FIRM for each in new[start:stop]):
            continue
        if joined and start - joined[-1][3] <= _WITHIN_WORD and all(map(is_unspaced, new[joined[-1][3] : start])):
            first, _, start, _ = joined.pop()
        joined.append((first, end, start, stop))
    return joined


def _with_next(tokens: Sequence[Token], at: int) -> tuple[str, ...]:
    return tuple(each.text for each in tokens[at : at + 1 + (tokens[at].kind != "word")])


def _differences(place: _Place, known: _Old, *, is_lonely: bool) -> tuple[list[Difference], int]:
    """Return the content differences of one place, and how many other new words are held.

    Such words say nothing, or are only spelled otherwise.

    ``is_lonely`` says that the rest of the sentence is equal.
    """
    gone, came = list(place.gone), list(place.came)
    wording = _take_glued(gone, came) + _take_glued(came, gone) + _take_spellings(gone, came)
    found = [*_firm_differences(gone, came, known)]
    olds, news = ([each for each in side if each.kind in ("name", "word") and each.says] for side in (gone, came))
    wording += sum(each.kind in ("name", "word") for each in came) - len(news)
    names_old, names_new = ([each for each in side if each.kind == "name"] for side in (olds, news))
    if names_new and (names_old or not all(map(known.has, names_new))):
        found.append(Difference("name", _printed(names_old or olds), _printed(names_new)))
    elif news and olds and _have_other_meaning(olds, news):
        found.append(Difference("word", _printed(olds), _printed(news)))
    elif is_lonely and not found and (other := _word_for_word(place, gone, came, known)):
        found.append(other)
    return [each._replace(before=place.before, behind=place.behind) for each in found], wording


def _word_for_word(place: _Place, gone: Sequence[Token], came: Sequence[Token], known: _Old) -> Difference | None:
    """Return the words in the place of others in an otherwise equal sentence, if they may change what it says."""
    if not gone and len(came) == 1 and is_unspaced(came[0]) and came[0].text < _FIRST_IDEOGRAPH:
        return Difference("word", "", _printed(came))  # no word has one letter, so it became another word
    if place.is_opposite:
        return Difference("word", _printed(gone), _printed(came))
    olds, news = ([each for each in side if each.may_say and each.text != "%"] for side in (gone, came))
    if not olds or not news or place.size > _SHORT or _is_wording(olds, news, known):
        return None
    return Difference("word", _printed(olds), _printed(news))


def _is_wording(olds: Sequence[Token], news: Sequence[Token], known: _Old) -> bool:
    """Decide whether words in the place of others say the same.

    A title in the place of a name does: "Lund", "the mayor". A word in the place of "said" may not: "denied".
    """
    kinds, new_kinds = ({each.kind for each in side} for side in (olds, news))
    if kinds == new_kinds == {"time"} or all(each.text in VAGUE for each in news):
        return True
    if "name" in new_kinds or ("name" in kinds and all(map(known.has, news))):
        return True
    reporting = say_nothing(olds) + say_nothing(news)
    are_two_words = len(olds) + len(news) == 2 and kinds | new_kinds == {"word"}
    return reporting == 2 or (reporting == 1 and not are_two_words)


def _firm_differences(gone: Sequence[Token], came: Sequence[Token], known: _Old) -> Iterable[Difference]:
    """Yield the numbers, codes, negations and times that differ, each with the one in its place."""
    values = "number", "quantity"
    olds, news = ([each for each in side if each.kind in values] for side in (gone, came))
    if not olds and news:  # "no one has died" -> "three have died"
        olds = [each for each in gone if each.kind == "negation"]
        gone = [each for each in gone if each.kind != "negation"]
    yield from _in_turn(olds, [each for each in news if each.text not in VAGUE], known)
    for kind in ("code", "negation"):
        olds, news = ([each for each in side if each.kind == kind] for side in (gone, came))
        if kind == "negation" and olds and news:
            continue
        yield from _in_turn(olds, news, known)
        if kind == "negation" and olds and len(gone) <= _SHORT:
            yield Difference("negation", olds[0].printed, "")
    pieces = piece_of(gone), piece_of(came)
    if pieces[0] != pieces[1]:
        kind = next(each.kind for each in pieces if each)
        yield Difference(kind, _printed(gone), _printed(came), values=(_printed(gone), _printed(came)))
    for kind in ("time", "unit"):
        olds, news = ([each for each in side if each.kind == kind] for side in (gone, came))
        for old, new in zip(olds, news, strict=False):
            if kind == "unit" or _form(old) == _form(new):
                yield Difference(new.kind, old.printed, new.printed, values=(old.printed, new.printed))


def _in_turn(olds: Sequence[Token], news: Sequence[Token], known: _Old) -> Iterable[Difference]:
    for number, new in enumerate(news):
        if number < len(olds):
            old = olds[number]
            yield Difference(new.kind, old.printed, new.printed, values=(old.value, new.value))
        elif new.kind == "negation" or not known.has(new):
            yield Difference(new.kind, "", new.printed)


def _form(time: Token) -> str:
    """Return how a time is told: "@" is a time of day, "#" the number of a date."""
    if time.text[0].isdigit():
        return "#"
    if time.text[0] == "@":
        return "@"
    return "month" if time.text in MONTHS else "day"


def _have_other_meaning(gone: Sequence[Token], came: Sequence[Token]) -> bool:
    """Decide whether other words say what happened to people: "injured" in place of "dead"."""
    old, new = ({meaning.kind for each in side if (meaning := meaning_of(each.text))} for side in (gone, came))
    return bool(old and new and old != new)


def _take_spellings(gone: list[Token], came: list[Token]) -> int:
    """Take the words out that are only spelled otherwise. Return how many there were."""
    taken = 0
    for token in list(came):
        like = next((each for each in gone if is_same_word(each, token)), None)
        if like is not None:
            gone.remove(like)
            came.remove(token)
            taken += 1
    return taken


def _take_glued(some: list[Token], others: list[Token]) -> int:
    """Take words out that are written together in ``others`` and apart in ``some``. Return how many there were."""
    taken = 0
    for token in list(others):
        spans = ((first, end) for first in range(len(some)) for end in range(first + 2, min(len(some), first + 4) + 1))
        for first, end in spans:
            if is_spelled("".join(each.text for each in some[first:end]), token):
                others.remove(token)
                del some[first:end]
                taken += 1
                break
    return taken


def _printed(tokens: Sequence[Token]) -> str:
    """Return words as they are told: characters of scripts without spaces stand together."""
    words = ""
    last = None
    for each in tokens:
        is_apart = last is not None and not (is_unspaced(each) and is_unspaced(last))
        words += " " * is_apart + each.printed
        last = each
    return words
