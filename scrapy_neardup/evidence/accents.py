"""Words that are one without their accents and two as they are printed: "bán" and "bắn", "fordert" and "fördert".

Tokens are folded, so accents are compared apart, and only if both texts write them alike.
"""

import re
import unicodedata
from functools import lru_cache

from scrapy_neardup.evidence.figures.numbers import WORDING
from scrapy_neardup.text.folding import fold

# Words of the Latin, Greek and Cyrillic alphabets. No letter has more than three marks.
_WORD = re.compile("(?:[A-Za-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02af\u0370-\u052f\u1e00-\u1fff][\u0300-\u036f]{0,3})+")
_MARKS = re.compile("[\u0300-\u036f\u00f0-\u0292]")  # and letters that folding changes
# Marks that many leave out, or write in two ways: those of capitals, a dot above "i", stress and "ё" in Cyrillic, and
# "ô" and "ó" before a nasal in Portuguese.
_OPTIONAL = re.compile(
    "[\u0300-\u0308](?:(?<=[A-Z\u0386-\u03ab\u0410-\u042f].)|(?<=i\u0307)|(?<=[\u0430-\u044f][\u0300\u0301])"
    "|(?<=\u0435\u0308)|(?<=[eo][\u0301\u0302])(?=[mn]))"
)
_LIGATURES = str.maketrans({"æ": "ae", "œ": "oe", "\u0327": "\u0326"})  # a cedilla may be a comma
_WITH_OR_WITHOUT = frozenset(WORDING["optional_accents"].split())
_VIETNAMESE = "vi"  # each word may be another one; a tone may stand on either of two vowels
_LEAST_ALIKE = 3  # marked words that are the same in both texts, for each one that differs


def accents_of(text: str) -> str:
    """Return the words of a text that folding changes, without the marks that many leave out."""
    return " ".join(filter(_MARKS.search, _decomposed(text).split()))


def other_accents(new: str, old: str, language: str, names: frozenset[str] = frozenset()) -> list[tuple[str, str]]:
    """Return the words of an old text that have other accents in the new one, each with the new word.

    Names, which are given folded, and small words do not count: many write them with or without accents. In Vietnamese
    nobody does.
    """
    if new.isascii() and old.isascii():
        return []
    words, old_words = (_words(each, language) for each in (new, old))
    gone = {fold(word): printed for word, printed in old_words.items() if word not in words}
    came = {fold(word): printed for word, printed in words.items() if word not in old_words}
    common = gone.keys() & came.keys()
    if language != _VIETNAMESE:
        common -= _WITH_OR_WITHOUT | names
    return [(gone[word], came[word]) for word in common]


@lru_cache(32)  # new texts are often compared with the same old one
def write_alike(new: str, old: str, language: str) -> bool:
    """Decide whether two texts write accents alike: then a word with other accents is another word."""
    common = _words(new, language).keys() & _words(old, language).keys()
    return sum(not each.isascii() for each in common) >= _LEAST_ALIKE * len(other_accents(new, old, language))


def _words(text: str, language: str) -> dict[str, str]:
    """Return the words of a text as they are printed, by how they are compared."""
    words = _decomposed(text).split()
    if language != _VIETNAMESE:
        return {each: unicodedata.normalize("NFC", each) for each in words}
    return {
        _MARKS.sub("", each) + "".join(sorted(_MARKS.findall(each))): unicodedata.normalize("NFC", each)
        for each in words
    }


def _decomposed(text: str) -> str:
    words = unicodedata.normalize("NFD", " ".join(_WORD.findall(text)))
    return _OPTIONAL.sub("", words).casefold().translate(_LIGATURES)
