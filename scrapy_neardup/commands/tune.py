"""``scrapy neardup tune``: find the thresholds that give the wanted precision on labelled documents."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import astuple, replace
from itertools import groupby
from typing import Any, NamedTuple

from scrapy_neardup.commands import INTERRUPTED
from scrapy_neardup.commands.inputs import LabelledPages, add_labelled_input, number, read_labelled_pages
from scrapy_neardup.commands.terminal import counting, print_error, print_json, print_table, print_wrapped
from scrapy_neardup.exceptions import InputError, SettingsError
from scrapy_neardup.lab.feed import shown
from scrapy_neardup.lab.protocols import Score, evaluate
from scrapy_neardup.settings import NearDupSettings
from scrapy_neardup.sketch.signatures.presets import VECTOR_PARAMETERS, Preset

LEAST_BACKGROUND = 2000
"""With fewer documents in the background, too low a topic threshold may be suggested."""


class Grid(NamedTuple):
    """The thresholds that are tried for a parameter, the lowest first, and the protocols that judge them."""

    thresholds: Sequence[float]
    precision_by: str  # the protocol whose precision must reach the wanted one
    f1_by: str  # the protocol whose F1 decides


class Point(NamedTuple):
    """The mean scores by protocol, with the parameter at ``threshold``."""

    threshold: float
    scores: dict[str, Score]


def _steps(low: float, high: float, step: float) -> list[float]:
    return [round(low + step * number, 6) for number in range(round((high - low) / step) + 1)]


GRIDS = {
    "threshold": Grid(_steps(0.2, 0.9, 0.05), "online", "online"),
    "topic_threshold": Grid(_steps(0.1, 0.3, 0.02), "pairwise", "b-cubed"),
    "vector_middle": Grid(_steps(0.15, 0.5, 0.05), "pairwise", "b-cubed"),
    "vector_bar": Grid(_steps(0.5, 0.8, 0.05), "pairwise", "b-cubed"),
}
"""The usual grid of each parameter that can be tuned."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_labelled_input(parser)
    parser.add_argument(
        "--parameter", choices=["threshold", "topic_threshold"], help="what to measure (default: threshold)"
    )
    parser.add_argument(
        "--stories",
        action="store_true",
        help=f"choose {', then '.join(VECTOR_PARAMETERS)}: needs NEARDUP_EMBEDDER, and events as labels",
    )
    parser.add_argument(
        "--precision",
        metavar="P",
        type=number(float, 0, 1),
        help="suggest a value with at least this precision (default: any for threshold, else 0.9)",
    )
    parser.add_argument(
        "--values",
        metavar="T",
        nargs="+",
        type=number(float, 0.05, 1),  # the preset option allows no less
        help="try these thresholds (default: 0.2 to 0.9 for threshold, 0.1 to 0.3 for topic_threshold)",
    )


def run(options: argparse.Namespace, settings: dict[str, Any]) -> int:
    configured = NearDupSettings.from_mapping(settings)
    grids = _grids(options, configured)
    source = read_labelled_pages(options, configured, sketches=True)
    if not source.has_copies:
        raise InputError(
            f"{shown(options.input)}: no {options.label} has two documents, so there are no copies to tune for"
        )
    chosen: dict[str, str] = {}
    for parameter, grid in grids.items():
        present = float(getattr(configured.resolved_preset(), parameter))
        thresholds = sorted({*grid.thresholds, present}) if options.stories else grid.thresholds
        points = _measure(options, source, configured, parameter, thresholds)
        suggested = _tell(options, source, parameter, grid._replace(thresholds=thresholds), points, present)
        if suggested is not None:
            configured = _with_threshold(configured, parameter, suggested.threshold)
            chosen[parameter] = f'"{parameter}": {suggested.threshold:g}'
        if is_interrupted := len(points) < len(thresholds):
            break
    if chosen and not options.json:
        print(f"NEARDUP_PRESET_OPTIONS = {{{', '.join(chosen.values())}}}")
    if is_interrupted:
        print_error(f"Interrupted: {len(points)} of {len(thresholds)} thresholds were measured.")
        return INTERRUPTED
    return 1 if source.errors or len(chosen) < len(grids) else 0


def _measure(
    options: argparse.Namespace,
    source: LabelledPages,
    settings: NearDupSettings,
    parameter: str,
    thresholds: Sequence[float],
) -> list[Point]:
    """Return the scores of each threshold. After Ctrl-C return those that were measured until then."""
    points: list[Point] = []
    total = options.seeds * len(source.pages) * len(thresholds)
    with counting("documents judged", total) as on_judged, suppress(KeyboardInterrupt):
        for threshold in thresholds:
            tried = _with_threshold(settings, parameter, threshold)
            evaluation = asyncio.run(evaluate(source.pages, tried, range(options.seeds), on_judged=on_judged))
            points.append(Point(threshold, evaluation.mean_scores(source.clusters)))
    return points


def _tell(
    options: argparse.Namespace,
    source: LabelledPages,
    parameter: str,
    grid: Grid,
    points: Sequence[Point],
    present: float,
) -> Point | None:
    """Print what was measured of a parameter. Return the suggested point, None if no point is precise enough."""
    precision = options.precision
    if precision is None:
        precision = 0.0 if parameter == "threshold" else 0.9
    suggested, equal = suggest(points, grid, precision, present)
    if options.json:
        answer = None if suggested is None else _row(suggested, grid)
        curve = [_row(point, grid) for point in points]
        print_json({"parameter": parameter, "wanted_precision": precision, "suggested": answer, "curve": curve})
        return suggested
    _print(parameter, grid, points, suggested)
    if suggested is not None:
        _print_advice(parameter, equal, suggested.threshold < present, source.background)
    elif len(points) == len(grid.thresholds):
        print(f"No threshold here has a precision of {precision} ({grid.precision_by}); try higher --values.")
    return suggested


def _grids(options: argparse.Namespace, settings: NearDupSettings) -> dict[str, Grid]:
    """Return the grid of each parameter to tune. Raise SettingsError or InputError if options do not fit together."""
    if options.stories and (options.values or options.parameter):
        raise InputError("--stories: has grids of its own, so it goes with no --parameter or --values")
    if options.stories and settings.embedding() is None:
        raise SettingsError("NEARDUP_EMBEDDER", settings.embedder, "--stories needs a language model")
    names = VECTOR_PARAMETERS if options.stories else [options.parameter or "threshold"]
    for name in names:
        _require(name, options, settings.resolved_preset())
    given = sorted(set(options.values or ()))
    return {name: GRIDS[name]._replace(thresholds=given or GRIDS[name].thresholds) for name in names}


def _require(name: str, options: argparse.Namespace, preset: Preset) -> None:
    """Raise SettingsError or InputError if a parameter cannot be tuned."""
    if name not in preset.takes:
        raise SettingsError("--parameter", name, f"the preset {preset.name} has no such threshold")
    if name != "threshold" and not options.background:
        raise InputError(
            f"{name} needs --background: documents without labels, that show how often a report joins a wrong one"
        )


def _with_threshold(settings: NearDupSettings, parameter: str, threshold: float) -> NearDupSettings:
    """Return the settings with another threshold. A related threshold above the threshold is lowered to it."""
    tried = {parameter: threshold}
    if parameter == "threshold":
        tried["related_threshold"] = min(settings.resolved_preset().related_threshold, threshold)
    return replace(settings, preset_options=settings.preset_options | tried)


def suggest(
    points: Sequence[Point], grid: Grid, precision: float, present: float
) -> tuple[Point | None, Sequence[Point]]:
    """Return the point with the best F1 of those that reach a precision, and its equally good neighbours.

    If the present threshold lies among equally good neighbours, choose the one that is nearest to it, because they give
    no reason to change it. Otherwise choose the middle one of the longest run of equally good neighbours.
    """

    def rates(point: Point) -> tuple[float, float]:
        return point.scores[grid.f1_by].f1, point.scores[grid.precision_by].precision

    best = max((rates(point) for point in points if rates(point)[1] >= precision), default=None)
    equal = [list(run) for rate, run in groupby(points, rates) if rate == best]
    if not equal:
        return None, []
    for run in equal:
        if run[0].threshold <= present <= run[-1].threshold:
            return min(run, key=lambda point: abs(point.threshold - present)), run
    longest = max(equal, key=len)
    return longest[len(longest) // 2], longest


def _row(point: Point, grid: Grid) -> dict[str, Any]:
    rates = {name: point.scores[name].rounded() for name in (grid.precision_by, grid.f1_by)}
    return {"threshold": point.threshold, **rates}


def _print(parameter: str, grid: Grid, points: Sequence[Point], suggested: Point | None) -> None:
    rows = []
    for point in points:
        mark = "<- suggested" if point is suggested else ""
        for protocol in dict.fromkeys((grid.precision_by, grid.f1_by)):
            rates = (f"{rate:.4f}" for rate in astuple(point.scores[protocol]))
            rows.append((f"{point.threshold:.4g}", protocol, *rates, mark))
    if rows:
        print_table(f"by {parameter}", ("threshold", "protocol", "precision", "recall", "F1", ""), rows)


def _print_advice(parameter: str, equal: Sequence[Point], is_lower: bool, background: int) -> None:
    """Say if other thresholds are as good as the suggested one, and when a topic threshold cannot be trusted."""
    if len(equal) > 1:
        print_wrapped(
            f"All thresholds from {equal[0].threshold:g} to {equal[-1].threshold:g} are equally good: these"
            " documents do not tell them apart. The one nearest to the present setting is suggested, or else the middle"
            " one. Label documents that are nearer to the threshold to find more.",
            hanging=0,
        )
    if (parameter == "topic_threshold" and is_lower) or (
        parameter in ("topic_threshold", "vector_middle") and background < LEAST_BACKGROUND
    ):
        print_wrapped(
            "Take care: low thresholds look better than they are, because wrong links between two documents of the"
            f" background are not counted. Use a background of {LEAST_BACKGROUND:,} documents or more from the same"
            " days, labels of events and not of copies, and look at related pairs (scrapy neardup report) before you"
            " lower the threshold.",
            hanging=0,
        )
