"""``scrapy neardup report``: write one page that shows what a crawl found."""

import os
import shutil
import sys
from contextlib import ExitStack
from datetime import datetime, tzinfo
from pathlib import Path
from tempfile import TemporaryDirectory

from scrapy_neardup import NearDupSettings
from scrapy_neardup.exceptions import InputError
from scrapy_neardup.text.display import counted
from scrapy_neardup.tools.commands.console import (
    STDOUT,
    Options,
    Values,
    number_from,
    option,
    print_wrapped,
    refuse_overwriting,
    track,
)
from scrapy_neardup.tools.lab.feed import STDIN, shown
from scrapy_neardup.tools.report.feed_stories import Period
from scrapy_neardup.tools.report.gathering import gather
from scrapy_neardup.tools.report.page import MOST_LISTED, Built, build_digest, build_report, load_templates

OPTIONS = (
    option(
        "feeds",
        metavar="FEED",
        type=Path,
        nargs="+",
        help="exported items, output of replay, or an event feed: JSON lines or JSON (plain, .gz, .xz)",
    ),
    option(
        "--documents",
        metavar="INPUT",
        type=Path,
        nargs="+",
        action="extend",
        default=[],
        help="recorded documents with the texts, as for replay",
    ),
    option(
        "--dropped",
        metavar="FILE",
        type=Path,
        nargs="+",
        action="extend",
        default=[],
        help="the NEARDUP_DROPPED_FEED of the crawl",
    ),
    option(
        "--since",
        metavar="WHEN",
        default="",
        help="begin the page with what is new since WHEN, such as 2026-11-26T08:00",
    ),
    option(
        "--digest",
        action="store_true",
        help="write the news of the last 24 hours (or since WHEN) as one e-mail of plain text instead of the page",
    ),
    option(
        "-o",
        dest="output",
        metavar="FILE",
        type=Path,
        help="the file (default: report.html, with --digest standard output)",
    ),
    option(
        "--most",
        metavar="N",
        type=number_from(1),
        default=MOST_LISTED,
        help=f"how many events, and how many stories with changed figures, to list (default: {MOST_LISTED})",
    ),
    option("--title", metavar="TEXT", default="", help="heading of the page, or subject of the e-mail"),
)


def run(options: Options, values: Values) -> int:
    configured = NearDupSettings.from_mapping(values)
    load_templates(configured.zone)
    inputs = [*options.feeds, *options.documents, *options.dropped]
    output = options.output or (STDOUT if options.digest else Path("report.html"))
    refuse_overwriting([output], inputs)
    since = _since(options.since, configured.zone) if options.since else None
    if inputs.count(STDIN) > 1:
        raise InputError("-: standard input can be read only once")
    with ExitStack() as stack:
        feeds, documents, dropped = (
            [_as_file(path, stack) for path in paths] for paths in (options.feeds, options.documents, options.dropped)
        )
        gathered = gather(feeds, configured, documents, dropped, track=lambda rows: track(rows, "items"))
        built = None if options.digest else build_report(gathered, options.title, since, most_listed=options.most)
        data = (
            built.html.encode("utf-8")
            if built
            else build_digest(gathered, options.title, since, most_listed=options.most)
        )
    if output == STDOUT:
        sys.stdout.buffer.write(data)
    else:
        _write(output, data)
        if built is not None:
            _print(output, built, len(data))
    return int(bool(gathered.problems))


def _since(given: str, zone: tzinfo) -> Period:
    try:
        time = datetime.fromisoformat(given.replace("Z", "+00:00"))
        if time.tzinfo is None:
            time = time.replace(tzinfo=zone)
        return Period(f"since {time.astimezone(zone):%Y-%m-%d %H:%M}", time.timestamp())
    except (ValueError, OverflowError) as error:  # the year may be 0 or 10000 in the zone
        raise InputError(f"--since {given}: give a time such as 2026-11-26T08:00") from error


def _as_file(path: Path, stack: ExitStack) -> Path:
    """Return a path that can be read twice: texts are read after everything else."""
    if path != STDIN and (path.is_file() or path.is_dir() or not path.exists()):
        return path
    copy = Path(stack.enter_context(TemporaryDirectory()), Path(shown(path)).name)
    with sys.stdin.buffer if path == STDIN else path.open("rb") as source, copy.open("wb") as target:
        shutil.copyfileobj(source, target)
    return copy


def _write(output: Path, data: bytes) -> None:
    """Write a page. If an old one cannot be replaced by a whole new one, as on a full disk, it stays."""
    path = Path(os.path.realpath(output))
    if path.is_file() and os.access(path, os.W_OK) and os.access(path.parent, os.W_OK):
        with TemporaryDirectory(prefix=".", dir=path.parent) as folder:
            new = Path(folder, path.name)
            new.write_bytes(data)
            shutil.copymode(path, new)
            new.replace(path)
    else:  # a new file, a device, a pipe, or a file that cannot be replaced
        output.write_bytes(data)


def _print(output: Path, built: Built, size: int) -> None:
    print_wrapped(
        f"{output}: {counted(len(built.news['rows']), 'item')},"
        f" {counted(built.news['stories'], 'story', 'stories')} of several items, {counted(built.texts, 'text')},"
        f" {size / 1e6:.1f} MB"
    )
    for note in built.notes:
        print_wrapped(" ".join(filter(None, (note.text, note.remedy))), stderr=True)
        for line in note.details:
            print_wrapped(line, 2, stderr=True)
