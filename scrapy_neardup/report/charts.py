"""The geometry of the pictures that are drawn when the page is built. Templates turn it into SVG.

Widths and places along the time axis are per cent, so that a chart fits any screen while its labels keep their size.
Heights are pixels.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone

from scrapy_neardup.report.events import EventView
from scrapy_neardup.report.overview import VERDICTS, Bar

HEIGHT = 200.0  # of the space for bars and curves
TOP = 14.0  # margin

_DAY = 86_400
_TICK_STEPS = (60, 300, 600, 900, 1800, 3600, 2 * 3600, 3 * 3600, 6 * 3600, 12 * 3600, _DAY, 2 * _DAY)  # seconds
_MOST_TIME_LABELS = 7
_MOST_COUNT_LABELS = 4  # besides 0
_SHORTEST_CURVE = 600  # seconds
_CURVE_MARGIN = 0.04  # of its time, so that its last step can be seen
_CURVE_WIDTH = 1000  # of the coordinates of a path, which the browser stretches


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle of one verdict. ``x`` and ``width`` are per cent."""

    x: float
    y: float
    width: float
    height: float
    verdict: str
    count: int


@dataclass(frozen=True, slots=True)
class Tick:
    """A label at a place of an axis. ``date`` is the second line of a label, or empty."""

    place: float
    label: str
    date: str = ""


@dataclass(frozen=True, slots=True)
class BarChart:
    boxes: list[list[Box]]  # of each bar
    bars: Sequence[Bar]
    times: list[Tick]
    counts: list[Tick]


@dataclass(frozen=True, slots=True)
class GrowthChart:
    """Steps of items and of sources as the ``d`` of a path, and the levels at their times."""

    items: str
    sources: str
    levels: list[Tick]
    times: list[Tick]
    counts: list[Tick]


def chart_of_bars(bars: Sequence[Bar], step: int) -> BarChart:
    most = max((bar.total for bar in bars), default=0)
    width = 100 / max(1, len(bars))
    scale = HEIGHT / max(1, most)
    boxes = []
    for place, bar in enumerate(bars):
        y = TOP + HEIGHT
        drawn = []
        for verdict in VERDICTS:
            if count := bar.counts.get(verdict, 0):
                y -= count * scale
                x, height = round(place * width, 3), round(count * scale, 2)
                drawn.append(Box(x, round(y, 2), round(0.86 * width, 3), height, verdict, count))
        boxes.append(drawn)
    times = _time_ticks(bars[0].start, bars[-1].start + step) if bars else []
    return BarChart(boxes, bars, times, _count_ticks(most))


def chart_of_growth(event: EventView) -> GrowthChart:
    times = [*(step.time for step in event.growth), *(time for _, time in event.levels)]
    first = min(times)
    last = first + int(max(_SHORTEST_CURVE, (max(times) - first) * (1 + _CURVE_MARGIN)))
    most = max((step.items for step in event.growth), default=0)

    def path(counts: Sequence[tuple[int, int]]) -> str:
        """Draw steps: a count holds until the next one. Steps at one place become one."""
        steps = {round(_per_cent(time, first, last) * _CURVE_WIDTH / 100): count for time, count in counts}
        drawn = (f"H{x}V{HEIGHT - count * HEIGHT / max(1, most):g}" for x, count in steps.items())
        return f"M0 {HEIGHT:g}{''.join(drawn)}H{_CURVE_WIDTH}"

    return GrowthChart(
        items=path([(step.time, step.items) for step in event.growth]),
        sources=path([(step.time, step.sources) for step in event.growth]),
        levels=[Tick(_per_cent(time, first, last), level) for level, time in event.levels],
        times=_time_ticks(first, last),
        counts=_count_ticks(most),
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


def _per_cent(time: float, first: float, last: float) -> float:
    return round((time - first) * 100 / (last - first), 3)


def _count_ticks(most: int) -> list[Tick]:
    """Label the axis of counts at 0 and at multiples of 1, 2 or 5, of 10, 20 or 50, and so on."""
    power = 10 ** max(0, len(str(most // _MOST_COUNT_LABELS)) - 1)
    step = next(step for step in (power, 2 * power, 5 * power, 10 * power) if most / step <= _MOST_COUNT_LABELS)
    return [
        Tick(round(TOP + HEIGHT - mark * HEIGHT / max(1, most), 2), f"{mark:,}") for mark in range(0, most + 1, step)
    ]


def _time_ticks(first: int, last: int) -> list[Tick]:
    """Label round times: whole hours, for example. The day stands below the first label of each day."""
    whole_days = -(-(last - first) // (_MOST_TIME_LABELS * _DAY)) * _DAY
    step = next((step for step in _TICK_STEPS if (last - first) / step < _MOST_TIME_LABELS), whole_days)
    ticks, labelled = [], ""
    for time in range(-(-first // step) * step, last + 1, step):
        moment = datetime.fromtimestamp(time, timezone.utc)
        day = moment.strftime("%d %b").lstrip("0")
        label, date = (day, "") if step >= _DAY else (moment.strftime("%H:%M"), day if day != labelled else "")
        labelled = day
        ticks.append(Tick(_per_cent(time, first, last), label, date))
    return ticks
