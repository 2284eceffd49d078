"""Words that differ only in their accents: "bán" and "bắn", "fordert" and "fördert".

Tokens are folded, so accents are compared apart. In names and in capitals they are often left out, so these do not
count. But in Vietnamese names differ in their accents, and in German each noun has a capital.
"""

import re
import unicodedata

from scrapy_neardup.evidence.figures.numbers import WORDING
from scrapy_neardup.text.folding import fold

# Words of the Latin, Greek and Cyrillic alphabets. No letter has more than three marks.
_WORD = re.compile("(?:[A-Za-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02af\u0370-\u052f\u1e00-\u1fff][\u0300-\u036f]{0,3})+")
_ACCENTED = re.compile(
    "[\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02af\u0300-\u036f\u0386-\u0390\u03aa-\u03b0\u03ca-\u03ce"
    "\u0403\u0407\u040c\u040e\u0419\u0439\u0453\u0457\u045c\u045e\u04c1\u04c2\u04d0-\u04f9\u1e00-\u1fff]\\w?"
)
_MARKED = re.compile("[\u0300-\u036f\u00f0-\u0292]")  # a mark, or a letter such as "ł"
# Marks that many leave out: a dot above "i", and stress and "ё" in Cyrillic.
_OPTIONAL = re.compile(
    "[\u0300-\u0308](?:(?<=i\u0307)|(?<=[\u0430-\u044f\u0456][\u0300\u0301])|(?<=[\u0415\u0435]\u0308))"
)
# Marks of which some languages have two spellings, and what stands for both: "août", "aout"; "económico", "econômico";
# "perché", "perchè"; "hoà", "hòa".
_TWO_SPELLINGS = {
    **dict.fromkeys(("fr", "tr"), (re.compile("\u0302(?<=[iu].)"), "")),
    "pt": (re.compile("[\u0301\u0302](?<=[eo].)(?=[mn])"), ""),
    "it": (re.compile("\u0300"), "\u0301"),
    "vi": (re.compile(r"([\u0300\u0301\u0303\u0309\u0323])(\S*)"), r"\2\1"),  # the tone, on either of two vowels
}
_OPTIONAL_IN = frozenset(WORDING["optional_accents"].split())
_LOOK_ALIKE = str.maketrans({"æ": "ae", "œ": "oe", "ð": "đ", "Ð": "Đ", "ß": "ss", "\u0327": "\u0326"})


def accents_of(text: str) -> list[str]:
    """Return the letters of a text that have accents, each with the letter behind it."""
    return _ACCENTED.findall(text)


def compare_accents(new: str, old: str, language: str) -> tuple[list[tuple[str, str]], int]:
    """Return the words of an old text that have other accents in the new one, each with the new word.

    Also return how many words with accents both texts have.
    """
    if new == old or not (_ACCENTED.search(new) or _ACCENTED.search(old)):
        return [], 0
    words, old_words = (_words(each, language) for each in (new, old))
    gone = {fold(form): printed for form, printed in old_words.items() if form not in words}
    came = ((fold(form), printed) for form, printed in words.items() if form not in old_words)
    pairs = [
        (gone[folded], printed) for folded, printed in came if folded in gone and folded.casefold() not in _OPTIONAL_IN
    ]
    return pairs, sum(_MARKED.search(form) is not None for form in words.keys() & old_words.keys())


def _words(text: str, language: str) -> dict[str, str]:
    """Return the words of a text that count, as they are printed, by the form in which they are compared."""
    words = _WORD.findall(text)
    forms = _OPTIONAL.sub("", unicodedata.normalize("NFD", " ".join(words))).translate(_LOOK_ALIKE)
    if language in _TWO_SPELLINGS:
        forms = re.sub(*_TWO_SPELLINGS[language], forms)
    return {form: word for form, word in zip(forms.split(), words, strict=True) if _counts(form, language)}


def _counts(word: str, language: str) -> bool:
    is_noun = language == "de" and word[1:].islower() and {*_MARKED.findall(word[2:])} <= {"\u0308"}  # only umlauts
    return language == "vi" or word.islower() or (is_noun and not _MARKED.match(word[1:]))
