"""What commands have in common: arguments, the documents and the window that these name, and output for a terminal.

Output is safe for a terminal, whatever titles, urls and file names contain. Wrong lines and pages are printed on
standard error.
"""

import argparse
import asyncio
import csv
import json
import math
import os
import re
import sys
import textwrap
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from rich.console import Console, JustifyMethod
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from scrapy_neardup import NearDupDetector, NearDupSettings
from scrapy_neardup.content.head import decode_html
from scrapy_neardup.content.urls import url_identity
from scrapy_neardup.crawl.component import locate_files
from scrapy_neardup.document import STATUSES
from scrapy_neardup.exceptions import InputError, NoWindowError
from scrapy_neardup.index.upkeep import StoreSummary
from scrapy_neardup.text.display import UNSAFE, printable
from scrapy_neardup.tools.ask import Answer, Ask, is_document_id
from scrapy_neardup.tools.lab.feed import RecordedDocument, read_feed
from scrapy_neardup.tools.lab.replay import PageReader, RecordedPage, opened

Option = tuple[tuple[str, ...], dict[str, Any]]  # of a subcommand, see ``option``
Options = argparse.Namespace  # the options that were given
Values = dict[str, Any]  # of settings, by their names

STDOUT = Path("-")  # wherever a command takes the name of an output file


def number_from(least: float, most: float = math.inf) -> Callable[[str], float]:
    """Return the type of an option that takes numbers from ``least`` to ``most``: whole ones if ``least`` is one."""
    allowed = f"{least} or more" if most == math.inf else f"from {least} to {most}"

    def read(value: str) -> float:
        try:
            found = type(least)(value)
        except ValueError:
            found = math.nan
        if not least <= found <= most:
            raise argparse.ArgumentTypeError(f"must be {allowed}, not {value!r}")
        return found

    return read


def option(*names: str, **properties: Any) -> Option:
    """Return an argument of a subcommand: what ``add_argument`` takes."""
    return names, properties


def json_option(meaning: str = "one JSON object") -> Option:
    return option("--json", action="store_true", help=meaning)


def workers_option(meaning: str = "extraction processes") -> Option:
    return option("--workers", metavar="N", type=number_from(1), default=os.cpu_count() or 1, help=meaning)


STORE = option("--store", metavar="URL", help="the store (default: NEARDUP_STORE of the project)")
NAMESPACE = option("--namespace", metavar="NAME", help="the namespace (default: NEARDUP_NAMESPACE of the project)")


def read_pages(
    reader: PageReader, feed: Iterable[RecordedDocument], total: int | None = None
) -> Iterator[RecordedPage]:
    """Yield the pages of a feed, and show how many have come. Print the error of a wrong line or page."""
    for page in track(reader.read(feed), "documents", total):
        if page.error is not None:
            print_error(page.error)
        yield page


def refuse_overwriting(outputs: Iterable[Path | None], inputs: Collection[Path]) -> None:
    """Raise InputError if a file is an output and something else. Standard input and output are both ``-``."""
    named = [path for path in inputs if path != STDOUT]
    for output in filter(None, outputs):
        for path in named:
            if os.path.realpath(output) == os.path.realpath(path) or (
                output.exists() and path.exists() and output.samefile(path)
            ):
                raise InputError(f"{output}: is the input or another output; name another file for the output")
        named.append(output)


def with_store(options: Options, values: Values) -> Values:
    """Return the values of settings with ``--store`` and ``--namespace``."""
    given = {"NEARDUP_STORE": options.store, "NEARDUP_NAMESPACE": options.namespace}
    return {**values, **{name: each for name, each in given.items() if each}}


def located_settings(options: Options, values: Values) -> NearDupSettings:
    """Return the settings with the places of files.

    A path of ``--store`` is relative to the current directory, one in the settings to the data directory.
    """
    settings = NearDupSettings.from_mapping(with_store(options, values))
    located = locate_files(settings, values)
    return replace(located, store=settings.store) if options.store else located


@asynccontextmanager
async def live_detector(options: Options, values: Values) -> AsyncIterator[NearDupDetector]:
    """Open a detector on the window of the options, or else of the settings. Raise NoWindowError if there is none.

    Nothing that the detector learns from documents of the command goes to the store.
    """
    settings = located_settings(options, values)
    scheme, _, path = settings.store.partition(":///")
    if scheme == "sqlite" and not (os.path.exists(path) and os.path.getsize(path)):  # noqa: ASYNC240
        # Opening it would make an empty window.
        raise NoWindowError(
            f"{path}: no crawl has kept a window there; the first crawl makes it. If your spider has a NEARDUP_STORE in"
            " its custom_settings, give that with --store (a path is relative to the current directory); if it is"
            " memory://, crawl with -s NEARDUP_STORE=sqlite:///neardup.sqlite to keep the window"
        )
    if settings.store == "memory://":
        raise NoWindowError(
            "memory://: such a window ends with its crawl: crawl with -s NEARDUP_STORE=sqlite:///neardup.sqlite"
        )
    async with opened(NearDupDetector(settings)) as detector:
        try:
            yield detector
        finally:
            detector.knowledge.discard_learned()


async def coverage_of(detector: NearDupDetector, name: str) -> Answer:
    """Return who reports on the event of a document: one of the window by its url or id, or else a file or a line."""
    ask = Ask(detector)
    if is_document_id(name) or url_identity(name):
        return await ask.coverage(url=name)
    page = await asyncio.to_thread(read_single, name, detector.settings)
    return await ask.coverage(page.text, title=page.title, url=page.recorded.url)


def read_single(name: str, settings: NearDupSettings) -> RecordedPage:
    """Return the named page with its main content. Raise InputError, which repeats the name."""
    with PageReader(settings, workers=1) as reader:
        (page,) = reader.read([_find(name, settings)])
    if page.error is not None:
        raise InputError(page.error)
    return page


def _find(name: str, settings: NearDupSettings) -> RecordedDocument:
    before, _, wanted = name.partition("#")
    for path in map(Path, filter(os.path.isfile, (name, before))):
        if wanted and path == Path(before):
            return _line(path, wanted)
        if re.search(r"\.(?:jsonl|jl|ndjson)(?:\.gz|\.xz)*$", name, re.IGNORECASE):
            raise InputError(f"{name}: a file of JSON lines holds many documents; name one, as {path}#ID")
        content = decode_html(path.read_bytes())
        if content.lstrip().startswith("<"):
            return RecordedDocument(1, name, name, html=content)
        return RecordedDocument(1, name, name, text=content)
    raise InputError(
        f"{name}: there is no such file; a document is a url or id of the window, INPUT#id of JSON lines, or a file"
    )


def _line(path: Path, wanted: str) -> RecordedDocument:
    known = "no line has an id"
    for entry in read_feed(path):
        if str(entry.id) == wanted:
            return entry
        known = f"line {entry.line} has the id {str(entry.id)!r}"
    raise InputError(f"{path}: no line has the id {wanted!r}; {known}")


async def explain_emptiness(detector: NearDupDetector, summary: StoreSummary | None = None) -> None:
    """Say on standard error if the window is empty, and where documents are. Its namespace may be mistyped."""
    summary = summary or await detector.index.summary()
    if summary.documents:
        return
    message = f"The window of namespace {summary.namespace!r} in {summary.location} is empty."
    if summary.other_configs:
        message += (
            " It has documents of other configurations: were they crawled with the same preset and settings, and the"
            " same version of the extractor?"
        )
    elif summary.namespaces:
        message += f" This store has the namespaces {', '.join(summary.namespaces)}."
    print_error(message)


T = TypeVar("T")

# A spreadsheet takes a cell for a formula if it begins with one of these signs, unless it is a number.
_FORMULA = re.compile(r"(?![-+][0-9.,]+$)[=+\-@\uff1d\uff0b\uff0d\uff20]")
_NUMBER = re.compile(r"[-\d.,%]*")


def as_json(value: object) -> str:
    """Return JSON on one line, in which unsafe characters are escapes."""
    return UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(value, ensure_ascii=False))


def print_json(value: object, *, stderr: bool = False) -> None:
    print(as_json(value), file=sys.stderr if stderr else sys.stdout)


def print_csv(headings: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print a table for spreadsheets. Each cell is one line of text, and none is a formula."""
    lines = ([" ".join(printable(str(cell)).split()) for cell in row] for row in rows)
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(headings)
    writer.writerows([f"'{cell}" if _FORMULA.match(cell) else cell for cell in line] for line in lines)


def print_error(message: str) -> None:
    """Print a message on standard error, in one line."""
    print(printable(message), file=sys.stderr)


class PlainConsole(Console):
    """A console that shows strings as they are, without markup, emoji or control characters."""

    def __init__(self, *, stderr: bool = False) -> None:
        super().__init__(highlight=False, stderr=stderr)
        if "COLUMNS" not in os.environ and not any(map(os.isatty, range(3))):
            self.width = 100  # characters, as there is no terminal

    def on_broken_pipe(self) -> None:
        """Pass the error on, so that the command ends as it does for any other output. Rich would exit with 1."""
        raise BrokenPipeError

    def render_str(self, text: str, **styles: Any) -> Text:
        return super().render_str(printable(text), **{**styles, "markup": False, "emoji": False})


def print_wrapped(line: str, indent: int = 0, *, hanging: int = 2, stderr: bool = False) -> None:
    """Print a text in lines that fit: the first with ``indent`` spaces, the others with ``hanging`` more.

    Words are never cut, so paths stay whole.
    """
    lines = textwrap.wrap(
        printable(line),
        PlainConsole(stderr=stderr).width,
        initial_indent=" " * indent,
        subsequent_indent=" " * (indent + hanging),
        break_long_words=False,
        break_on_hyphens=False,
    )
    print("\n".join(lines), file=sys.stderr if stderr else sys.stdout)


def print_table(title: str, headings: Sequence[str], rows: Iterable[Sequence[object]], *, stderr: bool = False) -> None:
    PlainConsole(stderr=stderr).print(table_of(title, headings, rows))


def table_of(title: str, headings: Sequence[str], rows: Iterable[Sequence[object]]) -> Table:
    """Return rows under headings, columns of numbers aligned to the right. An empty row is shown as a line.

    Single words, such as names of sources, are not broken unless they are long.
    """
    cells = [[str(cell) for cell in row] for row in rows]
    columns = list(zip(*filter(None, cells), strict=True)) or [()] * len(headings)
    table = Table(title=title or None, title_justify="left", show_header=any(headings))
    for heading, column in zip(headings, columns, strict=True):
        is_number = all(map(_NUMBER.fullmatch, column))
        is_word = all(len(cell) <= 32 and " " not in cell for cell in column)
        justify: JustifyMethod = "right" if is_number else "left"
        table.add_column(heading, justify=justify, no_wrap=is_number or is_word, overflow="fold")
    for row in cells:
        if row:
            table.add_row(*row)
        else:
            table.add_section()
    return table


def verdict_labels(names: Iterable[str]) -> dict[str, str]:
    """Return labels for names of verdicts: those of statuses in their order, each before its kinds, which are indented.

    Other names are left out.
    """
    found = {(STATUSES.index(status), name): name for name in names if (status := name.partition("/")[0]) in STATUSES}
    return {name: f"  {name.partition('/')[2]}" if "/" in name else name for _, name in sorted(found.items())}


def track(items: Iterable[T], unit: str, total: int | None = None) -> Iterator[T]:
    """Show how much of a total is done, and how long the rest will take, if standard error is a terminal."""
    with Progress(
        TextColumn(unit),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        redirect_stdout=False,
        disable=not sys.stderr.isatty(),
    ) as progress:
        yield from progress.track(items, total)
