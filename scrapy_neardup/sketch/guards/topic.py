"""The topic of an article: the names and figures in its title and first words.

Rewritten coverage of one event hardly has three words in a row in common with the wire copy, but it has the same names
and figures. The names and figures with the lowest hashes are kept. So two texts keep the same ones (Broder 1997). A
single name is in too many documents, so documents are looked up by pairs of names.

Names are words with a capital that do not begin a sentence. In scripts without case a topic has only figures. Words and
figures of any news (offices, agencies, round figures) do not identify an event, and neither does a table.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from itertools import combinations

from xxhash import xxh32_intdigest

from scrapy_neardup.similarity.likeness import NAME_BYTES
from scrapy_neardup.sketch.guards.number_words import MONTHS, WEEKDAYS
from scrapy_neardup.sketch.text.body import Line

LEAD_WORDS = 150
PAIRED = 5  # names of which each pair is a key
_MOST_CHARACTERS = 1500  # of a line
_MOST_HASHES = 1 << 15
_LONGEST_REMEMBERED = 40  # characters
_NOTHING = -1
_KEY_SEED = 0x709C
_YEARS = ("19", "20")
_FIGURES_IN_PROSE = 4  # a text of which over a quarter are figures is a table
_STANDING = frozenset(
    (
        "the new york united states american national international president minister ministry house state department"
        " government federal court commission committee board bank inc corp co ltd plc company group association"
        " university press associated reuters news securities exchange stock street times school general world union"
    ).split()
)
_TELLS_NOTHING = _STANDING | MONTHS | WEEKDAYS
# A capital is no sign of a name at the beginning of a text, after the end of a sentence or after a quotation mark.
# Words of under three letters are initials and articles. The pattern begins with the letter, because most places fail
# there at once.
_ASCII_NAME = re.compile(r"[A-Z](?<=[^.!?:\s][ -].)[A-Za-z0-9]{2,}")
_WORD = re.compile(r"[^\W\d_](?<=[^.!?:…\s][ -].)\w{2,}")
_FIGURE = re.compile(r"\d+(?:[.,]\d+)*")


def title_names(title: str) -> tuple[int, ...]:
    """Return hashes of the names and figures of a title. A title in capitals has no names."""
    text = _normalised(title)
    return tuple(map(_hashes.__getitem__, (*_FIGURE.findall(text), *_names(text, len(text.split())))))


def lead_names(lines: Iterable[Line], most: int) -> tuple[int, ...]:
    """Return the ``most`` lowest hashes of the names and figures in a text's first lines; none if it is a table."""
    terms: list[str] = []
    words = figures = 0
    for line in lines:
        text = _normalised(line.text)
        numbers = _FIGURE.findall(text)
        terms += numbers
        terms += _names(text, line.words)
        words += line.words
        figures += len(numbers)
    return lowest(map(_hashes.__getitem__, terms), most) if _FIGURES_IN_PROSE * figures <= words else ()


def lowest(hashes: Iterable[int], most: int) -> tuple[int, ...]:
    """Return the lowest distinct hashes, ascending. Terms that do not identify an event are left out."""
    return tuple(sorted(set(hashes) - {_NOTHING})[:most])


def pack_topic(hashes: Iterable[int]) -> bytes:
    """Pack names in ascending order, ``NAME_BYTES`` each."""
    kept = {each & 0xFFFF for each in hashes}  # take the low bits, because the lowest hashes have similar high bits
    return b"".join(each.to_bytes(NAME_BYTES, "big") for each in sorted(kept))


def topic_keys(hashes: tuple[int, ...]) -> tuple[int, ...]:
    """Return one 32-bit key for each pair of the ``PAIRED`` lowest hashes."""
    pairs = combinations(hashes[:PAIRED], 2)
    return tuple(xxh32_intdigest((one << 32 | other).to_bytes(8, "big"), _KEY_SEED) for one, other in pairs)


def _normalised(text: str) -> str:
    text = text[:_MOST_CHARACTERS]
    return text if text.isascii() else unicodedata.normalize("NFKC", text)


def _names(text: str, words: int) -> list[str]:
    is_ascii = text.isascii()
    names = _ASCII_NAME.findall(text) if is_ascii else [word for word in _WORD.findall(text) if word[0].isupper()]
    # A line all in capitals is a headline or a menu, so its capitals do not show names.
    return names if 2 * len(names) <= words else []


def _tells(term: str) -> str:
    """Return a name in lower case, or a figure without its punctuation. Return "" if it may be in any news.

    Figures of under three digits, round figures and years are in any news.
    """
    if not term[0].isdigit():
        name = term.casefold()
        return "" if name in _TELLS_NOTHING else name
    digits = term.replace(",", "").replace(".", "")
    is_year = len(term) == 4 and term.startswith(_YEARS)
    return "" if len(digits) < 3 or len(digits.rstrip("0")) < 2 or is_year else digits


class _Hashes(dict[str, int]):
    """Hashes of terms, remembered because names repeat."""

    def __missing__(self, term: str) -> int:
        if len(self) >= _MOST_HASHES:
            self.clear()
        telling = _tells(term)
        hashed = xxh32_intdigest(telling.encode("utf-8", "surrogatepass")) if telling else _NOTHING
        if len(term) <= _LONGEST_REMEMBERED:
            self[term] = hashed
        return hashed


_hashes = _Hashes()
