"""``scrapy neardup eval``: how right the verdicts are on documents people sorted into clusters."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy_neardup.commands.labelled import add_input_arguments, read_input
from scrapy_neardup.exceptions import SettingsError

if TYPE_CHECKING:
    from scrapy_neardup.commands.labelled import LabelledInput
    from scrapy_neardup.evaluation.alarms import AlarmScore
    from scrapy_neardup.evaluation.pages import Page
    from scrapy_neardup.evaluation.protocols import Evaluation
    from scrapy_neardup.settings import NearDupSettings

_Areas = dict[str, dict[str, float]]
_Alarms = dict[str, dict[str, "AlarmScore"]]
_WIDTH = 150


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_input_arguments(parser)
    presets = parser.add_mutually_exclusive_group()
    presets.add_argument("--preset", metavar="NAME", help="a row of the table of methods")
    presets.add_argument("--all-presets", action="store_true", help="every row of it, side by side")
    parser.add_argument(
        "--corpus", metavar="FILE", type=Path, help="documents whose feature frequencies are learned before"
    )
    parser.add_argument("--roc", action="store_true", help="also the area under the ROC curve over all pairs")
    parser.add_argument(
        "--event-size",
        metavar="N",
        type=int,
        default=30,
        help="documents that make a cluster an event; events are scored where all documents have times (default: 30)",
    )
    parser.add_argument("--seeds", metavar="N", type=int, default=5, help="random orders (default: 5)")


def run(options: argparse.Namespace, settings: dict[str, Any]) -> int:
    from tqdm import tqdm

    from scrapy_neardup.evaluation.protocols import evaluate
    from scrapy_neardup.settings import NearDupSettings
    from scrapy_neardup.sketch import PRESETS

    if options.seeds < 1:
        raise SettingsError("--seeds", options.seeds, "must be 1 or more")
    if options.event_size < 1:
        raise SettingsError("--event-size", options.event_size, "must be 1 or more")
    if options.preset is not None:
        settings["NEARDUP_PRESET"] = options.preset
    names = list(PRESETS) if options.all_presets else [settings.get("NEARDUP_PRESET", "news")]
    # Wrong settings are said before the pages are read.
    configured = [NearDupSettings.from_mapping({**settings, "NEARDUP_PRESET": name}) for name in names]
    source = read_input(options, configured[0])
    corpus = _corpus(options, configured)
    evaluations = [
        asyncio.run(evaluate(source.pages, each, range(options.seeds), corpus=corpus))
        for each in tqdm(configured, unit=" presets", disable=not sys.stderr.isatty())
    ]
    areas = _areas(source, configured, corpus) if options.roc else {}
    alarms = _alarms(source, configured, options.event_size)
    if options.json:
        _print_json(options.input, source, evaluations, areas, alarms)
    else:
        _print_table(source, evaluations, areas)
        _print_alarms(alarms, options.event_size)
    return 1 if source.errors else 0


def _corpus(options: argparse.Namespace, configured: list[NearDupSettings]) -> list[Page]:
    """Read once for all presets that learn from it."""
    from scrapy_neardup.evaluation.corpus import read_corpus

    if options.corpus is None:
        return []
    if not any(each.resolved_preset().learns for each in configured):
        raise SettingsError("--corpus", str(options.corpus), "no preset here learns how frequent features are")
    return list(read_corpus(options.corpus, configured[0], options.workers))


def _areas(source: LabelledInput, configured: list[NearDupSettings], corpus: list[Page]) -> _Areas:
    """Of each preset and label the area under the ROC curve."""
    from scrapy_neardup.evaluation.protocols import sketch_all
    from scrapy_neardup.evaluation.roc import area_under_roc

    areas = {}
    for each in configured:
        preset, prints = sketch_all(source.pages, each, corpus)
        areas[each.preset] = {label: area_under_roc(preset, prints, names) for label, names in source.clusters.items()}
    return areas


def _alarms(source: LabelledInput, configured: list[NearDupSettings], size: int) -> _Alarms:
    """Of each preset and label how rightly events are raised; of none where a document has no time."""
    from scrapy_neardup.evaluation.alarms import raise_alarms, score_alarms

    times = [page.recorded.time for page in source.pages if page.recorded.time is not None]
    if len(times) < len(source.pages):
        return {}
    scores = {}
    for each in configured:
        alarms = asyncio.run(raise_alarms(source.pages, each))
        scores[each.preset] = {
            label: score_alarms(alarms, times, clusters, size) for label, clusters in source.clusters.items()
        }
    return scores


def _print_json(
    path: Path, source: LabelledInput, evaluations: list[Evaluation], areas: _Areas, alarms: _Alarms
) -> None:
    presets = {
        evaluation.preset: {
            "labels": {label: _scores(evaluation, clusters) for label, clusters in source.clusters.items()},
            **({"au_roc": areas[evaluation.preset]} if areas else {}),
            **({"events": _alarm_scores(alarms[evaluation.preset])} if alarms else {}),
            "microseconds": {"sketch": round(evaluation.cost.sketch, 1), "check": round(evaluation.cost.check, 1)},
            "bytes": None if evaluation.cost.bytes is None else round(evaluation.cost.bytes),
            "published": _published(evaluation.preset),
        }
        for evaluation in evaluations
    }
    summary = {
        "input": str(path),
        "documents": source.labelled,
        "background": len(source.pages) - source.labelled,
        "without_text": source.without_text,
        "errors": source.errors,
        "clusters": source.cluster_counts,
        "orders": len(evaluations[0].orders),
        "presets": presets,
    }
    print(json.dumps(summary))


def _scores(evaluation: Evaluation, clusters: list[str | None]) -> dict[str, Any]:
    """Means over the orders, and the F1 of each order."""
    means, single = evaluation.mean_scores(clusters), evaluation.scores(clusters)
    return {
        protocol: {
            "precision": round(score.precision, 4),
            "recall": round(score.recall, 4),
            "f1": round(score.f1, 4),
            "f1_by_order": [round(each.f1, 4) for each in single[protocol]],
        }
        for protocol, score in means.items()
    }


def _alarm_scores(scores: dict[str, AlarmScore]) -> dict[str, Any]:
    return {
        label: {
            "wanted": score.wanted,
            "found": score.found,
            "recall": round(score.recall, 4),
            "delay_minutes": None if score.delay is None else round(score.delay / 60, 1),
            "false_a_day": round(score.false_a_day, 2),
        }
        for label, score in scores.items()
    }


def _published(preset: str) -> str | None:
    from scrapy_neardup.evaluation.published import published_for

    row = published_for(preset)
    return None if row is None else str(row)


def _print_table(source: LabelledInput, evaluations: list[Evaluation], areas: _Areas) -> None:
    from rich.console import Console
    from rich.table import Table

    from scrapy_neardup.evaluation.published import PUBLISHED

    orders = len(evaluations[0].orders)
    background = len(source.pages) - source.labelled
    title = f"{source.labelled} documents" + (f" among {background} others" if background else "")
    table = Table(title=f"{title}, mean of {orders} order{'s' if orders > 1 else ''}")
    for name in ("preset", "label", "protocol"):
        table.add_column(name, no_wrap=True)
    for name in ("precision", "recall", "F1", "us sketch", "us check", "bytes", *(["AU-ROC"] if areas else [])):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("published")
    for evaluation in evaluations:
        cost = evaluation.cost
        memory = "" if cost.bytes is None else f"{cost.bytes:.0f}"
        about = [f"{cost.sketch:.0f}", f"{cost.check:.0f}", memory]
        published = _published(evaluation.preset) or ""
        for label, clusters in source.clusters.items():
            area = [f"{areas[evaluation.preset][label]:.4f}"] if areas else []
            for protocol, score in evaluation.mean_scores(clusters).items():
                rates = (f"{rate:.4f}" for rate in (score.precision, score.recall, score.f1))
                table.add_row(evaluation.preset, label, protocol, *rates, *about, *area, published)
                about, area, published = [""] * len(about), [""] * len(area), ""
        table.add_section()
    if len(evaluations) > 1:
        for row in PUBLISHED:
            if row.preset is None:
                table.add_row(row.system, *[""] * (len(table.columns) - 2), str(row))
    # Where nobody looks at it the table is as wide as it likes.
    Console(width=None if sys.stdout.isatty() else _WIDTH).print(table)


def _print_alarms(alarms: _Alarms, size: int) -> None:
    from rich.console import Console
    from rich.table import Table

    if not alarms:
        return
    table = Table(title=f"events: clusters of {size} documents and more, at the documents' own times")
    for name in ("preset", "label"):
        table.add_column(name, no_wrap=True)
    for name in ("found", "recall", "median delay", "false alarms a day"):
        table.add_column(name, justify="right", no_wrap=True)
    for preset, scores in alarms.items():
        for label, score in scores.items():
            delay = "-" if score.delay is None else f"{score.delay / 60:.0f} min"
            found = f"{score.found} of {score.wanted}"
            recall = f"{score.recall:.4f}" if score.wanted else "-"
            table.add_row(preset, label, found, recall, delay, f"{score.false_a_day:.2f}")
    Console(width=None if sys.stdout.isatty() else _WIDTH).print(table)
