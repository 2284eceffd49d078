"""When a story is an event: rules over its counters, and how the alarm budget sets the threshold of the default one.

A rule is asked at each join. Its answer is the level the story has reached by then, or None; a level that has been
raised before is not raised again, so that a rule needs no memory.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence

from scrapy_neardup.document import Level, Story
from scrapy_neardup.imports import load_callable

HOUR = 3600
DAY = 24 * HOUR

WATCH_OVER = 5
"""A watch: more new sources than this within the last hour. The threshold of ``breaking`` is never lower."""

NEW_SHARE = 0.6
"""Breaking: at least this share of all sources is new. A story that has run all day does not break at its sixtieth."""

COUNT_OVER = 15
COUNT_SPAN = 4 * HOUR
"""More than 15 items within 4 hours: Hu & You (2017)."""

QUIET = 2 * HOUR
"""An event has ended when no new source came for this long."""

HISTORY = 7 * DAY
"""Peaks the threshold is set by."""

Rule = Callable[[Story, float, int], "Level | None"]
"""``(story, time of the document that joined, breaking_over) -> "watch", "breaking" or None``."""

ALLOWED_RULES = "'sources', 'count' or the import path of a callable (story, time, breaking_over)"


def sources(story: Story, at: float, breaking_over: int) -> Level | None:
    """R = sources that joined for the first time within an hour, D = all by then.

    ``breaking`` at R > ``breaking_over`` and R >= 0.6 D; ``watch`` at R > 5.
    """
    if len(story.sources) <= WATCH_OVER:
        return None
    bursts = list(_bursts(story.sources, at))
    if any(recent > breaking_over and recent >= NEW_SHARE * total for recent, total in bursts):
        return "breaking"
    return "watch" if any(recent > WATCH_OVER for recent, _ in bursts) else None


def count(story: Story, at: float, breaking_over: int) -> Level | None:
    """``breaking`` at more than 15 items within 4 hours, whoever published them."""
    return "breaking" if most_within(story.times, COUNT_SPAN, at) > COUNT_OVER else None


RULES: dict[str, Rule] = {"sources": sources, "count": count}
"""The table of rules: a name for ``NEARDUP_EVENT_RULE``, and the rule."""


def load_rule(name: str) -> Rule:
    """The rule of a name or import path. Raises SettingsError where there is none."""
    if name in RULES:
        return RULES[name]
    return load_callable("NEARDUP_EVENT_RULE", name, ALLOWED_RULES)


def most_within(times: Sequence[int], span: int, at: float) -> int:
    """The most of these times (ascending) in any span of seconds that holds ``at``; 0 of none.

    Documents come late and out of order: a span that ends after ``at`` may be the one that is full.
    """
    return max((count for count, _ in _spans(times, span, at)), default=0)


def peak(times: Sequence[int]) -> int:
    """The most new sources a story ever had within an hour while they were 60 % of all, of their first times."""
    return max(
        (recent for end in set(times) for recent, total in _bursts(times, end) if recent >= NEW_SHARE * total),
        default=0,
    )


def calibrated(peaks: Iterable[int], days: float, events_per_day: float) -> int:
    """The smallest threshold, never under 5, that no more than ``events_per_day`` events would have passed.

    ``peaks`` are those of the events of the last ``days``.
    """
    descending = sorted(peaks, reverse=True)
    allowed = int(events_per_day * days)
    return max(WATCH_OVER, descending[allowed]) if allowed < len(descending) else WATCH_OVER


def _bursts(times: Sequence[int], at: float) -> Iterator[tuple[int, int]]:
    """R and D of each hour that holds ``at``."""
    return _spans(times, HOUR, at)


def _spans(times: Sequence[int], span: int, at: float) -> Iterator[tuple[int, int]]:
    """How many times lie in each span that holds ``at`` and ends with one of them, and how many up to its end."""
    ends = [at, *(time for time in times if at < time < at + span)]
    for end in ends:
        total = bisect_right(times, end)
        yield total - bisect_right(times, end - span), total
