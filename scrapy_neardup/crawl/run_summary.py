"""The block that a crawl logs at its end, with hints at what went wrong."""

from __future__ import annotations

import shlex
import textwrap
from collections import Counter, OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import nlargest
from typing import TYPE_CHECKING, Any

from itemadapter import ItemAdapter
from rich.cells import cell_len, chop_cells

from scrapy_neardup.content import source_of
from scrapy_neardup.document import LEVELS, STATUSES, Verdict, counted, counted_names, printable
from scrapy_neardup.settings import NearDupSettings

if TYPE_CHECKING:  # most crawls have no changed figures
    from scrapy_neardup.stories.summary import FigureChange

_MOST_STORIES = 20_000
_MOST_SOURCES = 1000  # of one story
_STORIES_SHOWN = 5
_EVENTS_SHOWN = 5
_CHANGES_SHOWN = 5
_MOST_CHANGES = 1000
_WIDTH = 80  # columns of the block; only a url may be longer
_LONGEST_TITLE = 200  # characters
_LONGEST_URL = 200
_LONG_TEXT = 400  # characters of a field that may hold the text of an article
_FEWEST_SPACES = 40


@dataclass(slots=True)
class _RunStory:
    """The items of this run in one story. Its title and url are those of the first of them."""

    title: str
    url: str
    items: int = 0
    sources: set[str] = field(default_factory=set)


class RunSummary:
    """Counts what a run did, in bounded memory."""

    def __init__(self, settings: NearDupSettings) -> None:
        self._settings = settings
        self.seen = Observed()
        self._would_drop = self._dropped = 0
        self._stories: OrderedDict[str, _RunStory] = OrderedDict()
        self._story_count = 0  # stories with at least two items of this run
        self._largest: list[_RunStory] = []  # of those that were forgotten
        self._changes: dict[tuple[str | None, str], tuple[str, int]] = {}  # (story, change) -> first title, items
        self._events: OrderedDict[str, Mapping[str, Any]] = OrderedDict()  # the newest report of each story
        self._levels: Counter[str] = Counter()

    def add(self, verdict: Verdict, *, title: str, url: str) -> None:
        """Count a judged item."""
        seen = self.seen
        seen.judged += 1
        seen.statuses.update(counted_names(verdict))
        self._would_drop += verdict.would_drop
        for line in verdict.changes:
            first, items = self._changes.get((verdict.story, line), (title[:_LONGEST_TITLE], 0))
            if items or len(self._changes) < _MOST_CHANGES:
                self._changes[verdict.story, line] = first, items + 1
        # A page that comes again is no further coverage.
        if verdict.story is not None and verdict.kind != "revisit":
            self._add_to_story(verdict.story, title, url)

    def add_dropped(self) -> None:
        self._dropped += 1

    def add_event(self, report: Mapping[str, Any]) -> None:
        self._levels[report["level"]] += 1
        self._events[str(report["story"])] = report
        self._events.move_to_end(str(report["story"]))
        if len(self._events) > _MOST_STORIES:
            self._events.popitem(last=False)

    def unite(self, final_stories: Mapping[str, str]) -> None:
        """Count the items of each story that became a part of another one as items of that other story."""
        for key, final in final_stories.items():
            if (moved := self._stories.pop(key, None)) is not None:
                self._take_in(self._stories.setdefault(final, _RunStory(moved.title, moved.url)), moved)
            if (report := self._events.pop(key, None)) is not None:
                self._events[final] = max(report, self._events.get(final, report), key=lambda each: each["time"])
        self._events = OrderedDict(sorted(self._events.items(), key=lambda event: event[1]["time"]))

    def _take_in(self, story: _RunStory, moved: _RunStory) -> None:
        self._story_count -= (story.items > 1) + (moved.items > 1)
        story.items += moved.items
        story.sources |= moved.sources
        self._story_count += story.items > 1

    def skip(self, item: object) -> None:
        """Count an item that NEARDUP_ITEM_CLASSES leaves out."""
        self.seen.note(self.seen.skipped, type(item).__qualname__)

    def miss_text(self, adapter: ItemAdapter, problem: str) -> None:
        """Count an item without a text. Note which of its fields may hold the text all the same."""
        self.seen.problems[problem] += 1
        for name in adapter:
            value = adapter[name]
            if isinstance(value, str) and len(value) >= _LONG_TEXT and value.count(" ", 0, 2000) >= _FEWEST_SPACES:
                self.seen.note(self.seen.long_fields, name)

    def stats(self) -> Iterator[tuple[str, int]]:
        """Yield names and values of stats, without the prefix ``neardup/``."""
        if self.seen.judged:
            largest = self._largest_stories(1)
            yield "run/kept", self.seen.judged - self._dropped
            yield "run/stories", self._story_count
            yield "run/largest_story", largest[0].items if largest else 0
        for hint in hints(self.seen, self._settings):
            yield f"hints/{hint.name}", hint.items

    def text(self, files: Sequence[str] = ()) -> str:
        """Return the block. If the run had no items, say so and where to look.

        ``files`` are those of the run's feeds that ``scrapy neardup report`` reads.
        """
        if not self.seen.judged and not self.seen.skipped:
            return self._why_empty()
        return printable("\n".join([*self._lines(), *self._next_commands(files)]))

    def _why_empty(self) -> str:
        if self.seen.late:
            return ""
        if self.seen.opted_out:
            left = counted(self.seen.opted_out, "item")
            return f"scrapy-neardup: no item judged; {left} of requests with neardup=False left alone"
        return (
            "scrapy-neardup: no item came to be judged\n"
            "  If you expected some, look for errors and dropped items in the log above."
        )

    def _lines(self) -> Iterator[str]:
        yield f"scrapy-neardup: {counted(self.seen.judged, 'item')} judged, {self._fate()}"
        for status in STATUSES:
            if count := self.seen.statuses[status]:
                yield f"  {status:<10}{count:>7,}{self._details(status)}"
        if self._changes:
            yield "Changed figures, with the items that print them:"
            for change, title, items in self._gravest_changes():
                yield _row(f"{counted(items, 'item'):>11}, {change.words:<27}", title)
        if stories := self._largest_stories(_STORIES_SHOWN):
            yield "Largest stories, with their items of this run:"
            for story in stories:
                yield _row(_counts(story.items, len(story.sources)), story.title)
                yield from [f"    {' '.join(story.url.split())}"] if story.url else []
        if self._levels:
            yield "Events: " + ", ".join(f"{self._levels[level]:,} {level}" for level in LEVELS if self._levels[level])
            yield "The newest, as counted when last signalled:"
            for report in list(self._events.values())[-_EVENTS_SHOWN:]:
                counts = _counts(report["items"], report["measures"]["sources"])
                yield _row(f"{report['level']:<9} {counts}", report["headline"] or report["url"])
        if found := list(hints(self.seen, self._settings)):
            yield "Hints:"
            for hint in found:
                yield from _wrapped(f"  - {hint.text}.")

    def _gravest_changes(self) -> list[tuple[FigureChange, str, int]]:
        """Return a few changes, their first titles and their items: the dead first, then those that most print."""
        from scrapy_neardup.evidence.number_words import kind_of
        from scrapy_neardup.stories.summary import read_change

        rows = [(read_change(line), title, items) for (_, line), (title, items) in self._changes.items()]
        return sorted(rows, key=lambda row: (kind_of(row[0].label), -row[2]))[:_CHANGES_SHOWN]

    def _next_commands(self, files: Sequence[str]) -> Iterator[str]:
        if files:
            yield f"Next: scrapy neardup report {shlex.join(files)}"
        else:
            yield "Next: crawl with -O items.jsonl, then scrapy neardup report items.jsonl"
        if any(report["level"] != "ended" for report in self._events.values()) and self._settings.store != "memory://":
            yield "      scrapy neardup events"

    def _fate(self) -> str:
        kept = f"{self.seen.judged - self._dropped:,} kept"
        if self._settings.action == "drop" and not self._settings.dry_run:
            return f"{kept}, {self._dropped:,} dropped"
        return f"{kept}\n  {self._would_drop:,} would be dropped with NEARDUP_ACTION = 'drop'"

    def _details(self, status: str) -> str:
        prefix = f"{status}/"
        details = Counter({key: count for key, count in self.seen.statuses.items() if key.startswith(prefix)})
        listed = ", ".join(f"{key.removeprefix(prefix)} {count:,}" for key, count in details.most_common())
        return f"   {listed}" if listed else ""

    def _add_to_story(self, key: str, title: str, url: str) -> None:
        story = self._stories.get(key)
        if story is None:
            story = self._stories[key] = _RunStory(title[:_LONGEST_TITLE], url[:_LONGEST_URL])
        self._stories.move_to_end(key)
        story.items += 1
        self._story_count += story.items == 2
        if len(story.sources) < _MOST_SOURCES and (source := source_of(url)):
            story.sources.add(source)
        if len(self._stories) > _MOST_STORIES:
            _, forgotten = self._stories.popitem(last=False)
            self._largest = _largest([*self._largest, forgotten], _STORIES_SHOWN)

    def _largest_stories(self, most: int) -> list[_RunStory]:
        return _largest([*self._largest, *self._stories.values()], most)


def _largest(stories: list[_RunStory], most: int) -> list[_RunStory]:
    return nlargest(most, (story for story in stories if story.items > 1), key=lambda story: story.items)


def _counts(items: int, sources: int) -> str:
    return f"{counted(items, 'item'):>11}, {counted(sources, 'source'):<11}"


def _row(counts: str, title: str) -> str:
    """Return counts and the beginning of a title, on one line."""
    row = f"  {counts}  {' '.join(title.split())}"
    return row if cell_len(row) <= _WIDTH else f"{chop_cells(row, _WIDTH - 1)[0]}…"


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, _WIDTH, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False)


_NOTABLE = 0.05  # share of the items of a run; fewer may be pages that have no article
_MANY = 0.3
_NEARLY_ALL = 0.9
_FEWEST_REVISITS = 5
_LONGEST_NAME = 100  # characters
_MOST_NAMES = 1000


@dataclass(frozen=True, slots=True)
class Hint:
    """What happened to how many items of a run, and what to do now. ``name`` is part of a stat."""

    name: str
    items: int
    text: str


@dataclass(slots=True)
class Observed:
    """What a run saw of its items besides their verdicts."""

    judged: int = 0
    late: int = 0  # items that were under way when the crawl ended
    opted_out: int = 0  # items of requests with ``neardup=False`` in their meta
    statuses: Counter[str] = field(default_factory=Counter)  # and details: ``duplicate/revisit``
    problems: Counter[str] = field(default_factory=Counter)
    skipped: Counter[str] = field(default_factory=Counter)  # classes of items that NEARDUP_ITEM_CLASSES left out
    untagged: Counter[str] = field(default_factory=Counter)  # classes of items that take no tag
    long_fields: Counter[str] = field(default_factory=Counter)  # of items without a text

    def note(self, names: Counter[str], name: object) -> None:
        """Count a name of the user's code. Their number and length are bounded."""
        name = printable(str(name)[:_LONGEST_NAME])
        if name in names or len(names) < _MOST_NAMES:
            names[name] += 1


HINTS = {
    "item-classes": (
        0,
        "NEARDUP_ITEM_CLASSES matched none of {items}: add their class, {skipped}, or remove the setting",
    ),
    "untagged": (
        0,
        "{share} took no tags: derive {untagged} from scrapy_neardup.NearDupItem or NearDupFields, or declare the"
        " fields of NEARDUP_FIELDS in it",
    ),
    "no-page": (
        0,
        "{share} had no text and came without a page, as items of start() and of `scrapy parse` do: {remedy}",
    ),
    "other-page": (
        0,
        "{share} had no text, because their url is not the page that they were found on: {remedy}",
    ),
    "no-text": (0, "{share} had no text, and none was found on their page: {remedy}"),
    "too-short": (
        _MANY,
        "{share} were too short to judge: give whole articles and not teasers, or lower NEARDUP_MIN_WORDS ="
        " {min_words}",
    ),
    "boilerplate": (
        _MANY,
        "{share} had only text of the site, such as a paywall notice: give the crawl access to the articles, or set"
        " text in NEARDUP_ITEM_FIELDS to the field that holds them",
    ),
    "extraction-failed": (
        _NOTABLE,
        "the pages of {share} could not be extracted: the warnings above say whether to raise NEARDUP_EXTRACT_TIMEOUT,"
        " NEARDUP_EXTRACT_MEMORY or NEARDUP_MAX_HTML_BYTES",
    ),
    "store-unavailable": (0, "the store was away for {share}: check NEARDUP_STORE with `scrapy neardup doctor`"),
    "time": (
        0,
        "the time of {share} cannot be read, so they count as seen now: check time in NEARDUP_ITEM_FIELDS",
    ),
    "dropped-feed": (0, "{share} were kept, because they could not be written to NEARDUP_DROPPED_FEED"),
    "record": (0, "{share} were judged but not recorded: check NEARDUP_RECORD"),
    "internal-error": (0, "{share} met an error of scrapy-neardup itself: please report the trace in the log"),
    "no-time": (
        _NOTABLE,
        "{share} have nothing in the field {time_field!r} (time in NEARDUP_ITEM_FIELDS), so they count as seen now:"
        " let the spider fill it, or name another field",
    ),
    "only-revisits": (
        _NEARLY_ALL,
        "{share} are pages that a crawl has seen within {hours:g} hours; to begin anew, empty the window with"
        " `scrapy neardup purge`, or set NEARDUP_NAMESPACE to another name",
    ),
}
"""The hints in their order: the least share of the items of a run that a hint is about, and its text.

The share is 0 if a single item is worth a hint."""

_WITHOUT_TEXT = {
    "no-page": "yield each item from the callback of its page, or set text in NEARDUP_ITEM_FIELDS",
    "other-page": "yield each item from the page of its article, or set text in NEARDUP_ITEM_FIELDS",
    "no-text": "set text in NEARDUP_ITEM_FIELDS to the field that holds it, or try another NEARDUP_EXTRACTOR",
}
"""The hints about items without a text, and the remedy if none of their fields seems to hold the text."""


def hints(seen: Observed, settings: NearDupSettings) -> Iterator[Hint]:
    """Yield the hints of a run."""
    counts = {name: seen.problems[name] or seen.statuses[f"unchecked/{name}"] for name in HINTS}
    are_many = seen.statuses["unchecked/no-text"] >= _NOTABLE * seen.judged
    counts |= {name: seen.problems[name] if are_many else 0 for name in _WITHOUT_TEXT}
    revisits = seen.statuses["duplicate/revisit"]
    counts["only-revisits"] = revisits if revisits >= _FEWEST_REVISITS else 0
    counts["untagged"] = seen.untagged.total()
    counts["item-classes"] = seen.skipped.total() if settings.item_classes and not seen.judged else 0
    remedy = f"set NEARDUP_ITEM_FIELDS = {{'text': {_most(seen.long_fields)!r}}}, which holds long texts"
    for name, (least, text) in HINTS.items():
        if (items := counts[name]) and items >= least * seen.judged:
            yield Hint(
                name,
                items,
                text.format(
                    share=f"{items:,} of {max(items, seen.judged):,} items",
                    items=counted(items, "item"),
                    skipped=_most(seen.skipped),
                    untagged=_most(seen.untagged),
                    remedy=remedy if seen.long_fields else _WITHOUT_TEXT.get(name),
                    min_words=settings.min_words,
                    time_field=settings.item_fields["time"],
                    hours=settings.window / 3600,
                ),
            )


def _most(names: Counter[str]) -> str:
    return max(names, key=lambda name: names[name], default="")
