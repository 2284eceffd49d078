"""The template guard: the names and figures of a text by the words they stand between.

Reports of one template ("X said its board declared a dividend of Y cts") share their sentences and differ in what
fills them. A copy shares both. So a specific, a name or a figure, is kept under its neighbours: where two texts have
the same neighbours, either the same stands between them or not. What only one of the two has says nothing: a page with
much beside the article is no template.

Names are words with a capital, but for one that begins a sentence; in scripts without case there are figures alone.
Of all neighbours those of the lowest hashes are kept, which are the same ones in two texts. A report of a few lines has
too few of them: it is told by the names in its first sentence.
"""

from __future__ import annotations

import re
import unicodedata
from itertools import pairwise

from xxhash import xxh32_intdigest

from scrapy_neardup.measures import LEADS, SPECIFIC_BYTES
from scrapy_neardup.sketch.number_words import MONTHS, WEEKDAYS

MOST = 24  # specifics kept of a document
MOST_CHARACTERS = 8000  # templates are short
SHORT = 60  # words of a report that is told by the names its first sentence has
_UNSPACED = "\u0e00"  # what sorts behind it is, with few exceptions, written without spaces
_NEAR = 4  # characters of an unspaced clause
_NEIGHBOURS = 2  # words on either side
_LONGEST_ARTICLE = 3
_DATES = MONTHS | WEEKDAYS

_TOKEN = re.compile(r"\d+(?:[.,:/-]\d+)*|[^\W\d_]+(?:['’&-][^\W\d_]+)*|[.!?。！？।](?=\s|$)|\n|[()–—]|-(?=\s)")
# The same of ASCII, where plain classes are quicker.
_ASCII_TOKEN = re.compile(r"[A-Za-z]+(?:['&-][A-Za-z]+)*|[0-9]+(?:[.,:/-][0-9]+)*|[.!?](?=\s|$)|\n|[()]|-(?=\s)")
_BREAKS = frozenset("()–—-")  # between two names, as of a place and of a company
_NAME = 0x80


def find_specifics(text: str) -> bytes:
    """At most ``MOST`` specifics, each of ``measures.SPECIFIC_BYTES``, ascending; the same in every process."""
    normalised = unicodedata.normalize("NFKC", text[:MOST_CHARACTERS])
    tokens = (_ASCII_TOKEN if normalised.isascii() else _TOKEN).findall(normalised)
    places = _Places(is_short=len(tokens) <= 2 * SHORT and sum(token[0].isalnum() for token in tokens) <= SHORT)
    # Most tokens are words in lower case, of which only those next to a specific matter.
    marked = [number for number, token in enumerate(tokens) if not token[0].islower()]
    for start, number in pairwise([-1, *marked, len(tokens)]):
        places.pass_words(tokens[start + 1 : number])
        if number < len(tokens) and not _goes_on(tokens, number):
            places.pass_marked(tokens[number])
    places.end_name()
    return places.pack()


def _goes_on(tokens: list[str], number: int) -> bool:
    """Whether it is the end of a line in a narrow column; where no lower case follows, it begins a sentence."""
    return tokens[number] == "\n" and number + 1 < len(tokens) and tokens[number + 1][0].islower()


class _Places:
    """Specifics by the two words before them and by the two behind, in the same sentence."""

    def __init__(self, *, is_short: bool) -> None:
        self._leads: list[int] = []  # the first names of a short text
        self._in_lead = is_short
        self._begins = self._name_begins = True  # whether a sentence begins here, and with the name
        self._name: list[str] = []  # capitalised words in a row
        self._before = ("", "")
        self._waiting: list[tuple[int, int, str]] = []  # kind, value, first of the words behind
        self._found: dict[int, int] = {}
        self._ambiguous: set[int] = set()

    def pass_words(self, words: list[str]) -> None:
        """Of words in lower case, all in a row."""
        if words:
            self.end_name()
            self._begins = False
            for word in words if len(words) <= 2 * _NEIGHBOURS else [*words[:_NEIGHBOURS], *words[-_NEIGHBOURS:]]:
                self._pass_word(word.casefold())

    def pass_marked(self, token: str) -> None:
        """A name's word, a figure, the end of a sentence, or a word of a script without case."""
        if token[0].isupper():
            self._name_begins = self._name_begins if self._name else self._begins
            self._name.append(token.casefold())
            self._begins = False
            return
        self.end_name()
        if token in _BREAKS:
            return
        self._begins = not token[0].isalnum()
        if self._begins:
            self._before = ("", "")
            self._waiting.clear()
            self._in_lead = False
        elif token[0].isalpha():
            self._pass_word(token.casefold())
        else:
            self._add(0, token.replace(",", ""))

    def end_name(self) -> None:
        """A single capitalised word that begins a sentence is more often a word than a name."""
        if self._name and self._name_begins and len(self._name) == 1:
            self._pass_word(self._name[0])
        elif self._name:
            self._add(_NAME, " ".join(self._name))
            if self._in_lead and self._name[0] not in _DATES and len(self._leads) < LEADS:
                self._leads.append(_digest(_telling(self._name)) >> 25 | _NAME)
        self._name = []

    def pack(self) -> bytes:
        lowest = sorted(self._found.keys() - self._ambiguous)[:MOST]
        kept = [*enumerate(self._leads), *((key, self._found[key]) for key in lowest)]
        return b"".join((key << 8 | value).to_bytes(SPECIFIC_BYTES, "big") for key, value in kept)

    def _add(self, kind: int, text: str) -> None:
        value = _digest(text) >> 25 | kind
        if self._before[0]:
            self._keep(kind, "<", *self._before, value)
        self._waiting.append((kind, value, ""))

    def _pass_word(self, word: str) -> None:
        unspaced = word > _UNSPACED
        self._before = (self._before[1], word[-_NEAR:] if unspaced else word)
        if self._waiting:
            word = word[:_NEAR] if unspaced else word
            waiting = self._waiting
            self._waiting = [(kind, value, word) for kind, value, first in waiting if not first]
            for kind, value, first in waiting:
                if first:
                    self._keep(kind, ">", first, word, value)

    def _keep(self, kind: int, side: str, one: str, other: str, value: int) -> None:
        key = LEADS + _digest(f"{kind}{side}{one} {other}") % (0x10000 - LEADS)
        if self._found.setdefault(key, value) != value:
            self._ambiguous.add(key)


def _telling(name: list[str]) -> str:
    """A name by its first word that is no article; the rest of it comes and goes."""
    return next((word for word in name if len(word) > _LONGEST_ARTICLE), name[0])


def _digest(text: str) -> int:
    return xxh32_intdigest(text.encode("utf-8", "surrogatepass"))
