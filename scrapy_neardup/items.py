"""Items that declare the fields of a verdict."""

import scrapy

from scrapy_neardup.document import TAGS
from scrapy_neardup.document import NearDupFields as NearDupFields


class NearDupItem(scrapy.Item):
    """Base class of items that get tags: ``class Article(NearDupItem): ...``."""

    for _tag in TAGS:
        locals()[_tag] = scrapy.Field()

    def __init_subclass__(cls) -> None:
        """Put the tags behind the fields of the item itself: feeds write them in this order."""
        cls.fields = dict(sorted(getattr(cls, "fields", {}).items(), key=lambda each: each[0] in TAGS))
