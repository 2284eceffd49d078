"""Documents of an archive: JSON lines, Parquet, or the HTML pages of a WARC file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from scrapy_neardup.content.document_maker import parse_time
from scrapy_neardup.content.extractors import MOST_HTML_BYTES
from scrapy_neardup.content.head import decode_html
from scrapy_neardup.exceptions import InputError
from scrapy_neardup.tools.lab.feed import FeedLine, RecordedDocument, document_of_line, needed, read_feed

_HTML = ("text/html", "application/xhtml+xml")
_SUCCESS = range(200, 300)
_ROWS = 256  # of Parquet, at once


def read_documents(path: Path) -> Iterator[RecordedDocument]:
    """Return the documents of a file. Raise InputError if nothing can be read.

    Rows of Parquet have the keys of JSON lines. What a record or row lacks is told, as ``read_feed`` does for a line.
    """
    if path.suffix == ".parquet":
        return (document_of_line(line, path) for line in _rows(path))
    if ".warc" in path.suffixes:
        return _pages(path)
    return read_feed(path)


def _rows(path: Path) -> Iterator[FeedLine]:
    number = 0
    try:
        for batch in needed("pyarrow.parquet").ParquetFile(path).iter_batches(_ROWS):
            for row in batch.to_pylist():
                number += 1
                size = sum(len(value) for value in row.values() if isinstance(value, str))
                yield FeedLine(number, size, row)
    except (OSError, ValueError) as error:
        yield _broken(path, number, error)


def _pages(path: Path) -> Iterator[RecordedDocument]:
    """Yield the successful responses of HTML. A *line* is a record, counted from 1."""
    warc = needed("fastwarc.warc")
    number = 0
    try:
        with path.open("rb") as file:
            for number, record in enumerate(warc.ArchiveIterator(file, parse_http=True, auto_decode="all"), 1):
                if record.record_type != warc.WarcRecordType.response or record.http_content_type not in _HTML:
                    continue
                if record.http_headers.status_code in _SUCCESS:
                    yield _page(record, number, f"{path}:{number}")
    except OSError as error:
        yield document_of_line(_broken(path, number, error), path)


def _page(record: Any, number: int, where: str) -> RecordedDocument:
    given = record.headers.get("WARC-Record-ID", "").strip("<>")
    try:
        body = record.reader.read(MOST_HTML_BYTES + 1)
        seconds = parse_time(record.headers.get("WARC-Date"))
    except (OSError, ValueError) as error:
        return RecordedDocument(number, where, given or None, error=f"{where}: {error}")
    return RecordedDocument(
        line=number,
        where=where,
        id=given or where,
        url=record.headers.get("WARC-Target-URI", "").strip("<>"),
        time=seconds,
        html=decode_html(body, record.http_charset),
        size=len(body),
    )


def _broken(path: Path, number: int, error: Exception) -> FeedLine:
    """Return what stands for the rest of a damaged file. Raise InputError if nothing of it was read."""
    reason = getattr(error, "strerror", None) or error
    if not number:
        raise InputError(f"{path}: cannot be read: {reason}") from error
    return FeedLine(number + 1, 0, {}, f"{path}:{number + 1}: cannot be read further: {reason}")
