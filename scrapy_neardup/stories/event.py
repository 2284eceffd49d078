"""One level of one event, with the story it belongs to, and its draft.

An event that is not granted yet is a draft. The store keeps the draft until the event has been passed on.
"""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass, replace
from typing import Any

from scrapy_neardup.document import LEVELS, Level, Member, Story

_DOCUMENT_ID = re.compile("[0-9a-f]{16}")
_COUNTERS = ("time", "joined", "items", "copies", "sources", "changes", "breaking_over")


@dataclass(frozen=True, slots=True)
class StoryEvent:
    """A level that a story has reached, or an update, with the counters at the document that tipped it."""

    level: Level
    time: int  # Unix seconds, UTC, on the documents' own clock
    rule: str  # NEARDUP_EVENT_RULE
    story: Story
    members: tuple[Member, ...]  # in the order they joined; the first is the story's first document
    item: str | None = None  # id of the document that tipped it; None for an end
    breaking_over: int = 0  # the threshold of ``breaking`` at that time
    lead: str = ""  # the first sentence of that document

    @property
    def id(self) -> str:
        """Return the id, the same in every process: receivers use it to discard an event that arrives twice.

        It has at most 64 characters, in the form that ``docs/event.schema.json`` gives. A story reaches ``watch`` and
        ``breaking`` once, so their ids hold no time: if the store lost the story and it is raised again, the id is the
        same. The id of an update holds the numbers of items and confirmed changes. At least one of the two numbers is
        higher at the next update.
        """
        detail = {"update": f"-{self.story.items}-{len(self.story.changes)}", "ended": f"-{self.time}"}
        return f"{self.story.id}-{self.level}{detail.get(self.level, '')}"


@dataclass(frozen=True, slots=True)
class Draft:
    """The counters of an event, from which another process can make the same event with the same id."""

    level: Level
    time: int  # Unix seconds
    item: str | None  # document id
    joined: int
    items: int
    copies: int
    sources: int
    changes: int
    breaking_over: int
    lead: str = ""

    @classmethod
    def of(cls, level: Level, time: int, item: str | None, story: Story, breaking_over: int, lead: str = "") -> Draft:
        items, sources, changes = story.extent
        return cls(
            level=level,
            time=time,
            item=item,
            joined=story.joined,
            items=items,
            copies=story.copies,
            sources=sources,
            changes=changes,
            breaking_over=breaking_over,
            lead=lead,
        )

    def pack(self) -> str:
        """Return the draft as text for ``read``."""
        return json.dumps(asdict(self))

    @classmethod
    def read(cls, packed: str) -> Draft:
        """Return the draft that was packed. Raise ValueError if it is no draft of this version."""
        try:
            fields: dict[str, Any] = json.loads(packed)
            draft = cls(**fields)
        except (TypeError, RecursionError) as error:
            raise ValueError(str(error)) from error
        counters = [getattr(draft, name) for name in _COUNTERS]
        is_item = draft.item is None or (isinstance(draft.item, str) and _DOCUMENT_ID.fullmatch(draft.item))
        if draft.level not in LEVELS or not is_item or not isinstance(draft.lead, str):
            raise ValueError("wrong level, document or lead")
        if not all(type(each) is int and 0 <= each < 1 << 32 for each in counters):
            raise ValueError("wrong counters")
        return draft

    def story_then(self, story: Story) -> Story:
        """Return the story roughly as it was when this was drafted, from the story as it is now."""
        return replace(
            story,
            joined=self.joined,
            items=self.items,
            copies=self.copies,
            times=story.times[: self.items],
            sources=story.sources[: self.sources],
            changes=story.changes[: self.changes],
        )
