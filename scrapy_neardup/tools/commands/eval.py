"""``scrapy neardup eval``: measure the verdicts on documents that people sorted into clusters.

It also tells the threshold with the best F1 of copies.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from scrapy_neardup import NearDupSettings
from scrapy_neardup.exceptions import InputError
from scrapy_neardup.text.display import counted
from scrapy_neardup.tools.commands.inputs import (
    Options,
    Values,
    json_option,
    number_from,
    option,
    read_pages,
    workers_option,
)
from scrapy_neardup.tools.commands.terminal import (
    print_error,
    print_json,
    print_table,
    print_wrapped,
    track,
)
from scrapy_neardup.tools.lab.evaluation import evaluate, mean
from scrapy_neardup.tools.lab.feed import read_background, read_labelled, shown, without_labelled
from scrapy_neardup.tools.lab.replay import PageReader

THRESHOLDS = (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)  # measured in one order each, to tell the best one


OPTIONS = (
    option(
        "input", metavar="INPUT", type=Path, help="JSON lines as for replay, with a cluster label; - is standard input"
    ),
    option("--label", metavar="KEY", default="cluster", help="key of the label (default: cluster)"),
    option(
        "--background",
        metavar="FILE",
        type=Path,
        nargs="+",
        action="extend",
        default=[],
        help="documents without labels, mixed with the others. A link to one of them counts as wrong. Documents with"
        " the url or the text of a labelled one are left out",
    ),
    option(
        "--seeds",
        metavar="N",
        type=number_from(1),
        default=5,
        help="random orders in which the documents are judged (default: 5)",
    ),
    workers_option(),
    json_option(),
)


def run(options: Options, values: Values) -> int:
    """Measure. A page that cannot be extracted is counted and judged ``unchecked``."""
    configured = NearDupSettings.from_mapping(values)
    labelled, clusters = read_labelled(options.input, options.label)
    background, left_out = without_labelled(read_background(options.background), labelled)
    documents = [*labelled, *background]
    if left_out:
        said = (
            f"{left_out[0]}: this document of --background is labelled too (the same url or text), so it is left out"
            f" of the background. Documents left out: {len(left_out)}"
        )
        print_wrapped(said, stderr=True)
    if len(documents) < 2:
        raise InputError(f"{shown(options.input)}: a single document makes no pair, so there is nothing to measure")
    # Workers sketch the texts too, so the pages can be judged only with values that change no sketch.
    with PageReader(configured, options.workers, sketches=True) as reader:
        pages = list(read_pages(reader, documents, len(documents)))
    truth = [*clusters, *[None] * len(background)]
    has_copies = len(set(clusters)) < len(labelled)
    preset = configured.resolved_preset()
    f1_by_threshold = {}
    tried = [threshold for threshold in THRESHOLDS if has_copies]
    evaluation = asyncio.run(evaluate(pages, configured, track(range(options.seeds), "orders", options.seeds)))
    for threshold in track(tried, "thresholds", len(tried)):
        # A related threshold above the threshold is lowered to it.
        thresholds = {"threshold": threshold, "related_threshold": min(preset.related_threshold, threshold)}
        other = replace(configured, preset_options=configured.preset_options | thresholds)
        of_other = asyncio.run(evaluate(pages, other, range(1)))
        f1_by_threshold[threshold] = of_other.scores(truth)["online"][0].f1
    scores = evaluation.scores(truth)
    f1_by_threshold[preset.threshold] = scores["online"][0].f1
    # Without copies nothing can be found, so only the precision is known.
    unknown = {name: None for name in ("recall", "f1", "f1_by_order") if not has_copies}
    errors = sum(page.error is not None for page in pages)
    found = {
        "input": str(options.input),
        "label": options.label,
        "preset": configured.preset,
        "documents": len(labelled),
        "background": len(background),
        "left_out_of_background": len(left_out),
        "without_text": sum(not page.text.strip() and not page.error for page in pages[: len(labelled)]),
        "errors": errors,
        "clusters": len(set(clusters)),
        "orders": options.seeds,
        "protocols": {
            protocol: {**mean(each).rounded(), "f1_by_order": [round(score.f1, 4) for score in each], **unknown}
            for protocol, each in scores.items()
        },
        "present_threshold": preset.threshold,
        "best_threshold": best_threshold(f1_by_threshold, preset.threshold) if has_copies else None,
        "bytes": round(evaluation.bytes),
    }
    if not has_copies:
        what = f"No {options.label} has two documents, so there are no copies to find"
        print_error(f"{what}: only wrong links can be counted.")
    (print_json if options.json else _print)(found)
    return int(errors > 0)


def best_threshold(f1_by_threshold: Mapping[float, float], present: float) -> float:
    """Return the threshold with the best F1; of equally good ones the nearest to the present one."""
    return max(f1_by_threshold, key=lambda threshold: (f1_by_threshold[threshold], -abs(threshold - present)))


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
