"""Reports of one event are related by their topics, and reports of one template are no match."""

from __future__ import annotations

import pytest
from documents import Article, check

from scrapy_neardup.index import Index
from scrapy_neardup.rules.match import Match

pytestmark = pytest.mark.in_memory


async def match_of(index: Index, *articles: Article) -> Match | None:
    """Check articles one after the other, and return the match of the last one."""
    for article in articles:
        match = await check(index, article)
    return match
