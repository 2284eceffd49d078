"""Documents of an archive: JSON lines, Parquet, or the HTML pages of a WARC file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import IO

from scrapy_neardup.content.extractors import MOST_HTML_BYTES
from scrapy_neardup.content.head import decode_html
from scrapy_neardup.exceptions import InputError
from scrapy_neardup.tools.lab.feed import (
    CUT_OFF,
    FeedLine,
    RecordedDocument,
    document_of_line,
    needed,
    read_feed,
    read_packed,
)

_HTML = ("text/html", "application/xhtml+xml")
_SUCCESS = range(200, 300)
_ROWS = 256  # of Parquet, at once


def read_documents(path: Path) -> Iterator[RecordedDocument]:
    """Return the documents of a file. Raise InputError if nothing can be read.

    Rows of Parquet have the keys of JSON lines. The *line* of a page is the number of its WARC record, from 1.
    """
    if ".warc" in path.suffixes:
        return (document_of_line(line, path) for line in read_packed(path, lambda file: _pages(file, path)))
    if path.suffix == ".parquet":
        return (document_of_line(line, path) for line in _rows(path))
    return read_feed(path)


def _pages(file: IO[bytes], path: Path) -> Iterator[FeedLine]:
    """Yield the successful responses of HTML. An id is that of the record."""
    warc = needed("fastwarc.warc")
    for number, record in enumerate(warc.ArchiveIterator(file, parse_http=True, auto_decode="all"), 1):
        head = record.http_headers
        is_page = head is not None and head.status_code in _SUCCESS and record.http_content_type in _HTML
        if record.record_type != warc.WarcRecordType.response or not is_page:
            continue
        body = record.reader.read(MOST_HTML_BYTES + 1)
        is_packed = "Content-Encoding" in head or "Transfer-Encoding" in head
        if len(body) < min(record.content_length, MOST_HTML_BYTES) and not is_packed:
            yield FeedLine(number, len(body), {}, f"{path}:{number}: {CUT_OFF}")
            continue
        row = {"id": record.headers.get("WARC-Record-ID", "").strip("<>"), "time": record.headers.get("WARC-Date")}
        row |= {"url": record.headers.get("WARC-Target-URI", "").strip("<>")}
        yield FeedLine(number, len(body), row | {"html": decode_html(body, record.http_charset)})


def _rows(path: Path) -> Iterator[FeedLine]:
    number = 0
    try:
        for batch in needed("pyarrow.parquet").ParquetFile(path).iter_batches(_ROWS):
            for row in batch.to_pylist():
                number += 1
                yield FeedLine(number, sum(len(each) for each in row.values() if isinstance(each, str)), row)
    except (OSError, ValueError) as error:
        if not number:
            raise InputError(f"{path}: cannot be read: {error}") from error
        yield FeedLine(number + 1, 0, {}, f"{path}:{number + 1}: cannot be read further: {error}")
