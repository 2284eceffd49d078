"""The template guard: the names and figures of a text by the words they stand between.

Reports of one template ("X said its board declared a dividend of Y cts") share their sentences and differ in what
fills them. A copy shares both. So a specific, a name or a figure, is kept under its neighbours: where two texts have
the same neighbours, either the same stands between them or not. What only one of the two has says nothing: a page with
much beside the article is no template.

Names are words with a capital, but for one that begins a sentence; in scripts without case there are figures alone.
Of all neighbours those of the lowest hashes are kept, which are the same ones in two texts.
"""

from __future__ import annotations

import re
import unicodedata
from itertools import pairwise

from xxhash import xxh32_intdigest

from scrapy_neardup.measures import SPECIFIC_BYTES

MOST = 24  # specifics kept of a document
MOST_CHARACTERS = 8000  # templates are short
_UNSPACED = "\u0e00"  # what sorts behind it is, with few exceptions, written without spaces
_NEAR = 4  # characters of an unspaced clause

_TOKEN = re.compile(r"\d+(?:[.,:/-]\d+)*|[^\W\d_]+(?:['’&-][^\W\d_]+)*|[.!?。！？।](?=\s|$)|\n")
_NAME = 0x80


def find_specifics(text: str) -> bytes:
    """At most ``MOST`` specifics, each of ``measures.SPECIFIC_BYTES``, ascending; the same in every process."""
    places = _Places()
    tokens = _TOKEN.findall(unicodedata.normalize("NFKC", text[:MOST_CHARACTERS]))
    name: list[str] = []  # capitalised words in a row
    begins = name_begins = True  # whether a sentence begins here, and with the name
    for token, following in pairwise([*tokens, ""]):
        # A line that goes on in lower case is one of a narrow column; any other begins a sentence.
        if token == "\n" and following[:1].islower():
            continue
        if token[0].isupper():
            name_begins = begins if not name else name_begins
            name.append(token.casefold())
            begins = False
            continue
        if name:
            places.add_name(name, may_be_word=name_begins)
            name = []
        begins = not token[0].isalnum()
        if begins:
            places.end_sentence()
        elif token[0].isalpha():
            places.pass_word(token.casefold())
        else:
            places.add(0, token.replace(",", ""))
    if name:
        places.add_name(name, may_be_word=name_begins)
    return places.pack()


class _Places:
    """Specifics by the two words before them and by the two behind, in the same sentence."""

    def __init__(self) -> None:
        self._before = ("", "")
        self._waiting: list[tuple[int, int, str]] = []  # kind, value, first of the words behind
        self._found: dict[int, int] = {}
        self._ambiguous: set[int] = set()

    def add_name(self, words: list[str], *, may_be_word: bool) -> None:
        """A single capitalised word that begins a sentence is more often a word than a name."""
        if may_be_word and len(words) == 1:
            self.pass_word(words[0])
        else:
            self.add(_NAME, " ".join(words))

    def add(self, kind: int, text: str) -> None:
        value = _digest(text) >> 25 | kind
        if self._before[0]:
            self._keep(kind, "<", *self._before, value)
        self._waiting.append((kind, value, ""))

    def pass_word(self, word: str) -> None:
        unspaced = word > _UNSPACED
        self._before = (self._before[1], word[-_NEAR:] if unspaced else word)
        if self._waiting:
            word = word[:_NEAR] if unspaced else word
            waiting = self._waiting
            self._waiting = [(kind, value, word) for kind, value, first in waiting if not first]
            for kind, value, first in waiting:
                if first:
                    self._keep(kind, ">", first, word, value)

    def end_sentence(self) -> None:
        self._before = ("", "")
        self._waiting.clear()

    def pack(self) -> bytes:
        lowest = sorted(self._found.keys() - self._ambiguous)[:MOST]
        return b"".join((key << 8 | self._found[key]).to_bytes(SPECIFIC_BYTES, "big") for key in lowest)

    def _keep(self, kind: int, side: str, one: str, other: str, value: int) -> None:
        key = _digest(f"{kind}{side}{one} {other}") & 0xFFFF
        if self._found.setdefault(key, value) != value:
            self._ambiguous.add(key)


def _digest(text: str) -> int:
    return xxh32_intdigest(text.encode("utf-8", "surrogatepass"))
