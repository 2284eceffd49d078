"""Output of commands that is safe for a terminal, whatever titles, urls and file names contain."""

import csv
import json
import os
import re
import sys
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeVar

from rich.console import Console, JustifyMethod
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from scrapy_neardup.document import STATUSES
from scrapy_neardup.text.display import UNSAFE, printable

T = TypeVar("T")

# A spreadsheet takes a cell for a formula if it begins with one of these signs, unless it is a number.
_FORMULA = re.compile(r"(?![-+][0-9.,]+$)[=+\-@\uff1d\uff0b\uff0d\uff20]")
_NUMBER = re.compile(r"[-\d.,%]*")
_SMALL_INDENT = 4
_WIDTH = 100  # characters, if there is no terminal
_LONGEST_WORD = 32  # characters that a table keeps on one line


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
    """Print a message on standard error: on a terminal in lines that fit, else in one line."""
    if sys.stderr.isatty():
        print_wrapped(message, stderr=True)
    else:
        print(printable(message), file=sys.stderr)


class PlainConsole(Console):
    """A console that shows strings as they are, without markup, emoji or control characters."""

    def __init__(self, *, stderr: bool = False) -> None:
        super().__init__(highlight=False, stderr=stderr)
        if "COLUMNS" not in os.environ and not any(map(os.isatty, range(3))):
            self.width = _WIDTH

    def on_broken_pipe(self) -> None:
        """Pass the error on, so that the command ends as it does for any other output. Rich would exit with 1."""
        raise BrokenPipeError

    def render_str(self, text: str, **styles: Any) -> Text:
        return super().render_str(printable(text), **{**styles, "markup": False, "emoji": False})


def print_wrapped(line: str, indent: int = 0, *, hanging: int = 2, stderr: bool = False) -> None:
    """Print a text in lines that fit: the first with ``indent`` spaces, the others with ``hanging`` more.

    Words are never cut, so paths stay whole. If a word is too long for a line with this indent, the indent is smaller.
    """
    width = PlainConsole(stderr=stderr).width
    text = printable(line)
    more = indent + hanging
    if max(map(len, text.split()), default=0) > width - more:
        more = min(more, _SMALL_INDENT)
    lines = textwrap.wrap(
        text,
        width,
        initial_indent=" " * indent,
        subsequent_indent=" " * more,
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
        is_word = all(len(cell) <= _LONGEST_WORD and " " not in cell for cell in column)
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
    columns = (TextColumn(unit), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    is_shown = sys.stderr.isatty()
    with Progress(*columns, console=Console(stderr=True), redirect_stdout=False, disable=not is_shown) as progress:
        yield from progress.track(items, total)
