"""``scrapy neardup tune``: find the thresholds that give the wanted precision on labelled documents."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import suppress
from dataclasses import astuple
from typing import Any

from scrapy_neardup.commands import INTERRUPTED
from scrapy_neardup.commands.inputs import add_labelled_input, add_preset, label_names, number, read_labelled_pages
from scrapy_neardup.commands.terminal import PlainConsole, counting, print_error, print_json, print_table
from scrapy_neardup.document import counted
from scrapy_neardup.exceptions import InputError, SettingsError
from scrapy_neardup.lab.curve import (
    AnyPoint,
    Point,
    TopicPoint,
    measure,
    measure_topics,
    plateau,
    suggest,
    suggest_topic,
    thresholds,
)
from scrapy_neardup.lab.feed import shown
from scrapy_neardup.lab.labels import LabelledPages
from scrapy_neardup.settings import NearDupSettings

TOPIC_PRECISION = 0.9
"""The pairwise precision of stories that a suggested topic threshold must reach."""

LEAST_BACKGROUND = 2000
"""With fewer documents in the background, too low a topic threshold may be suggested."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    threshold = number(float, 0.05, 1)  # the preset option allows no less
    add_labelled_input(parser)
    add_preset(parser)
    parser.add_argument(
        "--precision",
        metavar="P",
        type=number(float, 0, 1),
        help="suggest a threshold with this precision (default: the one with the best F1)",
    )
    parser.add_argument("--from", metavar="T", dest="low", type=threshold, default=0.2, help="lowest threshold (0.2)")
    parser.add_argument("--to", metavar="T", dest="high", type=threshold, default=0.9, help="highest threshold (0.9)")
    parser.add_argument(
        "--step",
        metavar="T",
        type=number(float, 0.001, 1),
        default=0.05,
        help="distance between two thresholds (default: 0.05)",
    )
    for name, default, meaning in (("from", 0.1, "lowest"), ("to", 0.3, "highest")):
        parser.add_argument(
            f"--topic-{name}",
            metavar="T",
            dest=f"topic_{name}",
            type=threshold,
            default=default,
            help=f"{meaning} topic threshold ({default}); topics are tuned only with --background",
        )
    parser.add_argument(
        "--topic-step",
        metavar="T",
        type=number(float, 0.001, 1),
        default=0.02,
        help="distance between two topic thresholds (default: 0.02)",
    )


def run(options: argparse.Namespace, settings: dict[str, Any]) -> int:
    _check(options)
    configured = NearDupSettings.from_mapping(settings)
    source = read_labelled_pages(options, configured)
    ((label, largest),) = source.largest_clusters.items()
    if largest < 2:
        raise InputError(f"{shown(options.input)}: no {label} has two documents, so there are no copies to tune for")
    preset = configured.resolved_preset()
    grid = thresholds(options.low, options.high, options.step)
    points = _measure(source, configured, grid, options.seeds, measure)
    is_whole = _is_whole(points, grid, "thresholds")
    suggested = suggest(points, options.precision, preset.threshold)
    has_topics = is_whole and bool(preset.topic_terms) and source.background > 0
    topic_grid = thresholds(options.topic_from, options.topic_to, options.topic_step) if has_topics else []
    topic_points = _measure(source, configured, topic_grid, options.seeds, measure_topics)
    is_whole = _is_whole(topic_points, topic_grid, "topic thresholds") and is_whole
    suggested_topic = suggest_topic(topic_points, TOPIC_PRECISION, preset.topic_threshold)
    if options.json:
        answer = None if suggested is None else _row(suggested)
        curve = [_row(point) for point in points]
        topics = {
            "wanted_precision": TOPIC_PRECISION,
            "background": source.background,
            "suggested": None if suggested_topic is None else _topic_row(suggested_topic),
            "curve": [_topic_row(point) for point in topic_points],
        }
        wanted = {"wanted_precision": options.precision, "suggested": answer, "curve": curve}
        print_json({**wanted, **({"topics": topics} if has_topics else {})})
    else:
        _print(points, suggested, options.precision, preset.threshold)
        if has_topics:
            _print_topics(topic_points, suggested_topic, preset.topic_threshold, source.background)
        elif is_whole and preset.topic_terms:
            PlainConsole().print_indented(f"topic_threshold was not tuned: {_NO_BACKGROUND}", 0)
    if not is_whole:
        return INTERRUPTED
    return 1 if source.errors or suggested is None else 0


_NO_BACKGROUND = (
    "that needs other documents, which have no labels (--background). Without them low topic thresholds look better"
    " than they are, because there is nothing that they could join wrongly."
)


def _check(options: argparse.Namespace) -> None:
    """Raise SettingsError if options do not fit together."""
    if options.low > options.high:
        raise SettingsError("--to", options.high, f"must be from {options.low} (--from) to 1")
    if options.topic_from > options.topic_to:
        raise SettingsError("--topic-to", options.topic_to, f"must be from {options.topic_from} (--topic-from) to 1")
    if len(label_names(options)) > 1:
        raise SettingsError("--label", ",".join(options.label), "tune takes one label")


def _measure(
    source: LabelledPages,
    settings: NearDupSettings,
    grid: Sequence[float],
    orders: int,
    points_of: Callable[..., AsyncIterator[AnyPoint]],
) -> list[AnyPoint]:
    """Return the points of the grid, and show how many documents were judged."""
    if not grid:
        return []
    (clusters,) = source.clusters.values()
    with counting("documents judged", len(grid) * orders * len(source.pages)) as on_judged:
        return _collect(points_of(source.pages, clusters, settings, grid, range(orders), on_judged))


def _collect(coming: AsyncIterator[AnyPoint]) -> list[AnyPoint]:
    """Return the points that come. If Ctrl-C ends the measurement, return those that came before."""
    points: list[AnyPoint] = []

    async def collect() -> None:
        async for point in coming:
            points.append(point)  # noqa: PERF401  an interrupt leaves what came before it

    with suppress(KeyboardInterrupt):
        asyncio.run(collect())
    return points


def _is_whole(points: Sequence[AnyPoint], grid: Sequence[float], subject: str) -> bool:
    """Return whether every threshold of the grid was measured. Print an error if not."""
    if len(points) < len(grid):
        print_error(f"Interrupted: {len(points)} of {len(grid)} {subject} were measured.")
    return len(points) == len(grid)


def _row(point: Point) -> dict[str, float]:
    return {"threshold": point.threshold, **point.score.rounded()}


def _topic_row(point: TopicPoint) -> dict[str, Any]:
    rates = {"pairwise": point.pairwise.rounded(), "b_cubed": point.b_cubed.rounded()}
    return {"threshold": point.threshold, **rates}


def _print_topics(points: list[TopicPoint], suggested: TopicPoint | None, present: float, background: int) -> None:
    rows = []
    for point in points:
        mark = "<- suggested" if point is suggested else ""
        for protocol, score in zip(("pairwise", "b-cubed"), (point.pairwise, point.b_cubed), strict=True):
            rows.append((f"{point.threshold:.4g}", protocol, *(f"{rate:.4f}" for rate in astuple(score)), mark))
    headings = ("threshold", "protocol", "precision", "recall", "F1", "")
    print_table("stories, by topic threshold", headings, rows)
    console = PlainConsole()
    if suggested is None:
        console.print_indented(
            f"No topic threshold here has a pairwise precision of {TOPIC_PRECISION}; try a higher --topic-to.", 0
        )
        return
    few = f"with a background of only {counted(background, 'document')} " if background < LEAST_BACKGROUND else ""
    if few or suggested.threshold < present:
        console.print_indented(
            f"Take care: {few}low thresholds look better than they are, because wrong links between two documents of"
            f" the background are not counted. Use a background of {LEAST_BACKGROUND:,} documents or more from the"
            " same days, and look at related pairs (scrapy neardup report) before you lower the threshold.",
            0,
        )
    _print_plateau(points, suggested, present, "Label more reports of one event in other words")
    console.print_indented("This is for labels of events. Labels of copies count all related coverage as wrong.", 0)
    print(f'NEARDUP_PRESET_OPTIONS = {{"topic_threshold": {suggested.threshold:g}}}')


def _print_plateau(points: Sequence[AnyPoint], suggested: AnyPoint, present: float, mend: str) -> None:
    """Say if other thresholds are as good as the suggested one. ``mend`` says how to learn more."""
    same = plateau(points, suggested)
    if len(same) < 2:
        return
    which = "the one nearest to the present setting" if same[0] <= present <= same[-1] else "the middle one"
    PlainConsole().print_indented(
        f"All thresholds from {same[0]:g} to {same[-1]:g} have the same rates: these documents do not tell them apart, "
        f"and {which} is suggested. {mend} to find more.",
        0,
    )


def _print(points: list[Point], suggested: Point | None, precision: float | None, present: float) -> None:
    rows = []
    for point in points:
        threshold, *rates = _row(point).values()
        mark = "<- suggested" if point is suggested else ""
        rows.append((f"{threshold:.4g}", *(f"{rate:.4f}" for rate in rates), mark))
    print_table("online, by threshold", ("threshold", "precision", "recall", "F1", ""), rows)
    if suggested is None:
        print(f"No threshold here has a precision of {precision}; try a higher --to.")
        return
    _print_plateau(points, suggested, present, "Label pairs that are nearer to the threshold")
    print(f'NEARDUP_PRESET_OPTIONS = {{"threshold": {suggested.threshold:g}}}')
