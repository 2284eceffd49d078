"""One level of one event, with the story it belongs to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from scrapy_neardup.document import Claim, Level, Member, Story


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


def event_of(claim: Claim, story: Story, members: Sequence[Member], rule: str) -> StoryEvent:
    """Return the event of a granted claim. ``story`` is the story as the claimant saw it."""
    # Others may have joined since: the event is about the story as it was.
    known = tuple(member for member in members if member.number <= story.joined)
    return StoryEvent(
        claim.level,
        claim.time,
        rule,
        replace(story, signalled=claim.signalled),
        known,
        item=claim.item,
        breaking_over=claim.breaking_over,
        lead=claim.lead,
    )


def story_then(claim: Claim, story: Story) -> Story:
    """Return the story roughly as it was when somebody made this claim, from the story as it is now."""
    items, sources, changes = claim.extent
    return replace(
        story,
        joined=claim.joined,
        items=items,
        copies=claim.copies,
        times=story.times[:items],
        sources=story.sources[:sources],
        changes=story.changes[:changes],
    )
