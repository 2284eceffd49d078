"""The harm that the beginning of an article tells: kinds and values by which reports of one event are recognised."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import chain

from scrapy_neardup.evidence.figures.counted import FigureKind, meaning_of
from scrapy_neardup.evidence.figures.number_words import IDEOGRAPHS, all_languages
from scrapy_neardup.evidence.figures.tolls import tolls_of
from scrapy_neardup.text.folding import fold

_HARM = frozenset(kind for kind in FigureKind if kind < FigureKind.OTHER) - {FigureKind.VICTIMS, FigureKind.ARRESTED}
_FIRST_WORDS = 400  # characters of a text that has tolls of its event: one of their words tells harm
_MOST_READ = 1000  # characters of an article that tells harm
_WORD = re.compile(r"[^\s.,;:!?()'\"\-|0-9]{3,}")
_LINES = re.compile(r"[.!?](?= )|[\n।。！？]")
_DIGITS = re.compile(f"[0-9{IDEOGRAPHS}]")


def harm_of_head(title: str, text: str, language: str = "") -> list[tuple[int, int]]:
    """Return kind and value of the numbers of people harmed, and of homes, that the beginning of an article tells.

    They are the first of each kind. Most articles tell no harm beside a number, which is seen before they are read.
    """
    head = fold(f"{title}\n{text[:_FIRST_WORDS]}").casefold()
    if not any(map(_counts_harm, _LINES.split(head))):
        return []
    found = tolls_of(title, text[:_MOST_READ], language, of_people=True)
    told = {int(each.kind): int(each.low) for each in reversed(found) if each.low and not each.is_increment}
    return sorted(each for each in told.items() if each[0] in _HARM)


def _counts_harm(line: str) -> bool:
    """Decide whether folded words have a number, and a word that tells harm."""
    words = _WORD.findall(line)
    if not _DIGITS.search(line) and _number_words().isdisjoint(words):
        return False
    return any(meaning.kind in _HARM for meaning in filter(None, map(meaning_of, words)))


@lru_cache(maxsize=1)
def _number_words() -> frozenset[str]:
    small = (each.small.items() for each in all_languages().by_name.values())
    return frozenset(word for word, value in chain.from_iterable(small) if value > 1)
