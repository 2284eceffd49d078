"""``scrapy neardup replay``: run recorded documents through the detector."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from scrapy_neardup.commands.terminal import escaped, make_console, printable
from scrapy_neardup.document import LEVELS, STATUSES
from scrapy_neardup.exceptions import InputError, SettingsError
from scrapy_neardup.index import REDIS_SCHEMES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.table import Table as RichTable
    from tqdm import tqdm

    from scrapy_neardup.detector import NearDupDetector
    from scrapy_neardup.evaluation.feed import WrongLine
    from scrapy_neardup.evaluation.pages import Page
    from scrapy_neardup.evaluation.replay import Judged, Tally
    from scrapy_neardup.stories import StoryEvent
    from scrapy_neardup.timings import Timings


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "input",
        metavar="INPUT",
        type=Path,
        help="JSON lines (plain, .gz, .xz): id, url, title, time and text, html or file",
    )
    parser.add_argument("-O", "--output", metavar="OUT.jsonl", type=Path, help="one line per input line, in its order")
    parser.add_argument("--events", metavar="EVENTS.jsonl", type=Path, help="one special report per event raised")
    parser.add_argument("--store", metavar="URL", default="memory://", help="default: memory://, never the live window")
    parser.add_argument("--preset", metavar="NAME", help="a row of the table of methods")
    parser.add_argument(
        "--workers", metavar="N", type=int, default=os.cpu_count() or 1, help="processes that extract and sketch"
    )
    # Scrapy's own --profile writes a file of cProfile: it must not see this one.
    parser.add_argument(
        "--profile", dest="timings", action="store_true", help="say how long extraction, sketch and check took"
    )
    parser.add_argument("--json", action="store_true", help="the summary as one JSON object")


def run(options: argparse.Namespace, settings: dict[str, Any]) -> int:
    if options.workers < 1:
        raise SettingsError("--workers", options.workers, "must be 1 or more")
    for output in (options.output, options.events):
        if output is not None and output.exists() and options.input.exists() and output.samefile(options.input):
            raise InputError(f"{output}: is the input; name another file for the output")
    # A replay sends no events to anybody.
    for name in ("EVENTS_FEED", "EVENTS_STREAM", "EVENTS_WEBHOOK", "EVENTS_WEBHOOK_SECRET"):
        settings.pop(f"NEARDUP_{name}", None)
    settings["NEARDUP_STORE"] = options.store
    if options.store.partition("://")[0] not in REDIS_SCHEMES:  # the project's number of shards is for its own store
        settings.pop("NEARDUP_SHARDS", None)
    return asyncio.run(_replay(options, settings))


async def _replay(options: argparse.Namespace, values: dict[str, Any]) -> int:
    from tqdm import tqdm

    from scrapy_neardup.detector import NearDupDetector
    from scrapy_neardup.evaluation.feed import check_readable
    from scrapy_neardup.evaluation.pages import PageReader
    from scrapy_neardup.settings import NearDupSettings

    settings = NearDupSettings.from_mapping(values)
    # In a store of its own a replay gives the same ids every time; in a shared one each run is a run of its own.
    detector = NearDupDetector(settings, run="" if options.store == "memory://" else None)
    start = time.perf_counter()
    on_terminal = sys.stderr.isatty()
    with ExitStack() as stack:
        total = _count_documents(options.input) if on_terminal else None
        feed = check_readable(options.input)
        output, events = (_open_output(path, stack) for path in (options.output, options.events))
        reader = stack.enter_context(
            PageReader(
                settings.extractor,
                settings.max_html_bytes,
                options.workers,
                settings.extract_timeout,
                memory=settings.extract_memory,
                sketching=settings.sketching(),
            )
        )
        bar = stack.enter_context(tqdm(total=total, unit=" documents", disable=not on_terminal))
        writer = _Writer(output, events, bar)
        await _judge(reader.read(feed), detector, writer, all_over=options.store == "memory://")
        timings = {"extract": reader.timings, **detector.timings} if options.timings else {}
    seconds = time.perf_counter() - start
    (_print_json if options.json else _print_table)(writer.tally, seconds, timings)
    return 1 if writer.tally.errors else 0


async def _judge(
    pages: Iterator[Page | WrongLine], detector: NearDupDetector, writer: _Writer, *, all_over: bool
) -> None:
    """Judge all pages. With ``all_over`` no document comes after the last one, so every event ends."""
    from scrapy_neardup.evaluation.replay import replay

    await detector.open()
    try:
        async for judged in replay(pages, detector, writer.write_event):
            writer.write(judged)
        await detector.finish(all_over=all_over)
        for event in detector.take_events():
            writer.write_event(event)
    finally:
        await detector.close()


class _Writer:
    """Counts verdicts and events, and writes them to the files that were asked for."""

    def __init__(self, output: TextIO | None, events: TextIO | None, bar: tqdm[Any]) -> None:
        from scrapy_neardup.evaluation.replay import OutputFormat, Tally

        self.tally = Tally()
        self._format = OutputFormat()
        self._output = output
        self._events = events
        self._bar = bar

    def write(self, judged: Judged) -> None:
        self.tally.add(judged)
        self._bar.update()
        if judged.error is not None:
            self._bar.write(printable(judged.error), file=sys.stderr)
        line = self._format.line(judged)  # made in any case: events name documents by the ids of the input
        if self._output is not None:
            self._output.write(escaped(line) + "\n")

    def write_event(self, event: StoryEvent) -> None:
        self.tally.events[event.level] += 1
        if self._events is not None:
            self._events.write(escaped(self._format.event_line(event)) + "\n")


def _count_documents(path: Path) -> int | None:
    from scrapy_neardup.evaluation.feed import READ_ERRORS, count_lines

    if not path.is_file():
        return None  # a pipe can be read only once, so do not count its lines
    try:
        return count_lines(path)
    except READ_ERRORS:
        return None  # reading says what is wrong, with its line


def _open_output(path: Path | None, stack: ExitStack) -> TextIO | None:
    if path is None:
        return None
    try:
        return stack.enter_context(path.open("w", encoding="utf-8", errors="backslashreplace"))
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror}") from error


def _print_json(tally: Tally, seconds: float, timings: dict[str, Timings]) -> None:
    counts: dict[str, Any] = {}
    for (status, detail), count in sorted(tally.verdicts.items()):
        counts[status] = counts.get(status, 0) + count
        if detail:
            counts[f"{status}/{detail}"] = count
    summary: dict[str, Any] = {
        "documents": tally.documents,
        "errors": tally.errors,
        "seconds": round(seconds, 3),
        "verdicts": counts,
    }
    if timings:
        summary["profile"] = {step: each.summary() for step, each in timings.items()}
    print(json.dumps({**summary, "events": dict(tally.events)}))


def _print_table(tally: Tally, seconds: float, timings: dict[str, Timings]) -> None:
    from rich.table import Table

    table = Table("status", "kind or reason", title=f"{tally.documents} documents in {seconds:.1f} s")
    table.add_column("documents", justify="right")
    table.add_column("share", justify="right")
    for status in STATUSES:
        for (found, detail), count in sorted(tally.verdicts.items()):
            if found == status:
                table.add_row(status, detail, str(count), f"{count / tally.documents:.1%}")
    if tally.events:
        table.add_section()
        for level in LEVELS:
            table.add_row("event", level, str(tally.events[level]), "")
    if tally.errors:
        table.add_section()
        table.add_row("wrong lines and pages", "", str(tally.errors), "")
    console = make_console()
    console.print(table)
    if timings:
        console.print(_profile(tally, seconds, timings))


def _profile(tally: Tally, seconds: float, timings: dict[str, Timings]) -> RichTable:
    from rich.table import Table

    table = Table("step", title=f"{tally.documents / seconds:,.0f} documents a second")
    for column in ("count", "total s", "p50 ms", "p99 ms", "max ms"):
        table.add_column(column, justify="right")
    for step, each in timings.items():
        if found := each.summary():
            quantiles = (f"{found[name]:.3f}" for name in ("ms_p50", "ms_p99", "ms_max"))
            table.add_row(step, f"{found['ms_count']:,.0f}", f"{found['ms_total'] / 1000:.2f}", *quantiles)
    return table
