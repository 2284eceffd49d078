"""``scrapy neardup purge``: remove a namespace, or the documents of one source or page."""

from __future__ import annotations

import argparse
import asyncio
import sys
from typing import Any

from scrapy_neardup.commands.inputs import add_store, explain_emptiness, live_detector
from scrapy_neardup.document import counted, printable
from scrapy_neardup.exceptions import InputError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_store(parser)
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--source", metavar="DOMAIN", default="", help="only documents of this publisher")
    which.add_argument("--url", metavar="URL", default="", help="only documents of this page")
    parser.add_argument("--yes", action="store_true", help="do not ask")


def run(options: argparse.Namespace, settings: dict[str, Any]) -> int:
    return asyncio.run(_purge(options, settings))


async def _purge(options: argparse.Namespace, values: dict[str, Any]) -> int:
    what = {"source": options.source, "url": options.url}
    async with live_detector(options, values, reads_only=False) as detector:
        try:
            count = await detector.purge(**what, dry_run=True)
        except ValueError as error:
            raise InputError(str(error)) from error
        if not count:
            await explain_emptiness(detector)
        if not count and (options.source or options.url):
            print(f"Nothing to remove: the window has no document of {printable(options.source or options.url)}.")
            return 0
        summary = await detector.summary()
        chosen = options.source or options.url or "and all stories"
        question = (
            f"Remove {counted(count, 'document')} ({chosen}) of namespace {summary.namespace!r} in {summary.location}?"
        )
        if not options.yes:
            # Ask on standard error, so that a script that reads standard output gets only the result.
            print(f"{question} [y/N] ", end="", file=sys.stderr, flush=True)
            if sys.stdin.readline().strip().lower() not in ("y", "yes"):
                print("Nothing was removed.")
                return 1
        print(f"Removed {counted(await detector.purge(**what), 'document')}.")
    return 0
