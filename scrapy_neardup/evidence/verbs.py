"""Verbs that say something else although their words are spelled alike: another tense, or who did it to whom.

"Resigned" and "will resign" are two forms of one word, and so are "beat" and "was beaten by". The words and endings
that tell them apart are in ``wording.json``, by language: words of the future, "by", "was", endings of the past, and
those of the present and the future.
"""

from collections.abc import Iterator, Sequence
from itertools import chain, product

from scrapy_neardup.evidence.places import Place
from scrapy_neardup.evidence.replacements import Difference, printed_words
from scrapy_neardup.evidence.tokens import VERBS


def other_verbs(places: Sequence[Place], language: str, *, is_asked: bool) -> Iterator[Difference]:
    """Yield how a verb differs. It is asked only of sentences that are otherwise equal."""
    if not is_asked or language not in VERBS:
        return
    future, by, was, past, coming = VERBS[language]
    gone = [*chain.from_iterable(place.gone for place in places)]
    came = [*chain.from_iterable(place.came for place in places)]
    olds, news = ({each.text for each in side} for side in (gone, came))
    is_future = future.isdisjoint(olds) != future.isdisjoint(news)
    # "Was beaten by", unless names moved too: "A beat B", "B was beaten by A".
    is_turned = by.isdisjoint(olds) != by.isdisjoint(news) and was.isdisjoint(olds) != was.isdisjoint(news)
    is_moved = any(each.says for each in gone if each.text in news)
    pairs = [*product(olds, news), *product(news, olds)]
    if is_future or (is_turned and not is_moved) or any(_are_tenses(a, b, past, coming) for a, b in pairs):
        yield Difference("word", printed_words(gone), printed_words(came), is_alone=True)


def _are_tenses(past: str, coming: str, past_endings: frozenset[str], endings: frozenset[str]) -> bool:
    """Decide whether two words are one verb with these endings. The last letter of its stem may change."""
    stems = {past.removesuffix(each) for each in past_endings if past.endswith(each)}
    others = [coming.removesuffix(each) for each in endings if coming.endswith(each)]
    return any(len(a) == len(b) > 2 and a[:-1] == b[:-1] for a in stems for b in others)
