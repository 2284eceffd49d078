"""``scrapy neardup purge``: remove a namespace, or the documents of one source or page."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from scrapy_neardup.commands.inputs import add_store, explain_emptiness, live_detector
from scrapy_neardup.commands.terminal import print_error
from scrapy_neardup.detector import NearDupDetector, select
from scrapy_neardup.exceptions import InputError
from scrapy_neardup.index.upkeep import Selection
from scrapy_neardup.wording import counted, printable


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_store(parser)
    which = parser.add_mutually_exclusive_group()
    of_source, of_page = "only documents of this publisher, and their copies", "only this page, and its copies"
    which.add_argument("--source", metavar="DOMAIN", help=of_source)
    which.add_argument("--url", metavar="URL", help=of_page)
    parser.add_argument("--yes", action="store_true", help="do not ask")


async def run(options: argparse.Namespace, settings: dict[str, Any]) -> int:
    # An unset variable of a shell must not mean the whole namespace.
    if any(each is not None and not each.strip() for each in (options.source, options.url)):
        raise InputError("--source or --url: it is empty; leave it out to remove the whole namespace")
    try:
        selection = select(options.source or "", options.url or "")
    except ValueError as error:
        raise InputError(str(error)) from error
    if not await _purge(selection, options, settings):
        print("Nothing was removed.")
        return 1
    if not selection.is_all:
        chosen = options.source or options.url
        print_error(f"Feeds may hold documents of {chosen} too: docs/howto/purge.md says which, and how to clean them.")
    return 0


async def _purge(selection: Selection, options: argparse.Namespace, settings: dict[str, Any]) -> bool:
    """Remove documents, if there are any. Return False if the user did not want that."""
    chosen = selection.source or options.url
    async with live_detector(options, settings) as detector:
        count = await detector.index.purge(selection, dry_run=True)
        if not count:
            await explain_emptiness(detector)
        if chosen and not count:
            print(printable(f"Nothing to remove: the window has no document of {chosen}."))
            return True
        if not (options.yes or await _agrees(detector, chosen, count)):
            return False
        print(f"Removed {counted(await detector.index.purge(selection), 'document')}.")
        return True


async def _agrees(detector: NearDupDetector, chosen: str, count: int) -> bool:
    """Ask whether to remove all this."""
    summary = await detector.summary()
    what = f"{counted(count, 'document')} of {chosen}, with copies elsewhere"
    if not chosen:
        what = f"{counted(count, 'document')}, all stories and events, and all learned text"
    # Ask on standard error, so that a script that reads standard output gets only the result.
    question = f"Remove from namespace {summary.namespace!r} in {summary.location}: {what}?"
    print(f"{printable(question)} [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")
