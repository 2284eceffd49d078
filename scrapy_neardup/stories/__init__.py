"""Match -> Story -> event: who covers which story, and when its coverage is an event."""

from scrapy_neardup.stories.event import StoryEvent
from scrapy_neardup.stories.joining import judge
from scrapy_neardup.stories.rules import ALLOWED_RULES, RULES, Rule, load_rule
from scrapy_neardup.stories.tracker import StoryTracker

__all__ = [
    "ALLOWED_RULES",
    "RULES",
    "Rule",
    "StoryEvent",
    "StoryTracker",
    "judge",
    "load_rule",
]
