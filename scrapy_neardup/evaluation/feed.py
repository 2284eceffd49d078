"""Recorded documents: JSON lines, plain, .gz or .xz. A line that cannot be used is reported, never just skipped."""

from __future__ import annotations

import gzip
import json
import lzma
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from io import BufferedReader
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any, cast

from scrapy_neardup.content.dates import parse_time
from scrapy_neardup.exceptions import InputError

STDIN = Path("-")
"""Stands for standard input, wherever a command takes a file."""

READ_ERRORS = (OSError, EOFError, lzma.LZMAError, zlib.error)
"""The errors that reading a file may raise, compressed or not."""

_CONTENT = "text", "html", "file"
_FIRST = 20  # entries; if none of them is a document, the file holds something else


class NoDocumentsError(InputError):
    """The lines of a file are no documents, such as the items of a crawl. ``url`` is that of the first one, or ""."""

    def __init__(self, message: str, url: str) -> None:
        super().__init__(message)
        self.url = url


@dataclass(frozen=True, slots=True)
class Recorded:
    """One line of an input file. Exactly one of ``text``, ``html`` and ``file`` is used, in this order."""

    line: int  # from 1
    where: str  # file and line
    id: str | int
    url: str
    title: str
    time: float | None  # Unix seconds, UTC
    text: str | None
    html: str | None
    file: Path | None
    extra: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class WrongLine:
    """A line that cannot be used, and why: ``input.jsonl:7: what is wrong``."""

    line: int
    id: str | int | None
    error: str
    missing: str = ""  # the keys that a document must have and the line lacks
    url: str = ""


def read_feed(path: Path) -> Iterator[Recorded | WrongLine]:
    """Return the documents of a file in their order, without empty lines.

    Raise InputError at once if nothing can be read, and NoDocumentsError if each of the first lines lacks a key that
    documents need. A file whose end is damaged ends with a WrongLine.
    """
    entries = _entries(path)
    first = list(islice(entries, _FIRST))
    lacking = [entry for entry in first if isinstance(entry, WrongLine) and entry.missing]
    if first and len(lacking) == len(first):
        raise NoDocumentsError(
            f"{shown(path)}: its lines are no documents: line {lacking[0].line} has no {lacking[0].missing}. If they"
            " are the items of a crawl, crawl again with -s NEARDUP_RECORD=recorded.jsonl.gz, and give that file",
            lacking[0].url,
        )
    return chain(first, entries)


def _entries(path: Path) -> Iterator[Recorded | WrongLine]:
    number = 0
    try:
        with open_packed(path) as file:
            for number, line in enumerate(file, 1):
                if line.strip():
                    yield _parse(line, path, number)
    except READ_ERRORS as error:
        if not number:
            raise InputError(f"{shown(path)}: cannot be read: {reason_of(error)}") from error
        yield WrongLine(number + 1, None, f"{shown(path)}:{number + 1}: cannot be read further: {reason_of(error)}")


def shown(path: Path) -> str:
    """Return the name of a file as messages show it."""
    return "standard input" if path == STDIN else str(path)


def count_lines(path: Path) -> int:
    """Count the lines that are not empty, for a progress bar."""
    with open_packed(path) as file:
        return sum(1 for line in file if line.strip())


def reason_of(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


@contextmanager
def open_packed(path: Path) -> Iterator[IO[bytes]]:
    """Open a file that may be packed with gzip or xz."""
    # One handle, looked at and then read: a pipe cannot be opened twice.
    with nullcontext(cast("BufferedReader", sys.stdin.buffer)) if path == STDIN else path.open("rb") as file:
        magic = file.peek(2)[:2]
        if magic == b"\x1f\x8b":
            with gzip.GzipFile(fileobj=file) as unpacked:
                yield cast("IO[bytes]", unpacked)
        elif magic == b"\xfd7":
            with lzma.LZMAFile(file) as unpacked:
                yield unpacked
        else:
            yield file


def _parse(line: bytes, path: Path, number: int) -> Recorded | WrongLine:
    row: Any = None
    try:
        row = _loads(line)
        return _recorded(row, path, number)
    except InputError as error:
        row = row if isinstance(row, dict) else {}
        given, url = row.get("id"), row.get("url")
        return WrongLine(
            number,
            given if isinstance(given, str | int) else None,
            f"{shown(path)}:{number}: {error}",
            _missing(row),
            url if isinstance(url, str) else "",
        )


def _missing(row: dict[str, Any]) -> str:
    """Name the keys that a document must have and an object lacks."""
    lacks = {"'id'": row.get("id") is None, "'text', 'html' or 'file'": all(row.get(name) is None for name in _CONTENT)}
    return " and no ".join(name for name, is_missing in lacks.items() if is_missing) if row else ""


def _loads(line: bytes) -> dict[str, Any]:
    try:
        row = json.loads(line.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise InputError(f"not UTF-8 at byte {error.start}") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"not JSON: {error}") from error
    if not isinstance(row, dict):
        raise InputError(f"a document is a JSON object, not {type(row).__name__}")
    return row


def _recorded(row: dict[str, Any], path: Path, number: int) -> Recorded:
    extra = dict(row)
    given = extra.pop("id", None)
    if not isinstance(given, str | int) or isinstance(given, bool) or given == "":
        raise InputError(f"'id' must be a text or a whole number, not {given!r}")
    texts = {name: _text(extra, name) for name in ("url", "title", "text", "html", "file")}
    if texts["text"] is None and texts["html"] is None and texts["file"] is None:
        raise InputError("a document needs 'text', 'html' or 'file'")
    time = extra.pop("time", None)
    try:
        seconds = None if time is None else parse_time(time)
    except ValueError as error:
        raise InputError(f"'time': {error}") from error
    return Recorded(
        line=number,
        where=f"{shown(path)}:{number}",
        id=given,
        url=texts["url"] or "",
        title=texts["title"] or "",
        time=seconds,
        # An empty text beside a page is a field that an export left unfilled.
        text=texts["text"] if texts["text"] or not (texts["html"] or texts["file"]) else None,
        html=texts["html"] or None if texts["file"] is not None else texts["html"],
        file=None if texts["file"] is None else path.parent / texts["file"],
        extra=extra,
    )


def _text(row: dict[str, Any], name: str) -> str | None:
    value = row.pop(name, None)
    if value is not None and not isinstance(value, str):
        raise InputError(f"{name!r} must be a text, not {type(value).__name__}")
    return value
