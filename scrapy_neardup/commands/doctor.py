"""``scrapy neardup doctor``: check everything around a crawl, and say how to mend it."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

from scrapy.exceptions import UsageError
from scrapy.settings import Settings
from scrapy.utils.project import inside_project

from scrapy_neardup.addon import checked_settings
from scrapy_neardup.commands.inputs import add_json, add_store
from scrapy_neardup.commands.terminal import print_json, print_wrapped, working
from scrapy_neardup.crawl.checkup import Finding, check_up
from scrapy_neardup.crawl.file_locations import locate_files

_MARKS = {"ok": "ok", "warning": "WARNING", "failed": "FAILED"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_store(parser)
    parser.add_argument("--no-events", action="store_true", help="send no test event to the webhook and the stream")
    add_json(parser, "one JSON object a check")


def run(options: argparse.Namespace, settings: dict[str, Any]) -> int:
    given = {"NEARDUP_STORE": options.store, "NEARDUP_NAMESPACE": options.namespace}
    values = {**settings, **{name: each for name, each in given.items() if each}}
    findings = _find(values, send_events=not options.no_events, store=options.store)
    if options.json:
        for finding in findings:
            print_json(asdict(finding))
    else:
        _print(findings)
    return 1 if any(finding.state == "failed" for finding in findings) else 0


def _print(findings: Sequence[Finding]) -> None:
    """Print each finding, and below it how to mend it. Lines break between words, so that a path stays whole."""
    width = max(len(finding.check) for finding in findings)
    for finding in findings:
        lines = [f"{_MARKS[finding.state]:<7}  {finding.check:<{width}}  {finding.found}"]
        if finding.state != "ok":
            lines.append(f"{'':<{width + 11}}-> {finding.mend}")
        for line in lines:
            print_wrapped(line, indent=width + 11)


def _find(values: dict[str, Any], *, send_events: bool, store: str | None) -> list[Finding]:
    try:
        settings = checked_settings(Settings(values))
    except UsageError as error:
        return [Finding("settings", "failed", str(error), "change this setting")]
    chosen = f"preset {settings.preset}, action {settings.action}, namespace {settings.namespace}"
    first = [Finding("settings", "ok", chosen)]
    if inside_project() and not _is_wired(values):
        mend = 'add ADDONS = {"scrapy_neardup.Addon": 500} to settings.py'
        first.append(Finding("add-on", "warning", "these settings do not turn the plugin on", mend))
    located = locate_files(settings, values)
    if store:  # a path on the command line is relative to the current directory
        located = replace(located, store=store)
    with working("checking"):
        return [*first, *asyncio.run(check_up(located, send_events=send_events))]


def _is_wired(values: dict[str, Any]) -> bool:
    components = [*values.get("ADDONS", ()), *values.get("ITEM_PIPELINES", ())]
    names = [each if isinstance(each, str) else f"{each.__module__}.{each.__qualname__}" for each in components]
    return any(name.startswith("scrapy_neardup.") for name in names)
