"""Decide when a story is an event. Rules look at its counters. The alarm budget sets the threshold of the default rule.

A rule is asked each time a document joins a story. It returns the level that the story has reached, or None. A level is
raised only once for a story, so a rule needs no memory.
"""

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from scrapy_neardup.document import HOUR
from scrapy_neardup.evidence.figures.counted import FigureKind
from scrapy_neardup.records.stories import language_of_owner
from scrapy_neardup.rules.membership import PEOPLE_HARMED
from scrapy_neardup.settings.values import ALLOWED_RULES, MIN_SOURCES, load_callable
from scrapy_neardup.story import MANY_FIGURES, EventSources, Level, Story

DAY = 24 * HOUR

# ``breaking``: as many new sources within 40 minutes as the threshold, or more within an hour.
BURST_SPAN = 40 * 60

# Where few papers print, so that the threshold is lower than ``MIN_SOURCES``, they also print slower: as many as the
# threshold within two hours are enough.
FEW_SPAN = 2 * HOUR

# A story whose news is a number of dead, injured or missing people needs this share of the sources, within an hour;
# where few papers print, within a day.
HARM_SHARE = 0.6

# Of n papers in a language, ``LEAST_OF_FEW`` and the fourth root of n are a burst: 3 of 4, 4 of 16, 5 of 81.
LEAST_OF_FEW = 2

# Of n papers in a country, so many times the square root of n are a burst if no other paper has the news, and nobody
# was harmed: 8 of 100.
OF_COUNTRY = 0.8
_HARM = frozenset((*range(FigureKind.ILL, FigureKind.OTHER), FigureKind.MAGNITUDE)) - {
    FigureKind.VICTIMS,
    FigureKind.ARRESTED,
    FigureKind.RESCUED,
}

# Of the sources that are the only one in their language, and of those with many figures, one in so many counts. Names
# join reports of two languages, and names recur: a result or a launch that one source of each of six languages reports
# is seldom an event. Nor is a result, a forecast or a price list, whose reports are full of figures. Copies, whose
# languages are in capitals, count by half too, as many as there are more reports of other words than copies: so one
# source more never makes fewer count.
OTHERS = 2

# ``breaking``: at least ``BURST`` times as many new sources as in each of the ``HOURS_BEFORE``. So a story that goes on
# as it did all day does not become ``breaking``, and one in which something happens does.
BURST = 2
HOURS_BEFORE = 6

# ``breaking`` of the rule ``count``: more than 15 items within 4 hours, as in Hu & You (2017).
COUNT_SPAN = 4 * HOUR

# Until a window has this age documents count at the times that they give: it has not seen what is old. An event is only
# a ``watch`` if the document that tips it is older than the newest ones by more than this.
NEWS_AGE = 3 * HOUR

QUIET = 2 * HOUR  # without a new source, after which an event has ended
# Events of so long decide the threshold of ``breaking``. So long a language is known before its papers count as few.
HISTORY = 7 * DAY
EVENTS_OF_A_SOURCE = 3  # a day, in which it counts for the threshold: the largest. So a few sources cannot raise it
SPENT_ALLOWED = 1.5  # an event counts for the threshold with at most this many times the sources that still count
KNOWN_SHARE = 0.05  # of the sources known before today, which the threshold is at most
JUMP = 3  # if the threshold has risen by at least this number in a day, a warning says so

JUMPED = (
    "An event is breaking only with more than %s new sources within an hour; a day before, it was %s. Look at the"
    " newest events: if somebody has made them up, name one owner for their sources in NEARDUP_SOURCE_OWNERS. If not,"
    " raise NEARDUP_EVENTS_PER_DAY"
)


class Rule(Protocol):
    """A rule of ``NEARDUP_EVENT_RULE``: a callable that decides which level a story has reached.

    It is called with these keywords. ``time`` is the time of the document that joined, in Unix seconds.
    ``breaking_over`` is the threshold that the alarm budget sets.
    """

    def __call__(self, *, story: Story, time: float, breaking_over: int) -> Level | None: ...


def sources(story: Story, time: float, breaking_over: int) -> Level | None:
    """Return ``breaking`` for a burst of sources, ``watch`` for over two thirds of them within an hour.

    A burst has at least twice as many sources as each span of this length in the six hours before. ``breaking_over``
    sources must count within 40 minutes, or more within an hour. If somebody prints how many people were harmed, fewer
    are enough; if fewer papers print, more time is.
    """
    are_few = breaking_over < MIN_SOURCES
    spans = [(FEW_SPAN, breaking_over)] if are_few else [(BURST_SPAN, breaking_over), (HOUR, breaking_over + 1)]
    if people_harmed(story) > 0:
        spans.append((DAY if are_few else HOUR, max(2, math.ceil(HARM_SHARE * breaking_over))))
    if any(_most_counting(story, span, time, BURST) >= needed for span, needed in spans):
        return "breaking"
    if _most_counting(story, HOUR, time) > max(2, int(2 / 3 * breaking_over)):
        return "watch"
    return None


def people_harmed(story: Story) -> float:
    """Return the largest number of dead, injured or missing people that a source prints.

    Return 0 if no page begins with one: then it is the background of other news.
    """
    printed = story.ledger.printed if story.begins_with_harm else ()
    return max((each.value[1] for each in printed if each.kind in PEOPLE_HARMED), default=0)


def only_country(story: Story) -> str:
    """Return the country in whose domains most sources of a story are, and no source in that of another one.

    Return "" if there is none, or if the story has harm: people, homes or an earthquake.
    """
    named = Counter(filter(None, story.countries))
    if (
        len(named) != 1
        or 2 * named.total() <= len(story.countries)
        or people_harmed(story) > 0
        or any(each.kind in _HARM for each in story.ledger.printed)
    ):
        return ""
    return next(iter(named))


def bursts_of(known: Mapping[bytes, tuple[int, int]], now: int) -> dict[str, int]:
    """Return how many sources are a burst in each country, and in each language that is known long enough.

    ``known`` has the first and the last second at which owners printed, by ``owner_in``. Those of the last week count;
    in a country those that are known for a week, if there are any.
    """
    counts = Counter(language_of_owner(each) for each, (_, last) in known.items() if last >= now - HISTORY)
    old = Counter(language_of_owner(each) for each, (first, _) in known.items() if first <= now - HISTORY)
    return {language: LEAST_OF_FEW + int(counts[language] ** 0.25) for language in old if language.islower()} | {
        country: int(OF_COUNTRY * (old[country] or papers) ** 0.5)
        for country, papers in counts.items()
        if country.isupper()
    }


def _most_counting(story: Story, span: int, at: float, burst: float = 0) -> int:
    """Return the largest number of sources that count in one of the spans that hold this second.

    A span counts if it has ``burst`` times the sources of each span before it.
    """
    times = story.sources
    # All sources count if one of them prints three dead, hurt or missing.
    count_in_full = people_harmed(story) >= 3 or not story.source_languages
    languages = ("",) * len(times) if count_in_full else story.source_languages
    ends = (end for end in _ends(times, span, at) if _is_burst(times, end, span, burst))
    spans = (languages[bisect_right(times, end - span) : bisect_right(times, end)] for end in ends)
    return max(map(_count_sources, spans), default=0)


def _count_sources(languages: Sequence[str]) -> int:
    """Return how many of the sources count that print in these languages, see ``OTHERS``.

    ``languages`` has one entry for each source, as in ``Story.source_languages``: "en", "EN" for a copy,
    ``MANY_FIGURES``, or "" if it is not known, which is no other language.
    """
    known = Counter(each.lower() for each in languages if each)
    with_figures = known.pop(MANY_FIGURES, 0)
    most = max(known.values(), default=0)
    # With four sources in one language, those that are alone in theirs count in full.
    alone = {language for language, count in known.items() if count == 1 and most < 4}
    copies = sum(each.isupper() and each.lower() not in alone for each in languages)
    more = len(languages) - with_figures - len(alone) - 2 * copies  # reports of other words than copies
    # If each is alone in its language, one of them counts in full.
    by_half = with_figures + len(alone) - (most == 1) + max(0, min(copies, more))
    return len(languages) - by_half + by_half // OTHERS


def count(story: Story, time: float, breaking_over: int) -> Level | None:
    """Return ``breaking`` if there are more than 15 items within 4 hours, whoever published them."""
    if most_within(story.times, COUNT_SPAN, time) > 15:
        return "breaking"
    return None


RULES: dict[str, Rule] = {"sources": sources, "count": count}  # by the names for ``NEARDUP_EVENT_RULE``


def load_rule(name: str) -> Rule:
    return RULES.get(name) or load_callable("NEARDUP_EVENT_RULE", name, ALLOWED_RULES)


def most_within(times: Sequence[int], span: int, at: float) -> int:
    """Return how many of these times lie in the fullest period of ``span`` seconds that contains ``at``.

    The times are ascending. Documents come late and out of order, so the fullest span may end after ``at``.
    """
    return max(_within(times, span, end) for end in _ends(times, span, at))


def fullest_hour(sources: EventSources) -> EventSources:
    """Return the sources that were new within one hour: the fullest hour that is a burst."""
    times = [second for second, _, _ in sources]
    # Of each source the hour that ends with it.
    hours = (sources[bisect_right(times, second - HOUR) : end] for end, second in enumerate(times, 1))
    return max((hour for hour in hours if _is_burst(times, hour[-1][0], HOUR, BURST)), key=len, default=())


def breaking_threshold(
    events: Iterable[EventSources], now: float, events_per_day: float, min_sources: int = MIN_SOURCES
) -> int:
    """Return the smallest threshold that at most ``events_per_day`` events a day would have exceeded.

    It is at least ``min_sources``. ``events`` are those that have ended. ``EVENTS_OF_A_SOURCE``, ``SPENT_ALLOWED`` and
    ``KNOWN_SHARE`` keep somebody who makes up events from raising the threshold.
    """
    # The time of an event is that of its newest source.
    ended = [event for event in events if event and now - HISTORY <= event[-1][0] <= now]
    hours = sorted(((event[-1][0] // DAY, fullest_hour(event)) for event in ended), key=lambda hour: -len(hour[1]))
    counted = Counter[tuple[int, bytes]]()  # events by day and owner
    peaks = []  # how many sources count in the fullest hour of each event
    for day, hour in hours:
        counting = [(day, owner) for _, owner, _ in hour if counted[day, owner] < EVENTS_OF_A_SOURCE]
        counted.update(counting)
        peaks.append(min(_count_sources([language for *_, language in hour]), int(SPENT_ALLOWED * len(counting))))
    # Divide by at least one day: a new store has no history.
    allowed = int(events_per_day * max(1.0, (now - min((event[-1][0] for event in ended), default=now)) / DAY))
    first_over_budget = max(sorted(peaks, reverse=True)[allowed:], default=0)
    known = {owner for event in ended if event[-1][0] // DAY < now // DAY for _, owner, _ in event}
    return max(min_sources, min(first_over_budget, int(KNOWN_SHARE * len(known))))


def _is_burst(times: Sequence[int], end: float, span: int, least: float) -> bool:
    # The span has ``least`` times the sources of each span of its length in the ``HOURS_BEFORE``.
    before = (_within(times, span, end - gone) for gone in range(span, HOURS_BEFORE * HOUR + 1, span))
    return _within(times, span, end) >= least * max(before, default=0)


def _within(times: Sequence[int], span: int, end: float) -> int:
    return bisect_right(times, end) - bisect_right(times, end - span)


def _ends(times: Sequence[int], span: int, at: float) -> list[float]:
    """Return the ends of the spans that hold ``at``: itself, and each later time."""
    return [at, *(time for time in times if at < time < at + span)]
