"""``scrapy neardup tune``: find the thresholds that give the wanted precision on labelled documents."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import astuple, replace
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
    precision: float = 0.9  # that is wanted, unless the user asks for another one


class Point(NamedTuple):
    """The mean scores by protocol, with the parameter at ``threshold``."""

    threshold: float
    scores: dict[str, Score]


def _steps(low: float, high: float, step: float) -> list[float]:
    return [round(low + step * number, 6) for number in range(round((high - low) / step) + 1)]


GRIDS = {
    "threshold": Grid(_steps(0.2, 0.9, 0.05), "online", "online", 0.0),
    "topic_threshold": Grid(_steps(0.1, 0.3, 0.02), "pairwise", "b-cubed"),
    "vector_middle": Grid(_steps(0.15, 0.5, 0.05), "pairwise", "b-cubed"),
    "vector_bar": Grid(_steps(0.5, 0.8, 0.05), "pairwise", "b-cubed"),
}
"""The usual grid of each parameter that can be tuned."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_labelled_input(parser)
    parser.add_argument(
        "--parameter",
        choices=list(GRIDS),
        default="threshold",
        help="what to measure (default: threshold); vector_middle and vector_bar need NEARDUP_EMBEDDER",
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
    parameter, preset = options.parameter, configured.resolved_preset()
    _require(options, configured, preset)
    source = read_labelled_pages(options, configured, sketches=True)
    if not source.has_copies:
        raise InputError(
            f"{shown(options.input)}: no {options.label} has two documents, so there are no copies to tune for"
        )
    grid, present = GRIDS[parameter], float(getattr(preset, parameter))
    precision = grid.precision if options.precision is None else options.precision
    thresholds = sorted(set(options.values or grid.thresholds))
    points = _measure(options, source, configured, thresholds)
    equal = suggest(points, grid, precision, present)
    if options.json:
        suggested = _row(equal[0], grid) if equal else None
        curve = [_row(point, grid) for point in points]
        print_json({"parameter": parameter, "wanted_precision": precision, "suggested": suggested, "curve": curve})
    else:
        _print(parameter, grid, points, equal[:1])
        _print_advice(parameter, equal, present, source.background)
    if len(points) < len(thresholds):
        print_error(f"Interrupted: {len(points)} of {len(thresholds)} thresholds were measured.")
        return INTERRUPTED
    if not equal:
        print_error(f"No threshold here has a precision of {precision} ({grid.precision_by}); try higher --values.")
    return int(source.errors > 0 or not equal)


def _require(options: argparse.Namespace, settings: NearDupSettings, preset: Preset) -> None:
    """Raise SettingsError or InputError if the parameter cannot be tuned."""
    name = options.parameter
    if name not in preset.takes:
        raise SettingsError("--parameter", name, f"the preset {preset.name} has no such threshold")
    if name != "threshold" and not options.background:
        raise InputError(
            f"{name} needs --background: documents without labels. They show how often a report joins a wrong story"
        )
    if name in VECTOR_PARAMETERS and settings.embedding() is None:
        raise SettingsError("NEARDUP_EMBEDDER", settings.embedder, f"{name} needs a language model")


def _measure(
    options: argparse.Namespace, source: LabelledPages, settings: NearDupSettings, thresholds: Sequence[float]
) -> list[Point]:
    """Return the scores of each threshold. After Ctrl-C return those that were measured until then."""
    points: list[Point] = []
    total = options.seeds * len(source.pages) * len(thresholds)
    with counting("documents judged", total) as on_judged, suppress(KeyboardInterrupt):
        for threshold in thresholds:
            tried = _with_threshold(settings, options.parameter, threshold)
            evaluation = asyncio.run(evaluate(source.pages, tried, range(options.seeds), on_judged=on_judged))
            points.append(Point(threshold, evaluation.mean_scores(source.clusters)))
    return points


def _with_threshold(settings: NearDupSettings, parameter: str, threshold: float) -> NearDupSettings:
    """Return the settings with another threshold. A related threshold above the threshold is lowered to it."""
    tried = {parameter: threshold}
    if parameter == "threshold":
        tried["related_threshold"] = min(settings.resolved_preset().related_threshold, threshold)
    return replace(settings, preset_options=settings.preset_options | tried)


def suggest(points: Sequence[Point], grid: Grid, precision: float, present: float) -> list[Point]:
    """Return the points with the best F1 of those that reach a precision, the nearest to the present threshold first.

    Points that are as good give no reason to change the setting.
    """
    precise = [point for point in points if point.scores[grid.precision_by].precision >= precision]
    best = max((point.scores[grid.f1_by].f1 for point in precise), default=0.0)
    equal = [point for point in precise if point.scores[grid.f1_by].f1 == best]
    return sorted(equal, key=lambda point: abs(point.threshold - present))


def _row(point: Point, grid: Grid) -> dict[str, Any]:
    rates = {name: point.scores[name].rounded() for name in (grid.precision_by, grid.f1_by)}
    return {"threshold": point.threshold, **rates}


def _print(parameter: str, grid: Grid, points: Sequence[Point], suggested: Sequence[Point]) -> None:
    rows = []
    for point in points:
        mark = "<- suggested" if point in suggested else ""
        for protocol in dict.fromkeys((grid.precision_by, grid.f1_by)):
            rates = (f"{rate:.4f}" for rate in astuple(point.scores[protocol]))
            rows.append((f"{point.threshold:.4g}", protocol, *rates, mark))
    if rows:
        print_table(f"by {parameter}", ("threshold", "protocol", "precision", "recall", "F1", ""), rows)


def _print_advice(parameter: str, equal: Sequence[Point], present: float, background: int) -> None:
    """Say if other thresholds are as good, and when a topic threshold cannot be trusted. Then print the setting."""
    if not equal:
        return
    if len(equal) > 1:
        thresholds = [point.threshold for point in equal]
        print_wrapped(
            f"{len(equal)} thresholds from {min(thresholds):g} to {max(thresholds):g} are equally good: these documents"
            " do not tell them apart. The one nearest to the present setting is suggested. Label documents that are"
            " nearer to the threshold to find more.",
            hanging=0,
        )
    if (parameter == "topic_threshold" and equal[0].threshold < present) or (
        parameter in ("topic_threshold", "vector_middle") and background < LEAST_BACKGROUND
    ):
        print_wrapped(
            "Take care: low thresholds look better than they are, because wrong links between two documents of the"
            f" background are not counted. Use a background of {LEAST_BACKGROUND:,} documents or more from the same"
            " days, labels of events and not of copies, and look at related pairs (scrapy neardup report) before you"
            " lower the threshold.",
            hanging=0,
        )
    print(f'NEARDUP_PRESET_OPTIONS = {{"{parameter}": {equal[0].threshold:g}}}')
