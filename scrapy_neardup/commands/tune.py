"""``scrapy neardup tune``: find the threshold that gives the wanted precision on labelled documents."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import astuple
from typing import Any

from scrapy_neardup.commands import INTERRUPTED
from scrapy_neardup.commands.inputs import add_labelled_input, add_preset, number, read_labelled_pages
from scrapy_neardup.commands.terminal import counting, print_error, print_json, print_table, print_wrapped
from scrapy_neardup.exceptions import InputError, SettingsError
from scrapy_neardup.lab.feed import shown
from scrapy_neardup.lab.protocols import evaluate
from scrapy_neardup.lab.tune import GRIDS, Grid, Point, plateau, suggest, with_threshold
from scrapy_neardup.settings import NearDupSettings

LEAST_BACKGROUND = 2000
"""With fewer documents in the background, too low a topic threshold may be suggested."""

_DEFAULT_PRECISION = {"threshold": 0.0, "topic_threshold": 0.9}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    threshold = number(float, 0.05, 1)  # the preset option allows no less
    add_labelled_input(parser)
    add_preset(parser)
    parser.add_argument("--parameter", choices=list(GRIDS), default="threshold", help="default: threshold")
    parser.add_argument(
        "--precision",
        metavar="P",
        type=number(float, 0, 1),
        help="suggest a threshold with at least this precision (default: any; 0.9 for topic_threshold)",
    )
    default = "default: {0} for threshold, {1} for topic_threshold"
    for option, name, kind, meaning in (
        ("--from", "low", threshold, "lowest threshold"),
        ("--to", "high", threshold, "highest threshold"),
        ("--step", "step", number(float, 0.001, 1), "distance between two thresholds"),
    ):
        usual = default.format(*(getattr(grid, name) for grid in GRIDS.values()))
        parser.add_argument(option, metavar="T", dest=name, type=kind, help=f"{meaning} ({usual})")


def run(options: argparse.Namespace, settings: dict[str, Any]) -> int:
    grid = _grid(options)
    configured = NearDupSettings.from_mapping(settings)
    preset = configured.resolved_preset()
    if options.parameter not in preset.takes:
        raise SettingsError("--parameter", options.parameter, f"the preset {preset.name} has no such threshold")
    source = read_labelled_pages(options, configured, sketches=True)
    if not source.has_copies:
        raise InputError(
            f"{shown(options.input)}: no {options.label} has two documents, so there are no copies to tune for"
        )
    precision = _DEFAULT_PRECISION[options.parameter] if options.precision is None else options.precision
    present = float(getattr(preset, options.parameter))
    thresholds = grid.thresholds()
    points: list[Point] = []
    total = len(thresholds) * options.seeds * len(source.pages)
    with counting("documents judged", total) as on_judged, suppress(KeyboardInterrupt):
        for threshold in thresholds:  # what was measured until Ctrl-C is shown
            tried = with_threshold(configured, options.parameter, threshold)
            evaluation = asyncio.run(evaluate(source.pages, tried, range(options.seeds), on_judged=on_judged))
            points.append(Point(threshold, evaluation.mean_scores(source.clusters)))
    suggested = suggest(points, grid, precision, present)
    if options.json:
        answer = None if suggested is None else _row(suggested, grid)
        curve = [_row(point, grid) for point in points]
        print_json({"parameter": options.parameter, "wanted_precision": precision, "suggested": answer, "curve": curve})
    else:
        _print(options.parameter, grid, points, suggested)
        if suggested is None and len(points) == len(thresholds):
            print(f"No threshold here has a precision of {precision} ({grid.precision_by}); try a higher --to.")
        if suggested is not None:
            _print_advice(options.parameter, points, suggested, present, source.background)
            print(f'NEARDUP_PRESET_OPTIONS = {{"{options.parameter}": {suggested.threshold:g}}}')
    if len(points) < len(thresholds):
        print_error(f"Interrupted: {len(points)} of {len(thresholds)} thresholds were measured.")
        return INTERRUPTED
    return 1 if source.errors or suggested is None else 0


def _grid(options: argparse.Namespace) -> Grid:
    """Return the grid of the options. Raise SettingsError if options do not fit together."""
    given = {name: getattr(options, name) for name in ("low", "high", "step") if getattr(options, name) is not None}
    grid = GRIDS[options.parameter]._replace(**given)
    if grid.low > grid.high:
        raise SettingsError("--to", grid.high, f"must be from {grid.low} (--from) to 1")
    if options.parameter == "topic_threshold" and not options.background:
        raise InputError("--background: topic_threshold needs documents without labels, which reports may join wrongly")
    return grid


def _row(point: Point, grid: Grid) -> dict[str, Any]:
    return {"threshold": point.threshold, **{name: point.scores[name].rounded() for name in grid.protocols}}


def _print(parameter: str, grid: Grid, points: Sequence[Point], suggested: Point | None) -> None:
    rows = []
    for point in points:
        mark = "<- suggested" if point is suggested else ""
        for protocol in grid.protocols:
            rates = (f"{rate:.4f}" for rate in astuple(point.scores[protocol]))
            rows.append((f"{point.threshold:.4g}", protocol, *rates, mark))
    if rows:
        print_table(f"by {parameter}", ("threshold", "protocol", "precision", "recall", "F1", ""), rows)


def _print_advice(parameter: str, points: Sequence[Point], suggested: Point, present: float, background: int) -> None:
    """Say if other thresholds are as good as the suggested one, and when a topic threshold cannot be trusted."""
    same = plateau(points, suggested, GRIDS[parameter])
    if len(same) > 1:
        which = "the one nearest to the present setting" if same[0] <= present <= same[-1] else "the middle one"
        print_wrapped(
            f"All thresholds from {same[0]:g} to {same[-1]:g} have the same rates: these documents do not tell them"
            f" apart, and {which} is suggested. Label documents that are nearer to the threshold to find more.",
            hanging=0,
        )
    if parameter == "topic_threshold" and (background < LEAST_BACKGROUND or suggested.threshold < present):
        print_wrapped(
            "Take care: low thresholds look better than they are, because wrong links between two documents of the"
            f" background are not counted. Use a background of {LEAST_BACKGROUND:,} documents or more from the same"
            " days, labels of events and not of copies, and look at related pairs (scrapy neardup report) before you"
            " lower the threshold.",
            hanging=0,
        )
