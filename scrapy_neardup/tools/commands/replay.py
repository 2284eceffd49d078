"""``scrapy neardup replay``: run recorded documents through the detector."""

import asyncio
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, TextIO

from scrapy_neardup import NearDupDetector, NearDupSettings, StoryEvent
from scrapy_neardup.exceptions import InputError
from scrapy_neardup.settings import RECEIVERS
from scrapy_neardup.stories.report import special_report
from scrapy_neardup.story import LEVELS
from scrapy_neardup.text.display import counted
from scrapy_neardup.tools.commands import INTERRUPTED, PIPE_CLOSED, leave_closed_pipe
from scrapy_neardup.tools.commands.console import (
    STDOUT,
    Options,
    Values,
    as_json,
    json_option,
    option,
    print_error,
    print_json,
    print_table,
    read_pages,
    refuse_overwriting,
    verdict_labels,
    workers_option,
)
from scrapy_neardup.tools.lab.feed import RecordedDocument, needed, read_documents, shown
from scrapy_neardup.tools.lab.replay import OutputFormat, PageReader, opened, replay

_NO_DOCUMENT = "no line is a document with an id and a text, html or file; give documents as NEARDUP_RECORD writes them"

OPTIONS = (
    option(
        "input",
        metavar="INPUT",
        type=Path,
        nargs="+",
        help="JSON lines (plain, .gz, .xz, .zst) with id, url, title, time, and text, html or file; or .parquet, or"
        " .warc.gz. - is standard input. Only --cluster takes several files",
    ),
    option(
        "-O",
        "--output",
        metavar="OUT.jsonl",
        type=Path,
        help="write the verdicts here: one line for each non-empty input line, in order. - is standard output. With"
        " --cluster it is a folder",
    ),
    option("--events", metavar="EVENTS.jsonl", type=Path, help="write one special report for each event here"),
    option(
        "--stories",
        metavar="STORIES.jsonl",
        type=Path,
        help="write here each story that became a part of another one, with the final id",
    ),
    option("--by-time", action="store_true", help="judge the earliest document first; all are held in memory"),
    option(
        "--store",
        metavar="URL",
        default="memory://",
        help="the store (default: memory://, so the live window stays as it is)",
    ),
    workers_option("processes that extract pages; one more sketches texts"),
    option(
        "--cluster",
        metavar="ADDRESS",
        help="a Dask scheduler, or local to start one here",
    ),
    option("--parquet", action="store_true", help="with --cluster: write Parquet"),
    json_option("the summary as one JSON object"),
)


def run(options: Options, values: Values) -> int:
    for name in RECEIVERS:  # a replay sends no events, and does not ask for what these settings need
        values.pop(name, None)
    if options.cluster:
        return _run_on_cluster(options, values)
    if len(options.input) > 1 or options.parquet:
        raise InputError("many files, and --parquet, need --cluster local, or the address of a scheduler")
    (options.input,) = options.input
    return asyncio.run(_run(options, values))


async def _run(options: Options, values: Values) -> int:
    paths = (options.output, options.events, options.stories)
    refuse_overwriting(paths, [options.input])
    configured = NearDupSettings.from_mapping({**values, "NEARDUP_STORE": options.store})
    is_alone = options.store == "memory://"
    # A replay in memory gives the same document ids every time. In a shared store each replay is a new run.
    detector = NearDupDetector(configured, run="" if is_alone else None)
    counts = Counter[str]()
    levels = Counter[str]()
    output_format = OutputFormat()
    status = 0
    feed = read_documents(options.input)
    if options.by_time:
        feed = by_time(feed)
    async with AsyncExitStack() as stack:
        output, events, stories = (_open_output(path, stack) for path in paths)

        def write_event(event: StoryEvent) -> None:
            levels[event.level] += 1
            _write(events, special_report(event, output_format.given_id, configured.zone))

        reader = stack.enter_context(PageReader(configured, options.workers, sketches=True))
        await stack.enter_async_context(opened(detector))
        await detector.prepare()  # so that the first document does not pay for imports
        start = time.perf_counter()
        try:
            async for judged in replay(read_pages(reader, feed), detector, write_event, all_over=is_alone):
                counts.update(judged.counted)
                # Always make the line, because this records the ids of the input that events use.
                _write(output, output_format.row(judged))
            sys.stdout.flush()
        except asyncio.CancelledError:
            status = INTERRUPTED
        except BrokenPipeError:
            leave_closed_pipe()
            status = PIPE_CLOSED
        # Also if the replay ended early: of the documents that were judged.
        final_stories = await detector.final_stories()
        for story, final in final_stories.items():
            _write(stories, {"story": output_format.given_id(story), "final_story": output_format.given_id(final)})
        seconds = time.perf_counter() - start
    return _end(
        options,
        options.input,
        _summary(counts, seconds) | {"events": levels, "stories_united": len(final_stories)},
        status,
        stderr=STDOUT in paths,  # if standard output has the verdicts, events or stories
    )


def _run_on_cluster(options: Options, values: Values) -> int:
    """Replay on a cluster, whose packages nobody else needs."""
    cluster = needed("scrapy_neardup.tools.cluster")
    settings = NearDupSettings.from_mapping({**values, "NEARDUP_STORE": "memory://"})
    refused = {
        "--events": options.events,
        "--stories": options.stories,
        "--store": options.store != "memory://",
        "NEARDUP_EMBEDDER": settings.embedder,
        f"NEARDUP_PRESET = {settings.preset!r}, which learns from each document,": settings.resolved_preset().learns,
    }
    for name in filter(refused.get, refused):
        raise InputError(f"{name} needs the order of a stream, which --cluster does not have")
    if options.output is None or STDOUT in (options.output, *options.input):
        raise InputError("--cluster needs files, and a folder for the output: -O FOLDER")
    if missing := [path for path in options.input if not path.is_file()]:
        raise InputError(f"{missing[0]}: is no file")
    job = cluster.job_of(
        settings,
        [path.resolve() for path in options.input],
        options.output.resolve(),
        "parquet" if options.parquet else "jsonl",
    )
    start = time.perf_counter()
    with cluster.connected(options.cluster, options.workers) as client:
        print_error(f"Dask shows its progress at {client.dashboard_link}")
        counts = cluster.replay_archive(client, job, print_error)
    if counts["crowded"]:
        print_error(
            f"{counts['crowded']:,} times a document shared a look-up key with so many that the newest were taken"
        )
    return _end(options, options.input[0], _summary(counts, time.perf_counter() - start), 0, stderr=False)


def _end(options: Options, path: Path, summary: dict[str, Any], status: int, *, stderr: bool) -> int:
    """Print the summary. Return the exit status."""
    if options.json:
        print_json(summary, stderr=stderr)
    elif documents := summary["documents"]:
        verdicts = summary["verdicts"]
        others = {
            **{f"event: {level}": summary["events"][level] for level in LEVELS},
            "stories that became a part of another one": summary["stories_united"],
            "wrong lines, not counted above": summary["wrong_lines"],
        }
        rows = [
            *(
                (label, f"{verdicts[name]:,}", f"{verdicts[name] / documents:.1%}")
                for name, label in verdict_labels(verdicts).items()
            ),
            (),
            *((label, f"{count:,}", "") for label, count in others.items() if count),
        ]
        print_table(
            f"{counted(documents, 'document')} in {summary['seconds']:.1f} s",
            ("verdict", "documents", "share"),
            rows,
            stderr=stderr,
        )
    if status:
        print_error(f"Ended early, after {counted(summary['documents'], 'document')}.")
    elif not summary["documents"]:
        print_error(f"{shown(path)}: {_NO_DOCUMENT if summary['errors'] else 'the file has no documents'}")
        return 2 if summary["errors"] else 0
    return status or int(summary["errors"] > 0)


def _summary(counts: Counter[str], seconds: float) -> dict[str, Any]:
    return {
        **{name: counts[name] for name in ("documents", "errors", "wrong_lines")},
        "seconds": round(seconds, 3),
        "verdicts": {name: counts[name] for name in verdict_labels(counts)},
        "events": Counter[str](),
        "stories_united": 0,
    }


def by_time(feed: Iterable[RecordedDocument]) -> Iterator[RecordedDocument]:
    """Sort by time. A line without a time stays behind the line before it."""
    timed: list[tuple[float, RecordedDocument]] = []
    time = 0.0
    for entry in feed:
        if entry.time is not None:
            time = entry.time
        timed.append((time, entry))
    return (entry for _, entry in sorted(timed, key=lambda each: each[0]))


def _open_output(path: Path | None, stack: AsyncExitStack) -> TextIO | None:
    if path is None:
        return None
    if path == STDOUT:
        return sys.stdout
    return stack.enter_context(path.open("w", encoding="utf-8", errors="backslashreplace"))


def _write(output: TextIO | None, row: dict[str, Any]) -> None:
    if output is not None:
        output.write(as_json(row) + "\n")
