"""Make values of feeds safe to show: titles, texts and urls are written by strangers."""

from __future__ import annotations

import math
import re
from urllib.parse import urlsplit

from scrapy_neardup.document import one_line, printable

_BREAKS = re.compile("\r\n?|[\u0085\u2028\u2029]")


def clean_text(value: object, most: int) -> str:
    """Return the beginning of a text, with a replacement character for each character that could mislead a reader.

    A list is joined by line feeds, because item loaders leave lists. Anything else that is no text is "".
    """
    if isinstance(value, list | tuple):
        value = "\n".join(part[:most] for part in value[:most] if isinstance(part, str))
    if not isinstance(value, str):
        return ""
    if value.isprintable():  # most titles and urls
        return value[:most]
    return printable(_BREAKS.sub("\n", value[:most]))


def clean_line(value: object, most: int) -> str:
    """Return a text on one line. A text that is longer than ``most`` characters ends with "…"."""
    return one_line(clean_text(value, most + 1 if isinstance(value, str) else most), most)


def length_of(value: object) -> int:
    """Return how many characters a text has, 0 for a blank one and for anything that is no text."""
    if isinstance(value, str):
        return len(value) if not value.isspace() else 0
    return sum(map(length_of, value)) if isinstance(value, list | tuple) else 0


def web_address(url: str) -> str:
    """Return the url if a browser may follow it, "" for ``javascript:`` and everything else that is no web page."""
    try:
        scheme = urlsplit(url).scheme
    except ValueError:
        return ""
    return url if scheme in ("http", "https") else ""


def share_of(value: object) -> float | None:
    """Return a number from 0 to 1, also if it is written as a text. Anything else is None."""
    if isinstance(value, str | int | float) and not isinstance(value, bool):
        try:
            number = float(value)
        except ValueError:
            return None
        if math.isfinite(number):
            return min(1.0, max(0.0, number))
    return None


def truth_of(value: object) -> bool:
    """Return whether a value says "true", also as CSV and XML write it."""
    return value is True or (isinstance(value, str) and value.strip().lower() in ("true", "1"))
