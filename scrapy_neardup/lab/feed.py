"""Recorded documents: JSON lines, plain, .gz or .xz. A line that cannot be used is reported, never just skipped."""

from __future__ import annotations

import gzip
import json
import lzma
import os
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from io import BufferedReader
from itertools import chain, count, islice
from pathlib import Path
from typing import IO, Any, TypeVar, cast

from scrapy_neardup.content.dates import parse_time
from scrapy_neardup.exceptions import InputError

T = TypeVar("T")

STDIN = Path("-")
"""Stands for standard input, wherever a command takes a file."""

LONGEST_LINE = 16 << 20
"""Bytes of the longest line that is read, and about as many that are taken together."""

TOO_LONG = f"longer than {LONGEST_LINE >> 20} MB, which is the most that is read at once"
CUT_OFF = "the end is half written, as a crawl leaves it that was stopped"

_SHORT_LINE = 1 << 14
_CONTENT = "text", "html", "file"
_FIRST = 20  # entries; if none of them is a document, the file holds something else


@dataclass(frozen=True, slots=True)
class RecordedDocument:
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
    size: int = 0  # of the line in bytes


@dataclass(frozen=True, slots=True)
class WrongLine:
    """A line that cannot be used, and why: ``input.jsonl:7: what is wrong``."""

    line: int
    id: str | int | None
    error: str
    missing: str = ""  # the keys that a document must have and the line lacks


def take(entries: Iterator[T], most: int) -> list[T]:
    """Return the next entries: at most ``most``, and fewer if they are long."""
    taken, size = list[T](), 0
    for entry in islice(entries, most):
        taken.append(entry)
        if (size := size + getattr(entry, "size", 0)) >= LONGEST_LINE:
            break
    return taken


def read_feed(path: Path) -> Iterator[RecordedDocument | WrongLine]:
    """Return the documents of a file in their order, without empty lines.

    Raise InputError at once if nothing can be read, or if each of the first lines lacks a key that documents need. A
    file whose end is damaged ends with a WrongLine.
    """
    entries = read_packed(path, lambda file: (_parse(line, path) for line in objects_of(file, path)))
    first = take(entries, _FIRST)
    lacking = [entry for entry in first if isinstance(entry, WrongLine) and entry.missing]
    if first and len(lacking) == len(first):
        raise InputError(
            f"{shown(path)}: its lines are no documents: line {lacking[0].line} has no {lacking[0].missing}. If they"
            " are the items of a crawl, crawl again with -s NEARDUP_RECORD=recorded.jsonl.gz, and give that file"
        )
    return chain(first, entries)


def read_packed(path: Path, read: Callable[[IO[bytes]], Iterator[T]]) -> Iterator[T | WrongLine]:
    """Yield what ``read`` yields of a file that may be packed. A file whose end is damaged ends with a WrongLine.

    Raise InputError if nothing can be read.
    """
    number = 0
    try:
        # One handle, looked at and then read: a pipe cannot be opened twice.
        with nullcontext(cast("BufferedReader", sys.stdin.buffer)) if path == STDIN else path.open("rb") as file:
            for entry in read(_unpacked(file)):
                number = getattr(entry, "line", number + 1)
                yield entry
    except (OSError, EOFError, lzma.LZMAError, zlib.error) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or error
        if not number:
            raise InputError(f"{shown(path)}: cannot be read: {reason}") from error
        yield WrongLine(number + 1, None, f"{shown(path)}:{number + 1}: cannot be read further: {reason}")


Line = tuple[int, int, dict[str, Any] | WrongLine]
"""Number (from 1) and bytes of a line, and its JSON object, or why it has none."""


def objects_of(file: IO[bytes], path: Path, errors: str = "strict") -> Iterator[Line]:
    """Yield each line that is not empty. For ``errors`` see ``bytes.decode``."""
    for number in count(1):
        line = rest = file.readline(LONGEST_LINE)
        while len(rest) == LONGEST_LINE and not rest.endswith(b"\n"):
            rest = file.readline(LONGEST_LINE)
        if not line:
            return
        if rest is not line or line.strip():
            try:
                yield number, len(line), _object(line, errors, is_whole=rest is line)
            except InputError as error:
                yield number, len(line), WrongLine(number, None, f"{shown(path)}:{number}: {error}")


def _object(line: bytes, errors: str, *, is_whole: bool) -> dict[str, Any]:
    if not is_whole:
        raise InputError(TOO_LONG)
    try:
        return require_object(json.loads(line.decode("utf-8-sig", errors)))
    except UnicodeDecodeError as error:
        raise InputError(f"not UTF-8 at byte {error.start}") from None
    except (ValueError, RecursionError) as error:
        hint = "" if line.endswith(b"\n") else f": perhaps {CUT_OFF}"
        raise InputError(f"not JSON: {error}{hint}") from None


def require_object(value: object) -> dict[str, Any]:
    """Return the value. Raise InputError if it is no JSON object."""
    if isinstance(value, dict):
        return value
    raise InputError(f"must be a JSON object, not {type(value).__name__}")


def shown(path: Path) -> str:
    """Return the name of a file as messages show it."""
    return "standard input" if path == STDIN else str(path)


def _unpacked(file: BufferedReader) -> IO[bytes]:
    magic = file.peek(2)[:2]
    if magic == b"\x1f\x8b":
        return cast("IO[bytes]", gzip.GzipFile(fileobj=file))
    return lzma.LZMAFile(file) if magic == b"\xfd7" else file


def _parse(line: Line, path: Path) -> RecordedDocument | WrongLine:
    number, size, row = line
    if isinstance(row, WrongLine):
        return row
    try:
        return _recorded(row, path, number, size)
    except InputError as error:
        given = row.get("id")
        lacks = {"'id'": given is None, "'text', 'html' or 'file'": all(row.get(name) is None for name in _CONTENT)}
        missing = " and no ".join(name for name, is_missing in lacks.items() if is_missing) if row else ""
        shown_id = given if isinstance(given, str | int) else None
        return WrongLine(number, shown_id, f"{shown(path)}:{number}: {error}", missing)


def _recorded(row: dict[str, Any], path: Path, number: int, size: int) -> RecordedDocument:
    # Lists take over twenty times as much memory as in the line, and are read only to say that they are wrong.
    extra = {key: value for key, value in row.items() if size < _SHORT_LINE or not isinstance(value, list | dict)}
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
    return RecordedDocument(
        line=number,
        where=f"{shown(path)}:{number}",
        id=given,
        url=texts["url"] or "",
        title=texts["title"] or "",
        time=seconds,
        # An empty text beside a page is a field that an export left unfilled.
        text=texts["text"] if texts["text"] or not (texts["html"] or texts["file"]) else None,
        html=texts["html"] or None if texts["file"] is not None else texts["html"],
        file=None if texts["file"] is None else _page_below(path.parent, texts["file"]),
        extra=extra,
        size=size,
    )


def _page_below(folder: Path, name: str) -> Path:
    """Return the path of a page. Raise InputError if it is outside the folder: the line may come from a stranger."""
    with suppress(ValueError):  # no file can have this name
        if Path(os.path.realpath(folder / name)).is_relative_to(os.path.realpath(folder)):
            return folder / name
    raise InputError(f"'file' is {name!r}, which is not below the folder of the input: move the page there")


def _text(row: dict[str, Any], name: str) -> str | None:
    value = row.pop(name, None)
    if value is not None and not isinstance(value, str):
        raise InputError(f"{name!r} must be a text, not {type(value).__name__}")
    return value
