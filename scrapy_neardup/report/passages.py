"""Mark the short lines of a text, such as navigation, for the page that compares two texts."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from typing import NamedTuple

from scrapy_neardup.settings import NearDupSettings
from scrapy_neardup.sketch import Sketcher


class MarkedText(NamedTuple):
    """A text with the places of the short lines that a fingerprint leaves out.

    A place is a first character and the character behind, counted in UTF-16 units, as a browser counts them.
    """

    text: str
    short: list[tuple[int, int]]


def mark_texts(texts: Mapping[int, str], settings: NearDupSettings) -> dict[int, MarkedText]:
    sketcher = Sketcher(settings.resolved_preset(), min_words=settings.min_words)
    return {number: _marked(text, sketcher) for number, text in texts.items()}


def _marked(text: str, sketcher: Sketcher) -> MarkedText:
    # JavaScript counts characters beyond U+FFFF twice.
    wide = [place for place, character in enumerate(text) if character > "\uffff"] if not text.isascii() else []
    short, end = [], 0
    for line, is_long in sketcher.read_texts([text])[0].body.read_lines:
        stripped = line.text.strip()
        start = text.find(stripped, end) if stripped else -1
        if start >= 0:
            end = start + len(stripped)
            if not is_long:
                short.append((start + bisect_left(wide, start), end + bisect_left(wide, end)))
    return MarkedText(text, short)
