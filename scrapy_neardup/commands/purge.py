"""``scrapy neardup purge``: remove a namespace, or the documents of one source or page."""

from __future__ import annotations

import argparse
import sqlite3
import sys
from pathlib import Path
from typing import Any

from scrapy_neardup.commands.inputs import add_store, explain_emptiness, live_detector
from scrapy_neardup.commands.terminal import print_error
from scrapy_neardup.crawl.file_locations import in_data_dir, locate_files
from scrapy_neardup.detector import NearDupDetector, select
from scrapy_neardup.exceptions import InputError
from scrapy_neardup.index.upkeep import Selection
from scrapy_neardup.settings import NearDupSettings
from scrapy_neardup.stories.outbox import remove_events
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
    located = locate_files(NearDupSettings.from_mapping(settings), settings)
    folder = in_data_dir(located, "neardup-events")
    # Only the project's own window has its events in the data directory.
    outbox = None if selection.is_all or options.store or options.namespace else folder
    if not await _purge(selection, outbox, options, settings):
        print("Nothing was removed.")
        return 1
    if not selection.is_all:
        chosen = options.source or options.url
        print_error(f"Feeds may hold documents of {chosen} too: docs/howto/purge.md says which, and how to clean them.")
        if outbox is None:
            print_error(f"Events that wait in {folder} stay: to remove them, leave out --store and --namespace.")
    return 0


async def _purge(
    selection: Selection, outbox: str | None, options: argparse.Namespace, settings: dict[str, Any]
) -> bool:
    """Remove documents and events that wait, if there are any. Return False if the user did not want that."""
    chosen = selection.source or options.url
    async with live_detector(options, settings) as detector:
        count = await detector.index.purge(selection, dry_run=True)
        events = _remove_events(outbox, selection, dry_run=True)
        if not count:
            await explain_emptiness(detector)
        if chosen and not count and not events:
            print(printable(f"Nothing to remove: the window has no document of {chosen}."))
            return True
        if not (options.yes or await _agrees(detector, chosen, count, events)):
            return False
        print(f"Removed {counted(await detector.index.purge(selection), 'document')}.")
        if events:
            print(f"Removed {counted(_remove_events(outbox, selection), 'event')} that waited for a receiver.")
        return True


async def _agrees(detector: NearDupDetector, chosen: str, count: int, events: int) -> bool:
    """Ask whether to remove all this."""
    summary = await detector.summary()
    what = f"{counted(count, 'document')} and {counted(events, 'waiting event')} of {chosen}, with copies elsewhere"
    if not chosen:
        what = f"{counted(count, 'document')}, all stories and events, and all learned text"
    # Ask on standard error, so that a script that reads standard output gets only the result.
    question = f"Remove from namespace {summary.namespace!r} in {summary.location}: {what}?"
    print(f"{printable(question)} [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _remove_events(outbox: str | None, selection: Selection, *, dry_run: bool = False) -> int:
    """Remove the events that name the source or page, for all receivers. Return their number."""
    removed = 0
    for path in Path(outbox).glob("*.sqlite") if outbox is not None else ():
        try:
            removed += remove_events(path, selection.takes_name, dry_run=dry_run)
        except (OSError, sqlite3.Error) as error:  # noqa: PERF203
            raise InputError(f"{path}: the events cannot be read or removed: {error}") from error
    return removed
