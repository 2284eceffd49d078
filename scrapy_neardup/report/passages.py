"""Mark the figures of a text and what a fingerprint leaves out, for the page that compares two texts."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from scrapy_neardup.evidence.boilerplate import BoilerplateGuard, Trace
from scrapy_neardup.evidence.number_tokens import number_tokens
from scrapy_neardup.evidence.number_words import take_numbers
from scrapy_neardup.settings import NearDupSettings
from scrapy_neardup.sketch import Sketcher
from scrapy_neardup.text.body import Line

Span = tuple[int, int]

_EDGES = ".,;:(!?) "
_BOILERPLATE, _SHORT = "boilerplate", "short"  # why a line is left out


@dataclass(frozen=True, slots=True)
class MarkedText:
    """A text with the places of its figures, and of the passages that a fingerprint leaves out.

    A place is a first character and the character behind, counted in UTF-16 units, as a browser counts them.
    """

    text: str
    figures: tuple[Span, ...]
    boilerplate: tuple[Span, ...]
    short: tuple[Span, ...]  # short lines, such as navigation
    lead: bytes  # terms of its first lines, see evidence.topic


@dataclass(slots=True)
class _Lines:
    """All lines of a text, each with the reason why the sketch leaves it out, and the terms of the first lines."""

    lines: list[tuple[Line, str | None]]
    lead: bytes


def mark_texts(texts: Mapping[int, str], settings: NearDupSettings) -> dict[int, MarkedText]:
    """Mark texts. Boilerplate is learned from these texts alone: lines of several that tell different stories."""
    found, marked = _read_lines(texts, settings), {}
    for number, text in texts.items():
        left_out = _places_of(found[number].lines, text)
        places = (figure_places(text), left_out[_BOILERPLATE], left_out[_SHORT])
        figures, boilerplate, short = (_in_utf16(text, each) for each in places)
        marked[number] = MarkedText(text, figures, boilerplate, short, found[number].lead)
    return marked


def _read_lines(texts: Mapping[int, str], settings: NearDupSettings) -> dict[int, _Lines]:
    """Read all texts, and then again those that have a line that turned out to be boilerplate."""
    preset, least = settings.resolved_preset(), settings.min_words
    sketcher, guard = Sketcher(preset, min_words=least), BoilerplateGuard()
    traces: dict[int, Trace] = {}
    found: dict[int, _Lines] = {}
    for number, text in texts.items():
        read = sketcher.read_texts([text])[0]
        body = read.body
        lines = [(line, None if is_long else _SHORT) for line, is_long in body.read_lines]
        found[number] = _Lines(lines, sketcher.lead(body) if body.words >= least else b"")
        if preset.guarded:
            traces[number] = read.trace
            guard.learn(read.trace, least)
    for number, trace in traces.items():
        if known := guard.known(trace, least):
            body = sketcher.read_texts([texts[number]])[0].body
            found[number].lines = [
                (line, _BOILERPLATE if not reason and line.key in known else reason)
                for line, reason in found[number].lines
            ]
            without = body.without(known)
            found[number].lead = sketcher.lead(without) if without.words >= least else b""
    return found


def figure_places(text: str) -> list[Span]:
    """Return where the figures of a text stand, in digits and in words, without dates, times and phone numbers."""
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
    return (
        folded if len(folded) == len(text) else "".join(low if len(low := each.lower()) == 1 else each for each in text)
    )


def _token_places(text: str, tokens: Iterable[str]) -> list[Span | None]:
    """Find the tokens one after the other. A token that is written in another way in the text has no place."""
    places: list[Span | None] = []
    end = 0
    for token in tokens:
        start = text.find(token, end, end + 400 + len(token)) if token and token != "|" else -1
        places.append((start, start + len(token)) if start >= 0 else None)
        end = start + len(token) if start >= 0 else end
    return places


def _places_of(lines: Iterable[tuple[Line, str | None]], text: str) -> dict[str, list[Span]]:
    """Find all lines of a text one after the other. Return the places of those that are left out, by reason."""
    places: dict[str, list[Span]] = {_BOILERPLATE: [], _SHORT: []}
    end = 0
    for line, reason in lines:
        stripped = line.text.strip()
        start = text.find(stripped, end) if stripped else -1
        if start >= 0:
            end = start + len(stripped)
            if reason:
                places[reason].append((start, end))
    return places


def _in_utf16(text: str, places: Iterable[Span]) -> tuple[Span, ...]:
    """Count characters beyond U+FFFF twice, as JavaScript does."""
    wide = [place for place, character in enumerate(text) if character > "\uffff"] if not text.isascii() else []
    if not wide:
        return tuple(places)
    return tuple((start + bisect_left(wide, start), stop + bisect_left(wide, stop)) for start, stop in places)
