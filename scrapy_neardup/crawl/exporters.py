"""Scrapy's exporters for CSV and XML, which treat only the tags of this package in another way."""

from __future__ import annotations

from codecs import getwriter, lookup
from collections.abc import Mapping
from io import BytesIO
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import XMLGenerator

from itemadapter import ItemAdapter
from scrapy.crawler import Crawler
from scrapy.exporters import BaseItemExporter, CsvItemExporter, XmlItemExporter

from scrapy_neardup.settings import NearDupSettings

if TYPE_CHECKING:
    from typing_extensions import Self


class _Exporter(BaseItemExporter):
    """An exporter that knows the names of the tags."""

    tags: frozenset[str] = frozenset()

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Self:
        exporter = cls(*args, **kwargs)
        exporter.tags = frozenset(NearDupSettings.from_mapping(crawler.settings).fields.values())
        return exporter


class CsvExporter(_Exporter, CsvItemExporter):
    """Writes the item's own fields first and the tags last, unless the user has named the columns.

    Scrapy takes the columns from the first item, and an item class lists the fields that it inherits first.
    """

    def export_item(self, item: Any) -> None:
        if self.include_headers_line and not self.fields_to_export:
            self.fields_to_export = sorted(ItemAdapter(item).field_names(), key=lambda name: name in self.tags)
            self._autodetected_fields = True  # so Scrapy warns of fields that only later items have
        super().export_item(item)


class XmlExporter(_Exporter, XmlItemExporter):
    """Writes a tag without a value as an empty element, and a lone surrogate as a question mark.

    Scrapy writes the word None, and a reference to half a character, for which readers of XML refuse the whole file.
    """

    def __init__(self, file: BytesIO, **kwargs: Any) -> None:
        super().__init__(file, **kwargs)
        encoding = self.encoding or "utf-8"
        if lookup(encoding).name.startswith("utf"):  # all other characters can be written
            writer: Any = getwriter(encoding)(file)
            writer.errors = "replace"
            self.xg = XMLGenerator(writer, encoding=encoding)

    def serialize_field(self, field: Mapping[str, Any], name: str, value: Any) -> Any:
        return "" if value is None and name in self.tags else super().serialize_field(field, name, value)
