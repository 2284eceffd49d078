"""What an article tells that its story has not told: whole sentences with figures, names or rare words that are new.

A story keeps hashes of the terms that its articles have (see ``titles``), so another wording of what was told is not
news: most of its terms are known. Which sentences are asked for is known from the texts of the second look.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from xxhash import xxh32_intdigest

from scrapy_neardup.evidence.differences import Comparison
from scrapy_neardup.evidence.lead import is_quotable, whole_sentences
from scrapy_neardup.evidence.titles import FIGURE, NAME, NO_TERM, term_codes, terms_of
from scrapy_neardup.text.display import one_line
from scrapy_neardup.text.folding import fold

MOST_NEWS = 3
LONGEST_NEWS = 300  # characters of a sentence
_MOST_READ = 8_000  # characters of a text
_WEIGHT = 2  # of a name or a figure; that of another term is 1
_LEAST_NEW, _LEAST_SHARE = 4, 0.45  # of the weight of a sentence
_MOST_COUNTED = 10  # of the weight of a sentence: a longer one tells no more
_LEAST_SCORE = 7.0
_TOLL = 12.0  # is added to the score of a sentence with a new toll
_MARKS = "=+-@–—• "  # a spreadsheet takes a cell that begins with one for a formula
_MOST_SHARED = 4  # terms of the title
_PLACES = 8  # the sentence of this place tells the news half as probably as the first one
_HISTORY, _TOO_LONG, _LEAST_OF_BEST = 0.4, 0.6, 0.6
_YEAR = re.compile(r"(?<![\w.,])(?:19|20)[0-9]{2}(?![\w%]|[.,][0-9])")


def own_sentences(text: str, learned: Sequence[str], comparisons: Sequence[Comparison]) -> tuple[str, ...]:
    """Return the sentences of a text without those that older texts hold, and without lines learned of its source."""
    known = [" ".join(line.split()) for line in learned]
    read = [each for each in whole_sentences(text[:_MOST_READ]) if not _is_among(each, known)]
    for comparison in comparisons:
        new = [" ".join(each.text.split()) for each in comparison.differing if not each.is_title]
        read = [each for each in read if _is_among(each, new)]
    return tuple(each.lstrip(_MARKS) for each in read if is_quotable(each))


def _is_among(sentence: str, lines: Sequence[str]) -> bool:
    """Decide whether a sentence is one of these lines, a part of one, or has one as its part."""
    return any(line in sentence or sentence in line for line in lines)


def told_by(title: str, text: str, language: str = "") -> list[int]:
    """Return the hashes of the terms of an article, and of its language."""
    return [language_mark(language), *terms_of(f"{title}\n{text[:_MOST_READ]}")]


def language_mark(language: str) -> int:
    """Return a hash that says in which language a story was told: in another one nobody knows what is new."""
    return xxh32_intdigest(f"\0{language}".encode()) % NAME


def news_among(
    sentences: Sequence[str], title: str, told: Collection[int], new_tolls: Sequence[str] = ()
) -> tuple[str, ...]:
    """Return the sentences that tell what was not told, the best first, at most ``MOST_NEWS``.

    ``new_tolls`` are sentences with a toll that the story has not told.
    """
    known = set(told)
    about = terms_of(title)
    left = {place: _codes(sentence) for place, sentence in enumerate(sentences)}
    chances = [_chance(sentence, place) for place, sentence in enumerate(sentences)]
    of_tolls = [_TOLL * _is_among(sentence, new_tolls) for sentence in sentences]
    news: list[str] = []
    least = _LEAST_SCORE
    while left and len(news) < MOST_NEWS:
        scores = {at: _score(codes, known, about) * chances[at] + of_tolls[at] for at, codes in left.items()}
        best = max(scores, key=lambda place: (scores[place], -place))
        if scores[best] < least:
            break
        least = max(least, _LEAST_OF_BEST * min(scores[best], _TOLL))
        news.append(one_line(sentences[best], LONGEST_NEWS))
        known.update(code % NAME for code in left.pop(best))
    return tuple(news)


def new_terms(sentence: str, told: Collection[int]) -> list[int]:
    """Return the hashes of the terms of a sentence that were not told, those of names and figures first."""
    codes = sorted(_codes(sentence), key=lambda code: code < NAME)
    return [term for term in dict.fromkeys(code % NAME for code in codes) if term not in told]


def _codes(sentence: str) -> list[int]:
    return [code for code in term_codes(fold(sentence)) if code < NO_TERM]


def _score(codes: Sequence[int], known: Collection[int], about: Collection[int]) -> float:
    """Return how much of a sentence is new, and how much of it is about the title of its page; 0 if it is no news."""
    weights = {code % NAME: _WEIGHT if code >= NAME else 1 for code in codes}
    new = {slot: weight for slot, weight in weights.items() if slot not in known}
    has_figure = any(code % NAME in new for code in codes if code & FIGURE)
    weight, shared = sum(new.values()), len(weights.keys() & about)
    is_new = has_figure or (weight >= _LEAST_NEW and weight >= _LEAST_SHARE * sum(weights.values()))
    if not is_new or (about and not shared):
        return 0.0
    return min(_MOST_COUNTED, weight) + _WEIGHT * (has_figure + min(_MOST_SHARED, shared))


def _chance(sentence: str, place: int) -> float:
    """Return how probably a sentence of this place tells the news of its page, compared with one of its beginning."""
    chance = 1 / (1 + place / _PLACES)
    chance *= _HISTORY if _YEAR.search(sentence) else 1
    return chance * (_TOO_LONG if len(sentence) > LONGEST_NEWS else 1)
