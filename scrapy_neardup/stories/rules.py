"""Decide when a story is an event. Rules look at its counters. The alarm budget sets the threshold of the default rule.

A rule is asked each time a document joins a story. It returns the level that the story has reached, or None. A level is
raised only once for a story, so a rule needs no memory.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from inspect import Parameter, signature
from typing import Protocol

from scrapy_neardup.document import Level, Story
from scrapy_neardup.imports import load_callable

HOUR = 3600
DAY = 24 * HOUR

WATCH_OVER = 5
"""``watch``: more new sources than this within an hour. The threshold of ``breaking`` is never lower."""

NEW_SHARE = 0.6
"""``breaking``: at least this share of all sources is new.

So a story that runs all day does not become ``breaking`` at its 60th source.
"""

COUNT_OVER = 15
COUNT_SPAN = 4 * HOUR
"""``breaking`` of the rule ``count``: more than 15 items within 4 hours, as in Hu & You (2017)."""

QUIET = 2 * HOUR
"""Seconds without a new source after which an event has ended."""

HISTORY = 7 * DAY
"""The threshold of ``breaking`` is computed from the peaks of this many past seconds."""


class Rule(Protocol):
    """A rule of ``NEARDUP_EVENT_RULE``: a callable that decides which level a story has reached.

    It is called with these keywords. ``time`` is the time of the document that joined, in Unix seconds.
    ``breaking_over`` is the threshold that the alarm budget sets.
    """

    def __call__(self, *, story: Story, time: float, breaking_over: int) -> Level | None: ...


ALLOWED_RULES = "'sources', 'count' or the import path of a callable (story, time, breaking_over)"


def sources(story: Story, time: float, breaking_over: int) -> Level | None:
    """Return ``breaking`` if R > ``breaking_over`` and R >= 0.6 D, ``watch`` if R > 5.

    R is the number of sources that joined for the first time within an hour, D the number of all sources by then.
    """
    if len(story.sources) <= WATCH_OVER:
        return None
    bursts = list(_spans(story.sources, HOUR, time))
    if any(recent > breaking_over and recent >= NEW_SHARE * total for recent, total in bursts):
        return "breaking"
    return "watch" if any(recent > WATCH_OVER for recent, _ in bursts) else None


def count(story: Story, time: float, breaking_over: int) -> Level | None:
    """Return ``breaking`` if there are more than 15 items within 4 hours, whoever published them."""
    return "breaking" if most_within(story.times, COUNT_SPAN, time) > COUNT_OVER else None


RULES: dict[str, Rule] = {"sources": sources, "count": count}
"""The table of rules: a name for ``NEARDUP_EVENT_RULE``, and the rule."""


def load_rule(name: str) -> Rule:
    """Return the rule of a name or import path. Raise SettingsError if there is none."""
    return RULES[name] if name in RULES else _with_keywords(load_callable("NEARDUP_EVENT_RULE", name, ALLOWED_RULES))


def _with_keywords(rule: Callable[..., Level | None]) -> Rule:
    """Return a rule as it is. If its parameters have other names, return a rule that passes them by position."""
    try:
        parameters = signature(rule).parameters
        signature(rule).bind(story=None, time=None, breaking_over=None)
        takes_names = all(each.kind is not Parameter.VAR_POSITIONAL for each in parameters.values())
    except (TypeError, ValueError):  # other names, or a callable without a signature
        takes_names = False
    return rule if takes_names else lambda *, story, time, breaking_over: rule(story, time, breaking_over)


def most_within(times: Sequence[int], span: int, at: float) -> int:
    """Return how many of these times lie in the fullest period of ``span`` seconds that contains ``at``.

    The times are ascending. Documents come late and out of order, so the fullest span may end after ``at``.
    """
    return max((count for count, _ in _spans(times, span, at)), default=0)


def peak(times: Sequence[int]) -> int:
    """Return the largest number of sources that were new within one hour, while they were 60 % of all sources or more.

    ``times`` are the first times of the sources, ascending.
    """
    return max(
        (recent for end in set(times) for recent, total in _spans(times, HOUR, end) if recent >= NEW_SHARE * total),
        default=0,
    )


def breaking_threshold(peaks: Iterable[int], days: float, events_per_day: float) -> int:
    """Return the smallest threshold, at least 5, that at most ``events_per_day`` events a day would have exceeded.

    ``peaks`` are the peaks of the events of the last ``days``.
    """
    descending = sorted(peaks, reverse=True)
    allowed = int(events_per_day * days)
    return max(WATCH_OVER, descending[allowed]) if allowed < len(descending) else WATCH_OVER


def _spans(times: Sequence[int], span: int, at: float) -> Iterator[tuple[int, int]]:
    """Count the times in each span that holds ``at`` and ends with one of them, and all times up to its end."""
    ends = [at, *(time for time in times if at < time < at + span)]
    for end in ends:
        total = bisect_right(times, end)
        yield total - bisect_right(times, end - span), total
