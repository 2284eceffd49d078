"""Items that declare the fields of a verdict."""

from __future__ import annotations

from dataclasses import dataclass, field

import scrapy


class NearDupItem(scrapy.Item):
    """Base class of items that get tags: ``class Article(NearDupItem): ...``."""

    neardup_status = scrapy.Field()
    neardup_kind = scrapy.Field()
    neardup_original = scrapy.Field()
    neardup_match = scrapy.Field()
    neardup_similarity = scrapy.Field()
    neardup_containment = scrapy.Field()
    neardup_share = scrapy.Field()
    neardup_would_drop = scrapy.Field()
    neardup_story = scrapy.Field()
    neardup_changes = scrapy.Field()
    neardup_event = scrapy.Field()
    neardup_reason = scrapy.Field()


@dataclass(kw_only=True)
class NearDupFields:
    """Mixin of dataclass items that get tags. Its fields are keyword-only and have defaults."""

    neardup_status: str | None = field(default=None)
    neardup_kind: str | None = field(default=None)
    neardup_original: str | None = field(default=None)
    neardup_match: str | None = field(default=None)
    neardup_similarity: float | None = field(default=None)
    neardup_containment: float | None = field(default=None)
    neardup_share: float | None = field(default=None)
    neardup_would_drop: bool | None = field(default=None)
    neardup_story: str | None = field(default=None)
    neardup_changes: str | None = field(default=None)
    neardup_event: str | None = field(default=None)
    neardup_reason: str | None = field(default=None)
