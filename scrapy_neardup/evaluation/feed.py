"""Recorded documents: JSON lines, plain, .gz or .xz. A line that cannot be used is reported, never just skipped."""

from __future__ import annotations

import gzip
import json
import lzma
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, cast

from scrapy_neardup.exceptions import InputError
from scrapy_neardup.times import parse_time


@dataclass(frozen=True, slots=True)
class Recorded:
    """One line of an input file. Exactly one of ``text``, ``html`` and ``file`` is used, in this order."""

    line: int  # from 1
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


def read_feed(path: Path) -> Iterator[Recorded | WrongLine]:
    """The documents of a file in their order; empty lines are none. Raises InputError where the file cannot be read."""
    number = 0
    try:
        with _open(path) as file:
            for number, line in enumerate(file, 1):
                if line.strip():
                    yield _parse(line, path, number)
    except (OSError, EOFError, lzma.LZMAError) as error:
        where = f"{path}:{number + 1}" if number else str(path)
        raise InputError(f"{where}: cannot be read: {error}") from error


def count_lines(path: Path) -> int:
    """Lines that hold something, for a progress bar."""
    with _open(path) as file:
        return sum(1 for line in file if line.strip())


def _open(path: Path) -> BinaryIO:
    with path.open("rb") as file:
        magic = file.read(2)
    if magic == b"\x1f\x8b":
        return cast("BinaryIO", gzip.open(path, "rb"))
    if magic == b"\xfd7":
        return cast("BinaryIO", lzma.open(path, "rb"))
    return path.open("rb")


def _parse(line: bytes, path: Path, number: int) -> Recorded | WrongLine:
    row: Any = None
    try:
        row = _loads(line)
        return _recorded(row, path.parent, number)
    except InputError as error:
        given = row.get("id") if isinstance(row, dict) else None
        return WrongLine(number, given if isinstance(given, str | int) else None, f"{path}:{number}: {error}")


def _loads(line: bytes) -> dict[str, Any]:
    try:
        row = json.loads(line.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise InputError(f"not UTF-8 at byte {error.start}") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"no JSON: {error}") from error
    if not isinstance(row, dict):
        raise InputError(f"a document is a JSON object, not {type(row).__name__}")
    return row


def _recorded(row: dict[str, Any], folder: Path, number: int) -> Recorded:
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
        id=given,
        url=texts["url"] or "",
        title=texts["title"] or "",
        time=seconds,
        text=texts["text"],
        html=texts["html"],
        file=None if texts["file"] is None else folder / texts["file"],
        extra=extra,
    )


def _text(row: dict[str, Any], name: str) -> str | None:
    value = row.pop(name, None)
    if value is not None and not isinstance(value, str):
        raise InputError(f"{name!r} must be a text, not {type(value).__name__}")
    return value
