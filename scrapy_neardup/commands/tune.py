"""``scrapy neardup tune``: find the threshold that gives the wanted precision on labelled documents."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from scrapy_neardup.commands import INTERRUPTED
from scrapy_neardup.commands.inputs import add_labelled_input, add_preset, label_names, number, read_labelled_pages
from scrapy_neardup.commands.terminal import PlainConsole, print_error, print_json, print_table, track
from scrapy_neardup.evaluation.curve import (
    PLOT_FORMATS,
    Point,
    measure,
    plateau,
    plot,
    require_matplotlib,
    suggest,
    thresholds,
)
from scrapy_neardup.exceptions import InputError, SettingsError
from scrapy_neardup.settings import NearDupSettings


def add_arguments(parser: argparse.ArgumentParser) -> None:
    threshold = number(float, 0.05, 1)  # NEARDUP_THRESHOLD allows no less
    add_labelled_input(parser)
    add_preset(parser)
    parser.add_argument(
        "--precision",
        metavar="P",
        type=number(float, 0, 1),
        help="suggest a threshold with this precision (default: the one with the best F1)",
    )
    parser.add_argument("--plot", metavar="FILE", type=Path, help="draw the curve: .png or .svg (extra [plot])")
    parser.add_argument("--from", metavar="T", dest="low", type=threshold, default=0.2, help="lowest threshold (0.2)")
    parser.add_argument("--to", metavar="T", dest="high", type=threshold, default=0.9, help="highest threshold (0.9)")
    parser.add_argument(
        "--step",
        metavar="T",
        type=number(float, 0.001, 1),
        default=0.05,
        help="distance between two thresholds (default: 0.05)",
    )
    parser.add_argument("--seeds", metavar="N", type=number(int, 1), default=3, help="random orders (default: 3)")


def run(options: argparse.Namespace, settings: dict[str, Any]) -> int:
    if options.low > options.high:
        raise SettingsError("--to", options.high, f"must be from {options.low} (--from) to 1")
    if len(label_names(options)) > 1:
        raise SettingsError("--label", ",".join(options.label), "tune takes one label")
    if options.plot is not None:
        if options.plot.suffix.lower() not in PLOT_FORMATS:
            raise SettingsError("--plot", str(options.plot), f"must end in {' or '.join(PLOT_FORMATS)}")
        require_matplotlib()
    configured = NearDupSettings.from_mapping(settings)
    source = read_labelled_pages(options, configured)
    grid = thresholds(options.low, options.high, options.step)
    (clusters,) = source.clusters.values()
    seeds = range(options.seeds)
    points: list[Point] = []
    with suppress(KeyboardInterrupt):  # what was measured until then is shown
        asyncio.run(_collect(measure(source.pages, clusters, configured, track(grid, "thresholds"), seeds), points))
    is_whole = len(points) == len(grid)
    if not is_whole:
        print_error(f"Interrupted: {len(points)} of {len(grid)} thresholds were measured.")
    suggested = suggest(points, options.precision)
    if options.plot is not None:
        try:
            plot(points, suggested, options.plot)
        except OSError as error:
            raise InputError(f"{options.plot}: cannot be written: {error.strerror}") from error
    if options.json:
        answer = None if suggested is None else _row(suggested)
        curve = [_row(point) for point in points]
        print_json({"wanted_precision": options.precision, "suggested": answer, "curve": curve})
    else:
        _print(points, suggested, options.precision)
    if not is_whole:
        return INTERRUPTED
    return 1 if source.errors or suggested is None else 0


async def _collect(coming: AsyncIterator[Point], points: list[Point]) -> None:
    async for point in coming:
        points.append(point)  # noqa: PERF401  an interrupt leaves what came before it


def _row(point: Point) -> dict[str, float]:
    return {"threshold": point.threshold, **point.score.rounded()}


def _print(points: list[Point], suggested: Point | None, precision: float | None) -> None:
    rows = []
    for point in points:
        threshold, *rates = _row(point).values()
        mark = "<- suggested" if point is suggested else ""
        rows.append((f"{threshold:.4g}", *(f"{rate:.4f}" for rate in rates), mark))
    print_table("online, by threshold", ("threshold", "precision", "recall", "F1", ""), rows)
    if suggested is None:
        print(f"No threshold here has a precision of {precision}; try a higher --to.")
        return
    same = plateau(points, suggested)
    if len(same) > 1:
        PlainConsole().print(
            f"All thresholds from {same[0]:g} to {same[-1]:g} have the same rates: these documents do not tell them "
            "apart, and the middle is suggested. Label pairs that are nearer to the threshold to find more."
        )
    print(f"NEARDUP_THRESHOLD = {suggested.threshold:g}")
