"""Everything that the templates of a report show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from scrapy_neardup.report.events import MOST_EVENTS, EventView
from scrapy_neardup.report.gathering import Gathered
from scrapy_neardup.report.overview import Overview
from scrapy_neardup.report.payload import Payload
from scrapy_neardup.report.review import Sample
from scrapy_neardup.report.stories import Story
from scrapy_neardup.report.topics import SharedTopic


@dataclass(frozen=True, slots=True)
class Note:
    """Something that a reader of the page has to know. ``mend`` says what to do about it, or is empty.

    ``details`` are lines of their own.
    """

    text: str
    mend: str = ""
    is_warning: bool = True
    details: tuple[str, ...] = ()


@dataclass(slots=True)
class Contents:
    """The numbers, events, pairs and data of one page."""

    gathered: Gathered
    overview: Overview
    stories: Sequence[Story]
    events: list[EventView]
    sample: Sample
    payload: Payload
    listed: int
    with_text: int
    topics: Mapping[int, SharedTopic]  # by the number of a row
    notes: list[Note] = field(default_factory=list)

    @property
    def shown_events(self) -> list[EventView]:
        return self.events[:MOST_EVENTS]
