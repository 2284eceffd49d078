"""What is new, for the opening of the page and a digest; the numbers by verdict and by source; and the data of a page.

The data are items, stories and texts as JSON. JSON is written so that nothing in it can end a script element or become
markup, whatever a title or text contains.
"""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import date, datetime, time, timedelta, tzinfo
from itertools import accumulate, takewhile
from typing import Any

from scrapy_neardup.document import STATUSES
from scrapy_neardup.evidence.figures.counted import rank_of
from scrapy_neardup.evidence.figures.figure import find_figures
from scrapy_neardup.stories.summary import read_change
from scrapy_neardup.tools.report.feed_stories import ALL, FeedStory, Matches, Period, ToldFigure, on_one_site
from scrapy_neardup.tools.report.gathering import UNTAGGED, Row

Subject = tuple[str, str]  # identifies a figure, see ``FigureChange.subject``

MOST_DAYS = 14  # that can be chosen, the fullest ones
_MOST_LISTED = 5
VERDICTS = (*STATUSES, UNTAGGED)

# The news and the numbers of a period, see ``news_of``.
PeriodNews = dict[str, Any]


def periods_of(stories: Sequence[FeedStory], zone: tzinfo, since: Period | None = None) -> list[Period]:
    """Return what is new, the whole time, and the fullest days if there are several, the newest first."""
    counts = days_of(stories, zone)
    days = sorted((day for day, _ in counts.most_common(MOST_DAYS)), reverse=True) if len(counts) > 1 else []
    starts = [[datetime.combine(each, time(), zone) for each in (day, day + timedelta(1))] for day in days]
    each_day = (Period(str(start.date()), start.timestamp(), end.timestamp()) for start, end in starts)
    return [each for each in (since, ALL, *each_day) if each is not None]


def days_of(stories: Iterable[FeedStory], zone: tzinfo) -> Counter[date]:
    times = [row.time for story in stories for row in story.coverage if row.time is not None]
    return Counter(datetime.fromtimestamp(second, zone).date() for second in times)


def tell(period: Period, stories: Iterable[FeedStory]) -> dict[FeedStory, FeedStory]:
    """Return the stories that a period tells of, each as the period tells it."""
    return {story: told for story in stories if (told := story.within(period)) is not None}


def news_of(period: Period, all_stories: Collection[FeedStory], matches: Matches) -> PeriodNews:
    """Return the news of a period. ``all_stories`` are as the period tells them.

    A story is listed once: as an event, or among the largest or the newest. Events and changed figures are complete.
    Those that mean most to people come first, then the newest.
    """
    stories = sorted((story for story in all_stories if story.size), key=lambda story: -story.size)
    found = [row for story in all_stories for row in story.members if period.has(row) and not row.is_reported]
    rows = [row for row in found if not row.is_revisit]
    several = [story for story in stories if story.size > 1]
    figures = {story: told_figures(story, matches) for story in stories}
    others = [story for story in several if not any(map(period.has, story.signals))]
    newest = sorted(
        (story for story in others[_MOST_LISTED:] if story.is_begun), key=lambda story: -(story.coverage[0].time or 0)
    )[:_MOST_LISTED]
    return {
        "period": period,
        "rows": rows,  # without pages that came again unchanged, and items that only an event names
        "again": len(found) - len(rows),  # pages that came again unchanged
        "stories": len(several),  # of two items or more
        "begun": sum(story.is_begun for story in several),  # of these, those that began in this period
        **_counts_of(rows),
        "by_source": _by_source(rows, matches),
        "events": _events(period, figures),
        "figures": _changed(period, figures),
        "largest": others[:_MOST_LISTED],
        "newest": newest,
        "unlisted": max(0, len(others) - _MOST_LISTED) - len(newest),  # of several items
    }


def _counts_of(rows: Sequence[Row]) -> dict[str, Any]:
    counts = Counter[str](row.verdict.status for row in rows)
    kinds = Counter(row.verdict.kind for row in rows if row.verdict.status == "duplicate" and row.verdict.kind)
    return {
        "verdicts": {status: counts[status] for status in VERDICTS if counts[status]},
        "kinds": dict(kinds.most_common()),  # of duplicates
        "dropped": sum(row.is_dropped for row in rows),
        "would_drop": sum(row.verdict.would_drop and not row.is_dropped for row in rows),
        # The largest share of its text that a drop loses, 0 if it is small.
        "lost": max((row.lost for row in rows if row.is_drop and row.lost > 0.05), default=0.0),
    }


def span_of(rows: Iterable[Row]) -> tuple[float, float] | None:
    """Return the earliest and the latest time, None if no item has one."""
    times = [row.time for row in rows if row.time is not None]
    return (min(times), max(times)) if times else None


def _events(period: Period, figures: Mapping[FeedStory, list[ToldFigure]]) -> list[FeedStory]:
    found: dict[FeedStory, tuple[int, float]] = {}
    for story, told in figures.items():
        if times := [signal.time for signal in story.signals if period.has(signal)]:
            labels = {each.label for each in told} | {each.label for each in find_figures(story.headline)}
            # An event without figures is no less than one about money.
            found[story] = min(map(rank_of, labels), default=rank_of("$")), -max(times)
    return sorted(found, key=found.__getitem__)


def _changed(period: Period, figures: Mapping[FeedStory, list[ToldFigure]]) -> list[tuple[FeedStory, list[ToldFigure]]]:
    rows = [
        (story, changed)
        for story, told in figures.items()
        if (changed := [each for each in told if period.has(each.first) and len(each.values) > 1])
    ]
    return sorted(rows, key=lambda row: (rank_of(row[1][0].label), -(row[1][0].first.time or 0)))


def told_figures(story: FeedStory, matches: Matches) -> list[ToldFigure]:
    """Return the figures whose values changed: what means most to people first, then in the order of their changes.

    If the story was an event, the ledger says what counts: its states take the place of what single items say.
    """
    values: dict[Subject, list[str]] = {}
    firsts: dict[tuple[Subject, str], Row] = {}
    owners: defaultdict[tuple[Subject, str], set[str]] = defaultdict(set)
    says: dict[int, list[tuple[Subject, str]]] = {}  # what an item prints; a copy prints what its match prints
    for row in story.told:
        says[row.number] = []
        if row.verdict.status == "duplicate" and (match := matches[row.number]) is not None:
            says[row.number] += says.get(match.number, [])
        for change in map(read_change, row.verdict.changes):
            said = values.setdefault(change.subject, [change.old])
            if change.new != said[-1]:
                said.append(change.new)
            firsts.setdefault((change.subject, change.new), row)
            says[row.number].append((change.subject, change.new))
        for statement in says[row.number]:
            owners[statement].add(row.owner)
    figures = [
        ToldFigure(subject[0], said, firsts[subject, said[-1]], len(owners[subject, said[-1]]))
        for subject, said in values.items()
        if (subject, said[-1]) in firsts
    ]
    states = story.signals[-1].states if story.signals else ()
    counted = {each.label for each in states}
    figures = [*(each for each in figures if each.label not in counted), *states]
    return sorted(figures, key=lambda figure: rank_of(figure.label))


def _by_source(rows: Sequence[Row], matches: Matches) -> list[tuple[str, int, int, str]]:
    # Sources, with their items, those copied from other owners, and whom they copy most.
    copies = (
        (row, matches[row.number]) for row in rows if row.verdict.status in ("duplicate", "update") and row.source
    )
    pairs = Counter(
        (row.source, match.source) for row, match in copies if match and match.source and match.owner != row.owner
    )
    copied: Counter[str] = Counter()
    mostly: dict[str, str] = {}
    for (source, other), number in pairs.most_common():
        copied[source] += number
        mostly.setdefault(source, other)
    items = Counter(row.source for row in rows if row.source)
    return sorted(
        ((name, number, copied[name], mostly.get(name, "")) for name, number in items.items()),
        key=lambda line: (-line[2], -line[1]),
    )


def inert_json(value: object) -> str:
    """Return JSON that cannot end the script element it stands in."""
    return re.sub(
        "[<>&\u2028\u2029\ud800-\udfff]",
        lambda found: f"\\u{ord(found[0]):04x}",
        json.dumps(value, ensure_ascii=False, separators=(",", ":")),
    )


def size_of(value: object) -> int:
    return len(inert_json(value).encode())


def choose_stories(stories: Sequence[FeedStory], most_bytes: int, most_items: int = 20_000) -> list[FeedStory]:
    """Return stories with about so many bytes, in their order, which is by size.

    Those with changed or dropped items come first, and then the others.
    """
    ordered = sorted(
        stories, key=lambda story: not any(row.verdict.status == "update" or row.is_drop for row in story.members)
    )
    # An item and its part of a story take about 500 bytes besides its longest texts.
    items = accumulate(len(story.members) for story in ordered)
    sizes = accumulate(
        sum(500 + len(f"{row.url}{row.title}{row.verdict.changes}".encode()) for row in story.members)
        for story in ordered
    )
    fitting = takewhile(lambda sums: sums[0] <= most_items and sums[1] <= most_bytes, zip(items, sizes, strict=True))
    chosen = set(ordered[: sum(1 for _ in fitting)])
    return [story for story in stories if story in chosen]


Telling = Mapping[FeedStory, FeedStory]  # the stories that a period tells of, each as the period tells it


def items_and_stories(
    stories: Sequence[FeedStory],
    all_rows: Sequence[Row],
    matches: Matches,
    tellings: Mapping[Period, Telling],
    all_news: Sequence[PeriodNews],
) -> tuple[dict[str, list[dict[str, Any]]], dict[int, int]]:
    """Return what the scripts of the page read: the items of these stories, story after story, and the stories.

    Also return the positions of the items, by the numbers of their rows. ``all_news`` are those of the periods of
    ``tellings``.
    """
    alone = on_one_site(all_rows, matches)
    rows = [row for story in stories for row in story.members]
    places = {row.number: place for place, row in enumerate(rows)}
    lists = {
        "events": [set(news["events"]) for news in all_news],
        "figures": [{story for story, _ in news["figures"]} for news in all_news],
    }
    return {
        "items": [_item(row, places, matches, is_alone=row.number in alone) for row in rows],
        "stories": [_story(story, places[story.members[0].number], tellings.values(), lists) for story in stories],
    }, places


def _item(row: Row, places: Mapping[int, int], matches: Matches, *, is_alone: bool) -> dict[str, Any]:
    match = matches[row.number]
    place = match and places.get(match.number)
    verdict = row.verdict
    found = {
        **{name: getattr(row, name) for name in ("title", "source", "language", "time")},
        **{name: getattr(verdict, name) for name in ("news", "kind", "similarity", "containment", "share")},
        "reason": verdict.reason,
        "event": verdict.event,
        "changes": "; ".join(read_change(line).words for line in verdict.changes),
        "url": row.url or row.id,
        "verdict": row.verdict.status,
        "match": place,
        "elsewhere": row.verdict.match or row.verdict.original if place is None else None,
        "drops": row.verdict.would_drop,
        "dropped": row.is_dropped,
        "again": row.is_revisit,
        "isOnOneSite": is_alone,
    }
    return {name: value for name, value in found.items() if value not in (None, "", ()) and value is not False}


def _story(
    story: FeedStory, start: int, tellings: Iterable[Telling], lists: Mapping[str, Sequence[set[FeedStory]]]
) -> dict[str, Any]:
    """Return a story, with the periods whose ``lists`` have it, and what the periods tell of it."""
    told = [(place, telling.get(story, story)) for place, telling in enumerate(tellings)]
    found = {name: [place for place, each in told if each in sets[place]] for name, sets in lists.items()}
    return {
        "start": start,
        "end": start + len(story.members),
        "levels": [(signal.level, signal.time) for signal in story.signals],
        **_size_of_story(story),
        **{name: periods for name, periods in found.items() if periods},
        "told": {place: _size_of_story(each) for place, each in told if each is not story},
    }


def _size_of_story(story: FeedStory) -> dict[str, Any]:
    return {"headline": story.headline, "words": story.words, "size": story.size, "sources": len(story.owners)}


def fitting_texts(
    numbers: Iterable[int], texts: Mapping[int, str], places: Mapping[int, int], most: int
) -> dict[int, str]:
    """Return texts by the positions of their items, in the order of these rows, until they have ``most`` bytes."""
    chosen = [number for number in numbers if number in texts and number in places]
    sizes = accumulate(size_of(texts[number]) + 10 for number in chosen)
    fitting = takewhile(lambda sized: sized[1] <= most, zip(chosen, sizes, strict=True))
    return {places[number]: texts[number] for number, _ in fitting}
