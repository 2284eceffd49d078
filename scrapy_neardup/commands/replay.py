"""``scrapy neardup replay``: recorded documents through the detector."""

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
    from rich.table import Table as RichTable

    from scrapy_neardup.evaluation.replay import Tally
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
    # Scrapy's own --profile, of all commands, writes a file of cProfile: it must not see this one.
    parser.add_argument(
        "--profile", dest="times", action="store_true", help="say how long extraction, sketch and check took"
    )
    parser.add_argument("--json", action="store_true", help="the summary as one JSON object")


def run(options: argparse.Namespace, settings: dict[str, Any]) -> int:
    if options.workers < 1:
        raise SettingsError("--workers", options.workers, "must be 1 or more")
    for output in (options.output, options.events):
        if output is not None and output.exists() and options.input.exists() and output.samefile(options.input):
            raise InputError(f"{output}: is the input")
    # What goes out in a crawl stays in: a replay alarms nobody.
    for name in ("EVENTS_FEED", "EVENTS_STREAM", "EVENTS_WEBHOOK", "EVENTS_WEBHOOK_SECRET"):
        settings.pop(f"NEARDUP_{name}", None)
    settings["NEARDUP_STORE"] = options.store
    if options.store.partition("://")[0] not in REDIS_SCHEMES:  # the project's are those of its own store
        settings.pop("NEARDUP_SHARDS", None)
    if options.preset is not None:
        settings["NEARDUP_PRESET"] = options.preset
    return asyncio.run(_replay(options, settings))


async def _replay(options: argparse.Namespace, values: dict[str, Any]) -> int:
    from tqdm import tqdm

    from scrapy_neardup.detector import NearDupDetector
    from scrapy_neardup.evaluation.feed import check_readable
    from scrapy_neardup.evaluation.pages import PageReader
    from scrapy_neardup.evaluation.replay import OutputFormat, Tally, replay
    from scrapy_neardup.settings import NearDupSettings

    settings = NearDupSettings.from_mapping(values)
    # In a store of its own a replay gives the same ids every time; in a shared one each run is a run of its own.
    detector = NearDupDetector(settings, run="" if options.store == "memory://" else None)
    tally, output_format, start = Tally(), OutputFormat(), time.perf_counter()
    on_terminal = sys.stderr.isatty()
    with ExitStack() as stack:
        total = _total(options.input) if on_terminal else None
        feed = check_readable(options.input)
        output = stack.enter_context(_open_output(options.output)) if options.output else None
        events = stack.enter_context(_open_output(options.events)) if options.events else None
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

        def write_event(event: StoryEvent) -> None:
            tally.events[event.level] += 1
            if events is not None:
                events.write(escaped(output_format.event_line(event)) + "\n")

        await detector.open()
        try:
            async for judged in replay(reader.read(feed), detector, write_event):
                tally.add(judged)
                bar.update()
                if judged.error is not None:
                    tqdm.write(printable(judged.error), file=sys.stderr)
                line = output_format.line(judged)  # also where nobody reads it: events speak of ids of the input
                if output is not None:
                    output.write(escaped(line) + "\n")
            # In a store of its own nothing comes after the last document.
            await detector.finish(all_over=options.store == "memory://")
            for event in detector.take_events():
                write_event(event)
        finally:
            await detector.close()
        times = {"extract": reader.timings, **detector.timings} if options.times else {}
    seconds = time.perf_counter() - start
    _print_json(tally, seconds, times) if options.json else _print_table(tally, seconds, times)
    return 1 if tally.errors else 0


def _total(path: Path) -> int | None:
    from scrapy_neardup.evaluation.feed import READ_ERRORS, count_lines

    if not path.is_file():
        return None  # a pipe is read once
    try:
        return count_lines(path)
    except READ_ERRORS:
        return None  # reading says what is wrong, with its line


def _open_output(path: Path) -> TextIO:
    try:
        return path.open("w", encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror}") from error


def _print_json(tally: Tally, seconds: float, times: dict[str, Timings]) -> None:
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
    if times:
        summary["profile"] = {step: each.summary() for step, each in times.items()}
    print(json.dumps({**summary, "events": dict(tally.events)}))


def _print_table(tally: Tally, seconds: float, times: dict[str, Timings]) -> None:
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
    if times:
        console.print(_profile(tally, seconds, times))


def _profile(tally: Tally, seconds: float, times: dict[str, Timings]) -> RichTable:
    from rich.table import Table

    table = Table("step", title=f"{tally.documents / seconds:,.0f} documents a second")
    for column in ("count", "total s", "p50 ms", "p99 ms", "max ms"):
        table.add_column(column, justify="right")
    for step, each in times.items():
        if found := each.summary():
            quantiles = (f"{found[name]:.3f}" for name in ("ms_p50", "ms_p99", "ms_max"))
            table.add_row(step, f"{found['ms_count']:,.0f}", f"{found['ms_total'] / 1000:.2f}", *quantiles)
    return table
