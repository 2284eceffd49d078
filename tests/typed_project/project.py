"""A project as a user would write it, with types. ``tox -e py`` and ``release.py`` check it with mypy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import scrapy
from scrapy.crawler import Crawler
from scrapy.http import Response, TextResponse

from scrapy_neardup import (
    Addon,
    Document,
    Extractor,
    Level,
    NearDupDetector,
    NearDupFields,
    NearDupItem,
    NearDupSettings,
    Rule,
    SettingsError,
    Status,
    StoreError,
    Story,
    StoryEvent,
    Verdict,
    signals,
)

ADDONS = {Addon: 500}


class Page(NearDupItem):
    url = scrapy.Field()


@dataclass(kw_only=True)
class Article(NearDupFields):
    url: str
    title: str


def parse_page(response: Response) -> Article:
    assert isinstance(response, TextResponse)
    article = Article(url=response.url, title=response.css("h1::text").get(""))
    status: str | None = article.neardup_status
    print("Not judged yet:", status)
    return article


class Alerts:
    """A Scrapy extension that hears of verdicts and events."""

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Alerts:
        alerts = cls()
        crawler.signals.connect(alerts.on_event, signals.story_event)
        crawler.signals.connect(alerts.on_verdict, signals.document_checked)
        return alerts

    def on_event(self, event: StoryEvent, report: dict[str, Any]) -> None:
        if event.level == "breaking" and event.story.sources:
            print(f"{event.id}: {report['headline']}")

    async def on_verdict(self, item: object, verdict: Verdict) -> None:
        figures: tuple[str, ...] = verdict.changes
        if verdict.status == "update" and verdict.original_url is not None:
            print(*figures)


def everything(html: str, url: str) -> str:
    return html


def ten_copies(*, story: Story, time: float, breaking_over: int) -> Level | None:
    return "breaking" if story.copies > 10 and time > 0 and breaking_over else None


extractor: Extractor = everything
rule: Rule = ten_copies


def says(status: Status) -> str:
    """Name a status. mypy knows all of them."""
    match status:
        case "original" | "related":
            return "new"
        case "update":
            return "changed"
        case "duplicate":
            return "seen"
        case "unchecked":
            return "not judged"


async def judge(text: str) -> list[str]:
    """Judge a text without Scrapy."""
    try:
        detector = NearDupDetector(NearDupSettings.from_mapping({"NEARDUP_STORE": "memory://"}))
        await detector.open()
    except (SettingsError, StoreError) as error:
        return [str(error)]
    document: Document = detector.document(text, url="https://www.northwire.example/1", title="", seen_at=1.7e9)
    verdict: Verdict = await detector.check(document)
    similarity: float = verdict.similarity or 0.0
    await detector.close()
    return [says(verdict.status), f"{similarity:.2f}", str(Page(url=document.url))]
