"""``scrapy neardup eval``: measure the verdicts on documents that people sorted into clusters."""

from __future__ import annotations

import argparse
import asyncio
import operator
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from scrapy_neardup.commands import INTERRUPTED
from scrapy_neardup.commands.inputs import LabelledPages, add_labelled_input, add_preset, read_labelled_pages
from scrapy_neardup.commands.terminal import counting, print_error, print_json, print_table
from scrapy_neardup.lab.protocols import PROTOCOLS, Evaluation, evaluate, mean
from scrapy_neardup.settings import NearDupSettings
from scrapy_neardup.sketch import PRESETS
from scrapy_neardup.wording import counted

_RELATIONS: dict[str, Callable[[float, float], bool]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
}
_LIMIT = re.compile(
    rf"(?:(?P<protocol>{'|'.join(PROTOCOLS)})\.)?(?P<rate>precision|recall|f1)(?P<bound>(<=|>=|<|>)(\d*\.?\d+)(%?))"
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_labelled_input(parser)
    presets = parser.add_mutually_exclusive_group()
    add_preset(presets)
    presets.add_argument("--all-presets", action="store_true", help="all presets, side by side")
    parser.add_argument(
        "--fail-on",
        metavar="LIMIT",
        type=_limits,
        action="extend",
        default=[],
        help="exit with status 1 if a limit is met; separate several by commas; a limit is about precision, recall or"
        " f1 of online, or of another protocol as in pairwise.precision<0.9",
    )


def _limits(text: str) -> list[re.Match[str]]:
    found = [limit for part in text.split(",") if (limit := _LIMIT.fullmatch("".join(part.split())))]
    if len(found) <= text.count(","):
        raise argparse.ArgumentTypeError(f"must be limits such as precision<0.95 or pairwise.f1<90%, not {text!r}")
    return found


def run(options: argparse.Namespace, settings: dict[str, Any]) -> int:
    names = list(PRESETS) if options.all_presets else [settings.get("NEARDUP_PRESET", "news")]
    # Wrong settings stop the command before the pages are read.
    configured = [NearDupSettings.from_mapping({**settings, "NEARDUP_PRESET": name}) for name in names]
    source = read_labelled_pages(options, configured[0])
    presets: dict[str, Any] = {}
    total = len(configured) * options.seeds * len(source.pages)
    with suppress(KeyboardInterrupt), counting("documents judged", total) as on_judged:
        for each in configured:  # what was measured until Ctrl-C is shown
            evaluation = asyncio.run(evaluate(source.pages, each, range(options.seeds), on_judged=on_judged))
            presets[each.preset] = {
                "labels": {options.label: _rates_of(evaluation, source)},
                "bytes": None if evaluation.bytes is None else round(evaluation.bytes),
            }
    if len(presets) < len(configured):
        print_error(f"Interrupted: {len(presets)} of {len(configured)} presets were measured.")
    if not source.has_copies:
        what = f"No {options.label} has two documents, so there are no copies to find"
        print_error(f"{what}: only wrong links can be counted.")
    if options.json:
        print_json(
            {
                "input": str(options.input),
                "documents": source.labelled,
                "background": source.background,
                "left_out_of_background": len(source.left_out),
                "without_text": sum(
                    not page.text.strip() and not page.error for page in source.pages[: source.labelled]
                ),
                "errors": source.errors,
                "clusters": {options.label: source.cluster_count},
                "orders": options.seeds,
                "presets": presets,
            }
        )
    else:
        _print(source, options.seeds, presets)
    if len(presets) < len(configured):
        return INTERRUPTED
    return int(_has_met(options.fail_on, presets) or source.errors > 0)


def _rates_of(evaluation: Evaluation, source: LabelledPages) -> dict[str, Any]:
    """Return the rates by each protocol. Without copies nothing can be found, so only the precision is known."""
    unknown = {} if source.has_copies else {"recall": None, "f1": None, "f1_by_order": None}
    return {
        protocol: {**mean(scores).rounded(), "f1_by_order": [round(score.f1, 4) for score in scores], **unknown}
        for protocol, scores in evaluation.scores(source.clusters).items()
    }


def _has_met(limits: Sequence[re.Match[str]], presets: dict[str, Any]) -> bool:
    """Print each limit that is met. A rate that cannot be measured counts as if its limit were met."""
    has_met = False
    for limit in limits:
        protocol, rate, shown, relation, bound, percent = limit.groups()
        protocol = protocol or PROTOCOLS[0]
        for preset, found in presets.items():
            for label, scores in found["labels"].items():
                value = scores[protocol][rate]
                if value is None or _RELATIONS[relation](value, float(bound) / (100 if percent else 1)):
                    said = "cannot be measured" if value is None else f"is {value:.4g}, {shown}"
                    print_error(f"{preset}, {label}: {protocol}.{rate} {said} (--fail-on)")
                    has_met = True
    return has_met


def _print(source: LabelledPages, orders: int, presets: dict[str, Any]) -> None:
    rows: list[tuple[str, ...]] = []
    for preset, found in presets.items():
        for label, scores in found["labels"].items():
            for protocol, score in scores.items():
                rates = ("-" if score[name] is None else f"{score[name]:.4f}" for name in ("precision", "recall", "f1"))
                rows.append((preset, label, protocol, *rates))
        rows.append(())
    among = f" among {counted(source.background, 'other')}" if source.background else ""
    title = f"{counted(source.labelled, 'document')}{among}, mean of {counted(orders, 'order')}"
    print_table(title, ("preset", "label", "protocol", "precision", "recall", "F1"), rows)
    print_table("", ("preset", "bytes a document"), [(preset, found["bytes"]) for preset, found in presets.items()])
