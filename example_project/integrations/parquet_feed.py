"""Write items to Parquet files (pyarrow): ``python -m integrations.parquet_feed``. Copy the exporter into your project.

A part of the bundled site is crawled into a Parquet feed. Exit status 0 if every verdict in it is the one in the truth
file.
"""

from __future__ import annotations

import sys
from dataclasses import fields
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any

import pyarrow as pa
from pyarrow import parquet
from scrapy.exporters import BaseItemExporter, PythonItemExporter

from scrapy_neardup import NearDupFields

# Without types, a column without a value in one file has another type than in the next file.
TYPES = {"float": pa.float64(), "bool": pa.bool_()}
TAG_TYPES: dict[str | bytes, Any] = {
    each.name: TYPES.get(str(each.type).removesuffix(" | None"), pa.string()) for each in fields(NearDupFields)
}


class ParquetExporter(BaseItemExporter):
    """Writes one Parquet file. It keeps the items of the file in memory until then."""

    def __init__(self, file: IO[bytes], **options: Any) -> None:
        super().__init__(dont_fail=True)
        self.file = file
        self.plain = PythonItemExporter(dont_fail=True, **options)
        self.rows: list[dict[str | bytes, Any]] = []

    def export_item(self, item: Any) -> None:
        self.rows.append(self.plain.export_item(item))

    def finish_exporting(self) -> None:
        names = {name: None for row in self.rows for name in row}
        columns = {name: pa.array([row.get(name) for row in self.rows], TAG_TYPES.get(name)) for name in names}
        parquet.write_table(pa.table(columns), self.file)


def main() -> int:
    from integrations.offline import SETTINGS, BundledNews, check
    from scrapy.crawler import AsyncCrawlerProcess

    pages = 30
    with TemporaryDirectory() as folder:
        process = AsyncCrawlerProcess(
            {
                **SETTINGS,
                "FEED_EXPORTERS": {"parquet": "integrations.parquet_feed.ParquetExporter"},
                "FEEDS": {Path(folder, "items.parquet"): {"format": "parquet"}},
            }
        )
        process.crawl(BundledNews, pages=pages)
        process.start()
        table = parquet.read_table(Path(folder, "items.parquet"))
    print(table.schema)
    return int(not check(table.to_pylist(), pages))


if __name__ == "__main__":
    sys.exit(main())
