"""The places in which two partners of an alignment differ.

A *place* is a part of two sentences in which they differ. Words that only moved are no part of it.
"""

import re
from collections import Counter
from collections.abc import Callable, Container, Sequence
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import chain, product
from typing import NamedTuple

from scrapy_neardup.evidence.figures.numbers import WORDING
from scrapy_neardup.evidence.tokens import (
    ABOUT,
    AGENCIES,
    ARTICLES,
    BOUNDS,
    CONJUNCTIONS,
    COURTESIES,
    FIRM,
    FUNCTION_WORDS,
    INCREMENTS,
    NEARLY,
    NO_PLACES,
    PARTS,
    QUALIFIERS,
    Token,
    is_unspaced,
    tokens_of,
)
from scrapy_neardup.evidence.value_words import differing, said_in
from scrapy_neardup.text.folding import fold

SHORT = 3  # words: a longer part of a sentence that differs is another wording
LONGEST_DENIAL = 8  # words: of a longer part that is gone nobody knows what its "not" denied
_DATELINE = re.compile(  # of a folded text
    r"(?P<wire>WIRE ?- *)?"
    r"(?P<place>(?:[^\W\d_](?:[^():/\[\]!?;|\"<>-]|-(?=\w)){1,60}?)?) *"  # with a date
    r"(?:[(\[/](?P<named>WIRE(?!\w))?[^()\[\]]{0,30}[)\]/][.:]?(?P<mark> *-+| *$)?"
    r"|-+ *(?P<source>WIRE) *(?:-+|:|$)|-+|:)(?: +|$)".replace(
        "WIRE", f"(?i:{'|'.join(AGENCIES.union(WORDING['wires'].split()))})"
    )
)
_OF_PLACES = FUNCTION_WORDS | AGENCIES | {*WORDING["place_words"].split()}
_QUALIFYING = (QUALIFIERS | PARTS, QUALIFIERS | PARTS | NEARLY)  # before a number, and elsewhere

# First token and end of a place in the old sentence, and in the new one.
_Operation = tuple[int, int, int, int]


class Place(NamedTuple):
    """A place where two partners differ: the words that are gone, and those that came."""

    gone: list[Token]
    came: list[Token]
    before: Token | None  # the word before the place, None at the beginning of the sentence and behind a comma
    is_only: bool  # whether nothing else in the text is reworded: then somebody edited just this
    numbers: tuple[Token | None, Token | None] = (None, None)  # that stand next to the place in both sentences
    behind: Sequence[Token] = ()  # the character behind the place, in a script without spaces

    @property
    def recounted(self) -> Token | None:
        """Return a number beside the place if a word that came says that it is added: "four people", "four more"."""
        before, behind = self.numbers
        added = [each.text for each in self.came if each.text in INCREMENTS]
        is_added = len(added) == len(self.came) == 1 and all(each.text not in INCREMENTS for each in self.gone)
        return (before or behind) if is_added else None

    @property
    def size(self) -> float:
        """Return how many words differ. In scripts without spaces four characters count as a word."""
        return max(sum(0.25 if is_unspaced(each) else 1 for each in side) for side in (self.gone, self.came))

    @property
    def is_qualified(self) -> bool:
        """Return whether only a word such as "deputy", "former", "alleged", "only" or "half" came or is gone.

        "Nearly" is one if it stands before no number: "nearly killed".
        """
        qualifiers = _QUALIFYING[self.numbers[1] is None]
        sides = [
            [each.text for each in side if each.text not in FUNCTION_WORDS or each.text in qualifiers]
            for side in (self.gone, self.came)
        ]
        return not all(sides) and self.size <= SHORT and not qualifiers.isdisjoint(chain(*sides))

    @property
    def is_swap(self) -> bool:
        """Return whether so many words stand in the place of as many."""
        return len(self.gone) == len(self.came) <= SHORT

    @property
    def is_other_bound(self) -> bool:
        """Return whether a value has another bound: "over" in the place of "under", or of "at" before a number."""
        words = (*self.gone, *self.came)
        if not self.gone or not self.came or self.size > SHORT or INCREMENTS.issuperset(each.text for each in words):
            return False  # "two more", "two further"
        old, new = ({BOUNDS[each.text] for each in side if each.text in BOUNDS} for side in (self.gone, self.came))
        are_bounds = all(each.text in BOUNDS or each.text in ABOUT for each in words)
        return old != new and bool((old and new) or are_bounds or any(self.numbers))

    @property
    def has_another_sense(self) -> bool:
        """Return whether a small word changes what is said: an opposite, a bound, or "former"."""
        sides = (said_in([*side, *self.behind], "") for side in (self.gone, self.came))
        # Opposites are two words, such as "before" and "after".
        return (self.size <= 2 and bool(differing(*sides))) or self.is_qualified or self.is_other_bound

    def is_content(self, *, is_alone: bool) -> bool:
        """Return False if only function words differ, or if words of the old sentence are just left out.

        In a sentence that is otherwise equal, all words count but "a" and "one", and "Mr" and the like if they come or
        go: "an unverified video", "a video".
        """
        if self.is_only or is_alone:
            words = [each.text for each in (*self.gone, *self.came)]
            is_courtesy = not (self.gone and self.came) and " ".join(words) in COURTESIES
            return not (is_courtesy or ARTICLES.issuperset(words))
        says_more = any(each.kind in FIRM or each.text not in FUNCTION_WORDS for each in self.came)
        is_denial_gone = self.size <= LONGEST_DENIAL and any(each.kind == "negation" for each in self.gone)
        return says_more or self.has_another_sense or bool(self.recounted) or is_denial_gone


def find_places(
    new: Sequence[Token], old: Sequence[Token], language: str = "", *, is_only: bool, has_names: bool
) -> tuple[list[Place], int, bool]:
    """Return the places where two partners differ, how many new words are equal, and whether any of these moved.

    Numbers, names and the like moved only together with the next word: two that changed places say something else. If
    too few words have one order, the sentences only share words: then none is equal. ``is_only`` says that no other
    sentence of the text is reworded: then somebody changed just this, and no word counts as moved.
    """
    equal, changed = _operations(tuple([each.text for each in old]), tuple([each.text for each in new]))
    if equal < 0.3 * len(new):
        return [], 0, False
    operations = _joined(changed, new)
    may_be_names = not has_names or any(each.kind == "name" for each in new)
    swap = _swap(operations, new, old, language, is_only=is_only, may_be_names=may_be_names)
    if swap:
        return [swap] * bool(swap.gone), len(new) - len(swap.came), False
    moved = Counter[tuple[str, ...]]() if is_only else _moved(operations, new, old)
    places = _places(operations, moved, new, old, is_only=is_only)
    count = sum(len(each.came) for each in places)
    return places, len(new) - count, count < sum(stop - start for *_, start, stop in operations)


def has_dateline(
    places: Sequence[Place], new: str, old: str, language: str, printed: Callable[[], Container[str]]
) -> bool:
    """Decide whether two partners differ first in the dateline that only one of them has."""
    if not places or places[0].before is not None:
        return False
    datelines = [[each.text for each in dateline_of(side, language, printed)] for side in (new, old)]
    return any(datelines) and datelines == [[each.text for each in side] for side in (places[0].came, places[0].gone)]


def dateline_of(text: str, language: str, printed: Callable[[], Container[str]]) -> list[Token]:
    """Return the dateline with which a text begins, such as "ELDING (Northwire) - ".

    It names a place and an agency, or a place in capitals, which before a colon has a day or stands in the texts too.
    Other words may tell news: "Withdrawn (Northwire) - ", "BANKRUPT: ". ``printed`` returns the words of the texts,
    which are seldom asked for.
    """
    found = _DATELINE.match(fold(text))
    if found is None:
        return []
    place, day, _ = found["place"].partition(",")
    is_clear = day != "" or (" " not in place and ":" not in found[0])
    is_place = any(found.group("wire", "named", "mark", "source")) or (
        place.isupper() and (is_clear or all(each.capitalize() in printed() for each in place.casefold().split()))
    )
    words = tokens_of(found[0], language)
    # Words that the texts have in small letters may tell news too.
    return words * (
        is_place
        and not any(each.of == "fate" for each in said_in(words, ""))
        and not any(
            each.kind in FIRM
            or each.text in NO_PLACES
            or (each.text.islower() and each.text not in _OF_PLACES and each.text in printed())
            for each in words
            if each.kind != "time"
        )
    )


def filled_in(new: str, old: str) -> list[str]:
    """Return the words that differ if one form of a title was filled in twice, nothing if a title was written anew.

    Half of the titles is equal, and all else stands in the place of other words.
    """
    words, old_words = (tuple([each.text for each in tokens_of(title)]) for title in (new, old))
    equal, operations = _operations(old_words, words)
    are_replaced = all(first < end and start < stop for first, end, start, stop in operations)
    if not are_replaced or 2 * equal < max(len(words), len(old_words)):
        return []
    return [word for first, end, start, stop in operations for word in (*old_words[first:end], *words[start:stop])]


@lru_cache(16)  # a sentence may be compared strictly, and then with the others
def _operations(old: tuple[str, ...], new: tuple[str, ...]) -> tuple[int, list[_Operation]]:
    """Return how many words have one order, and the places where others stand. Nobody changes the list."""
    operations = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    equal = sum(end - first for tag, first, end, *_ in operations if tag == "equal")
    return equal, [each[1:] for each in operations if each[0] != "equal"]


def _places(
    operations: Sequence[_Operation],
    moved: Counter[tuple[str, ...]],
    new: Sequence[Token],
    old: Sequence[Token],
    *,
    is_only: bool,
) -> list[Place]:
    places = []
    is_one = len(operations) == 1  # else words that are gone may stand in another place
    for first, end, start, stop in operations:
        is_inside = first > 0 and end < len(old)  # the partner may be longer
        gone = _stayed(old, first, end, moved)
        came = _stayed(new, start, stop, moved)
        gone = _of_one_sentence(gone, came, is_last=(end, stop) == (len(old), len(new)))
        before = None if start == 0 or new[start - 1].closes else new[start - 1]
        # "Not" is the last word in some languages.
        is_denial = is_one and any(each.kind == "negation" or each.text in QUALIFIERS for each in gone[:SHORT])
        if came or is_inside or is_denial or is_only:
            behind = [*filter(is_unspaced, new[stop : stop + 1])]
            numbers = _numbers_beside(new, start, stop)
            places.append(Place(gone, came, before, is_only and bool(came or is_one), numbers, behind))
    return places


def _of_one_sentence(gone: list[Token], came: Sequence[Token], *, is_last: bool) -> list[Token]:
    """Return the words that are gone up to the end of their sentence, if others took their place there.

    The partner may be two sentences. The second one is not compared.
    """
    if not is_last:
        return gone
    ends = (at for at, token in enumerate(gone[: len(came) + 1], 1) if token.closes)
    return gone[: next(ends, len(gone))]


def _swap(
    operations: Sequence[_Operation],
    new: Sequence[Token],
    old: Sequence[Token],
    language: str,
    *,
    is_only: bool,
    may_be_names: bool,
) -> Place | None:
    """Return what stands in the place of what if two parts changed places: "A sued B", "B sued A".

    Nothing does if only "and" stands between them.
    """
    if len(operations) < 2 or len(new) != len(old):
        return None
    first, last = operations[0][0], operations[-1][1]
    gone, came = old[first:last], new[first:last]
    olds, news = ([each.text for each in side] for side in (gone, came))
    # The old text begins with ``head`` words and ends with ``tail`` words, which changed places; six at most.
    swaps = (
        (head, tail)
        for head, tail in product(range(1, 7), repeat=2)
        if news == [*olds[-tail:], *olds[head:-tail], *olds[:head]]
    )
    head, tail = next(swaps, (0, 0))
    between = olds[head:-tail]
    # Not "said Lund", "Lund said", and not "open soon", "soon open".
    is_of_two = head > 0 and len(olds) == 2 and all(each.says for each in gone) and may_be_names
    if not (is_of_two or between):
        return None
    sides = list(gone[:head]), list(came[:tail])
    if not is_of_two and CONJUNCTIONS.get(language, frozenset()).issuperset(between):
        sides = [], []
    if is_only or _say_something_else(sides, between):
        return Place(*sides, before=None, is_only=True)
    return None


def _say_something_else(sides: Sequence[Sequence[Token]], between: Sequence[str]) -> bool:
    """Decide whether two parts that changed places say something else, also if other sentences are reworded.

    Around a verb the parts of a sentence may turn: "In May the road was shut", "The road was shut in May".
    """
    return all(any(each.kind in (*FIRM, "name") for each in side) for side in sides) or (
        len(between) >= SHORT and not any(side[0].text in FUNCTION_WORDS for side in sides if side)
    )


def _numbers_beside(tokens: Sequence[Token], start: int, stop: int) -> tuple[Token | None, Token | None]:
    before = next((each for each in tokens[max(0, start - 1) : start] if each.kind == "number"), None)
    return before, next((each for each in tokens[stop : stop + 1] if each.kind == "number"), None)


def _stayed(tokens: Sequence[Token], first: int, end: int, moved: Counter[tuple[str, ...]]) -> list[Token]:
    return [tokens[at] for at in range(first, end) if not moved or _with_next(tokens, at) not in moved]


def _moved(operations: Sequence[_Operation], new: Sequence[Token], old: Sequence[Token]) -> Counter[tuple[str, ...]]:
    """Return the words that stand in one place of the old sentence, and in another one of the new one."""
    moved_out = Counter[tuple[str, ...]]()
    if len(operations) == 1:
        return moved_out
    for first, end, _, _ in operations:
        is_inside = first > 0 and end < len(old)
        # A figure at the edge may be that of the next sentence, which came as a neighbour.
        moved_out.update(_with_next(old, at) for at in range(first, end) if is_inside or old[at].kind != "number")
    return moved_out & Counter(_with_next(new, at) for _, _, start, stop in operations for at in range(start, stop))


def _joined(operations: Sequence[_Operation], new: Sequence[Token]) -> list[_Operation]:
    """Join the parts of one word of a script without spaces."""
    joined: list[_Operation] = []
    for first, end, start, stop in operations:
        if joined and start - joined[-1][3] <= 2 and all(map(is_unspaced, new[joined[-1][3] : start])):  # inside a word
            first, _, start, _ = joined.pop()
        joined.append((first, end, start, stop))
    return joined


def _with_next(tokens: Sequence[Token], at: int) -> tuple[str, ...]:
    return tuple([each.text for each in tokens[at : at + 1 + (tokens[at].kind != "word")]])
