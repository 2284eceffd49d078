"""The terms of a title. They tell two documents of one source apart until the source's boilerplate is known.

A term is the beginning of a word, so that inflected forms are one term; very short words are not terms. In scripts
without spaces a term is a pair of characters.
"""

import itertools
import re
from collections.abc import Collection, Iterable
from functools import lru_cache

from xxhash import xxh32_intdigest

from scrapy_neardup.evidence.word_tables import MONTHS, WEEKDAYS
from scrapy_neardup.records.packing import split
from scrapy_neardup.text.folding import fold, fold_with_places

_TERM_BYTES = 2
LIKE_TITLES = 1 / 3  # two documents with one article number are one article if their titles have this overlap or more
SAME_TITLES = 0.8  # titles with a smaller overlap are different headlines

MOST_TERMS = 16
_MOST_CHARACTERS = 400
_ARABIC_ARTICLE = re.compile("^(?:[\u0648\u0641\u0628\u0643]?\u0627\u0644|\u0644\u0644)(?=.{2})")
_HANGUL = re.compile("[\uac00-\ud7a3]{2,}")
_STEM = 5  # characters
_LEAST_LETTERS = 4  # of a word in a script with capitals
_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3400-\u9fff]+")
# Combining marks belong to their word. So words are found by the characters that stand between them.
_BETWEEN = (
    "\\s!-/:-@\\[-`{-~\u00a1-\u00bf\u055b-\u055f\u060c\u061b\u061f\u0964\u0965"
    "\u2000-\u206f\u3000-\u3003\u3008-\u3020\u30fb\uff01\uff1f"
)
_DIVIDER = re.compile("\\s[-|\u2013\u2014\u2022\u00b7\u00bb]\\s+|\\s?\\|\\s?")
_WORD = re.compile(f"[^{_BETWEEN}]+")
_ASCII_WORDS = bytes(code if _WORD.match(chr(code)) else ord(" ") for code in range(256))

_LONGEST_REMEMBERED = 40  # characters of a word
# The code of a word is a 16-bit slot, with these bits above it.
NAME = 1 << 16
FIGURE = 1 << 17
NO_TERM = 1 << 18  # all others are terms: ``code < NO_TERM``, and their slot is ``code % NAME``


def title_terms(title: str) -> frozenset[int]:
    """Return the hashes of the first ``MOST_TERMS`` terms of a title."""
    return frozenset(list(dict.fromkeys(_slots_of(title[:_MOST_CHARACTERS])))[:MOST_TERMS])


def site_terms(title: str) -> frozenset[int]:
    """Return the hashes of the terms behind a title's last bar or dash, where the name of the site mostly stands."""
    *rest, tail = _DIVIDER.split(title[:_MOST_CHARACTERS])
    if not rest or len(tail) > 60:  # a longer one is no name of a site
        return frozenset()
    return terms_of(tail)


def title_without_site(title: str, source: str) -> str:
    """Return a title without what stands behind its last bar or dash, or else before the first, if that is its site."""
    dividers = list(_DIVIDER.finditer(title[:_MOST_CHARACTERS]))
    if dividers and names_site(title[dividers[-1].end() :], source):
        return title[: dividers[-1].start()]
    if dividers and names_site(title[: dividers[0].start()], source):
        return title[dividers[0].end() :]
    return title


def names_site(part: str, source: str) -> bool:
    """Decide whether part of a title is the name of its site: Northwire, or Northwire News, of northwire.example.

    Its letters are those of the domain, or some of them in a row, or the other way round.
    """
    words = part.split()
    label = _letters(source.partition(".")[0])
    name = _letters(part)
    if not name or not label or len(words) > 5:
        return False
    is_whole = name in (label, _letters(source)) or (len(words) == 2 and _letters(words[0]) == label)
    return is_whole or (min(len(name), len(label)) >= _LEAST_LETTERS and (name in label or label in name))


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, fold(text).casefold()))


@lru_cache(64)  # each sentence is compared with one headline, each line of a page with several titles
def terms_of(text: str) -> frozenset[int]:
    """Return the hashes of all terms of a text."""
    return frozenset(_slots_of(text))


def _slots_of(text: str) -> list[int]:
    """Return the slots of the terms of a text. If all is in capitals, these show no abbreviations."""
    folded = fold(text)
    codes = term_codes(folded.lower() if folded.isupper() else folded)
    return [code % NAME for code in codes if code < NO_TERM]


def term_codes(*lines: str) -> list[int]:
    """Return the slots of all terms of some folded lines, with ``NAME`` and ``FIGURE`` added.

    A slot is a 16-bit hash. A word that is no term has the code ``NO_TERM``. Names are words with a capital that do not
    begin the line, except weekdays and months.
    """
    codes: list[int] = []
    for line in lines:
        first = len(codes)
        words = line.encode().translate(_ASCII_WORDS).decode().split() if line.isascii() else _WORD.findall(line)
        codes.extend(itertools.chain.from_iterable(map(_codes.__getitem__, words)))
        if len(codes) > first:
            codes[first] &= ~NAME
    return codes


def first_words(text: str, slots: Collection[int], bits: int) -> dict[int, str]:
    """Return for each slot the first word of a text that has it, as it is printed.

    Of a slot only the low ``bits`` count. In scripts without spaces the pair of characters stands for the word.
    """
    found = dict[int, str]()
    low = (1 << bits) - 1
    folded, printed, places = fold_with_places(text)
    for word in _WORD.finditer(folded):
        parts = _pairs(word[0]) or [printed[places[word.start()] : places[word.end()]]]
        for code, part in zip(_codes[word[0]], parts, strict=True):
            if code < NO_TERM and code & low in slots:
                found.setdefault(code & low, part)
    return found


def pack_terms(terms: Iterable[int]) -> bytes:
    """Pack terms in ascending order, two bytes each."""
    return b"".join(term.to_bytes(_TERM_BYTES, "big") for term in sorted(terms))


def _pairs(word: str) -> list[str]:
    """Return the pairs of characters in scripts without spaces, which are terms."""
    return [run[at : at + 2] for run in _UNSPACED.findall(word) for at in range(max(1, len(run) - 1))]


def _hash(term: str) -> int:
    return xxh32_intdigest(term.encode("utf-8", "surrogatepass")) & 0xFFFF


class _Codes(dict[str, tuple[int, ...]]):
    """The codes of a word, remembered because words repeat."""

    def __missing__(self, word: str) -> tuple[int, ...]:
        if len(self) >= 1 << 16:
            self.clear()
        pairs = [] if word.isascii() or max(word) < "\u0e00" else _pairs(word)  # Thai is the first of these scripts
        codes = tuple(map(_hash, pairs)) if pairs else (self._code_of(word),)
        if len(word) <= _LONGEST_REMEMBERED:
            self[word] = codes
        return codes

    def _code_of(self, word: str) -> int:
        """Return the hash of the beginning of a word, which inflected forms share, and what the word is.

        An Arabic word begins behind its article. A Korean word is cut after two syllables.
        """
        folded = word.casefold()
        stem = folded[:_STEM]
        least = _LEAST_LETTERS
        if word[0] >= "\u0590":  # Hebrew; Latin, Greek, Cyrillic and Armenian stand before it
            is_korean = _HANGUL.match(word) is not None
            folded = _ARABIC_ARTICLE.sub("", folded)
            stem = word[:2] if is_korean else folded[:_STEM]  # what follows is mostly a particle
            least = len(word) if is_korean else 3
        has_weight = len(word) >= least or word.isdigit() or (len(word) > 1 and word.isupper())
        code = _hash(stem) if has_weight else NO_TERM
        if word[0].isdigit():
            return code | FIGURE
        return code | NAME if word[0].isupper() and folded not in MONTHS and folded not in WEEKDAYS else code


_codes = _Codes()


def title_overlap(a: bytes, b: bytes) -> float:
    """Return the share of the shorter title's terms that the other title has too, in [0, 1]; 1 if either has none.

    The terms are packed by ``pack_terms``.
    """
    terms_a = _unpack_terms(a)
    terms_b = _unpack_terms(b)
    shorter = min(len(terms_a), len(terms_b))
    return len(terms_a & terms_b) / shorter if shorter else 1.0


@lru_cache(256)  # a new document is compared with several candidates
def _unpack_terms(packed: bytes) -> frozenset[bytes]:
    return frozenset(split(packed, _TERM_BYTES))
