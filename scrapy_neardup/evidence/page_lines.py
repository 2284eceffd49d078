"""Which lines of a text are of its page and not of its article, such as links, bylines and counters."""

import re
from collections.abc import Mapping, Sequence
from functools import cache, cached_property, lru_cache
from itertools import product
from typing import NamedTuple

from scrapy_neardup.evidence.accents import compare_accents
from scrapy_neardup.evidence.differing_places import SHORT
from scrapy_neardup.evidence.figures.counted import meaning_of, pattern_of, without_page_words
from scrapy_neardup.evidence.figures.figure import SENTENCE_ENDS
from scrapy_neardup.evidence.figures.numbers import WORDING
from scrapy_neardup.evidence.names import skeleton
from scrapy_neardup.evidence.spellings import are_alike, may_be_one_name
from scrapy_neardup.evidence.tokens import (
    AGENCIES,
    FIRM,
    NO_PLACES,
    TEASERS,
    Token,
    names_of,
    tokens_of,
)
from scrapy_neardup.text.alignment import Aligned
from scrapy_neardup.text.folding import fold
from scrapy_neardup.text.sentences import Printed

_SHORT_CREDIT = 6  # words of a line that names a site
_LONGEST_NOTICE = 20  # words
_BESIDE_PAGE_WORDS = frozenset(WORDING["beside_page"].split())  # "Estimated reading time: less than 3 minutes"
_LONGEST_NAME = 4  # words
_PARTS = re.compile(r"[.,،:](?=\s|$)|[;|/፦፣()\[\]{}\"!?…•·<>。、，【】「」『』▶■=]|(?<!\w)-|-(?!\w)|\n")
# Patterns for "notices" and "labels", which are made when a text has a line that may be one.
_frame = cache(
    lambda words: re.compile(pattern_of(*(WORDING[f"{words}{each}"].split("|") for each in ("", " without spaces"))))
)
_COMMON_ACCENTS = 3  # words with accents that two texts have in common, for each one that differs
_HOST = re.compile(r"\w\.[A-Za-z]{2,4}\W*$")
_TEASER = (
    rf"(?:\w+:\s*)?#\w|(?:{'|'.join(map(re.escape, TEASERS))})\s*(?:[:>|!]|-(?!\w)|$)"
    rf"|(?:{WORDING['links']})\s.*[^\s.!।۔።]$"  # a headline behind it has no full stop
)

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
        self.title = new.title
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
    def printed_words(self) -> frozenset[str]:
        return frozenset(re.findall(r"[^\W\d_]+", fold(f"{self._new.text}\n{self._old.text}")))

    @cached_property
    def has_few_bylines(self) -> bool:
        """Return False if many lines look like bylines: then the text is a list of names."""
        return sum(map(_may_be_byline, self._new.text.split("\n"))) <= 2

    def has(self, token: Token) -> bool:
        """Return whether the old text has a word. The name of a paper counts as known."""
        is_word = token.text in words_of(self._old_text) or (token.kind == "name" and self.is_paper(token))
        return is_word or (token.kind in FIRM and token.text in _texts_of_tokens(self._old_text, self._old.language))

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
    return [
        each
        for number, each in enumerate(sentences)
        if number < first or each.text.endswith(SENTENCE_ENDS) or not _is_teaser(each.text)
    ]


def _is_teaser(line: str) -> bool:
    """Return whether a line is a link to another article, whose news the text does not tell."""
    return re.match(_TEASER, fold(line).casefold()) is not None


def _may_be_byline(line: str) -> bool:
    words = line.split()
    return 2 <= len(words) <= 4 and all(word[0].isupper() and not word.isupper() for word in words)


def is_line_of_page(text: str, tokens: Sequence[Token], known: BothTexts) -> bool:
    """Decide whether a line is of the page, not of the article: a link to another one, a byline, an advertisement."""
    if (
        (known.has_few_bylines and all(each.kind in ("name", "time") for each in tokens))
        or _texts_of_tokens(known.title, known.language).issuperset(each.text for each in tokens)
        or _is_teaser(text)
        or _is_frame(text.replace(known.title, ""), known.language)
    ):
        return True
    is_byline = known.has_few_bylines and (len(tokens) < 2 or _may_be_byline(text))
    is_credit = is_byline or (len(tokens) <= _SHORT_CREDIT and _names_paper(text, tokens, known))
    return is_credit and all(each.kind not in FIRM or known.has(each) for each in tokens)


def may_be_of_page(aligned: Aligned) -> bool:
    """Return False for sentences of an article, which most are: then nobody has to look at their words."""
    return (
        aligned.words <= _SHORT_CREDIT
        or not aligned.text.endswith(SENTENCE_ENDS)
        or (aligned.words <= _LONGEST_NOTICE and _has_notice(aligned.text))
        or (not aligned.text.endswith(".") and _is_teaser(aligned.text))
    )


@lru_cache(256)  # a sentence is compared up to three times with each text
def _has_notice(sentence: str) -> bool:
    return _frame("notices").search(fold(sentence).casefold()) is not None


def _is_frame(line: str, language: str) -> bool:
    """Decide whether each part of a line is a notice, an invitation or a credit, or only names somebody or a day."""
    folded = fold(line)
    # a section sign for each notice, a paragraph sign for each label
    marked = _frame("labels").sub(" \u00b6 ", without_page_words(_frame("notices").sub(" \u00a7 ", folded.casefold())))
    is_byline = folded[:1].isupper() and re.match(rf"(?:{WORDING['bylines']}) ", folded.casefold()) is not None
    is_credit = is_byline or (language not in _NO_CAPITALS and re.match(r"\W*\u00b6\W*[:/|,=፦]", marked) is not None)
    has_names = is_credit or not (folded.isupper() or folded[:1].islower())  # not "by King Fahd", from a cut sentence
    capitals = {each.casefold() for each in re.findall(r"\w+", folded) if has_names and each[0].isupper()}
    is_marked = "\u00a7" in marked or (
        (is_byline or "\u00b6" in marked) and not re.search(r"[^\W\d][.!?][\"')\]]*$", folded)
    )
    return is_marked and not any(_tells(each, capitals, language, is_credit) for each in _PARTS.split(marked))


def _tells(part: str, capitals: set[str], language: str, is_credit: bool) -> bool:
    # Names, which are words with a capital, stand alone but in a credit. Two other words may stand beside a notice, and
    # one in a credit whose script has no capitals.
    tokens = [each for each in tokens_of(part, language) if each.kind != "time"]
    words = [each for each in tokens if each.kind != "number" and each.text not in _BESIDE_PAGE_WORDS]
    others = sum(each.text not in capitals for each in words)
    is_news = any(each.kind in FIRM or each.text in NO_PLACES or meaning_of(each.text) for each in words)
    has_notice = "\u00a7" in part
    are_names = is_credit or has_notice or ("\u00b6" not in part and capitals.issuperset(each.text for each in tokens))
    return (
        is_news
        or (has_notice and any(each.kind == "number" for each in tokens))
        or others > (2 if has_notice else is_credit and not any(each.text != each.text.title() for each in words))
        or len(words) - others > _LONGEST_NAME * are_names
    )


def _names_paper(text: str, tokens: Sequence[Token], known: BothTexts) -> bool:
    """Decide whether a short line has little else than the name of its paper or agency, or ends with that of a site."""
    letters = [sum(len(each.text) for each in side) for side in (filter(known.is_paper, tokens), tokens)]
    return _HOST.search(text) is not None or letters[0] >= 0.4 * letters[1] > 0
