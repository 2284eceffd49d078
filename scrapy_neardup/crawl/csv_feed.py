"""CSV feeds with the item's own fields first, and the tags of this package last.

Scrapy takes the columns from the first item, and an item class lists the fields that it inherits first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from itemadapter import ItemAdapter
from scrapy.crawler import Crawler
from scrapy.exporters import CsvItemExporter

from scrapy_neardup.settings import NearDupSettings

if TYPE_CHECKING:
    from typing_extensions import Self


class CsvExporter(CsvItemExporter):
    """Scrapy's exporter, with other columns only if the user has named none."""

    tags: frozenset[str] = frozenset()

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Self:
        exporter = cls(*args, **kwargs)
        exporter.tags = frozenset(NearDupSettings.from_mapping(crawler.settings).fields.values())
        return exporter

    def export_item(self, item: Any) -> None:
        if self.include_headers_line and not self.fields_to_export:
            self.fields_to_export = sorted(ItemAdapter(item).field_names(), key=lambda name: name in self.tags)
            self._autodetected_fields = True  # so Scrapy warns of fields that only later items have
        super().export_item(item)
