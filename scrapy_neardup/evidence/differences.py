"""The content differences of two texts: the words of aligned sentences that change what is said.

A figure in any form, a date or a time, a code, a name, a quantity word or a negation is content. Two spellings of a
word or a name, two forms of an Arabic word, and the words with which a paper says the same are wording. In a sentence
that is otherwise equal, any other word is content too: no list knows all words that change the news.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property, lru_cache
from itertools import chain, islice, pairwise
from operator import attrgetter
from typing import NamedTuple

from scrapy_neardup.evidence.differing_places import SHORT, Place, dateline_of, find_places, has_dateline
from scrapy_neardup.evidence.figures.counted import is_of_page, meaning_of
from scrapy_neardup.evidence.figures.number_words import READ_LANGUAGES
from scrapy_neardup.evidence.page_lines import (
    BothTexts,
    Side,
    is_line_of_page,
    may_be_of_page,
    without_teasers,
    words_of,
)
from scrapy_neardup.evidence.replacements import Difference, differences_of, printed_words
from scrapy_neardup.evidence.spellings import may_be_one_name
from scrapy_neardup.evidence.tokens import FIRM, Token, signs_of, tokens_of
from scrapy_neardup.evidence.value_words import differing, said_in
from scrapy_neardup.text.alignment import LONGEST, Aligned, align
from scrapy_neardup.text.sentences import Printed, read_sentences

NEAR = 0.7  # share of a sentence that is equal: then words in two places may together say the contrary
HALF = 0.5  # the same share: then words in the one place that differs count
FORM = 0.6  # share of two sentences that is equal: then a name in the place of another one is that of a form
IN_PLACE = 0.55  # share of a sentence that is equal: then a number in the place of another one is its new value
HEAD = 3  # sentences, the title among them, that say what a text is about
_LONGEST_CELL = 2  # words of a cell of a table that is printed line by line


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
    def differs(self) -> bool:
        """Return whether the old text does not say this in any wording.

        Each paper writes its own titles: in a title only figures, times, codes, quantities and negations count, unless
        the rest of it is equal.
        """
        if self.is_title:
            return self.has_firm_difference or any(each.is_alone for each in self.differences)
        return bool(self.differences) or (self.words > 0 and not self.partner)

    @property
    def has_firm_difference(self) -> bool:
        """Return whether a title has another figure or denial. "(VIDEO)" is none of these."""
        return self.is_title and any(each.kind in FIRM for each in self.differences)

    @property
    def shown(self) -> str:
        """Return what differs, such as "4 -> 9", or the whole sentence if the old text has none like it."""
        return "; ".join(f"{each.old} -> {each.new}" for each in self.differences) or self.text


class Comparison:
    """The sentences of a new text, its title first, as they compare with an old text of ``old_words`` words.

    Each is compared when it is first asked for, because the first ones tell of many candidates that they are no match.
    ``learned`` are the lines of the new text that are boilerplate of its source.
    """

    def __init__(self, new: Side, old: Side, learned: tuple[str, ...] = ()) -> None:
        self._read, olds, *lines = read_sentences(
            f"{new.title}\n{new.text}", f"{old.title}\n{old.text}", *learned, longest=LONGEST
        )
        olds = without_teasers(olds, bool(old.title))
        self._has_title = bool(new.title)
        self._cells = _cells(olds)
        self._left_out = {each.tokens for each in chain.from_iterable(lines)}
        # The two titles are partners if they are at all alike: a sentence of the text may count another thing.
        titles = [each for each in align(self._read[: bool(new.title)], olds[: bool(old.title)]) if each.partner]
        self._aligned = titles + align(self._read, olds)[len(titles) :]
        self._known = BothTexts(
            new, old, {each.partner: each.text for each in sorted(self._aligned, key=attrgetter("held"))}
        )
        self._compared: dict[int, Sentence] = {}  # those that were asked for
        self._strictly: dict[int, Sentence] = {}  # those that were compared as if each were the only one reworded
        body = olds[bool(old.title) :]
        self.old_words = sum(len(each.tokens) for each in body)
        # The share of the first two sentences of the old text that the new one holds.
        self._held_head_of_old = _share_held(align(body[: HEAD - 1], self._read))

    def _at(self, number: int) -> Sentence:
        if number not in self._compared:
            sentence = self._strict(number) if self._has_one_edit else self._compare(number, is_only=False)
            # Words that are left out here, and stand elsewhere in the new text, are no difference.
            differences = (each for each in sentence.differences if each.new or not self._known.still_has(each.old))
            self._compared[number] = sentence._replace(differences=tuple(differences))
        return self._compared[number]

    def _strict(self, number: int) -> Sentence:
        if number not in self._strictly:
            self._strictly[number] = self._compare(number, is_only=True)
        return self._strictly[number]

    def _compare(self, number: int, *, is_only: bool, reads_first: bool = False) -> Sentence:
        aligned = self._aligned[number]
        text = aligned.text
        is_title = self._has_title and number == 0
        above = self._read[max(0, number - 1)]
        old_cell = self._cells.get(above.tokens, "") if number and aligned.words <= _LONGEST_CELL else ""
        if _is_other_cell(text, old_cell, above.text):
            return Sentence(text, old_cell, aligned.words, 0, (Difference("number", old_cell, text),))
        if self._read[number].tokens in self._left_out:
            return Sentence(text, "", 0, 0)
        if aligned.is_equal and (text == aligned.partner or signs_of(text) == signs_of(aligned.partner)):
            sentence = Sentence(text, aligned.partner, aligned.words, aligned.words, is_title=is_title)
        else:
            sentence = _compared(
                aligned, self._known, number, is_title=is_title, is_only=is_only, reads_first=reads_first
            )
        accents = (
            Difference("word", old, new, is_alone=aligned.is_equal)
            for old, new in self._known.other_accents(text, sentence.partner)
        )
        return sentence._replace(differences=(*sentence.differences, *accents))

    @cached_property
    def _has_one_edit(self) -> bool:
        """Return whether at most one sentence is reworded, or two between which something moved.

        Sentences that say the same also if each of their words counts are not reworded.
        """
        reworded = (  # partners of sentences of the text; no more are compared than are asked for
            aligned.partner
            for number, aligned in enumerate(self._aligned)
            if number >= self._has_title
            if aligned.partner and not aligned.is_equal
            # The first place alone tells of most of them, in less time.
            if self._compare(number, is_only=True, reads_first=True).differs or self._strict(number).differs
        )
        two = sorted(islice(reworded, 2), key=len)
        # Something moved if the shorter partner is a part of the longer one, and there is no third.
        return len(two) < 2 or (two[0] in two[1] and next(reworded, None) is None)

    @property
    def sentences(self) -> Iterator[Sentence]:
        return map(self._at, range(len(self._aligned)))

    @cached_property
    def share(self) -> float:
        """Return the share of the new text that the old one holds, in [0, 1]. Titles do not count."""
        return _share_held(self._lines)

    @cached_property
    def share_of_old(self) -> float:
        """Return the share of the old text that the new one holds, in [0, 1]."""
        return min(1.0, self._held / max(1, self.old_words))

    @property
    def resemblance(self) -> float:
        """Return the share of the words of both texts that both have, in [0, 1]."""
        return min(1.0, self._held / max(1, sum(each.words for each in self._lines) + self.old_words - self._held))

    @cached_property
    def held_beginnings(self) -> float:
        """Return the share of the first two sentences that the other text holds, the mean of both texts."""
        lines = (each for each in self.sentences if each.words and not each.is_title)
        return (_share_held([*islice(lines, HEAD - 1)]) + self._held_head_of_old) / 2

    @property
    def first_new_statement(self) -> Sentence | None:
        """Return the first sentence that says what the old text does not say, None if there is none."""
        return next(self.differing, None)

    @property
    def differing(self) -> Iterator[Sentence]:
        return (each for each in self.sentences if each.differs)

    @property
    def names_another(self) -> bool:
        """Return whether a name is in the place of another one; in a script without capitals, whether any word is."""
        found = chain.from_iterable(each.differences for each in self.sentences)
        names = ((each.kind, each.old + each.new) for each in found)
        return any(kind == "name" or (kind == "word" and words.swapcase() == words) for kind, words in names)

    @property
    def has_other_names(self) -> bool:
        """Return whether a form was filled in with other names at its beginning, and other values further down.

        A text that still has the old name elsewhere was edited, and is no form.
        """
        begins_so = self._count_other_names(islice(self.sentences, HEAD)) > 0 and self.share >= FORM
        return begins_so and (self._count_other_names(self.sentences) > 1 or self.has_other_figures)

    def _count_other_names(self, sentences: Iterable[Sentence]) -> int:
        found = chain.from_iterable(each.differences for each in sentences)
        swapped = [
            each.old
            for each in found
            if each.kind == "name" and each.is_swapped and not _are_spellings(each.old, each.new)
        ]
        if not swapped:
            return 0
        words = words_of("\n".join(each.text for each in self._read))
        return sum(not words_of(each) <= words for each in swapped)

    @property
    def has_other_subject(self) -> bool:
        """Return whether a form was filled in with another word in its title and in a second sentence.

        Neither text has the word of the other one. Where names have no capitals, any word may be one. If the titles are
        equal, the beginnings count instead.
        """
        alike = [
            each for each in self._aligned if each.partner and not each.is_equal and each.held >= HALF * each.words
        ]
        title = self._aligned[: self._has_title]
        beginning = self._aligned[1:HEAD] if title and title[0].is_equal else title
        # The words that may have been filled in at the beginning, each old one with each new one
        swaps = set().union(*(self._known.swapped(each.text, each.partner) for each in alike if each in beginning))
        if not swaps or self.share < FORM:
            return False
        of_sentences = [self._known.swapped(each.text, each.partner) for each in alike]
        return any(sum(pair in pairs for pairs in of_sentences) > 1 for pair in swaps)

    @property
    def has_other_figures(self) -> bool:
        """Return whether more than two figures have another value, as in the reports of two lottery draws."""
        reworded = (number for number, each in enumerate(self._aligned) if each.partner and each.partner != each.text)
        found = chain.from_iterable(self._at(number).differences for number in reworded)
        return sum(each.kind == "number" and each.old != "" and each.is_in_place for each in found) > 2

    @cached_property
    def _lines(self) -> list[Sentence]:
        return [each for each in self.sentences if not each.is_title]

    @cached_property
    def _held(self) -> int:
        return sum(each.held for each in self._lines)


def _are_spellings(old: str, new: str) -> bool:
    """Decide whether names may be two spellings of the same ones: "Youssef Al Khateeb", "Yusuf al-Khatib"."""
    sides = [re.findall(r"\w+", side) for side in (old, new)]
    return len(sides[0]) == len(sides[1]) and all(map(may_be_one_name, *sides))


compare = lru_cache(4)(Comparison)  # several candidates may have been dropped as copies of one that was kept


def _share_held(sentences: Sequence[Sentence | Aligned]) -> float:
    """Return the share of the words of sentences that their partners have, in [0, 1]."""
    return sum(each.held for each in sentences) / max(1, sum(each.words for each in sentences))


def _cells(sentences: Sequence[Printed]) -> dict[tuple[int, ...], str]:
    """Return the cell that stands below a line, by the words of the line; "" if several cells do."""
    cells = dict[tuple[int, ...], str]()
    for above, cell in pairwise(sentences):
        is_one = len(cell.tokens) <= _LONGEST_CELL and cells.get(above.tokens, cell.text) == cell.text
        cells[above.tokens] = cell.text if is_one else ""
    return cells


def _is_other_cell(text: str, cell: str, above: str) -> bool:
    """Decide whether a line that has ``cell`` below it in the old text has another value below it now."""
    if not cell or text == cell or not any(map(str.isalpha, above)) or is_of_page(above):
        return False
    new, old = ([(each.kind, each.text) for each in tokens_of(side)] for side in (text, cell))
    kinds = {kind for kind, _ in (*new, *old)}
    return new != old and (kinds <= FIRM or "negation" in kinds)


def _compared(
    aligned: Aligned, known: BothTexts, number: int, *, is_title: bool, is_only: bool, reads_first: bool
) -> Sentence:
    """Return a sentence that is not equal to its partner, or has none.

    If it ``reads_first``, only the first place where they differ is read: nothing there proves nothing.
    """
    is_asked = not is_title and may_be_of_page(aligned)
    if not (aligned.partner or is_asked or is_title):
        return Sentence(aligned.text, "", aligned.words, 0)
    new = tokens_of(aligned.text, known.language, known.names)
    if is_asked and (
        is_line_of_page(aligned.text, new, known)
        or (number <= HEAD and len(dateline_of(aligned.text, known.language, lambda: known.printed_words)) == len(new))
    ):
        return Sentence(aligned.text, "", 0, 0)
    if aligned.partner:
        old = tokens_of(aligned.partner, known.language, known.names)
        places, equal, has_moved = find_places(new, old, known.language, is_only=is_only, has_names=bool(known.names))
        if equal:
            return _partners(
                aligned,
                new,
                old,
                places,
                equal,
                known,
                has_moved=has_moved,
                is_title=is_title,
                may_have_dateline=number <= HEAD,  # behind headline and byline
                reads_first=reads_first,
            )
    # Of a title only this counts; any other sentence that the old text does not have is new as a whole.
    unknown = (each for each in new if is_title and each.kind in FIRM and not known.has(each))
    differences = tuple(Difference(each.kind, "", each.printed) for each in unknown)
    return Sentence(aligned.text, "", max(1, len(new)), 0, differences, is_title)


def _partners(
    aligned: Aligned,
    new: Sequence[Token],
    old: Sequence[Token],
    places: list[Place],
    equal: int,
    known: BothTexts,
    *,
    has_moved: bool,
    is_title: bool,
    may_have_dateline: bool,
    reads_first: bool,
) -> Sentence:
    """Return a sentence compared with its partner, with which it has so many ``equal`` words, see ``find_places``."""
    longest = max(len(new), len(old))
    is_alone = equal >= HALF * len(new) and _differ_in_one_place(places, has_moved=has_moved)
    counts_alone = is_alone and not (is_title and _says_same(places, equal / longest, known))
    held = equal
    if may_have_dateline and has_dateline(
        places, aligned.text, aligned.partner, known.language, lambda: known.printed_words
    ):
        held += len(places.pop(0).came)
    gone, came = _count_numbers(places)
    by_place = [
        (place, *differences_of(place, known.has, is_alone=is_alone))
        for place in (places[:1] if reads_first else places)
    ]
    held += sum(held_there for _, _, held_there in by_place)
    are_values = is_alone or held >= IN_PLACE * len(new)
    differences = [
        difference._replace(
            # The place is short, and the sentence has as many numbers as before, or more, but in lists.
            is_in_place=are_values
            and max(len(place.gone), len(place.came)) <= 5  # words
            and (gone <= came or all(place.numbers)),
            is_swapped=place.is_swap and equal >= FORM * longest,
            is_alone=counts_alone,
        )
        for place, differences_there, _ in by_place
        for difference in differences_there
    ]
    if not differences and equal >= HALF * longest and not is_title:
        differences += _contraries(places)
    if differences or is_title or not _is_partner_by_accident(aligned, new, old, places, known, equal / longest):
        return Sentence(aligned.text, aligned.partner, len(new), held, tuple(differences), is_title)
    return Sentence(aligned.text, "", len(new), 0)


def _contraries(places: Sequence[Place]) -> list[Difference]:
    """Return what differs if all places are seen together: "opens to guests tomorrow", "opens today to guests"."""
    gone = [*chain.from_iterable(each.gone for each in places)]
    came = [*chain.from_iterable(each.came for each in places)]
    if not differing(said_in(gone, ""), said_in(came, "")):
        return []
    return [Difference("word", printed_words(gone), printed_words(came), is_alone=True)]


def _is_partner_by_accident(
    aligned: Aligned,
    new: Sequence[Token],
    old: Sequence[Token],
    places: Sequence[Place],
    known: BothTexts,
    equal: float,
) -> bool:
    """Decide whether the old text does not say what a sentence does, although its partner has many of its words.

    So it is if it has words that the old text does not have, and its partner is much longer; or if a quarter of its
    words are such and another sentence repeats its partner. If nobody knows the numbers of its language, a partner must
    be nearly equal.
    """
    if equal < NEAR and known.language not in READ_LANGUAGES:
        return True
    unknown = sum(each.says and not known.has(each) for place in places for each in place.came)
    # A short sentence may have most words of a long partner by accident.
    is_short = len(new) <= 8 and 2 * len(new) <= len(old)
    # Too many of its words are in no sentence of the old text.
    is_added = known.closest[aligned.partner] != aligned.text and 0.25 * sum(each.says for each in new) <= unknown
    return unknown > 0 and (is_short or is_added)


def _differ_in_one_place(places: Sequence[Place], *, has_moved: bool) -> bool:
    return (len(places) == 1 and not has_moved) or any(place.is_only for place in places)


def _says_same(places: Sequence[Place], equal: float, known: BothTexts) -> bool:
    """Decide whether a title, which each paper writes anew, has other words for what the old text says.

    So it is if more than a few words differ, or if the old text has the new words, and they tell no harm.
    """
    place = places[0]
    is_told = bool(place.came) and all(each.kind == "word" and known.has(each) for each in place.came)
    is_toll = any(meaning_of(each.text) for each in (*place.gone, *place.came))
    return (is_told and not is_toll) or len(places) > 1 or place.size >= SHORT or equal < NEAR


def _count_numbers(places: Sequence[Place]) -> tuple[int, int]:
    """Return how many numbers are gone, and how many came. A denial counts as one: "no deaths"."""
    kinds = ("number", "quantity", "negation")
    gone = {(each.kind, each.text) for place in places for each in place.gone if each.kind in kinds}
    came = {(each.kind, each.text) for place in places for each in place.came if each.kind in kinds}
    return len(gone), len(came)
