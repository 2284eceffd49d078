"""``scrapy neardup tune``: find the thresholds that give the wanted precision on labelled documents."""

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
from scrapy_neardup.sketch.signatures.presets import VECTOR_PARAMETERS

LEAST_BACKGROUND = 2000
"""With fewer documents in the background, too low a topic threshold may be suggested."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    threshold = number(float, 0.05, 1)  # the preset option allows no less
    add_labelled_input(parser)
    add_preset(parser)
    parser.add_argument("--parameter", choices=["threshold", "topic_threshold"], help="default: threshold")
    parser.add_argument(
        "--stories",
        action="store_true",
        help=f"with NEARDUP_EMBEDDER and labels of events: choose {', '.join(VECTOR_PARAMETERS)}, one after the other",
    )
    parser.add_argument(
        "--precision",
        metavar="P",
        type=number(float, 0, 1),
        help="suggest a value with at least this precision (default: any for threshold, else 0.9)",
    )
    default = "default: {0} for threshold, {1} for topic_threshold"
    for option, name, kind, meaning in (
        ("--from", "low", threshold, "lowest threshold"),
        ("--to", "high", threshold, "highest threshold"),
        ("--step", "step", number(float, 0.001, 1), "distance between two thresholds"),
    ):
        usual = default.format(*(getattr(GRIDS[each], name) for each in ("threshold", "topic_threshold")))
        parser.add_argument(option, metavar="T", dest=name, type=kind, help=f"{meaning} ({usual})")


def run(options: argparse.Namespace, settings: dict[str, Any]) -> int:
    configured = NearDupSettings.from_mapping(settings)
    grids = _grids(options, configured)
    source = read_labelled_pages(options, configured, sketches=True)
    if not source.has_copies:
        raise InputError(
            f"{shown(options.input)}: no {options.label} has two documents, so there are no copies to tune for"
        )
    chosen: dict[str, str] = {}
    total = options.seeds * len(source.pages)
    for parameter, grid in grids.items():
        precision = (0.0 if parameter == "threshold" else 0.9) if options.precision is None else options.precision
        present = float(getattr(configured.resolved_preset(), parameter))
        thresholds = sorted({*grid.thresholds(), present}) if options.stories else grid.thresholds()
        points: list[Point] = []
        with counting("documents judged", total * len(thresholds)) as on_judged, suppress(KeyboardInterrupt):
            for threshold in thresholds:  # what was measured until Ctrl-C is shown
                tried = with_threshold(configured, parameter, threshold)
                evaluation = asyncio.run(evaluate(source.pages, tried, range(options.seeds), on_judged=on_judged))
                points.append(Point(threshold, evaluation.mean_scores(source.clusters)))
        is_interrupted = len(points) < len(thresholds)
        suggested = suggest(points, grid, precision, present)
        if options.json:
            answer = None if suggested is None else _row(suggested, grid)
            curve = [_row(point, grid) for point in points]
            print_json({"parameter": parameter, "wanted_precision": precision, "suggested": answer, "curve": curve})
        else:
            _print(parameter, grid, points, suggested)
            if suggested is None and not is_interrupted:
                print(f"No threshold here has a precision of {precision} ({grid.precision_by}); try a higher --to.")
            if suggested is not None:
                _print_advice(parameter, points, suggested, present, source.background)
        if suggested is not None:
            configured = with_threshold(configured, parameter, suggested.threshold)
            chosen[parameter] = f'"{parameter}": {suggested.threshold:g}'
        if is_interrupted:
            break
    if chosen and not options.json:
        print(f"NEARDUP_PRESET_OPTIONS = {{{', '.join(chosen.values())}}}")
    if is_interrupted:
        print_error(f"Interrupted: {len(points)} of {len(thresholds)} thresholds were measured.")
        return INTERRUPTED
    return 1 if source.errors or len(chosen) < len(grids) else 0


def _grids(options: argparse.Namespace, settings: NearDupSettings) -> dict[str, Grid]:
    """Return the grid of each parameter to tune. Raise SettingsError or InputError if options do not fit together."""
    given = {name: getattr(options, name) for name in ("low", "high", "step") if getattr(options, name) is not None}
    if options.stories and (given or options.parameter):
        raise InputError("--stories: has grids of its own, so it goes with no --parameter, --from, --to or --step")
    if options.stories and settings.embedding() is None:
        raise SettingsError("NEARDUP_EMBEDDER", settings.embedder, "--stories needs a language model")
    names = VECTOR_PARAMETERS if options.stories else [options.parameter or "threshold"]
    preset = settings.resolved_preset()
    for name in names:
        if name not in preset.takes:
            raise SettingsError("--parameter", name, f"the preset {preset.name} has no such threshold")
        if name != "threshold" and not options.background:
            raise InputError(f"--background: {name} needs documents without labels, which reports may join wrongly")
    grids = {name: GRIDS[name]._replace(**given) for name in names}
    for grid in grids.values():
        if grid.low > grid.high:
            raise SettingsError("--to", grid.high, f"must be from {grid.low} (--from) to 1")
    return grids


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
    is_lower = parameter == "topic_threshold" and suggested.threshold < present
    if is_lower or (parameter in ("topic_threshold", "vector_middle") and background < LEAST_BACKGROUND):
        print_wrapped(
            "Take care: low thresholds look better than they are, because wrong links between two documents of the"
            f" background are not counted. Use a background of {LEAST_BACKGROUND:,} documents or more from the same"
            " days, labels of events and not of copies, and look at related pairs (scrapy neardup report) before you"
            " lower the threshold.",
            hanging=0,
        )
