"""The detector in a program without Scrapy, with a rule and an extractor of the user's own."""

from __future__ import annotations

from typing import assert_never

from spider import Page

from scrapy_neardup import (
    Document,
    Extractor,
    Level,
    NearDupDetector,
    NearDupSettings,
    Rule,
    SettingsError,
    Status,
    StoreError,
    Story,
    Verdict,
)


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
    assert_never(status)


async def judge(texts: list[str]) -> list[str]:
    try:
        settings = NearDupSettings.from_mapping({"NEARDUP_STORE": "memory://"})
        detector = NearDupDetector(settings)
        await detector.open()
    except (SettingsError, StoreError) as error:
        return [str(error)]
    document: Document = detector.document(texts[0], url="https://www.northwire.example/1", title="", seen_at=1.7e9)
    verdict: Verdict = await detector.check(document)
    similarity: float = verdict.similarity or 0.0
    await detector.close()
    return [says(verdict.status), f"{similarity:.2f}", str(Page(url=document.url))]
