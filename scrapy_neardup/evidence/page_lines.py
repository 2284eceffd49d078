"""Which lines of a text are of its page and not of its article, such as links, bylines and counters."""

import re
from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache
from itertools import product
from typing import NamedTuple

from scrapy_neardup.evidence.accents import compare_accents
from scrapy_neardup.evidence.differing_places import SHORT
from scrapy_neardup.evidence.figures.counted import is_of_page, without_page_words
from scrapy_neardup.evidence.figures.figure import SENTENCE_ENDS, find_figures
from scrapy_neardup.evidence.figures.numbers import WORDING
from scrapy_neardup.evidence.names import skeleton
from scrapy_neardup.evidence.spellings import are_alike, may_be_one_name
from scrapy_neardup.evidence.tokens import AGENCIES, FIRM, NOTICES, TEASERS, Token, is_unspaced, names_of, tokens_of
from scrapy_neardup.text.alignment import Aligned
from scrapy_neardup.text.folding import fold
from scrapy_neardup.text.sentences import Printed

_LONGEST_LINE = 12  # words
_SHORT_CREDIT = 6  # words of a line that names a site
_BESIDE_PAGE_WORDS = frozenset(WORDING["beside_page"].split())  # "Estimated reading time: less than 3 minutes"
_COMMON_ACCENTS = 3  # words with accents that two texts have in common, for each one that differs
_HOST = re.compile(r"\w\.[A-Za-z]{2,4}\W*$")
_TEASER = rf"(?:\w+:\s*)?#\w|(?:{'|'.join(map(re.escape, TEASERS))})\s*(?:[:>|!]|-(?!\w)|$)"

_SMALL_WORD = re.compile(r"(?<![\w'-])[^\W\d_A-Z][a-z]{3,}")
_NO_CAPITALS = ("de", "lb")  # in these languages every noun has a capital


class Side(NamedTuple):
    """One of two texts that are compared. ``language`` is an ISO 639-1 code, or "" if it is not known."""

    title: str
    text: str
    source: str = ""
    language: str = ""


@lru_cache(32)  # new texts are often compared with the same old one
def words_of(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"\w+", fold(text).casefold()))


class BothTexts:
    """What is looked up in the old text as a whole, and of both texts.

    ``closest`` has the sentence of the new text that holds most of a partner, by the partner.
    """

    def __init__(self, new: Side, old: Side, closest: Mapping[str, str]) -> None:
        self.closest = closest
        self.language = new.language
        self._new = new
        self._old = old
        self._old_text = f"{old.title}\n{old.text}"
        # Of the new text's paper: others choose their names as they like.
        self._paper_skeleton = skeleton(new.source.removeprefix("www."))

    @cached_property
    def names(self) -> frozenset[str]:
        if self.language in _NO_CAPITALS:
            return frozenset()
        # Not "Police Find Missing Boy"
        titles = [each for each in (self._new.title, self._old.title) if _SMALL_WORD.search(each)]
        return names_of(*titles, self._new.text, self._old.text)

    @cached_property
    def new_title(self) -> frozenset[str]:
        return frozenset(each.text for each in tokens_of(self._new.title, self.language))

    @cached_property
    def has_few_bylines(self) -> bool:
        """Return False if many lines look like bylines: then the text is a list of names."""
        return sum(map(_may_be_byline, self._new.text.split("\n"))) <= 2

    def has(self, token: Token) -> bool:
        """Return whether the old text has a word. The name of a paper counts as known."""
        if token.text in words_of(self._old_text):
            return True
        if token.kind == "name":
            return self.is_paper(token)
        return token.kind in FIRM and token.text in _texts_of_tokens(self._old_text, self._old.language)

    def still_has(self, words: str) -> bool:
        """Return whether the new text has several words of the old one, in whatever sentence."""
        return len(words.split()) > SHORT and words_of(words) <= words_of(self._new.text)

    def other_accents(self, new: str, old: str) -> list[tuple[str, str]]:
        """Return each word of an old sentence, and the word of a new one that differs from it in its accents only.

        There are none if one of the texts, or of the sentences, leaves accents out.
        """
        pairs, common = compare_accents(new, old, self.language)
        if not pairs or len(pairs) > 1 + common or not self._write_accents_alike:
            return []
        return pairs

    @cached_property
    def _write_accents_alike(self) -> bool:
        pairs, common = compare_accents(self._new.text, self._old.text, self.language)
        return common >= _COMMON_ACCENTS * len(pairs)

    def swapped(self, new: str, old: str) -> set[tuple[str, str]]:
        """Return each name of an old sentence with each one of a new sentence, if neither text has that of the other.

        In languages whose names have no capitals any word may be one.
        """
        new_text = f"{self._new.title}\n{self._new.text}"
        came = self._may_be_names(new) - words_of(self._old_text)
        gone = self._may_be_names(old) - words_of(new_text)
        if not came or not gone:  # mostly, and the words of the texts are no tokens yet
            return set()
        came -= _texts_of_tokens(self._old_text, self._old.language)
        gone -= _texts_of_tokens(new_text, self.language)
        return {pair for pair in product(gone, came) if not (are_alike(*pair) or may_be_one_name(*pair))}

    def _may_be_names(self, sentence: str) -> set[str]:
        words = (each for each in tokens_of(sentence, self.language, self.names) if each.kind in ("word", "name"))
        lacks_capitals = self.language in _NO_CAPITALS
        return {each.text for each in words if each.kind == "name" or lacks_capitals or each.text.upper() == each.text}

    def is_paper(self, token: Token) -> bool:
        """Return whether a name is that of the new text's paper, or of an agency."""
        name = skeleton(token.text)
        is_of_site = len(token.text) > 3 and token.text in self._new.source
        return token.text in AGENCIES or is_of_site or (len(name) > 3 and name in self._paper_skeleton)


@lru_cache(64)
def _texts_of_tokens(text: str, language: str) -> frozenset[str]:
    return frozenset(each.text for each in tokens_of(text, language))


def without_teasers(sentences: Sequence[Printed], first: int) -> list[Printed]:
    """Return sentences without teasers, of which the first so many are no lines of the text."""
    lines = (each for each in sentences[first:] if each.text.endswith(SENTENCE_ENDS) or not _is_teaser(each.text))
    return [*sentences[:first], *lines]


def _is_teaser(line: str) -> bool:
    """Return whether a line is a link to another article, whose news the text does not tell."""
    return re.match(_TEASER, fold(line).casefold()) is not None


def _may_be_byline(line: str) -> bool:
    words = line.split()
    return 2 <= len(words) <= 4 and all(word[0].isupper() and not word.isupper() for word in words)


def is_line_of_page(text: str, tokens: Sequence[Token], known: BothTexts) -> bool:
    """Decide whether a line is of the page, not of the article: a link to another one, a byline, an advertisement."""
    if _has_notice(text) or _is_teaser(text) or known.new_title.issuperset(each.text for each in tokens):
        return True
    if known.has_few_bylines and all(each.kind in ("name", "time") for each in tokens):
        return True
    is_line = len(tokens) <= _LONGEST_LINE and not text.rstrip(")]").endswith(SENTENCE_ENDS)
    if is_line and is_of_page(text) and not any(each.is_grave for each in find_figures(text)):
        return not _says_more(text, tokens, known.language)
    is_byline = known.has_few_bylines and (len(tokens) < 2 or _may_be_byline(text))
    is_credit = is_byline or (len(tokens) <= _SHORT_CREDIT and _names_paper(text, tokens, known))
    return is_credit and all(each.kind not in FIRM or known.has(each) for each in tokens)


def _says_more(line: str, tokens: Sequence[Token], language: str) -> bool:
    """Return whether a line has so many other words than those of a page: "Two schools also burned down".

    Words with a capital do not count: they may be names.
    """
    small = words_of(without_page_words(line)) - _BESIDE_PAGE_WORDS
    if language not in _NO_CAPITALS:
        small &= {*re.findall(r"\w+", fold(line[:1].lower() + line[1:]))}
    words = [each.text for each in tokens if each.kind == "word" and each.says and not is_unspaced(each)]
    return len(small.intersection(words)) >= SHORT


def may_be_of_page(aligned: Aligned) -> bool:
    """Return False for sentences of an article, which most are: then nobody has to look at their words."""
    text = aligned.text
    if aligned.words <= _SHORT_CREDIT or not text.endswith(SENTENCE_ENDS) or _has_notice(text):
        return True
    return not text.endswith(".") and _is_teaser(text)


def _has_notice(text: str) -> bool:
    return any(map(fold(text).casefold().__contains__, NOTICES))


def _names_paper(text: str, tokens: Sequence[Token], known: BothTexts) -> bool:
    """Decide whether a short line has little else than the name of its paper or agency, or ends with that of a site."""
    letters = [sum(len(each.text) for each in side) for side in (filter(known.is_paper, tokens), tokens)]
    return _HOST.search(text) is not None or letters[0] >= 0.4 * letters[1] > 0
