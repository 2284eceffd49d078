"""Align two texts: find for each sentence of the new text the sentence of the old one that says the same.

Equal sentences are found by a hash. A sentence that differs gets the old sentence that holds most of its rarer words
as its partner, together with a neighbour if the two texts cut their sentences differently. Which words differ between
partners, and what that means, is for ``evidence.differences``.

The work is bounded whatever a text looks like: sentences have at most ``LONGEST`` tokens, and a word that stands in
many sentences proposes no partner.
"""

import re
from collections.abc import Sequence
from itertools import chain, pairwise
from typing import NamedTuple

from scrapy_neardup.text.sentences import Printed
from scrapy_neardup.text.words import WITHOUT_SPACES

LONGEST = 64  # tokens of a sentence; a longer one is cut into several
_PARTNER = 0.4  # share of the words of a sentence that its partner holds
_SHORT = 12  # words; a sentence that is no longer, and no longer than its partner, needs no neighbour


class Aligned(NamedTuple):
    """A sentence of the new text, and its partner in the old one: "" if it has none, the same text if it is equal."""

    text: str
    partner: str
    words: int
    held: int  # of its words, those that its partner has
    is_equal: bool


def align(new: Sequence[Printed], old: Sequence[Printed]) -> list[Aligned]:
    """Return each sentence of the new text with its partner in the old one."""
    equals = {each.tokens: each for each in old}
    parts_of = {each.tokens: _parts(each) for each in new if each.tokens not in equals}
    wanted = {*chain.from_iterable(parts_of.values())}
    others = _Holders(old if wanted else (), wanted, taken={each.tokens for each in new})
    aligned = []
    for sentence in new:
        words = len(sentence.tokens)
        if (equal := equals.get(sentence.tokens)) is not None:
            aligned.append(Aligned(sentence.text, equal.text, words, words, is_equal=True))
        else:
            parts = parts_of[sentence.tokens]
            chosen = others.partners(parts)
            tokens = set[int]().union(*(others.tokens[place] for place in chosen))
            held = sum(map(tokens.__contains__, parts))
            aligned.append(
                Aligned(sentence.text, " ".join([old[place].text for place in chosen]), words, held, is_equal=False)
            )
    return aligned


def _parts(sentence: Printed) -> Sequence[int]:
    """Return the words of a sentence. Without spaces these are its characters with the next one: one says little."""
    if sentence.text.isascii() or not re.search(WITHOUT_SPACES, sentence.text):
        return sentence.tokens
    return [hash(pair) for pair in pairwise((*sentence.tokens, 0))]


class _Holders:
    """The sentences of the old text by the tokens that are looked for.

    Those that the new text repeats are ``taken``: of sentences that hold as much another one is chosen.
    """

    def __init__(self, old: Sequence[Printed], wanted: set[int], *, taken: set[tuple[int, ...]]) -> None:
        self._is_taken = [each.tokens in taken for each in old]
        self.tokens = [wanted.intersection(_parts(each)) for each in old]
        self._lengths = [len(each.tokens) for each in old]
        self._places: dict[int, list[int]] = {}
        for place, tokens in enumerate(self.tokens):
            for token in tokens:
                self._places.setdefault(token, []).append(place)

    def partners(self, parts: Sequence[int]) -> list[int]:
        """Return the place of the sentence, or of two neighbours, that hold most of these; nothing if none does."""
        wanted = dict.fromkeys(parts)
        places_of_words = [*filter(None, map(self._places.get, wanted))]
        least = _PARTNER * len(wanted)
        if len(places_of_words) < least:
            return []
        scores: dict[int, float] = {}  # by place: a word counts the more, the fewer old sentences have it
        for places in places_of_words:
            if len(places) <= 24:  # a word of more old sentences proposes none of them
                for place in places:
                    scores[place] = scores.get(place, 0.0) + 1 / len(places)
        if not scores:
            return []
        size = len(parts)

        def rank(at: int) -> tuple[float, bool, int, int]:
            # The rarer words it has, for its length: a title that has all words but one fits no better than the
            # sentence. Then one that the new text does not repeat, then the likest length, then the first.
            return (
                scores[at] / (4 + max(size, self._lengths[at])) ** 0.25,
                not self._is_taken[at],
                -abs(size - self._lengths[at]),
                -at,
            )

        best = max(scores, key=rank)
        held = wanted.keys() & self.tokens[best]
        count = len(held)
        # Two neighbours may say what one sentence of the new text says. But the rows "Hill: 20", "Dale: 30" do not say
        # "Hill: 30".
        beside = [at for at in (best - 1, best + 1) if 0 <= at < len(self.tokens) and not self._is_taken[at]]
        if size <= min(_SHORT, self._lengths[best]):
            beside = []
        added = {at: len(wanted.keys() & self.tokens[at] - held) for at in beside}
        neighbour = max(added, key=added.__getitem__, default=best)
        chosen = [best]
        if added.get(neighbour, 0) >= 0.15 * len(wanted):  # share that a neighbour of the partner must add
            chosen = sorted((best, neighbour))
            count += added[neighbour]
        return chosen if count >= least else []
