"""Count the words of a text without reading it into arrays, so that settings and extractors do not load numpy."""

import re

from scrapy_neardup.document import MOST_CHARACTERS

_WORD = re.compile(r"\w")
# A pattern, which takes 2 ms to compile: only texts with such letters need it.
# Scripts written without spaces between words: Thai, Lao, Myanmar, Khmer, Hiragana, Katakana, Bopomofo, Han.
WITHOUT_SPACES = (
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u19e0-\u19ff\ua9e0-\ua9ff\uaa60-\uaa7f"
    "\u3005-\u3007\u3031-\u3035\u3040-\u30ff\u3100-\u312f\u31a0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
)


def count_words(text: str) -> int:
    """Count the words of a text. Two characters of a script without spaces count as one word."""
    return len(text.split()) + (0 if text.isascii() else len(re.findall(WITHOUT_SPACES, text)) // 2)


def has_words(text: str) -> bool:
    """Return whether a text has anything that could be compared."""
    return _WORD.search(text, 0, MOST_CHARACTERS) is not None
