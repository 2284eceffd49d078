"""What the spiders yield: plain dicts, so that the ``neardup_*`` tags need no declaration."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import TypedDict

from parsel import Selector
from scrapy.http import Response


class Article(TypedDict):
    """One article. ``published`` is ISO 8601 in UTC with a final Z."""

    url: str
    title: str
    published: str


class FeedArticle(Article):
    """An article and the feed or sitemap that named it."""

    feed: str


def parse_time(text: str | None) -> datetime | None:
    """An ISO 8601 date or time as an aware datetime; UTC when it names no zone, None when it is not one."""
    if not text:
        return None
    try:
        # Python 3.10 does not read the final Z.
        moment = datetime.fromisoformat(text.strip().replace("Z", "+00:00"))
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=timezone.utc)
    return moment.astimezone(timezone.utc)


def format_time(moment: datetime) -> str:
    return moment.astimezone(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def page_title(page: Response | Selector) -> str:
    """The headline: what the page says to other sites, else its heading, else its window title."""
    for query in (
        "string(//meta[@property='og:title']/@content)",
        "normalize-space(//h1)",
        "normalize-space(//title)",
    ):
        if title := page.xpath(query).get():
            return title
    return ""


def page_time(page: Response | Selector) -> datetime | None:
    """The publication time a page states in a ``meta`` or ``time`` element."""
    stated = page.xpath(
        "//meta[@property='article:published_time' or @name='date']/@content | //time/@datetime"
    ).getall()
    return next((moment for text in stated if (moment := parse_time(text))), None)
