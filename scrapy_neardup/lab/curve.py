"""Precision and recall over a grid of thresholds, each measured by running the detector with it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TypeVar

from scrapy_neardup.lab.metrics import Score
from scrapy_neardup.lab.pages import Page
from scrapy_neardup.lab.protocols import OnJudged, evaluate, ignore
from scrapy_neardup.lab.sketches import SharedSketches
from scrapy_neardup.settings import NearDupSettings


@dataclass(frozen=True, slots=True)
class Point:
    """The online score with the parameter ``threshold`` at ``threshold``."""

    threshold: float
    score: Score


@dataclass(frozen=True, slots=True)
class TopicPoint:
    """The scores of final stories with the parameter ``topic_threshold`` at ``threshold``."""

    threshold: float
    pairwise: Score
    b_cubed: Score


def thresholds(low: float, high: float, step: float) -> list[float]:
    """Return the thresholds from ``low`` on, up to ``high`` if a step lands there."""
    return [round(low + number * step, 6) for number in range(int((high - low) / step + 1e-9) + 1)]


def _with(settings: NearDupSettings, **options: float) -> NearDupSettings:
    return replace(settings, preset_options=settings.preset_options | options)


async def measure(
    pages: Sequence[Page],
    clusters: Sequence[str | None],
    settings: NearDupSettings,
    grid: Iterable[float],
    seeds: Sequence[int],
    on_judged: OnJudged = ignore,
) -> AsyncIterator[Point]:
    """Yield one point for each threshold of the grid: the mean over random orders, one for each seed.

    A related threshold above the threshold is lowered to it.
    """
    sketches = SharedSketches(settings)
    related = settings.resolved_preset().related_threshold
    for threshold in grid:
        tried = _with(settings, threshold=threshold, related_threshold=min(related, threshold))
        evaluation = await evaluate(pages, tried, seeds, sketches, on_judged=on_judged)
        yield Point(threshold, evaluation.mean_scores(clusters)["online"])


async def measure_topics(
    pages: Sequence[Page],
    clusters: Sequence[str | None],
    settings: NearDupSettings,
    grid: Iterable[float],
    seeds: Sequence[int],
    on_judged: OnJudged = ignore,
) -> AsyncIterator[TopicPoint]:
    """Yield one point for each topic threshold of the grid: the mean over random orders, one for each seed."""
    sketches = SharedSketches(settings)
    for threshold in grid:
        tried = _with(settings, topic_threshold=threshold)
        evaluation = await evaluate(pages, tried, seeds, sketches, on_judged=on_judged)
        scores = evaluation.mean_scores(clusters)
        yield TopicPoint(threshold, scores["pairwise"], scores["b-cubed"])


def suggest_topic(points: Sequence[TopicPoint], precision: float, present: float) -> TopicPoint | None:
    """Return the point with the best B-cubed F1 of those whose pairwise precision reaches ``precision``.

    Return None if no point reaches the precision. Of equally good points return one as ``suggest`` does.
    """
    points = [point for point in points if point.pairwise.precision >= precision]
    return _one_of_best(points, [(point.b_cubed.f1, point.pairwise.precision) for point in points], present)


def suggest(points: Sequence[Point], precision: float | None, present: float) -> Point | None:
    """Return the point of the best F1. With a ``precision``, return the point with the most recall that reaches it.

    Return None if no point reaches the precision. If the present threshold lies among equally good neighbours, return
    the one that is nearest to it, because they give no reason to change it. Otherwise return the middle one of the
    longest run of equally good neighbours.
    """
    if precision is None:
        scores = [(point.score.f1, point.score.precision) for point in points]
    else:
        points = [point for point in points if point.score.precision >= precision]
        scores = [(point.score.recall, point.score.precision) for point in points]
    return _one_of_best(points, scores, present)


AnyPoint = TypeVar("AnyPoint", Point, TopicPoint)


def _one_of_best(points: Sequence[AnyPoint], scores: Sequence[tuple[float, float]], present: float) -> AnyPoint | None:
    ordered = sorted(zip(points, scores, strict=True), key=lambda pair: pair[0].threshold)
    best = max(scores, default=None)
    runs = [[point for point, _ in run] for is_best, run in groupby(ordered, lambda pair: pair[1] == best) if is_best]
    for run in runs:
        if run[0].threshold <= present <= run[-1].threshold:
            return min(run, key=lambda point: abs(point.threshold - present))
    longest = max(runs, key=len, default=[])
    return longest[len(longest) // 2] if longest else None


def plateau(points: Sequence[AnyPoint], suggested: AnyPoint) -> list[float]:
    """Return the thresholds around a point, one after the other, that have the same rates as the point."""
    ordered = sorted(points, key=lambda point: point.threshold)
    is_same = [replace(point, threshold=suggested.threshold) == suggested for point in ordered]
    first = last = ordered.index(suggested)
    while first and is_same[first - 1]:
        first -= 1
    while last + 1 < len(ordered) and is_same[last + 1]:
        last += 1
    return [point.threshold for point in ordered[first : last + 1]]
