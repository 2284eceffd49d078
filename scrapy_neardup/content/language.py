"""The language of an article, from its title and first characters: pages often declare none, or a wrong one."""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from typing import Any

_TITLE, _LEAD = 200, 600  # characters
# The library refuses these: control characters, lone surrogates and code points that are no characters.
_REFUSED = re.compile(
    "[\0-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef"
    + "".join(f"{chr(plane + 0xFFFE)}{chr(plane + 0xFFFF)}" for plane in range(0, 0x110000, 0x10000))
    + "]"
)
_OTHER_CODES = {"iw": "he", "jw": "jv", "in": "id"}
# Languages whose texts are hardly told apart, or one language under several codes: the page knows better.
_ALIKE = tuple(
    frozenset(codes.split())
    for codes in ("sr hr bs sh cnr", "no nb nn", "id ms", "zh yue wuu", "tl fil", "fa prs", "ro mo")
)


@cache
def _library() -> Any:
    """Return CLD2, or None where nobody has built it: then only what pages declare is known."""
    try:
        import pycld2
    except ImportError:
        return None
    return pycld2


def language_of(title: str, text: str, declared: str) -> str:
    """Return the ISO 639 code of a text. If the text does not show its language, it is the declared one, or a guess."""
    library = _library()
    given = unicodedata.normalize("NFKC", f"{title[:_TITLE]}\n{text[:_LEAD]}")
    if library is None or given.isspace():
        return declared
    try:
        answer = library.detect(given, bestEffort=not declared)
    except (library.error, UnicodeEncodeError):
        answer = library.detect(_REFUSED.sub(" ", given), bestEffort=not declared)
    is_reliable, _, ((_, code, *_), *_) = answer
    found = _OTHER_CODES.get(code, code.partition("-")[0])
    if found == "un" or (declared and not is_reliable):
        return declared
    return declared if any({found, declared} <= codes for codes in _ALIKE) else found
