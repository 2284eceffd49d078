"""``scrapy neardup eval``: measure the verdicts on documents that people sorted into clusters."""

from __future__ import annotations

import argparse
import asyncio
import re
from collections.abc import Mapping, Sequence
from typing import Any

from scrapy_neardup.commands.inputs import add_labelled_input, read_labelled_pages
from scrapy_neardup.commands.terminal import counting, print_error, print_json, print_table
from scrapy_neardup.lab.protocols import PROTOCOLS, Score, evaluate, mean
from scrapy_neardup.settings import NearDupSettings
from scrapy_neardup.wording import counted

_LIMIT = re.compile(rf"(?:({'|'.join(PROTOCOLS)})\.)?(precision|recall|f1)<(\d*\.?\d+)")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_labelled_input(parser)
    parser.add_argument(
        "--fail-on",
        metavar="LIMIT",
        type=_limits,
        action="extend",
        default=[],
        help="exit with status 1 if a rate is below a limit, such as precision<0.95 (of the protocol online), or"
        " pairwise.f1<0.9 (of another protocol). Separate limits by commas",
    )


def _limits(text: str) -> list[re.Match[str]]:
    found = [limit for part in text.split(",") if (limit := _LIMIT.fullmatch("".join(part.split())))]
    if len(found) <= text.count(","):
        raise argparse.ArgumentTypeError(f"must be limits such as precision<0.95 or pairwise.f1<0.9, not {text!r}")
    return found


def run(options: argparse.Namespace, settings: dict[str, Any]) -> int:
    configured = NearDupSettings.from_mapping(settings)
    source = read_labelled_pages(options, configured)
    with counting("documents judged", options.seeds * len(source.pages)) as on_judged:
        evaluation = asyncio.run(evaluate(source.pages, configured, range(options.seeds), on_judged=on_judged))
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
        "bytes": None if evaluation.bytes is None else round(evaluation.bytes),
    }
    if not source.has_copies:
        what = f"No {options.label} has two documents, so there are no copies to find"
        print_error(f"{what}: only wrong links can be counted.")
    (print_json if options.json else _print)(found)
    return int(_has_met(options.fail_on, protocols) or source.errors > 0)


def _rates(found: Mapping[str, Sequence[Score]], *, has_copies: bool) -> dict[str, dict[str, Any]]:
    """Return the mean rates by protocol. Without copies nothing can be found, so only the precision is known."""
    unknown = {} if has_copies else {"recall": None, "f1": None, "f1_by_order": None}
    return {
        protocol: {**mean(scores).rounded(), "f1_by_order": [round(score.f1, 4) for score in scores], **unknown}
        for protocol, scores in found.items()
    }


def _has_met(limits: Sequence[re.Match[str]], protocols: dict[str, dict[str, Any]]) -> bool:
    """Print each limit that is met. A rate that cannot be measured counts as if its limit were met."""
    has_met = False
    for limit in limits:
        protocol, rate, bound = limit.groups()
        value = protocols[protocol or PROTOCOLS[0]][rate]
        if value is None or value < float(bound):
            said = "cannot be measured" if value is None else f"is {value:.4g}, <{bound}"
            print_error(f"{protocol or PROTOCOLS[0]}.{rate} {said} (--fail-on)")
            has_met = True
    return has_met


def _print(found: dict[str, Any]) -> None:
    rows = []
    for protocol, score in found["protocols"].items():
        rates = ("-" if score[name] is None else f"{score[name]:.4f}" for name in ("precision", "recall", "f1"))
        rows.append((protocol, *rates))
    among = f" among {counted(found['background'], 'other')}" if found["background"] else ""
    title = f"{counted(found['documents'], 'document')}{among}, mean of {counted(found['orders'], 'order')}"
    print_table(title, ("protocol", "precision", "recall", "F1"), rows)
    print(f"{found['bytes']} bytes a document, preset {found['preset']}")
