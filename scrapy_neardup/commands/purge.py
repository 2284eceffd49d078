"""``scrapy neardup purge``: remove a namespace, or the documents of one source or page."""

from __future__ import annotations

import argparse
import glob
import re
import sqlite3
import sys
from pathlib import Path
from typing import Any

from scrapy.settings import Settings

from scrapy_neardup.commands.inputs import add_store, explain_emptiness, live_detector
from scrapy_neardup.commands.terminal import print_error
from scrapy_neardup.crawl.file_locations import in_data_dir, locate_files
from scrapy_neardup.detector import NearDupDetector, select
from scrapy_neardup.exceptions import InputError
from scrapy_neardup.index.upkeep import Selection
from scrapy_neardup.lab.stored import copies_elsewhere
from scrapy_neardup.settings import DEFAULT_DROPPED_FEED, NearDupSettings
from scrapy_neardup.stories.outbox import remove_events
from scrapy_neardup.wording import counted, printable, without_password

_MOST_FILES = 10  # of one feed that are named, the newest


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
        _name_other_places(located, settings, options.source or options.url)
        if outbox is None:
            print_error(f"  {folder} (events that wait: leave out --store, --namespace)")
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
        if not (options.yes or await _agrees(detector, selection, chosen, count, events)):
            return False
        print(f"Removed {counted(await detector.index.purge(selection), 'document')}.")
        if events:
            print(f"Removed {counted(_remove_events(outbox, selection), 'event')} that waited for a receiver.")
        return True


async def _agrees(detector: NearDupDetector, selection: Selection, chosen: str, count: int, events: int) -> bool:
    """Ask whether to remove all this."""
    summary = await detector.summary()
    what = await _what_goes(detector, selection, chosen, count, events)
    # Ask on standard error, so that a script that reads standard output gets only the result.
    question = f"Remove from namespace {summary.namespace!r} in {summary.location}: {what}?"
    print(f"{printable(question)} [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


async def _what_goes(detector: NearDupDetector, selection: Selection, chosen: str, count: int, events: int) -> str:
    """Name everything that is removed, for the question."""
    if selection.is_all:
        return f"{counted(count, 'document')}, all stories and events, and all learned text"
    copies = copies_elsewhere(await detector.index.records(), selection)
    parts = [
        f"{counted(count - copies, 'document')} of {chosen}",
        f"{counted(copies, 'copy', 'copies')} elsewhere" if copies else "",
        counted(events, "waiting event") if events else "",
        "the text learned of this source" if selection.source else "",
    ]
    *others, last = filter(None, parts)
    return f"{', '.join(others)} and {last}" if others else last


def _remove_events(outbox: str | None, selection: Selection, *, dry_run: bool = False) -> int:
    """Remove the events that name the source or page, for all receivers. Return their number."""
    removed = 0
    for path in Path(outbox).glob("*.sqlite") if outbox is not None else ():
        try:
            removed += remove_events(path, selection.takes_name, dry_run=dry_run)
        except (OSError, sqlite3.Error) as error:  # noqa: PERF203
            raise InputError(f"{path}: the events cannot be read or removed: {error}") from error
    return removed


def _name_other_places(settings: NearDupSettings, values: dict[str, Any], chosen: str) -> None:
    """Name, on standard error, the feeds that may hold documents and that this command does not change."""
    print_error(f"Not changed, and may hold documents of {chosen} too (docs/howto/purge.md shows how to clean them):")
    places = [(file, "FEEDS") for uri in Settings(values).getdict("FEEDS") for file in _files_of(str(uri))]
    for name, uri in settings.feeds().items():
        uri = in_data_dir(settings, uri) if uri == DEFAULT_DROPPED_FEED else uri
        places += [(file, name) for file in _files_of(uri)]
    for place, name in places:
        print_error(f"  {place} ({name})")
    print_error("  feeds that were given to a crawl with -o or -O")


def _files_of(uri: str) -> list[str]:
    """Return the newest files of a feed, or its uri if it is no local one."""
    if "://" in uri.removeprefix("file://") or uri.startswith("stdout:"):
        return [without_password(uri)]
    pattern = re.sub(r"%\(\w+\)[-+ #0]*\d*[a-z]", "*", glob.escape(uri.removeprefix("file://")))
    return sorted(glob.glob(pattern))[-_MOST_FILES:]
