"""Recorded documents: JSON lines, Parquet, or the HTML pages of a WARC file.

A line that cannot be used is reported, never just skipped.
"""

import gzip
import json
import lzma
import os
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from importlib import import_module
from io import BufferedReader
from itertools import chain, count, islice
from pathlib import Path
from typing import IO, Any, NamedTuple, TypeVar, cast

from scrapy_neardup.content.document_maker import parse_time
from scrapy_neardup.content.extractors import MOST_HTML_BYTES
from scrapy_neardup.content.head import decode_html
from scrapy_neardup.content.urls import url_identity
from scrapy_neardup.exceptions import InputError

T = TypeVar("T")

STDIN = Path("-")  # wherever a command takes a file
LONGEST_LINE = 16 << 20  # bytes of the longest line that is read, and about as many that are taken together

TOO_LONG = f"longer than {LONGEST_LINE >> 20} MB, which is the most that is read at once"
CUT_OFF = "the end is half written, as a crawl leaves it that was stopped"

_CONTENT = "text", "html", "file"


class FeedLine(NamedTuple):
    """A line of a file, or an item of a list: its JSON object, or why it has none."""

    number: int  # from 1
    size: int  # bytes
    row: dict[str, Any]
    error: str | None = None  # as ``input.jsonl:7: what is wrong``


@dataclass(frozen=True, slots=True)
class RecordedDocument:
    """One line of an input file. Exactly one of ``text``, ``html`` and ``file`` is used, in this order.

    A line that cannot be used has an ``error``, and no id if that is wrong.
    """

    line: int  # from 1
    where: str  # file and line
    id: str | int | None
    url: str = ""
    title: str = ""
    time: float | None = None  # Unix seconds, UTC
    text: str | None = None
    html: str | None = None
    file: Path | None = None
    extra: dict[str, Any] = field(default_factory=dict)
    size: int = 0  # of the line in bytes
    error: str | None = None


def take(entries: Iterator[T], most: int) -> list[T]:
    """Return the next entries: at most ``most``, and fewer if they are long."""
    taken: list[T] = []
    size = 0
    for entry in islice(entries, most):
        taken.append(entry)
        size += getattr(entry, "size", 0)
        if size >= LONGEST_LINE:
            break
    return taken


def read_feed(path: Path) -> Iterator[RecordedDocument]:
    """Return the documents of a file in their order, without empty lines.

    Raise InputError at once if nothing can be read, or if none of the first lines has the keys that documents need.
    """
    lines = read_packed(path, lambda file: objects_of(file, path))
    first = take(lines, 20)
    lacking = [
        [
            name
            for name, keys in (("'id'", ("id",)), ("'text', 'html' or 'file'", _CONTENT))
            if all(row.get(key) is None for key in keys)
        ]
        for _, _, row, _ in first
    ]
    if first and all(lacking):
        why = first[0].error or f"line {first[0].number} has no {' and no '.join(lacking[0])}"
        raise InputError(
            f"{shown(path)}: its lines are no documents: {why}."
            " If they are the items of a crawl, crawl again with -s NEARDUP_RECORD=recorded.jsonl.gz, and give that"
            " file"
        )
    return (document_of_line(line, path) for line in chain(first, lines))


def read_packed(path: Path, read: Callable[[IO[bytes]], Iterator[FeedLine]]) -> Iterator[FeedLine]:
    """Yield the lines of a file that may be packed, as ``read`` finds them.

    If the end of the file is damaged, the last line says so. Raise InputError if nothing can be read.
    """
    number = 0
    try:
        # One handle, looked at and then read: a pipe cannot be opened twice.
        with nullcontext(cast("BufferedReader", sys.stdin.buffer)) if path == STDIN else path.open("rb") as file:
            magic = file.peek(4)[:4]
            unpacked: IO[bytes] = file
            if magic[:2] == b"\x1f\x8b":
                unpacked = cast("IO[bytes]", gzip.GzipFile(fileobj=file))
            elif magic[:2] == b"\xfd7":
                unpacked = lzma.LZMAFile(file)  # noqa: SIM115
            elif magic == b"\x28\xb5\x2f\xfd":
                unpacked = BufferedReader(needed("pyarrow").CompressedInputStream(file, "zstd"))
            for line in read(unpacked):
                number = line.number
                yield line
    except InputError:
        raise
    except (OSError, EOFError, ValueError, lzma.LZMAError, zlib.error) as error:  # ValueError is of Parquet
        reason = getattr(error, "strerror", None) or error
        if not number:
            raise InputError(f"{shown(path)}: cannot be read: {reason}") from error
        yield FeedLine(number + 1, 0, {}, f"{shown(path)}:{number + 1}: cannot be read further: {reason}")


def needed(module: str, extra: str = "cluster") -> Any:
    """Import a module of an extra. Raise InputError if it is not installed."""
    try:
        return import_module(module)
    except ImportError as error:
        raise InputError(f"{error}; install scrapy-neardup with its extra {extra!r}") from error


def objects_of(file: IO[bytes], path: Path, errors: str = "strict") -> Iterator[FeedLine]:
    """Yield each line that is not empty. For ``errors`` see ``bytes.decode``."""
    for number in count(1):
        line = rest = file.readline(LONGEST_LINE)
        while len(rest) == LONGEST_LINE and not rest.endswith(b"\n"):
            rest = file.readline(LONGEST_LINE)
        if not line:
            return
        where = f"{shown(path)}:{number}"
        if rest is not line:
            yield FeedLine(number, len(line), {}, f"{where}: {TOO_LONG}")
        elif line.strip():
            yield _line(number, line, where, errors)


def _line(number: int, line: bytes, where: str, errors: str) -> FeedLine:
    try:
        return line_of(number, len(line), json.loads(line.decode("utf-8-sig", errors)), where)
    except UnicodeDecodeError as error:
        problem = f"not UTF-8 at byte {error.start}"
    except (ValueError, RecursionError) as error:
        problem = f"not JSON: {error}"
        if not line.endswith(b"\n"):
            problem += f": perhaps {CUT_OFF}"
    return FeedLine(number, len(line), {}, f"{where}: {problem}")


def line_of(number: int, size: int, value: object, where: str) -> FeedLine:
    if isinstance(value, dict):
        return FeedLine(number, size, value)
    return FeedLine(number, size, {}, f"{where}: must be a JSON object, not {type(value).__name__}")


def shown(path: Path) -> str:
    return "standard input" if path == STDIN else str(path)


def document_of_line(line: FeedLine, path: Path) -> RecordedDocument:
    where = f"{shown(path)}:{line.number}"
    problem = line.error
    if problem is None:
        try:
            return _recorded(line, where, path.parent)
        except InputError as error:
            problem = f"{where}: {error}"
    given = line.row.get("id")
    return RecordedDocument(line.number, where, given if isinstance(given, str | int) else None, error=problem)


def _recorded(line: FeedLine, where: str, folder: Path) -> RecordedDocument:
    # Lists take over twenty times as much memory as in the line, and are read only to say that they are wrong.
    is_short = line.size < 1 << 14
    extra = {key: value for key, value in line.row.items() if is_short or not isinstance(value, list | dict)}
    given = extra.pop("id", None)
    if not isinstance(given, str | int) or isinstance(given, bool) or given == "":
        raise InputError(f"'id' must be a text or a whole number, not {given!r}")
    url, title, text, html, file = (_text(extra, name) for name in ("url", "title", *_CONTENT))
    if text is html is file is None:
        raise InputError("a document needs 'text', 'html' or 'file'")
    if html or file:  # an empty text beside a page is a field that an export left unfilled
        text = text or None
    if file is not None:
        html = html or None
    time = extra.pop("time", None)
    try:
        seconds = None if time is None else parse_time(time)
    except ValueError as error:
        raise InputError(f"'time': {error}") from error
    return RecordedDocument(
        line=line.number,
        where=where,
        id=given,
        url=url or "",
        title=title or "",
        time=seconds,
        text=text,
        html=html,
        file=_page_below(folder, file),
        extra=extra,
        size=line.size,
    )


def _page_below(folder: Path, name: str | None) -> Path | None:
    """Return the path of a page. Raise InputError if it is outside the folder: the line may come from a stranger."""
    if name is None:
        return None
    with suppress(ValueError):  # no file can have this name
        if Path(os.path.realpath(folder / name)).is_relative_to(os.path.realpath(folder)):
            return folder / name
    raise InputError(f"'file' is {name!r}, which is not below the folder of the input: move the page there")


def _text(row: dict[str, Any], name: str) -> str | None:
    value = row.pop(name, None)
    if value is not None and not isinstance(value, str):
        raise InputError(f"{name!r} must be a text, not {type(value).__name__}")
    return value


def read_documents(path: Path) -> Iterator[RecordedDocument]:
    """Return the documents of a file. Raise InputError if nothing can be read.

    Rows of Parquet have the keys of JSON lines. The *line* of a page is the number of its WARC record, from 1.
    """
    if ".warc" in path.suffixes:
        return (document_of_line(line, path) for line in read_packed(path, lambda file: _pages(file, path)))
    if path.suffix == ".parquet":
        return (document_of_line(line, path) for line in read_packed(path, _rows))
    return read_feed(path)


def _pages(file: IO[bytes], path: Path) -> Iterator[FeedLine]:
    """Yield the successful responses of HTML. An id is that of the record."""
    warc = needed("fastwarc.warc")
    for number, record in enumerate(warc.ArchiveIterator(file, parse_http=True, auto_decode="all"), 1):
        head = record.http_headers
        is_page = (
            head is not None
            and head.status_code in range(200, 300)
            and record.http_content_type in ("text/html", "application/xhtml+xml")
        )
        if record.record_type != warc.WarcRecordType.response or not is_page:
            continue
        body = record.reader.read(MOST_HTML_BYTES + 1)
        is_packed = "Content-Encoding" in head or "Transfer-Encoding" in head
        if len(body) < min(record.content_length, MOST_HTML_BYTES) and not is_packed:
            yield FeedLine(number, len(body), {}, f"{path}:{number}: {CUT_OFF}")
        else:
            row = {
                "id": record.headers.get("WARC-Record-ID", "").strip("<>"),
                "time": record.headers.get("WARC-Date"),
                "url": record.headers.get("WARC-Target-URI", "").strip("<>"),
                "html": decode_html(body, record.http_charset),
            }
            yield FeedLine(number, len(body), row)


def _rows(file: IO[bytes]) -> Iterator[FeedLine]:
    batches = needed("pyarrow.parquet").ParquetFile(file).iter_batches(256)
    for number, row in enumerate(chain.from_iterable(batch.to_pylist() for batch in batches), 1):
        yield FeedLine(number, sum(len(each) for each in row.values() if isinstance(each, str)), row)


def read_labelled(path: Path, label: str = "cluster") -> tuple[list[RecordedDocument], list[str]]:
    """Return documents, and the cluster that people sorted each of them into.

    Every line needs the label, which is a text or a whole number. Ids are unique. If not, raise InputError, which names
    the first wrong line.
    """
    documents = read_checked([path])
    if documents and all(label not in document.extra for document in documents):
        keys = ", ".join(sorted(set().union(*(document.extra for document in documents)))) or "no other"
        raise InputError(f"{shown(path)}: no line has the label {label!r}; choose another with --label: {keys}")
    lines: dict[str | int | None, int] = {}
    for document in documents:
        value = document.extra.get(label)
        if isinstance(value, bool) or not isinstance(value, str | int) or value == "":
            raise InputError(f"{document.where}: the label {label!r} must be a text or a whole number, not {value!r}")
        if (line := lines.setdefault(document.id, document.line)) != document.line:
            raise InputError(f"{document.where}: line {line} has the same id {document.id!r}")
    return documents, [str(document.extra[label]) for document in documents]


def without_labelled(
    background: Sequence[RecordedDocument], labelled: Sequence[RecordedDocument]
) -> tuple[list[RecordedDocument], list[str]]:
    """Return the background without the labelled documents, and the file and line of each document that is left out.

    Two documents are one if they have the same url, or the same text, HTML or file.
    """
    known = set().union(*map(_identities, labelled))
    kept = [document for document in background if known.isdisjoint(_identities(document))]
    return kept, [document.where for document in background if not known.isdisjoint(_identities(document))]


def _identities(document: RecordedDocument) -> set[tuple[str, object]]:
    found = {
        "url": url_identity(document.url) or document.url,
        "text": document.text,
        "html": document.html,
        "file": document.file and document.file.resolve(),
    }
    return {(kind, value) for kind, value in found.items() if value}


def read_checked(paths: Iterable[Path]) -> list[RecordedDocument]:
    """Return the documents of several files. Raise InputError if a line is wrong."""
    documents = [document for path in paths for document in read_feed(path)]
    for document in documents:
        if document.error is not None:
            raise InputError(document.error)
    return documents
