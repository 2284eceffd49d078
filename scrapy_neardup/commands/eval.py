"""``scrapy neardup eval``: measure the verdicts on documents that people sorted into clusters."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy_neardup.commands.labelled import add_input_arguments, read_input
from scrapy_neardup.commands.terminal import make_console
from scrapy_neardup.exceptions import SettingsError

if TYPE_CHECKING:
    from rich.table import Table as RichTable

    from scrapy_neardup.commands.labelled import LabelledInput
    from scrapy_neardup.evaluation.alarms import AlarmScore
    from scrapy_neardup.evaluation.all_pairs import AllPairs
    from scrapy_neardup.evaluation.metrics import Score
    from scrapy_neardup.evaluation.pages import Page
    from scrapy_neardup.evaluation.protocols import Evaluation, Originals
    from scrapy_neardup.settings import NearDupSettings

_Pairs = dict[str, dict[str, "AllPairs"]]
_Alarms = dict[str, dict[str, "AlarmScore"]]
_WIDTH = 150


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_input_arguments(parser)
    presets = parser.add_mutually_exclusive_group()
    presets.add_argument("--preset", metavar="NAME", help="a row of the table of methods")
    presets.add_argument("--all-presets", action="store_true", help="every row of the table, side by side")
    parser.add_argument(
        "--corpus", metavar="FILE", type=Path, help="documents whose feature frequencies are learned first"
    )
    parser.add_argument(
        "--protocol",
        metavar="NAME",
        action="append",
        help="how answers are counted, several with commas, or all (default: online, originals, pairwise and b-cubed;"
        " all with --all-presets)",
    )
    parser.add_argument("--roc", action="store_true", help="also the area under the ROC curve over all pairs")
    parser.add_argument(
        "--event-size",
        metavar="N",
        type=int,
        default=30,
        help="documents that make a cluster an event; events are scored if all documents have times (default: 30)",
    )
    parser.add_argument("--seeds", metavar="N", type=int, default=5, help="random orders (default: 5)")


def run(options: argparse.Namespace, settings: dict[str, Any]) -> int:
    from tqdm import tqdm

    from scrapy_neardup.evaluation.protocols import ALL_PAIRS_PROTOCOLS, ORIGINAL_FIRST_PROTOCOLS, evaluate
    from scrapy_neardup.settings import NearDupSettings
    from scrapy_neardup.sketch import PRESETS

    if options.seeds < 1:
        raise SettingsError("--seeds", options.seeds, "must be 1 or more")
    if options.event_size < 1:
        raise SettingsError("--event-size", options.event_size, "must be 1 or more")
    protocols = _protocols(options)
    names = list(PRESETS) if options.all_presets else [settings.get("NEARDUP_PRESET", "news")]
    # Wrong settings stop the command before the pages are read.
    configured = [NearDupSettings.from_mapping({**settings, "NEARDUP_PRESET": name}) for name in names]
    source = read_input(options, configured[0])
    corpus = _corpus(options, configured)
    originals = _originals(source) if protocols.intersection(ORIGINAL_FIRST_PROTOCOLS) else None
    evaluations = [
        asyncio.run(evaluate(source.pages, each, range(options.seeds), corpus=corpus, originals=originals))
        for each in tqdm(configured, unit=" presets", disable=not sys.stderr.isatty())
    ]
    wants_pairs = options.roc or protocols.intersection(ALL_PAIRS_PROTOCOLS)
    pairs = _all_pairs(source, configured, corpus) if wants_pairs else {}
    alarms = _alarms(source, configured, options.event_size)
    if options.json:
        _print_json(options.input, source, evaluations, protocols, pairs, alarms)
    else:
        _print_table(source, evaluations, protocols, pairs)
        if options.all_presets:
            _print_published()
        _print_alarms(alarms, options.event_size)
    return 1 if source.errors else 0


def _corpus(options: argparse.Namespace, configured: list[NearDupSettings]) -> list[Page]:
    """Read the corpus once for all presets that learn from it."""
    from scrapy_neardup.evaluation.corpus import read_corpus

    if options.corpus is None:
        return []
    if not any(each.resolved_preset().learns for each in configured):
        raise SettingsError("--corpus", str(options.corpus), "none of these presets learns how frequent features are")
    return list(read_corpus(options.corpus, configured[0], options.workers))


def _protocols(options: argparse.Namespace) -> frozenset[str]:
    """Return the protocols asked for. Raise SettingsError if one of them does not exist."""
    from scrapy_neardup.evaluation.protocols import EVERY_PROTOCOL, PROTOCOLS

    if not options.protocol:
        return frozenset(EVERY_PROTOCOL if options.all_presets else PROTOCOLS)
    given = [name.strip() for name in ",".join(options.protocol).split(",")]
    if "all" in given:
        return frozenset(EVERY_PROTOCOL)
    for name in given:
        if name not in EVERY_PROTOCOL:
            raise SettingsError("--protocol", name, f"must be one of {', '.join(EVERY_PROTOCOL)}, or all")
    return frozenset(given)


def _originals(source: LabelledInput) -> Originals:
    """Return the originals of the finest label; those of coarser ones begin with one of them."""
    from scrapy_neardup.evaluation.protocols import Originals

    finest = max(source.cluster_counts, key=lambda label: source.cluster_counts[label])
    return Originals.of(source.pages, source.clusters[finest])


def _all_pairs(source: LabelledInput, configured: list[NearDupSettings], corpus: list[Page]) -> _Pairs:
    """Score all pairs for each preset and label."""
    from scrapy_neardup.evaluation.all_pairs import score_all_pairs
    from scrapy_neardup.evaluation.protocols import sketch_all

    scored = {}
    for each in configured:
        preset, prints = sketch_all(source.pages, each, corpus)
        scored[each.preset] = score_all_pairs(preset, prints, source.clusters)
    return scored


def _alarms(source: LabelledInput, configured: list[NearDupSettings], size: int) -> _Alarms:
    """Score the events of each preset and label. Return nothing if a document has no time."""
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
    path: Path,
    source: LabelledInput,
    evaluations: list[Evaluation],
    protocols: frozenset[str],
    pairs: _Pairs,
    alarms: _Alarms,
) -> None:
    presets: dict[str, Any] = {}
    for evaluation in evaluations:
        of_labels = pairs.get(evaluation.preset, {})
        scores = {
            label: _scores(evaluation, clusters, protocols, of_labels.get(label))
            for label, clusters in source.clusters.items()
        }
        presets[evaluation.preset] = {
            "labels": scores,
            **({"au_roc": {label: each.area_under_roc for label, each in of_labels.items()}} if of_labels else {}),
            **({"events": _alarm_scores(alarms[evaluation.preset])} if alarms else {}),
            "microseconds": {"sketch": round(evaluation.cost.sketch, 1), "check": round(evaluation.cost.check, 1)},
            "bytes": None if evaluation.cost.bytes is None else round(evaluation.cost.bytes),
            "published": _published(evaluation.preset),
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


def _means(
    evaluation: Evaluation, clusters: list[str | None], protocols: frozenset[str], pairs: AllPairs | None
) -> dict[str, Score]:
    """Return the mean of each protocol asked for, in the order they are documented in."""
    from scrapy_neardup.evaluation.protocols import EVERY_PROTOCOL

    found = {**evaluation.mean_scores(clusters), **(pairs.scores() if pairs else {})}
    return {protocol: found[protocol] for protocol in EVERY_PROTOCOL if protocol in protocols and protocol in found}


def _scores(
    evaluation: Evaluation, clusters: list[str | None], protocols: frozenset[str], pairs: AllPairs | None
) -> dict[str, Any]:
    """Return the means over the orders, and the F1 of each order. All pairs have no order."""
    single = evaluation.scores(clusters)
    return {
        protocol: {
            "precision": round(score.precision, 4),
            "recall": round(score.recall, 4),
            "f1": round(score.f1, 4),
            **({"f1_by_order": [round(each.f1, 4) for each in single[protocol]]} if protocol in single else {}),
        }
        for protocol, score in _means(evaluation, clusters, protocols, pairs).items()
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


def _published(preset: str) -> list[dict[str, Any]]:
    from scrapy_neardup.evaluation.published import published_for

    return [asdict(row) for row in published_for(preset)]


def _print_table(
    source: LabelledInput, evaluations: list[Evaluation], protocols: frozenset[str], pairs: _Pairs
) -> None:
    from rich.table import Table

    orders = len(evaluations[0].orders)
    background = len(source.pages) - source.labelled
    title = f"{source.labelled} documents" + (f" among {background} others" if background else "")
    table = Table(title=f"{title}, mean of {orders} order{'s' if orders > 1 else ''}")
    for name in ("preset", "label", "protocol"):
        table.add_column(name, no_wrap=True)
    for name in ("precision", "recall", "F1", "us sketch", "us check", "bytes", *(["AU-ROC"] if pairs else [])):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("published by this protocol")
    for evaluation in evaluations:
        cost = evaluation.cost
        memory = "" if cost.bytes is None else f"{cost.bytes:.0f}"
        about = [f"{cost.sketch:.0f}", f"{cost.check:.0f}", memory]
        for label, clusters in source.clusters.items():
            of_label = pairs[evaluation.preset][label] if pairs else None
            area = [f"{of_label.area_under_roc:.4f}"] if of_label else []
            for protocol, score in _means(evaluation, clusters, protocols, of_label).items():
                rates = (f"{rate:.4f}" for rate in (score.precision, score.recall, score.f1))
                published = _published_by(evaluation.preset, protocol)
                table.add_row(evaluation.preset, label, protocol, *rates, *about, *area, published)
                about, area = [""] * len(about), [""] * len(area)
        table.add_section()
    _print_wide(table)


def _published_by(preset: str, protocol: str) -> str:
    from scrapy_neardup.evaluation.published import published_for

    return "; ".join(str(row) for row in published_for(preset) if row.ours == protocol)


def _print_published() -> None:
    from rich.table import Table

    from scrapy_neardup.evaluation.published import PUBLISHED

    table = Table(title="published figures")
    for name in ("system", "preset"):
        table.add_column(name)
    for name in ("precision", "recall", "F1"):
        table.add_column(name, justify="right", no_wrap=True)
    for name in ("data", "protocol", "same as", "reported in"):
        table.add_column(name)
    for row in PUBLISHED:
        rates = ("" if rate is None else f"{rate:g}" for rate in (row.precision, row.recall, row.f1))
        table.add_row(row.system, row.preset or "", *rates, row.data, row.protocol, row.ours, row.reported_in)
    _print_wide(table)


def _print_wide(table: RichTable) -> None:
    """Print a table, in its full width unless it goes to a terminal."""
    make_console(width=None if sys.stdout.isatty() else _WIDTH).print(table)


def _print_alarms(alarms: _Alarms, size: int) -> None:
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
    _print_wide(table)
