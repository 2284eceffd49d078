"""Everything that the templates of a report show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from scrapy_neardup.report.gathering import Gathered
from scrapy_neardup.report.news import News
from scrapy_neardup.report.overview import Overview
from scrapy_neardup.report.payload import Payload
from scrapy_neardup.report.review import Sample


@dataclass(frozen=True, slots=True)
class Note:
    """Something that a reader of the page has to know. ``remedy`` says what to do about it, or is empty.

    ``details`` are lines of their own.
    """

    text: str
    remedy: str = ""
    is_warning: bool = True
    details: tuple[str, ...] = ()


@dataclass(slots=True)
class Contents:
    """The numbers, news, pairs and data of one page. The first news are those of all days."""

    gathered: Gathered
    overview: Overview
    news: Sequence[News]
    sample: Sample
    payload: Payload
    listed: int
    reasons: Mapping[str, str]  # why items joined by their topic, by url
    notes: list[Note] = field(default_factory=list)
