"""One level of one event, with the story it belongs to."""

from __future__ import annotations

from dataclasses import dataclass, field

from scrapy_neardup.document import Level, Member, Story


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
    token: str = field(default="", repr=False, compare=False)  # by which it was granted

    @property
    def id(self) -> str:
        """Return the id, the same in every process: receivers use it to discard an event that arrives twice.

        It has at most 64 characters, in the form that ``docs/event.schema.json`` gives. The id of an update holds the
        numbers of items and confirmed changes, for the next update has more of one of them.
        """
        if self.level == "update":
            return f"{self.story.id}-update-{self.story.items}-{len(self.story.changes)}"
        return f"{self.story.id}-{self.level}-{self.time}"
