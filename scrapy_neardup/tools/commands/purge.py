"""``scrapy neardup purge``: remove a namespace, or the documents of one source or page."""

import sys

from scrapy_neardup import NearDupDetector
from scrapy_neardup.detector import select
from scrapy_neardup.exceptions import InputError
from scrapy_neardup.text.display import counted, printable
from scrapy_neardup.tools.commands.console import (
    NAMESPACE,
    STORE,
    Options,
    Values,
    explain_emptiness,
    live_detector,
    option,
    print_error,
)

OPTIONS = (
    STORE,
    NAMESPACE,
    option("--source", metavar="DOMAIN", help="only documents of this publisher, and their copies"),
    option("--url", metavar="URL", help="only this page, and its copies"),
    option("--yes", action="store_true", help="do not ask"),
)


async def run(options: Options, values: Values) -> int:
    # An unset variable of a shell must not mean the whole namespace.
    if any(each is not None and not each.strip() for each in (options.source, options.url)):
        raise InputError("--source or --url: it is empty; leave it out to remove the whole namespace")
    if options.source and options.url:
        raise InputError("--source and --url: give one of them")
    try:
        selection = select(options.source or "", options.url or "")
    except ValueError as error:
        raise InputError(str(error)) from error
    chosen = selection.source or options.url or ""
    async with live_detector(options, values) as detector:
        count = await detector.index.purge(selection, dry_run=True)
        if not count:
            await explain_emptiness(detector)
        if count and not options.yes and not await _agrees(detector, chosen, count):
            print("Nothing was removed.")
            return 1
        print(f"Removed {counted(await detector.index.purge(selection), 'document')}.")
    if chosen and not count:
        print_error(
            f"The window has no document of {chosen}. Check the spelling. Documents that have left the window are in"
            " feeds only: see docs/howto/purge.md."
        )
    elif chosen:
        print_error(f"Feeds may hold documents of {chosen} too: docs/howto/purge.md says which, and how to clean them.")
    return 0


async def _agrees(detector: NearDupDetector, chosen: str, count: int) -> bool:
    summary = await detector.index.summary()
    what = f"{counted(count, 'document')}, all stories and events, and all learned text"
    if chosen:
        what = f"{counted(count, 'document')}: those of {chosen}, and their copies elsewhere"
    # Ask on standard error, so that a script that reads standard output gets only the result.
    question = f"Remove from namespace {summary.namespace!r} in {summary.location}: {what}?"
    print(f"{printable(question)} [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")
