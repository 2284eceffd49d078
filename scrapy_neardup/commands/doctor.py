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
from scrapy_neardup.commands.checkup import Finding, check_add_on, check_up, left_out
from scrapy_neardup.commands.inputs import add_json, add_store
from scrapy_neardup.commands.terminal import print_json, print_wrapped, working
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
        print_wrapped(f"{_MARKS[finding.state]:<7}  {finding.check:<{width}}  {finding.found}", indent=width + 11)
        if finding.state != "ok":
            print_wrapped(f"{'':<{width + 11}}-> {finding.mend}", indent=width + 11)


def _find(values: dict[str, Any], *, send_events: bool, store: str | None) -> list[Finding]:
    scrapy_settings = Settings(values)
    try:
        settings = checked_settings(scrapy_settings)
    except UsageError as error:
        wrong = Finding("settings", "failed", str(error), "change this setting")
        return [wrong, check_add_on(scrapy_settings, in_project=inside_project()), left_out()]
    chosen = f"preset {settings.preset}, action {settings.action}, namespace {settings.namespace}"
    add_on = check_add_on(scrapy_settings, in_project=inside_project(), enabled=settings.enabled)
    first = [Finding("settings", "ok", chosen), add_on]
    located = locate_files(settings, values)
    if store:  # a path on the command line is relative to the current directory
        located = replace(located, store=store)
    with working("checking"):
        return [*first, *asyncio.run(check_up(located, send_events=send_events))]
