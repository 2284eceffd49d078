"""Read the rows of a feed in any form that Scrapy exports: JSON lines, JSON or CSV, plain or packed.

What cannot be read is yielded as a WrongLine, so that a report can say what it left out. A crawl that was killed leaves
a feed whose last item is half written.
"""

from __future__ import annotations

import csv
import io
import json
import re
from codecs import BOM_UTF8
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any, cast

from scrapy_neardup.exceptions import InputError
from scrapy_neardup.lab.feed import CUT_OFF, LONGEST_LINE, TOO_LONG, WrongLine, objects_of, read_packed, require_object

Raw = dict[str, Any]

_CHUNK = 1 << 20  # characters
_BETWEEN_ITEMS = re.compile(r"[\s,\[\]]*")  # a crawl that appends to a JSON file leaves "][" in it


def read_rows(path: Path, columns: Sequence[str] = ()) -> Iterator[Raw | WrongLine]:
    """Return the items of a feed in their order. The form is recognised by the first character.

    Raise InputError at once if nothing can be read. Text is taken for CSV only if one of its columns is in ``columns``.
    """
    rows = read_packed(path, lambda file: _rows(file, path, columns))
    return chain(list(islice(rows, 1)), rows)


def _rows(file: IO[bytes], path: Path, columns: Sequence[str]) -> Iterator[Raw | WrongLine]:
    first = cast("io.BufferedReader", file).peek(64).removeprefix(BOM_UTF8).lstrip()[:1]
    if first == b"{":
        yield from (line.content for line in objects_of(file, path, "replace"))
    elif first == b"[":
        yield from _json_array(io.TextIOWrapper(file, "utf-8-sig", errors="replace"), path)
    else:
        yield from _csv(io.TextIOWrapper(file, "utf-8-sig", errors="replace", newline=""), path, columns)


def _json_array(source: io.TextIOWrapper, path: Path) -> Iterator[Raw | WrongLine]:
    """Read a list of items in chunks, so that a feed of any size takes little memory."""
    decoder = json.JSONDecoder()
    buffer, place, number = source.read(_CHUNK), 0, 1
    while True:
        place = cast("re.Match[str]", _BETWEEN_ITEMS.match(buffer, place)).end()
        try:
            row, place = decoder.raw_decode(buffer, place)
        except (ValueError, RecursionError):
            rest = buffer[place:]
            more = "" if len(rest) > LONGEST_LINE else source.read(max(_CHUNK, len(rest)))
            if not more:
                if rest:
                    problem = CUT_OFF if len(rest) <= LONGEST_LINE else TOO_LONG
                    yield WrongLine(number, None, f"{path}: item {number}: {problem}")
                return
            buffer, place = rest + more, 0
            continue
        yield require_object(row, f"{path}: item {number}", number)
        number += 1


def _csv(source: io.TextIOWrapper, path: Path, columns: Sequence[str]) -> Iterator[Raw | WrongLine]:
    csv.field_size_limit(max(csv.field_size_limit(), LONGEST_LINE))
    reader = csv.DictReader(_csv_lines(source))
    try:
        names = reader.fieldnames or ()
        if names and columns and not set(columns) & set(names):
            raise InputError(
                f"{path}: is neither JSON lines nor JSON, and has no column {' or '.join(map(repr, columns[:3]))}"
            )
        for row in reader:
            row.pop(None, None)  # cells without a column
            if None in row.values():
                yield WrongLine(reader.line_num, None, f"{path}:{reader.line_num}: {CUT_OFF}")
            yield {name: value if value != "" else None for name, value in row.items()}
    except csv.Error as error:
        yield WrongLine(reader.line_num, None, f"{path}:{reader.line_num}: not CSV: {error}")


def _csv_lines(source: io.TextIOWrapper) -> Iterator[str]:
    while line := source.readline(LONGEST_LINE):
        if len(line) == LONGEST_LINE:
            raise csv.Error(TOO_LONG)
        yield line
