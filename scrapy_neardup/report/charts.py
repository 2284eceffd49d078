"""The geometry of the pictures that are drawn when the page is built. Templates turn it into SVG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone

from scrapy_neardup.report.events import EventView
from scrapy_neardup.report.overview import VERDICTS, Bar

WIDTH, HEIGHT = 960.0, 200.0  # of the space for bars and curves
LEFT, BOTTOM, TOP = 48.0, 28.0, 14.0  # margins

_MOST_TIME_LABELS = 6


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle of one verdict."""

    x: float
    y: float
    width: float
    height: float
    verdict: str
    count: int


@dataclass(frozen=True, slots=True)
class Tick:
    """A label at a place of an axis."""

    place: float
    label: str


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
    width = WIDTH / max(1, len(bars))
    scale = HEIGHT / max(1, most)
    boxes = []
    for place, bar in enumerate(bars):
        y = TOP + HEIGHT
        drawn = []
        for verdict in VERDICTS:
            if count := bar.counts.get(verdict, 0):
                y -= count * scale
                gap = min(2.0, width * 0.15)
                drawn.append(
                    Box(
                        round(LEFT + place * width, 2),
                        round(y, 2),
                        round(width - gap, 2),
                        round(count * scale, 2),
                        verdict,
                        count,
                    )
                )
        boxes.append(drawn)
    apart = -(-len(bars) // _MOST_TIME_LABELS)
    times = [
        Tick(round(LEFT + (place + 0.5) * width, 2), _time_label(bar.start, step))
        for place, bar in enumerate(bars)
        if place % max(1, apart) == 0
    ]
    return BarChart(boxes, bars, times, _count_ticks(most))


def chart_of_growth(event: EventView) -> GrowthChart:
    times = [*(step.time for step in event.growth), *(time for _, time in event.levels)]
    first, last = min(times), max(*times, min(times) + 600)
    most = max((step.items for step in event.growth), default=0)

    def x(time: int) -> float:
        return round(LEFT + (time - first) / (last - first) * WIDTH, 2)

    def path(counts: Sequence[tuple[int, int]]) -> str:
        """Draw steps: a count holds until the next one."""
        parts = [f"M{x(first)} {TOP + HEIGHT}"]
        for time, count in counts:
            parts.append(f"H{x(time)}V{round(TOP + HEIGHT - count * HEIGHT / max(1, most), 2)}")
        return "".join([*parts, f"H{x(last)}"])

    marks = [first + (last - first) * place // 4 for place in range(5)]
    return GrowthChart(
        items=path([(step.time, step.items) for step in event.growth]),
        sources=path([(step.time, step.sources) for step in event.growth]),
        levels=[Tick(x(time), level) for level, time in event.levels],
        times=[Tick(x(mark), _time_label(mark, 60 if last - first < 2 * 86400 else 86400)) for mark in marks],
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


def _count_ticks(most: int) -> list[Tick]:
    """Label the axis of counts at the top and, if there is a whole number there, in the middle."""
    marks = [0, *([most // 2] if most > 1 and most % 2 == 0 else []), most]
    return [Tick(round(TOP + HEIGHT - mark * HEIGHT / max(1, most), 2), f"{mark:,}") for mark in dict.fromkeys(marks)]


def _time_label(second: int, step: int) -> str:
    moment = datetime.fromtimestamp(second, timezone.utc)
    return moment.strftime("%d %b" if step >= 86400 else "%d %b %H:%M")
