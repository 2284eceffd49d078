"""XML feeds that stay readable: a tag without a value is an empty element, and a lone surrogate is a question mark.

Scrapy's own exporter writes the word None, and a reference to half a character, which no reader of XML accepts.
"""

from __future__ import annotations

from codecs import lookup
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from scrapy.crawler import Crawler
from scrapy.exporters import XmlItemExporter

from scrapy_neardup.settings import NearDupSettings

if TYPE_CHECKING:
    from typing_extensions import Self


class XmlExporter(XmlItemExporter):
    """Scrapy's exporter. Only the tags of this package, and lone surrogates, are written in another way."""

    tags: frozenset[str] = frozenset()

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Self:
        exporter = cls(*args, **kwargs)
        if lookup(exporter.encoding or "").name.startswith("utf"):
            exporter.stream.reconfigure(errors="replace")  # all other characters can be written
        exporter.tags = frozenset(NearDupSettings.from_mapping(crawler.settings).fields.values())
        return exporter

    def serialize_field(self, field: Mapping[str, Any], name: str, value: Any) -> Any:
        return "" if value is None and name in self.tags else super().serialize_field(field, name, value)
