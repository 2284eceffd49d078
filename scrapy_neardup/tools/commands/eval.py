"""``scrapy neardup eval``: measure the verdicts on documents that people sorted into clusters.

It also tells the threshold with the best F1 of copies.
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from scrapy_neardup.settings import NearDupSettings
from scrapy_neardup.tools.commands.inputs import LabelledPages, add_labelled_input, read_labelled_pages
from scrapy_neardup.tools.commands.terminal import counting, print_error, print_json, print_table
from scrapy_neardup.tools.lab.protocols import Score, evaluate, mean
from scrapy_neardup.wording import counted

THRESHOLDS = (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)
"""They are measured in one order each, to tell the best one."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_labelled_input(parser)


def run(options: argparse.Namespace, settings: dict[str, Any]) -> int:
    configured = NearDupSettings.from_mapping(settings)
    source = read_labelled_pages(options, configured)
    tried = THRESHOLDS if source.has_copies else ()
    with counting("documents judged", (options.seeds + len(tried)) * len(source.pages)) as on_judged:
        evaluation = asyncio.run(evaluate(source.pages, configured, range(options.seeds), on_judged=on_judged))
        f1_by_threshold = {threshold: _f1(source, configured, threshold, on_judged) for threshold in tried}
    present = configured.resolved_preset().threshold
    f1_by_threshold[present] = evaluation.scores(source.clusters)["online"][0].f1
    protocols = _rates(evaluation.scores(source.clusters), has_copies=source.has_copies)
    found = {
        "input": str(options.input),
        "label": options.label,
        "preset": configured.preset,
        "documents": source.labelled,
        "background": source.background,
        "left_out_of_background": len(source.left_out),
        "without_text": sum(not page.text.strip() and not page.error for page in source.pages[: source.labelled]),
        "errors": source.errors,
        "clusters": source.cluster_count,
        "orders": options.seeds,
        "protocols": protocols,
        "present_threshold": present,
        "best_threshold": best_threshold(f1_by_threshold, present) if source.has_copies else None,
        "bytes": None if evaluation.bytes is None else round(evaluation.bytes),
    }
    if not source.has_copies:
        what = f"No {options.label} has two documents, so there are no copies to find"
        print_error(f"{what}: only wrong links can be counted.")
    (print_json if options.json else _print)(found)
    return int(source.errors > 0)


def _f1(
    source: LabelledPages, settings: NearDupSettings, threshold: float, on_judged: Callable[[int], object]
) -> float:
    """Return the F1 of copies with another threshold. A related threshold above the threshold is lowered to it."""
    related = min(settings.resolved_preset().related_threshold, threshold)
    options = settings.preset_options | {"threshold": threshold, "related_threshold": related}
    tried = replace(settings, preset_options=options)
    evaluation = asyncio.run(evaluate(source.pages, tried, range(1), on_judged=on_judged))
    return evaluation.scores(source.clusters)["online"][0].f1


def best_threshold(f1_by_threshold: Mapping[float, float], present: float) -> float:
    """Return the threshold with the best F1; of equally good ones the nearest to the present one."""
    return max(f1_by_threshold, key=lambda threshold: (f1_by_threshold[threshold], -abs(threshold - present)))


def _rates(found: Mapping[str, Sequence[Score]], *, has_copies: bool) -> dict[str, dict[str, Any]]:
    """Return the mean rates by protocol. Without copies nothing can be found, so only the precision is known."""
    unknown = {} if has_copies else {"recall": None, "f1": None, "f1_by_order": None}
    return {
        protocol: {**mean(scores).rounded(), "f1_by_order": [round(score.f1, 4) for score in scores], **unknown}
        for protocol, scores in found.items()
    }


def _print(found: dict[str, Any]) -> None:
    rows = []
    for protocol, score in found["protocols"].items():
        rates = ("-" if score[name] is None else f"{score[name]:.4f}" for name in ("precision", "recall", "f1"))
        rows.append((protocol, *rates))
    among = f" among {counted(found['background'], 'other')}" if found["background"] else ""
    title = f"{counted(found['documents'], 'document')}{among}, mean of {counted(found['orders'], 'order')}"
    print_table(title, ("protocol", "precision", "recall", "F1"), rows)
    print(f"{found['bytes']} bytes a document, preset {found['preset']}")
    if found["best_threshold"] is not None:
        print(
            f"Best threshold for copies: {found['best_threshold']:g}. The present one is {found['present_threshold']:g}"
        )
