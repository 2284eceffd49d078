"""``scrapy neardup tune``: find the threshold that gives the wanted precision on labelled documents."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy_neardup.commands.labelled import add_input_arguments, label_names, read_input
from scrapy_neardup.commands.terminal import make_console
from scrapy_neardup.exceptions import InputError, SettingsError

if TYPE_CHECKING:
    from scrapy_neardup.commands.labelled import LabelledInput
    from scrapy_neardup.evaluation.curve import Point
    from scrapy_neardup.settings import NearDupSettings

_LOWEST = 0.05  # NEARDUP_THRESHOLD allows no less


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_input_arguments(parser)
    parser.add_argument("--preset", metavar="NAME", help="a row of the table of methods")
    parser.add_argument("--precision", metavar="P", type=float, help="wanted precision; without it, the best F1")
    parser.add_argument("--plot", metavar="FILE", type=Path, help="draw the curve: .png or .svg (extra [plot])")
    parser.add_argument("--from", metavar="T", dest="low", type=float, default=0.2, help="lowest threshold (0.2)")
    parser.add_argument("--to", metavar="T", dest="high", type=float, default=0.9, help="highest threshold (0.9)")
    parser.add_argument("--step", metavar="T", type=float, default=0.05, help="between two thresholds (0.05)")
    parser.add_argument("--seeds", metavar="N", type=int, default=3, help="random orders (default: 3)")


def run(options: argparse.Namespace, settings: dict[str, Any]) -> int:
    from scrapy_neardup.evaluation.curve import PLOT_FORMATS, plot, require_matplotlib, suggest, thresholds
    from scrapy_neardup.settings import NearDupSettings

    _check_numbers(options)
    if len(label_names(options)) > 1:
        raise SettingsError("--label", ",".join(options.label), "tune takes one label")
    if options.plot is not None:
        if options.plot.suffix.lower() not in PLOT_FORMATS:
            raise SettingsError("--plot", str(options.plot), f"must end in {' or '.join(PLOT_FORMATS)}")
        require_matplotlib()
    configured = NearDupSettings.from_mapping(settings)
    source = read_input(options, configured)
    grid = thresholds(options.low, options.high, options.step)
    points = asyncio.run(_measure(source, configured, grid, options.seeds))
    suggested = suggest(points, options.precision)
    if options.plot is not None:
        try:
            plot(points, suggested, options.plot)
        except OSError as error:
            raise InputError(f"{options.plot}: cannot be written: {error.strerror}") from error
    show = _print_json if options.json else _print_table
    show(points, suggested, options.precision)
    return 1 if source.errors or suggested is None else 0


def _check_numbers(options: argparse.Namespace) -> None:
    if options.seeds < 1:
        raise SettingsError("--seeds", options.seeds, "must be 1 or more")
    if options.precision is not None and not 0 < options.precision <= 1:
        raise SettingsError("--precision", options.precision, "must be over 0 and at most 1")
    if not _LOWEST <= options.low <= 1:
        raise SettingsError("--from", options.low, f"must be from {_LOWEST} to 1")
    if not options.low <= options.high <= 1:
        raise SettingsError("--to", options.high, f"must be from --from = {options.low} to 1")
    if not 0.001 <= options.step <= 1:
        raise SettingsError("--step", options.step, "must be from 0.001 to 1")


async def _measure(source: LabelledInput, settings: NearDupSettings, grid: list[float], seeds: int) -> list[Point]:
    from tqdm import tqdm

    from scrapy_neardup.evaluation.curve import measure

    (clusters,) = source.clusters.values()
    with tqdm(total=len(grid), unit=" thresholds", disable=not sys.stderr.isatty()) as bar:
        points = []
        async for point in measure(source.pages, clusters, settings, grid, range(seeds)):
            points.append(point)
            bar.update()
    return points


def _row(point: Point) -> dict[str, float]:
    score = point.score
    return {
        "threshold": point.threshold,
        "precision": round(score.precision, 4),
        "recall": round(score.recall, 4),
        "f1": round(score.f1, 4),
    }


def _print_json(points: list[Point], suggested: Point | None, precision: float | None) -> None:
    curve = [_row(point) for point in points]
    answer = None if suggested is None else _row(suggested)
    print(json.dumps({"wanted_precision": precision, "suggested": answer, "curve": curve}))


def _print_table(points: list[Point], suggested: Point | None, precision: float | None) -> None:
    from rich.table import Table

    table = Table(title="online, by threshold")
    for name in ("threshold", "precision", "recall", "F1", ""):
        table.add_column(name, justify="right")
    for point in points:
        mark = "<- suggested" if point is suggested else ""
        table.add_row(
            *(f"{value:.4g}" if name == "threshold" else f"{value:.4f}" for name, value in _row(point).items()), mark
        )
    console = make_console()
    console.print(table)
    if suggested is None:
        console.print(f"No threshold here has a precision of {precision}; try a higher --to.")
    else:
        console.print(f"NEARDUP_THRESHOLD = {suggested.threshold:g}")
