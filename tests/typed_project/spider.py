"""A project as a user would write it, with types. ``tox -e typing`` and ``release.py`` check it with mypy."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import scrapy
from scrapy import signals as scrapy_signals
from scrapy.crawler import Crawler
from scrapy.http import Response, TextResponse

from scrapy_neardup import Addon, NearDupFields, NearDupItem, StoryEvent, Verdict, signals

ADDONS = {Addon: 500}


class Page(NearDupItem):
    url = scrapy.Field()


@dataclass(kw_only=True)
class Article(NearDupFields):
    url: str
    title: str


class Alerts:
    """A Scrapy extension that hears of verdicts and events."""

    headlines: list[str]

    def __init__(self) -> None:
        self.headlines = []

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Alerts:
        alerts = cls()
        crawler.signals.connect(alerts.on_event, signals.story_event)
        crawler.signals.connect(alerts.on_verdict, signals.document_checked)
        crawler.signals.connect(alerts.on_close, scrapy_signals.spider_closed)
        return alerts

    def on_event(self, event: StoryEvent, report: dict[str, Any]) -> None:
        if event.level == "breaking" and event.story.sources:
            self.headlines.append(f"{event.id}: {report['headline']}")

    async def on_verdict(self, item: object, verdict: Verdict) -> None:
        figures: tuple[str, ...] = verdict.changes
        if verdict.status == "update" and verdict.original_url is not None:
            self.headlines.extend(figures)

    def on_close(self) -> None:
        print(*self.headlines, sep="\n")


class NewsSpider(scrapy.Spider):
    name = "news"

    async def start(self) -> AsyncIterator[scrapy.Request]:
        yield scrapy.Request("https://www.northwire.example/", callback=self.parse_page)

    def parse_page(self, response: Response) -> Article:
        assert isinstance(response, TextResponse)
        article = Article(url=response.url, title=response.css("h1::text").get(""))
        status: str | None = article.neardup_status
        self.logger.debug("Not judged yet: %s", status)
        return article
