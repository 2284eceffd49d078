"""One level of one event, with all that is known of the story."""

from __future__ import annotations

from dataclasses import dataclass, field

from scrapy_neardup.document import Level, Member, Story


@dataclass(frozen=True, slots=True)
class StoryEvent:
    """A level a story has reached, or an update of it, as the counters stood at the document that tipped it."""

    level: Level
    time: int  # Unix seconds, UTC, on the documents' own clock
    rule: str  # NEARDUP_EVENT_RULE
    story: Story
    members: tuple[Member, ...]  # those kept, in the order they joined; the first is the story's own first document
    item: str | None = None  # document id of the one that tipped it; an end is nobody's
    breaking_over: int = 0  # the threshold of ``breaking`` at that time
    token: str = field(default="", repr=False, compare=False)  # by which it was granted

    @property
    def id(self) -> str:
        """The same for the same level or update of the same event in any process: receivers discard repetitions.

        At most 64 characters, in the form that ``docs/event.schema.json`` gives. An update is known by the items and
        the confirmed changes that it tells of: the next one has more of one of them.
        """
        if self.level == "update":
            return f"{self.story.id}-update-{self.story.items}-{len(self.story.changes)}"
        return f"{self.story.id}-{self.level}-{self.time}"
