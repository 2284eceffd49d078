"""Tell of verdicts and events: by signals, stats, feeds, and the block that a crawl logs at its end, with hints."""

import asyncio
import textwrap
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from heapq import nlargest
from typing import Any

from rich.cells import cell_len, chop_cells
from scrapy.crawler import Crawler

from scrapy_neardup import signals
from scrapy_neardup.crawl.component import Component
from scrapy_neardup.crawl.feeds import feeds_of
from scrapy_neardup.detector import NearDupDetector
from scrapy_neardup.document import HOUR, STATUSES, Verdict, counted_names
from scrapy_neardup.evidence.figures.counted import rank_of
from scrapy_neardup.evidence.sources import source_of
from scrapy_neardup.settings import NearDupSettings
from scrapy_neardup.stories.event import Sender
from scrapy_neardup.stories.receivers import receivers_of
from scrapy_neardup.stories.report import special_report
from scrapy_neardup.stories.summary import read_change
from scrapy_neardup.story import LEVELS
from scrapy_neardup.text.display import counted, printable


class Announcer(Component):
    """Tells what one crawl finds. Raise SettingsError if nothing can be stored under the uri of a feed."""

    def __init__(self, crawler: Crawler, detector: NearDupDetector) -> None:
        super().__init__(crawler)
        self._detector = detector
        self.feeds = feeds_of(crawler, self.settings)
        self.summary = RunSummary(self.settings, self.shared.counts)
        self._sending = asyncio.Lock()
        receivers = receivers_of(self.settings)
        if receivers and self.settings.action != "dry-run":
            report = partial(special_report, zone=self.settings.zone)
            detector.stories.outbox.send_to(
                {each.key: Sender(each, report, detector.stories.outbox.note_result) for each in receivers},
                self.settings.events_levels,
                self.settings.events_sections,
            )

    def write(self, setting: str, row: Mapping[str, Any]) -> bool:
        """Write a line to the feed of a setting, if there is one. Return False if that fails, and count the failure."""
        if setting not in self.feeds or self.feeds[setting].put(row):
            return True
        self.count(f"{setting.removeprefix('NEARDUP_').lower()}/errors")
        return False

    async def tell(self, item: Any, verdict: Verdict, title: str, url: str) -> None:
        """Tell of the verdict on an item. Never raises."""
        try:
            self.summary.add(verdict, title=title, url=url)
            for name in ("checked", *counted_names(verdict)):
                self.count(name)
            await self._send(signals.document_checked, item=item, verdict=verdict)
            await self.send_events()
            if verdict.reason == "store-unavailable":
                self.count("store/errors")
        except Exception as error:
            self.log_fault(error, "Announcing a verdict")

    async def send_events(self) -> None:
        """Write and signal the events that wait, then confirm them. One item sends also those that others raise."""
        if self._sending.locked():
            return
        async with self._sending:
            while events := self._detector.take_events():
                for event in events:
                    try:
                        report = special_report(event, zone=self.settings.zone)
                        self.write("NEARDUP_EVENTS_FEED", report)
                        self.count(f"events/{event.level}")
                        await self._send(signals.story_event, event=event, report=report)
                    except Exception as error:  # noqa: PERF203  the other events are passed on
                        self.log_fault(error, f"Event {event.id}")
                await self._detector.confirm_events()

    async def _send(self, signal: object, **arguments: object) -> None:
        await self.crawler.signals.send_catch_log_async(signal, spider=self.crawler.spider, **arguments)

    async def finish(self) -> None:
        await self.send_events()
        if final_stories := await self._detector.final_stories():
            self.set_stat("stories_united", len(final_stories))
            self.summary.unite(final_stories)
        await self._detector.stories.outbox.close()
        await self._detector.confirm_events()

    def count_run(self) -> None:
        """Add to the stats what the run did, and the time that each step took."""
        if (embedding := self._detector.embedding) is not None:
            self.set_stat("embed/failures", embedding.failures)
        for step, spent in {"extract": self.shared.extraction.timings, "check": self._detector.timings}.items():
            if spent["documents"]:
                total = spent["microseconds"] / 1000
                self.set_stat(f"{step}/ms_count", spent["documents"])
                self.set_stat(f"{step}/ms_total", round(total, 1))
                self.set_stat(f"{step}/ms_mean", round(total / spent["documents"], 3))
        for name, value in self.summary.stats():
            self.set_stat(name, value)


_MOST_STORIES = 20_000
_MOST_NOTED = 1000  # changes, names of a kind, and sources of one story
_SHOWN = 5  # stories, events and changes
_WIDTH = 80  # columns of the block; only a url may be longer
_LONGEST = 200  # characters of a title or url
_NOTABLE = 0.05  # share of the items of a run; fewer may be pages that have no article
_MANY = 0.3

# The stats of a crawl, by their names without ``neardup/``. The page docs/settings.md shows this table on the site.
STATS = {
    "checked": "judged items. If a page has several items, each of them counts, here and below",
    "<status>": "verdicts with this status. There are also ``<status>/<kind>`` and ``<status>/<reason>``,"
    " such as ``duplicate/near``",
    "dropped": "duplicates that were dropped",
    "would_drop": "items that ``drop`` would have dropped; counted if the crawl only tags, or in a dry run",
    "dropped_feed/errors": "items that were kept because they could not be written to ``NEARDUP_DROPPED_FEED``",
    "events_feed/errors": "events that could not be written to ``NEARDUP_EVENTS_FEED``",
    "record/errors": "documents that could not be written to ``NEARDUP_RECORD``",
    "events/<level>": "events that this crawl raised: ``watch``, ``breaking``, ``update``, ``ended``",
    "stories_united": "stories that became a part of another story",
    "run/kept": "judged items that the plugin has not dropped",
    "run/lost": "kept items that were lost because a later pipeline dropped them or raised an error",
    "hints/<name>": "items that have the problem of this hint",
    "extract/ms_<figure>": "milliseconds that extracting a page took, without its wait for a worker."
    " ``<figure>`` is ``count``, ``total`` or ``mean``",
    "check/ms_<figure>": "the same for checks, from the request to the answer of the store",
    "embed/failures": "documents that were judged without a vector because ``NEARDUP_EMBEDDER`` failed",
    "errors": "bugs of scrapy-neardup. No item is lost. Please report the trace in the log",
    "store/errors": "items for which the store gave no answer",
    "time_errors": "items whose time cannot be read",
}

# The hints in their order: the least share of the items of a run that a hint is about, and its text. The share is 0 if
# a single item is worth a hint.
HINTS = {
    "untagged": (
        0,
        "{share} took no tags: derive {untagged} from scrapy_neardup.NearDupItem or NearDupFields, or declare the"
        " tags there; no class may be frozen, and types must allow None",
    ),
    "no-page": (
        0,
        "{share} had no text and no page, as items of start() and of `scrapy parse`: {remedy}",
    ),
    "other-page": (0, "{share} had no text, because their url is not the page that they were found on: {remedy}"),
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
    "feed": (0, "{share} could not be written to a feed, so they do not count as seen: the errors above say why"),
    "no-time": (
        _NOTABLE,
        "{share} have nothing in the field {time_field!r} (time in NEARDUP_ITEM_FIELDS), so they count as seen now:"
        " let the spider fill it, or name another field",
    ),
    "only-revisits": (
        0.9,
        "{share} are pages that a crawl has seen within {hours:g} hours. To begin anew, empty the window with"
        " `scrapy neardup purge`, or set NEARDUP_NAMESPACE to another name",
    ),
}

# The hints about items without a text, and the remedy if none of their fields seems to hold the text.
_WITHOUT_TEXT = {
    "no-page": "yield each item from the callback of its page, or set text in NEARDUP_ITEM_FIELDS",
    "other-page": "yield each item from the page of its article, or set text in NEARDUP_ITEM_FIELDS. If a renderer or"
    " proxy fetched the page, give the response the url of the page (response.replace)",
    "no-text": "set text in NEARDUP_ITEM_FIELDS to the field that holds it, or try another NEARDUP_EXTRACTOR",
}


@dataclass(slots=True)
class _RunStory:
    """The items of this run in one story. Its title and url are those of the first of them."""

    title: str
    url: str
    items: int = 0
    sources: set[str] = field(default_factory=set)


class RunSummary:
    """Tells what a run did, from ``counts`` by the names of stats, and from what it notes itself in bounded memory."""

    def __init__(self, settings: NearDupSettings, counts: Counter[str]) -> None:
        self._settings = settings
        self._counts = counts
        self.late = 0  # items that were under way when the crawl ended
        self.problems: Counter[str] = Counter()  # by the names of hints
        self._untagged: Counter[str] = Counter()  # classes of items that take no tag
        self._long_fields: Counter[str] = Counter()  # of items without a text
        self._stories: dict[str, _RunStory] = {}
        self._changes: dict[tuple[str | None, str], tuple[str, int]] = {}  # (story, change) -> first title, items

    def add(self, verdict: Verdict, *, title: str, url: str) -> None:
        # The changes that the item prints
        for line in verdict.changes:
            first_title, items = self._changes.get((verdict.story, line), (title[:_LONGEST], 0))
            if items or len(self._changes) < _MOST_NOTED:
                self._changes[verdict.story, line] = first_title, items + 1
        # Its story. A page that comes again is no further coverage, also if its text has changed.
        if verdict.story is None or verdict.kind == "revisit" or verdict.match_url == (url or None):
            return
        if verdict.story not in self._stories and len(self._stories) >= _MOST_STORIES:  # forget the smaller half
            self._stories = dict(nlargest(_MOST_STORIES // 2, self._stories.items(), key=lambda each: each[1].items))
        story = self._stories.setdefault(verdict.story, _RunStory(title[:_LONGEST], url[:_LONGEST]))
        story.items += 1
        if (source := source_of(url)) and len(story.sources) < _MOST_NOTED:
            story.sources.add(self._settings.owner_of(source))

    def unite(self, final_stories: Mapping[str, str]) -> None:
        """Count the items of each story that became a part of another one as items of that other story."""
        for key, final in final_stories.items():
            if (moved := self._stories.pop(key, None)) is not None:
                story = self._stories.setdefault(final, _RunStory(moved.title, moved.url))
                story.items += moved.items
                story.sources |= moved.sources

    @property
    def _levels(self) -> dict[str, int]:
        return {level: self._counts[f"events/{level}"] for level in LEVELS if self._counts[f"events/{level}"]}

    def miss_tags(self, item: object) -> None:
        _note(self._untagged, type(item).__qualname__)

    def miss_text(self, adapter: Mapping[str, Any], problem: str) -> None:
        """Count an item without a text. Note which of its fields may hold the text all the same."""
        self.problems[problem] += 1
        for name in adapter:
            value = adapter[name]
            # A text has at least so many characters and spaces, and a list of keywords or a url has not.
            if isinstance(value, str) and len(value) >= 400 and value.count(" ", 0, 2000) >= 40:
                _note(self._long_fields, name)

    def stats(self) -> Iterator[tuple[str, int]]:
        """Yield names and values of stats, without the prefix ``neardup/``."""
        if self._counts["checked"]:
            yield "run/kept", self._counts["checked"] - self._counts["dropped"]
        for name, items, _ in self._hints():
            yield f"hints/{name}", items

    def text(self) -> str:
        """Return the block. If the run had no items, say so and where to look."""
        if self._counts["checked"]:
            return printable("\n".join(self._lines()))
        if self.late:
            return ""
        return (
            "scrapy-neardup: no item came to be judged\n"
            "  If you expected some, look for errors and dropped items in the log above, at NEARDUP_ITEM_CLASSES,\n"
            "  and for requests with neardup=False in their meta."
        )

    def _lines(self) -> Iterator[str]:
        yield from self._count_lines()
        if self._changes:
            yield "Changed figures, with the items that print them:"
            rows = ((read_change(line), title, items) for (_, line), (title, items) in self._changes.items())
            # What means most comes first, then what most items print.
            for change, title, items in sorted(rows, key=lambda row: (rank_of(row[0].figure), -row[2]))[:_SHOWN]:
                yield _row(f"{counted(items, 'item'):>11}, {change.words:<27}", title)
        yield from self._story_lines()
        if hints := list(self._hints()):
            yield "Hints:"
            for _, _, text in hints:
                yield textwrap.fill(
                    f"  - {text}.", _WIDTH, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False
                )
        yield "Next: scrapy neardup report items.jsonl, after a crawl with -O items.jsonl"
        if self._levels.keys() - {"ended"} and self._settings.store != "memory://":
            yield "      scrapy neardup watch --events"

    def _count_lines(self) -> Iterator[str]:
        judged = self._counts["checked"]
        dropped = self._counts["dropped"]
        kept = f"scrapy-neardup: {counted(judged, 'item')} judged, {judged - dropped:,} kept"
        if self._settings.action == "drop":
            yield f"{kept}, {dropped:,} dropped"
        else:
            yield kept
            yield f"  {self._counts['would_drop']:,} would be dropped with NEARDUP_ACTION = 'drop'"
        if lost := self._counts["run/lost"]:
            yield f"  {lost:,} of those kept were dropped by later pipelines, or failed in them"
        for status in STATUSES:
            if count := self._counts[status]:
                prefix = f"{status}/"
                details = ", ".join(
                    f"{name.removeprefix(prefix)} {items:,}"
                    for name, items in self._counts.most_common()
                    if name.startswith(prefix)
                )
                yield f"  {status:<10}{count:>7,}   {details}".rstrip()

    def _story_lines(self) -> Iterator[str]:
        largest = nlargest(_SHOWN, self._stories.values(), key=lambda story: story.items)
        if stories := [story for story in largest if story.items > 1]:
            yield "Largest stories, with their items of this run:"
            for story in stories:
                yield _row(
                    f"{counted(story.items, 'item'):>11}, {counted(len(story.sources), 'source'):<11}", story.title
                )
                if story.url:
                    yield f"    {' '.join(story.url.split())}"
        if levels := self._levels:
            yield "Events: " + ", ".join(f"{events:,} {level}" for level, events in levels.items())

    def _hints(self) -> Iterator[tuple[str, int, str]]:
        judged = self._counts["checked"]
        counts = {name: self.problems[name] or self._counts[f"unchecked/{name}"] for name in HINTS}
        counts |= {name: self.problems[name] for name in _WITHOUT_TEXT}  # the reason ``no-text`` has three causes
        if self._counts["unchecked/no-text"] < _NOTABLE * judged:
            counts |= dict.fromkeys(_WITHOUT_TEXT, 0)
        if (revisits := self._counts["duplicate/revisit"]) >= 5:
            counts["only-revisits"] = revisits
        counts["untagged"] = self._untagged.total()
        remedy = (
            f"set NEARDUP_ITEM_FIELDS = {{'text': {''.join(dict(self._long_fields.most_common(1)))!r}}},"
            " which holds long texts"
        )
        for name, (least, text) in HINTS.items():
            if (items := counts[name]) and items >= least * judged:
                yield (
                    name,
                    items,
                    text.format(
                        share=f"{items:,} of {max(items, judged):,} items",
                        untagged=", ".join(dict(self._untagged.most_common(5))),
                        remedy=remedy if self._long_fields else _WITHOUT_TEXT.get(name),
                        min_words=self._settings.min_words,
                        time_field=self._settings.item_fields["time"],
                        hours=self._settings.window / HOUR,
                    ),
                )


def _note(names: Counter[str], name: object) -> None:
    """Count a name of the user's code, such as a class of items. Their number and length are bounded."""
    name = printable(str(name)[:100])
    if name in names or len(names) < _MOST_NOTED:
        names[name] += 1


def _row(counts: str, title: str) -> str:
    row = f"  {counts}  {' '.join(title.split())}"
    if cell_len(row) <= _WIDTH:
        return row
    return f"{chop_cells(row, _WIDTH - 1)[0]}…"
