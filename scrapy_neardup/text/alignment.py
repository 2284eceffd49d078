"""Align two texts: find for each sentence of the new text the sentence of the old one that says the same.

Equal sentences are found by a hash. A sentence that differs gets the old sentence that holds most of its rarer words
as its partner, together with a neighbour if the two texts cut their sentences differently. Which words differ between
partners, and what that means, is for ``evidence.differences``.

The work is bounded whatever a text looks like: sentences have at most ``LONGEST`` tokens, and a word that stands in
many sentences proposes no partner.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from scrapy_neardup.text.body import sentence_starts
from scrapy_neardup.text.folding import fold_with_places
from scrapy_neardup.text.reading import Reading, next_starts

LONGEST = 64  # tokens of a sentence; the rest of a longer one is a sentence of its own
_MOST_PROPOSED = 24  # a word of more old sentences proposes none of them
_PARTNER = 0.4  # share of the weight of a sentence that its partner holds
_NEIGHBOUR = 0.15  # share that a neighbour of the partner must add


class Sentence(NamedTuple):
    """A sentence as it is printed, and the hashes of its tokens."""

    text: str
    tokens: tuple[int, ...]


class Aligned(NamedTuple):
    """A sentence of the new text, and its partner in the old one: "" if it has none, the same text if it is equal."""

    text: str
    partner: str
    words: int
    held: int  # of its words, those that its partner has
    is_equal: bool


def read_sentences(*texts: str) -> list[list[Sentence]]:
    """Return the sentences of each text. A line ends a sentence, as a full stop does."""
    reading = Reading.of(*texts)
    starts = sentence_starts(reading)
    first = reading.starts.searchsorted(starts)
    cuts = [
        np.arange(begin, end, LONGEST)
        for begin, end in zip(first, next_starts(first, len(reading.starts)), strict=True)
    ]
    first = np.concatenate(cuts) if cuts else first
    end = next_starts(first, len(reading.starts))
    of_text = reading.bounds.searchsorted(reading.starts.take(first), side="right") - 1
    hashes = reading.hashes.tolist()
    found: list[list[Sentence]] = [[] for _ in texts]
    for number, text in enumerate(texts):
        _, printed, places = fold_with_places(text)
        begins, behind = int(reading.bounds[number]), int(reading.bounds[number + 1]) - 1
        chosen = (of_text == number).nonzero()[0]
        starts_of = [int(reading.starts[first[each]]) for each in chosen]
        for each, start, stop in zip(chosen.tolist(), starts_of, [*starts_of[1:], behind], strict=True):
            words = printed[places[start - begins] : places[stop - begins]].strip()
            found[number].append(Sentence(words, tuple(hashes[first[each] : end[each]])))
    return found


def align(new: Sequence[Sentence], old: Sequence[Sentence]) -> list[Aligned]:
    """Return each sentence of the new text with its partner in the old one."""
    known = {each.tokens: each for each in old}
    holders: dict[int, list[int]] = {}
    for place, sentence in enumerate(old):
        for token in set(sentence.tokens):
            holders.setdefault(token, []).append(place)
    aligned = []
    for sentence in new:
        words = len(sentence.tokens)
        if (equal := known.get(sentence.tokens)) is not None:
            aligned.append(Aligned(sentence.text, equal.text, words, words, is_equal=True))
        else:
            partners = _partners(sentence, old, holders)
            tokens = {token for each in partners for token in each.tokens}
            held = sum(token in tokens for token in sentence.tokens)
            aligned.append(
                Aligned(sentence.text, " ".join(each.text for each in partners), words, held, is_equal=False)
            )
    return aligned


def _partners(sentence: Sentence, old: Sequence[Sentence], holders: dict[int, list[int]]) -> list[Sentence]:
    """Return the old sentence, or two neighbours, that hold most of a sentence; nothing if none holds enough of it."""
    weights = {token: 1 / len(holders[token]) if token in holders else 1.0 for token in sentence.tokens}
    scores = defaultdict[int, float](float)
    for token, weight in weights.items():
        places = holders.get(token, ())
        if len(places) <= _MOST_PROPOSED:
            for place in places:
                scores[place] += weight
    if not scores:
        return []
    best = max(scores, key=lambda place: _rank(scores[place], len(sentence.tokens), len(old[place].tokens), place))
    held = set(old[best].tokens)
    total = len(weights)

    def added(place: int) -> float:
        if not 0 <= place < len(old):
            return 0.0
        return len((weights.keys() & set(old[place].tokens)) - held) / total

    share = len(weights.keys() & held) / total
    side = max((best - 1, best + 1), key=added)
    chosen = [best]
    if added(side) >= _NEIGHBOUR:
        share += added(side)
        chosen = sorted((best, side))
    return [old[place] for place in chosen] if share >= _PARTNER else []


def _rank(score: float, size: int, old_size: int, place: int) -> tuple[float, int, int]:
    """Return how well an old sentence fits. A title that has all words but one fits no better than the sentence."""
    return score / (4 + max(size, old_size)) ** 0.25, -abs(size - old_size), -place
