"""``scrapy neardup replay``: run recorded documents through the detector."""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, TextIO

from scrapy_neardup.commands import INTERRUPTED, PIPE_CLOSED, leave_closed_pipe
from scrapy_neardup.commands.inputs import STDOUT, add_json, add_preset, add_workers, read_pages
from scrapy_neardup.commands.limits import Limit, add_fail_on, exceeds
from scrapy_neardup.commands.terminal import as_json, print_error, print_json, print_table
from scrapy_neardup.detector import NearDupDetector
from scrapy_neardup.document import LEVELS, STATUSES, counted
from scrapy_neardup.exceptions import InputError, SettingsError
from scrapy_neardup.lab.feed import read_feed, shown
from scrapy_neardup.lab.pages import PageReader
from scrapy_neardup.lab.replay import OutputFormat, Tally, opened, replay
from scrapy_neardup.settings import NearDupSettings
from scrapy_neardup.stories import StoryEvent, special_report


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "input",
        metavar="INPUT",
        type=Path,
        help="JSON lines (plain, .gz, .xz): id, url, title, time and text, html or file; - is standard input",
    )
    parser.add_argument(
        "-O",
        "--output",
        metavar="OUT.jsonl",
        type=Path,
        help="write the verdicts here: one line for each input line, in the same order; - is standard output",
    )
    parser.add_argument("--events", metavar="EVENTS.jsonl", type=Path, help="one special report per event raised")
    parser.add_argument(
        "--stories",
        metavar="STORIES.jsonl",
        type=Path,
        help="one line for each story that became a part of another one after its id was written",
    )
    parser.add_argument("--store", metavar="URL", default="memory://", help="default: memory://, never the live window")
    add_preset(parser)
    add_workers(parser, "processes that extract and sketch")
    # Scrapy's own --profile writes a file of cProfile: it must not see this one.
    parser.add_argument(
        "--profile", dest="timings", action="store_true", help="say how long extraction, sketch and check took"
    )
    add_fail_on(parser, "errors, and shares of a status, kind or reason, as in unchecked>0.1")
    add_json(parser, "the summary as one JSON object")


def run(options: argparse.Namespace, settings: dict[str, Any]) -> int:
    outputs = (options.output, options.events, options.stories)
    if outputs.count(STDOUT) > 1:
        raise InputError("-O, --events and --stories: only one of them can be standard output")
    for output in outputs:
        if output is not None and output.exists() and options.input.exists() and output.samefile(options.input):
            raise InputError(f"{output}: is the input; name another file for the output")
    # A replay sends no events to anybody.
    for name in ("EVENTS_FEED", "EVENTS_STREAM", "EVENTS_WEBHOOK", "EVENTS_WEBHOOK_SECRET"):
        settings.pop(f"NEARDUP_{name}", None)
    settings["NEARDUP_STORE"] = options.store
    return asyncio.run(_replay(options, NearDupSettings.from_mapping(settings)))


async def _replay(options: argparse.Namespace, settings: NearDupSettings) -> int:
    is_alone = options.store == "memory://"
    # A replay in memory gives the same document ids every time. In a shared store each replay is a new run.
    detector = NearDupDetector(settings, run="" if is_alone else None)
    tally, output_format = Tally(), OutputFormat()
    _check_names(options.fail_on, tally)
    status = 0
    async with AsyncExitStack() as stack:
        feed = read_feed(options.input)
        paths = options.output, options.events, options.stories
        output, events, stories = (_open_output(path, stack) for path in paths)

        def write_event(event: StoryEvent) -> None:
            tally.events[event.level] += 1
            _write(events, special_report(event, output_format.given_id))

        reader = stack.enter_context(PageReader(settings, options.workers, sketches=True))
        await stack.enter_async_context(opened(detector))
        await detector.prepare()  # so that the first document does not pay for imports
        start = time.perf_counter()
        try:
            async for judged in replay(read_pages(reader, feed), detector, write_event, all_over=is_alone):
                tally.add(judged)
                # Always make the line, because this records the ids of the input that events use.
                _write(output, output_format.row(judged))
        except asyncio.CancelledError:
            status = INTERRUPTED
        except BrokenPipeError:
            leave_closed_pipe()
            status = PIPE_CLOSED
        try:
            final_stories = await detector.final_stories()
            tally.stories_united = len(final_stories)
            for story, final_story in final_stories.items():
                given_ids = map(output_format.given_id, (story, final_story))
                _write(stories, dict(zip(("story", "final_story"), given_ids, strict=True)))
            sys.stdout.flush()
        except asyncio.CancelledError:
            status = INTERRUPTED
        except BrokenPipeError:
            leave_closed_pipe()
            status = PIPE_CLOSED
        seconds = time.perf_counter() - start
    timings = {"extract": reader.timings, **detector.timings} if options.timings else {}
    _print(options, tally, seconds, {step: each.summary() for step, each in timings.items()})
    if status:
        print_error(f"Ended early, after {counted(tally.documents, 'document')}.")
        return status
    return 1 if _has_failed(options, tally) else 0


def _check_names(limits: Sequence[Limit], tally: Tally) -> None:
    for limit in limits:
        if limit.name != "errors":
            try:
                tally.share(limit.name)
            except KeyError:
                raise SettingsError("--fail-on", limit.name, "must be errors, or a status, kind or reason") from None


def _has_failed(options: argparse.Namespace, tally: Tally) -> bool:
    if not tally.documents and not tally.errors:
        nothing = f"{shown(options.input)}: the file has no documents"
        print_error(f"{nothing}, so there is nothing to compare with --fail-on" if options.fail_on else nothing)
        return bool(options.fail_on)
    if not tally.documents and tally.errors:
        print_error(
            f"{shown(options.input)}: no line is a document with an id and a text, html or file; give documents as"
            " NEARDUP_RECORD writes them"
        )
    if tally.repeated:
        print_error(
            f"{tally.first_repeated} is the id of an earlier line too (lines that repeat an id: {tally.repeated:,}); "
            "the output does not tell such documents apart"
        )
    names = {limit.name for limit in options.fail_on}
    values = {name: {"": float(tally.errors) if name == "errors" else tally.share(name)} for name in names}
    return exceeds(options.fail_on, values) or bool(tally.errors)


def _open_output(path: Path | None, stack: AsyncExitStack) -> TextIO | None:
    if path is None:
        return None
    if path == STDOUT:
        return sys.stdout
    try:
        return stack.enter_context(path.open("w", encoding="utf-8", errors="backslashreplace"))
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror}") from error


def _write(output: TextIO | None, row: dict[str, Any]) -> None:
    if output is not None:
        output.write(as_json(row) + "\n")


def _print(options: argparse.Namespace, tally: Tally, seconds: float, profile: dict[str, dict[str, float]]) -> None:
    """Print the summary: on standard error if standard output has the verdicts, events or stories."""
    stderr = STDOUT in (options.output, options.events, options.stories)
    if options.json:
        _print_json(tally, seconds, profile, stderr)
    else:
        _print_tables(tally, seconds, profile, stderr, has_stories=options.stories is not None)


def _print_json(tally: Tally, seconds: float, profile: dict[str, dict[str, float]], stderr: bool) -> None:
    counts: dict[str, int] = {}
    for (status, detail), count in sorted(tally.verdicts.items()):
        counts[status] = counts.get(status, 0) + count
        if detail:
            counts[f"{status}/{detail}"] = count
    print_json(
        {
            "documents": tally.documents,
            "errors": tally.errors,
            "wrong_lines": tally.wrong_lines,
            "seconds": round(seconds, 3),
            "verdicts": counts,
            **({"profile": profile} if profile else {}),
            "events": tally.events,
            "stories_united": tally.stories_united,
        },
        stderr=stderr,
    )


def _print_tables(
    tally: Tally, seconds: float, profile: dict[str, dict[str, float]], stderr: bool, *, has_stories: bool
) -> None:
    if not tally.documents:
        return
    rows: list[tuple[object, ...]] = [
        (status, detail, f"{count:,}", f"{count / tally.documents:.1%}")
        for (status, detail), count in sorted(
            tally.verdicts.items(), key=lambda item: (STATUSES.index(item[0][0]), item[0][1])
        )
    ]
    if tally.events:
        rows += [(), *(("event", level, tally.events[level], "") for level in LEVELS)]
    if tally.stories_united or has_stories:
        rows += [(), ("stories that became a part of another one", "", f"{tally.stories_united:,}", "")]
    if tally.wrong_lines:
        rows += [(), ("wrong lines, not counted above", "", f"{tally.wrong_lines:,}", "")]
    title = f"{counted(tally.documents, 'document')} in {seconds:.1f} s"
    print_table(title, ("status", "kind or reason", "documents", "share"), rows, stderr=stderr)
    if profile:
        steps = [
            (
                *(step, f"{found['ms_count']:,.0f}", f"{found['ms_total'] / 1000:.2f}"),
                *(f"{found[name]:.3f}" for name in ("ms_p50", "ms_p99", "ms_max")),
            )
            for step, found in profile.items()
            if found
        ]
        headings = ("step", "count", "total s", "p50 ms", "p99 ms", "max ms")
        print_table(f"{tally.documents / seconds:,.0f} documents a second", headings, steps, stderr=stderr)
