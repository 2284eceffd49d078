"""What one edit of an otherwise equal sentence says now: another unit, day or share, the contrary, another name, "not".

Other words are not told: of those that stand in the place of others on real pages nearly all say the same.
"""

from collections.abc import Sequence
from difflib import SequenceMatcher
from itertools import chain, product, takewhile
from typing import NamedTuple

from scrapy_neardup.evidence.differences import Sentence
from scrapy_neardup.evidence.figures.number_words import WORDS
from scrapy_neardup.evidence.replacements import article_for_number
from scrapy_neardup.evidence.sentence_values import as_printed, equal_words, is_small
from scrapy_neardup.evidence.spellings import begin_alike, is_same_word
from scrapy_neardup.evidence.tokens import ONLY, QUALIFIERS, Token, is_unspaced, tokens_of
from scrapy_neardup.evidence.value_words import VALUES, are_denied, differing, said_in
from scrapy_neardup.text.display import one_line

_LONGEST_EDIT = 4  # words; twice as many beside "not"
_LONGEST_LINE = 120  # characters of a change that is told
_ALIKE = 0.5  # of the letters of two names
_WITHIN = 4  # characters of a word of a script without spaces


class Change(NamedTuple):
    """What a text says in the place of something else, as a line for people."""

    line: str
    is_toll: bool = False  # whether it counts people harmed
    is_figure: bool = True  # whether it is a figure or a time, and no other word


def change_of(label: str, old: str, new: str, *, is_toll: bool = False, is_figure: bool = True) -> Change:
    """Return a change with its line: "by: 18:00 -> 15:00", or "Marwick -> Tarnfield" without a label."""
    line = f"{old} -> {new}"
    if label:
        line = f"{label}: {line}"
    return Change(one_line(line, _LONGEST_LINE), is_toll, is_figure)


class _Edit(NamedTuple):
    """Where two sentences differ, if the words before and behind are equal."""

    old: Sequence[Token]
    new: Sequence[Token]
    start: int
    behind: int  # equal words at the end

    def sides(self, before: int = 0, behind: int = 0) -> list[Sequence[Token]]:
        """Return the words of both sentences, and so many of those around them."""
        return [side[max(0, self.start - before) : len(side) - self.behind + behind] for side in (self.old, self.new)]


def edit_of(sentence: Sentence, language: str, names: frozenset[str]) -> Change | None:
    """Return what a sentence says now that is otherwise equal, None if it may only say it in other words."""
    if not any(each.is_alone for each in sentence.differences):
        return None
    texts = sentence.partner, sentence.text
    old, new = (tokens_of(text, language, names) for text in texts)
    rows = [[each.text for each in side] for side in (old, new)]
    start = begin_alike(*rows)
    edit = _Edit(old, new, start, begin_alike(*(row[start:][::-1] for row in rows)))
    gone, came = edit.sides()
    longest = _LONGEST_EDIT * (_WITHIN if any(map(is_unspaced, (*gone, *came))) else 1)
    if not 0 < max(len(gone), len(came)) <= 2 * longest:  # before each word is compared with each other one
        return None
    subjects = _subjects(edit, language)
    is_denied = _is_denied(gone, came, language)
    has_number = edit.start > 0 and edit.old[edit.start - 1].kind == "number"
    if subjects:
        label = _label(sentence.text, edit, language, has_number=has_number)
        told = edit.sides(before=has_number and all(each.kind != "unit" for each in (*gone, *came)))
    else:
        label = ""
        told = _told_alone(edit, is_denied=is_denied)
    if not told or max(map(len, told)) > longest * (1 + is_denied):
        return None
    is_toll = has_number and "fate" in subjects
    is_figure = is_toll or any(each.text == "minus" for each in (*gone, *came)) or not subjects.isdisjoint(VALUES)
    return change_of(label, *map(as_printed, texts, told), is_toll=is_toll, is_figure=is_figure)


def _told_alone(edit: _Edit, *, is_denied: bool) -> list[Sequence[Token]]:
    """Return what is told without a label: another name, or a word beside "not" or "deputy"."""
    gone, came = edit.sides()
    words = [*gone, *came]
    if any(each.kind == "number" for each in words):  # "not" may be a part of "at least"
        return []
    if _are_other_names(gone, came) or (is_denied and gone and came):
        return [gone, came]
    if is_denied or (not (gone and came) and all(each.text in QUALIFIERS for each in words)):
        return edit.sides(before=not edit.behind, behind=1 + is_unspaced(words[0]))
    return []


def _subjects(edit: _Edit, language: str) -> set[str]:
    """Return what is said otherwise. A word of a script without spaces may reach out of its place."""
    gone, came = edit.sides()
    if any(each.kind == "number" for each in (*gone, *came)):
        return {"share"} if article_for_number(gone, came) or article_for_number(came, gone) else set()
    around = _WITHIN * any(map(is_unspaced, (*gone, *came)))
    found = differing(*(said_in(side, language) for side in edit.sides(around, around))) - {"agreement"}
    denials = {any(each.kind == "negation" for each in side) for side in (gone, came)}
    return found if len(denials) == 1 else found & VALUES  # "did not accept" and "rejected" say the same


def _is_denied(gone: Sequence[Token], came: Sequence[Token], language: str) -> bool:
    """Decide whether one side denies what the other one says: "not open", "open"; "no risk", "great risk"."""
    denials = [
        any(each.kind == "negation" for each in side) and ONLY.isdisjoint(each.text for each in side)
        for side in (gone, came)
    ]  # "not only" denies nothing
    sides = [[each for each in side if not is_small(each) and each.kind != "negation"] for side in (gone, came)]
    denied = [(old, new) for old, new in product(*sides) if are_denied(old.text, new.text, language)]
    partners = [*denied, *(pair for pair in product(*sides) if is_same_word(*pair))]
    others = [
        each
        for each in chain(*sides)
        if each not in chain.from_iterable(partners) and each.kind not in ("quantity", "number")
    ]
    # "Not valid" and "invalid" say the same. Beside "not" a word may be gone or added, and "nobody" may be "many".
    return (denials[0] != denials[1]) != bool(denied) and len(others) <= 1 + bool(partners)


def _are_other_names(gone: Sequence[Token], came: Sequence[Token]) -> bool:
    """Decide whether a name stands in the place of another one, and these are not two forms of one: "Kiev", "Kyiv"."""
    are_names = {each.kind for each in (*gone, *came)} == {"name"} and len(gone) == len(came)
    return are_names and all(
        SequenceMatcher(None, old.text, new.text).ratio() < _ALIKE for old, new in zip(gone, came, strict=False)
    )


def _label(text: str, edit: _Edit, language: str, *, has_number: bool) -> str:
    """Return the words before a place in its clause, or those behind it, which are asked first for a share.

    A number that stands before the place is left out: it is told with the change.
    """
    _, came = edit.sides()
    rows = [reversed(side[: edit.start - has_number]) for side in (edit.old, edit.new)]
    ahead = [[*takewhile(lambda each: not each.closes, row)] for row in rows]
    behind = [side[len(side) - edit.behind :] for side in (edit.old, edit.new) if not came or not came[-1].closes]
    labels = [equal_words(*ahead)[::-1], equal_words(*behind) if behind else []]
    is_of_next = any(each.text in WORDS["articles"] for row in ahead for each in row[:1])  # "in the north tower"
    if is_of_next or any(each.of == "share" for each in said_in(came, language)):
        labels.reverse()
    return as_printed(text, labels[0] or labels[1])
