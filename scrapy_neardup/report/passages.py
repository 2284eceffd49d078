"""Mark the figures and the short lines of a text, for the page that compares two texts."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from scrapy_neardup.evidence.number_tokens import number_tokens
from scrapy_neardup.evidence.number_words import take_numbers
from scrapy_neardup.settings import NearDupSettings
from scrapy_neardup.sketch import Sketcher

Span = tuple[int, int]

_EDGES = ".,;:(!?) "


class MarkedText(NamedTuple):
    """A text with the places of its figures, and of the short lines that a fingerprint leaves out, such as navigation.

    A place is a first character and the character behind, counted in UTF-16 units, as a browser counts them.
    """

    text: str
    figures: tuple[Span, ...]
    short: tuple[Span, ...]


def mark_texts(texts: Mapping[int, str], settings: NearDupSettings) -> dict[int, MarkedText]:
    sketcher = Sketcher(settings.resolved_preset(), min_words=settings.min_words)
    marked = {}
    for number, text in texts.items():
        lines = sketcher.read_texts([text])[0].body.read_lines
        places = figure_places(text), _places_of(((line.text, not is_long) for line, is_long in lines), text)
        marked[number] = MarkedText(text, *(_in_utf16(text, each) for each in places))
    return marked


def figure_places(text: str) -> list[Span]:
    """Return where the figures of a text are, in digits and in words, without dates, times and phone numbers."""
    lowered = _same_length(text)
    tokens, starts = number_tokens(text)
    places = _token_places(lowered, tokens)
    # ``take_numbers`` overwrites the numbers that it takes.
    found = []
    for first, end, _, _ in take_numbers(list(tokens), starts):
        inside = [place for place in places[first:end] if place is not None]
        if inside:
            start, stop = inside[0][0], inside[-1][1]
            core = lowered[start:stop]
            start += len(core) - len(core.lstrip(_EDGES))
            stop -= len(core) - len(core.rstrip(_EDGES))
            found.append((start, stop))
    return [(start, stop) for start, stop in found if start < stop]


def _same_length(text: str) -> str:
    """Return the text in lower case, character by character, so that places in it are places in the text."""
    folded = text.casefold()
    if len(folded) == len(text):
        return folded
    return "".join(low if len(low := each.lower()) == 1 else each for each in text)


def _token_places(text: str, tokens: Iterable[str]) -> list[Span | None]:
    """Find the tokens one after the other. A token that is written in another way in the text has no place."""
    places: list[Span | None] = []
    end = 0
    for token in tokens:
        start = text.find(token, end, end + 400 + len(token)) if token and token != "|" else -1
        places.append((start, start + len(token)) if start >= 0 else None)
        end = start + len(token) if start >= 0 else end
    return places


def _places_of(lines: Iterable[tuple[str, bool]], text: str) -> list[Span]:
    """Find all lines of a text one after the other. Return the places of the chosen ones."""
    places, end = [], 0
    for line, is_chosen in lines:
        stripped = line.strip()
        start = text.find(stripped, end) if stripped else -1
        if start >= 0:
            end = start + len(stripped)
            places += [(start, end)] if is_chosen else []
    return places


def _in_utf16(text: str, places: Iterable[Span]) -> tuple[Span, ...]:
    """Count characters beyond U+FFFF twice, as JavaScript does."""
    wide = [place for place, character in enumerate(text) if character > "\uffff"] if not text.isascii() else []
    if not wide:
        return tuple(places)
    return tuple((start + bisect_left(wide, start), stop + bisect_left(wide, stop)) for start, stop in places)
