"""``scrapy neardup eval``: measure the verdicts on documents that people sorted into clusters."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

from scrapy_neardup.commands import INTERRUPTED
from scrapy_neardup.commands.inputs import add_labelled_input, add_preset, read_labelled_pages
from scrapy_neardup.commands.limits import Limit, add_fail_on, exceeds
from scrapy_neardup.commands.terminal import PlainConsole, counting, print_error, print_json, print_table
from scrapy_neardup.document import counted
from scrapy_neardup.exceptions import SettingsError
from scrapy_neardup.lab.labels import LabelledPages
from scrapy_neardup.lab.protocols import PROTOCOLS, measure
from scrapy_neardup.settings import NearDupSettings
from scrapy_neardup.sketch import PRESETS

_RATES = ("precision", "recall", "F1")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_labelled_input(parser)
    presets = parser.add_mutually_exclusive_group()
    add_preset(presets)
    presets.add_argument("--all-presets", action="store_true", help="all presets, side by side")
    add_fail_on(parser, "precision, recall and f1, of online or of another protocol as in pairwise.precision<0.9")


def run(options: argparse.Namespace, settings: dict[str, Any]) -> int:
    _check_names(options.fail_on)
    names = list(PRESETS) if options.all_presets else [settings.get("NEARDUP_PRESET", "news")]
    # Wrong settings stop the command before the pages are read.
    configured = [NearDupSettings.from_mapping({**settings, "NEARDUP_PRESET": name}) for name in names]
    source = read_labelled_pages(options, configured[0])
    presets: dict[str, Any] = {}
    total = len(configured) * options.seeds * len(source.pages)
    with suppress(KeyboardInterrupt), counting("documents judged", total) as on_judged:
        for each in configured:  # what was measured until Ctrl-C is shown
            measuring = measure(source, each, range(options.seeds), on_judged)
            presets[each.preset] = _without_unmeasured(asyncio.run(measuring), source)
    if len(presets) < len(configured):
        print_error(f"Interrupted: {len(presets)} of {len(configured)} presets were measured.")
        if not presets:
            return INTERRUPTED
    _print_labels_without_copies(source)
    has_failed = exceeds(options.fail_on, _values(options.fail_on, presets)) or source.errors > 0
    status = INTERRUPTED if len(presets) < len(configured) else int(has_failed)
    background = source.background
    if options.json:
        print_json(
            {
                "input": str(options.input),
                "documents": source.labelled,
                "background": background,
                "left_out_of_background": len(source.left_out),
                "without_text": source.without_text,
                "errors": source.errors,
                "clusters": source.cluster_counts,
                "orders": options.seeds,
                "presets": presets,
            }
        )
        return status
    among = f" among {counted(background, 'other')}" if background else ""
    orders = f"mean of {counted(options.seeds, 'order')}"
    title = f"{counted(source.labelled, 'document')}{among}, {orders}"
    _print_rates(title, presets)
    costs = [(preset, *_costs(found)) for preset, found in presets.items()]
    print_table("cost of a document", ("preset", "us sketch", "us check", "bytes"), costs)
    return status


def _check_names(limits: Sequence[Limit]) -> None:
    for limit in limits:
        protocol, _, rate = limit.name.rpartition(".")
        if rate not in map(str.lower, _RATES) or protocol not in ("", *PROTOCOLS):
            allowed = f"must be precision, recall or f1, or one of them after a protocol: {', '.join(PROTOCOLS)}"
            raise SettingsError("--fail-on", limit.name, allowed)


def _values(limits: Sequence[Limit], presets: dict[str, Any]) -> dict[str, dict[str, float | None]]:
    """Return the rates that each limit is about, by preset, label and protocol."""
    values: dict[str, dict[str, float | None]] = {}
    for name in (limit.name for limit in limits):
        wanted, _, rate = name.rpartition(".")
        for preset, found in presets.items():
            for label, scores in found["labels"].items():
                protocol = wanted or PROTOCOLS[0]
                values.setdefault(name, {})[f"{preset}, {label}, {protocol}"] = scores[protocol][rate]
    return values


def _labels_without_copies(source: LabelledPages) -> list[str]:
    """Return the labels of which no cluster has two documents."""
    return [label for label, documents in source.largest_clusters.items() if documents < 2]


def _without_unmeasured(found: dict[str, Any], source: LabelledPages) -> dict[str, Any]:
    """Return what was measured with None for each recall and F1 of a label without copies to find."""
    for label in _labels_without_copies(source):
        for rates in found["labels"][label].values():
            rates.update(recall=None, f1=None, f1_by_order=None)
    return found


def _print_labels_without_copies(source: LabelledPages) -> None:
    for label in _labels_without_copies(source):
        PlainConsole(stderr=True).print_indented(
            f"No {label} has two documents, so there are no copies to find: only wrong links can be counted.", 0
        )


def _shown(score: dict[str, Any]) -> list[str]:
    """Return precision, recall and F1 for a table."""
    rates = (score[name.lower()] for name in _RATES)
    return ["-" if rate is None else f"{rate:.4f}" for rate in rates]


def _print_rates(title: str, presets: dict[str, Any]) -> None:
    """Print a row for each preset, label and protocol."""
    rows: list[tuple[str, ...]] = []
    for preset, found in presets.items():
        for label, scores in found["labels"].items():
            rows += [(preset, label, protocol, *_shown(score)) for protocol, score in scores.items()]
        rows.append(())
    print_table(title, ("preset", "label", "protocol", *_RATES), rows)


def _costs(found: dict[str, Any]) -> Iterator[str]:
    for step in ("sketch", "check"):
        yield f"{found['microseconds'][step]:.0f}"
    yield "" if found["bytes"] is None else str(found["bytes"])
