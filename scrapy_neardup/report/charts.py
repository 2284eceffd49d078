"""The geometry of the pictures that are drawn when the page is built. Templates turn it into SVG.

Widths and places along the time axis are per cent, so that a chart fits any screen while its labels keep their size.
Heights are pixels.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from scrapy_neardup.report.overview import VERDICTS, Bar
from scrapy_neardup.report.rows import Row

HEIGHT = 160.0  # of the space for bars
_MOST_DOTS = 150
_SPARKS = 16  # characters
_LEVELS = "·▁▂▃▄▅▆▇█"


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle of one verdict. ``x`` and ``width`` are per cent."""

    x: float
    y: float
    width: float
    height: float
    verdict: str
    count: int


class Timeline(NamedTuple):
    """Dots of items, each with its place and verdict, and the places of the levels of an event."""

    first: float  # Unix seconds
    last: float
    dots: list[tuple[float, str]]
    levels: list[tuple[float, str]]


def chart_of_bars(bars: Sequence[Bar]) -> list[tuple[Bar, list[Box]]]:
    scale, width = HEIGHT / max(1, *(bar.total for bar in bars)), 100 / len(bars)
    drawn = []
    for place, bar in enumerate(bars):
        y, boxes = HEIGHT, []
        for verdict in VERDICTS:
            if count := bar.counts.get(verdict, 0):
                y -= count * scale
                size = round(0.86 * width, 3), round(count * scale, 2)
                boxes.append(Box(round(place * width, 3), round(y, 2), *size, verdict, count))
        drawn.append((bar, boxes))
    return drawn


def timeline_of(rows: Sequence[Row], levels: Sequence[tuple[str, float]]) -> Timeline | None:
    """Return the timeline of a story, None if it has less than two times. Of very many items some are drawn."""
    timed = [(row.time, row.status) for row in rows if row.time is not None]
    if len({time for time, _ in timed}) < 2:
        return None
    first, last = timed[0][0], max([timed[-1][0], *(time for _, time in levels)])
    timed = timed[:: -(-len(timed) // _MOST_DOTS)]

    def place(time: float) -> float:
        return round(max(0.0, time - first) * 100 / (last - first), 2)

    return Timeline(
        first, last, [(place(time), status) for time, status in timed], [(place(time), level) for level, time in levels]
    )


def stacked(counts: Mapping[str, int], most: int, width: float = 240.0) -> list[Box]:
    """Return one bar that lies on its side, its parts in the order of the verdicts."""
    boxes, x = [], 0.0
    for verdict in VERDICTS:
        if count := counts.get(verdict, 0):
            part = count * width / max(1, most)
            boxes.append(Box(round(x, 2), 0, round(part, 2), 12, verdict, count))
            x += part
    return boxes


def sparkline(rows: Sequence[Row]) -> str:
    """Return the growth of a story as a line of characters, for an e-mail, "" if it has less than two times."""
    timeline = timeline_of(rows, ())
    if timeline is None:
        return ""
    counts = Counter(min(int(place * _SPARKS / 100), _SPARKS - 1) for place, _ in timeline.dots)
    return "".join(_LEVELS[-(-counts[place] * (len(_LEVELS) - 1) // max(counts.values()))] for place in range(_SPARKS))
