"""Name what went wrong in a run, and the setting that mends it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from scrapy_neardup.document import counted, printable
from scrapy_neardup.settings import NearDupSettings

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


def hints(seen: Observed, settings: NearDupSettings) -> Iterator[Hint]:
    """Yield the hints of a run. Of a few items only what is always a fault is worth a hint."""
    yield from _of_selection(seen, settings)
    yield from _of_missing_texts(seen, settings)
    yield from _of_short_texts(seen, settings)
    yield from _of_faults(seen)
    if _is_notable(untimed := seen.problems["no-time"], seen):
        text = (
            f"{_share(untimed, seen)} have nothing in the field {settings.item_fields['time']!r} (time in"
            " NEARDUP_ITEM_FIELDS), so they count as seen now: let the spider fill it, or name another field"
        )
        yield Hint("no-time", untimed, text)
    revisits = seen.statuses["duplicate/revisit"]
    if revisits >= max(_FEWEST_REVISITS, _NEARLY_ALL * seen.judged):
        hours = f"{settings.window / 3600:g} hours"
        text = (
            f"{_share(revisits, seen)} are pages that a crawl has seen within {hours}; to begin anew, empty the window "
            "with `scrapy neardup purge`, or set NEARDUP_NAMESPACE to another name"
        )
        yield Hint("only-revisits", revisits, text)


def _of_selection(seen: Observed, settings: NearDupSettings) -> Iterator[Hint]:
    skipped = seen.skipped.total()
    if skipped and not seen.judged and settings.item_classes:
        text = (
            f"NEARDUP_ITEM_CLASSES matched none of {counted(skipped, 'item')}: add their class, {_most(seen.skipped)}, "
            "or remove the setting"
        )
        yield Hint("item-classes", skipped, text)
    if untagged := seen.untagged.total():
        text = (
            f"{_share(untagged, seen)} took no tags: derive {_most(seen.untagged)} from scrapy_neardup.NearDupItem or "
            "NearDupFields, or declare the fields of NEARDUP_FIELDS in it"
        )
        yield Hint("untagged", untagged, text)


def _of_missing_texts(seen: Observed, settings: NearDupSettings) -> Iterator[Hint]:
    if not _is_notable(seen.statuses["unchecked/no-text"], seen):
        return
    elsewhere, empty = seen.problems["other-page"], seen.problems["empty-page"]
    long_field = _most(seen.long_fields) if seen.long_fields else ""
    mend = f"set NEARDUP_ITEM_FIELDS = {{'text': {long_field!r}}}, which holds long texts" if long_field else ""
    if no_page := seen.problems["no-page"]:
        text = (
            f"{_share(no_page, seen)} had no text and came without a page, as items of start() and of `scrapy parse` "
            f"do: {mend or 'yield each item from the callback of its page, or set text in NEARDUP_ITEM_FIELDS'}"
        )
        yield Hint("no-page", no_page, text)
    if elsewhere:
        text = (
            f"{_share(elsewhere, seen)} had no text, because their url is not the page that they were found on: "
            f"{mend or 'yield each item from the page of its article, or set text in NEARDUP_ITEM_FIELDS'}"
        )
        yield Hint("other-page", elsewhere, text)
    if empty:
        text = (
            f"{_share(empty, seen)} had no text, and none was found on their page: "
            f"{mend or 'set text in NEARDUP_ITEM_FIELDS to the field that holds it, or try another NEARDUP_EXTRACTOR'}"
        )
        yield Hint("no-text", empty, text)


def _of_short_texts(seen: Observed, settings: NearDupSettings) -> Iterator[Hint]:
    short, boilerplate = seen.statuses["unchecked/too-short"], seen.statuses["unchecked/boilerplate"]
    if short >= _MANY * seen.judged > 0:
        text = (
            f"{_share(short, seen)} were too short to judge: give whole articles and not teasers, or lower "
            f"NEARDUP_MIN_WORDS = {settings.min_words}"
        )
        yield Hint("too-short", short, text)
    if boilerplate >= _MANY * seen.judged > 0:
        text = (
            f"{_share(boilerplate, seen)} had only text of the site, such as a paywall notice: give the crawl access "
            "to the articles, or set text in NEARDUP_ITEM_FIELDS to the field that holds them"
        )
        yield Hint("boilerplate", boilerplate, text)
    if _is_notable(failed := seen.statuses["unchecked/extraction-failed"], seen):
        text = (
            f"the pages of {_share(failed, seen)} could not be extracted: the warnings above say whether to raise "
            "NEARDUP_EXTRACT_TIMEOUT, NEARDUP_EXTRACT_MEMORY or NEARDUP_MAX_HTML_BYTES"
        )
        yield Hint("extraction-failed", failed, text)


def _of_faults(seen: Observed) -> Iterator[Hint]:
    """Yield the faults that a single item is enough for."""
    texts = {
        "store-unavailable": "the store was away for {}: check NEARDUP_STORE with `scrapy neardup doctor`",
        "time": "the time of {} cannot be read, so they count as seen now: check time in NEARDUP_ITEM_FIELDS",
        "dropped-feed": "{} were kept, because they could not be written to NEARDUP_DROPPED_FEED",
        "record": "{} were judged but not recorded: check NEARDUP_RECORD",
        "internal-error": "{} met an error of scrapy-neardup itself: please report the trace in the log",
    }
    counts = {name: seen.problems[name] or seen.statuses[f"unchecked/{name}"] for name in texts}
    for name, text in texts.items():
        if counts[name]:
            yield Hint(name, counts[name], text.format(_share(counts[name], seen)))


def _is_notable(items: int, seen: Observed) -> bool:
    return items > 0 and items >= _NOTABLE * seen.judged


def _share(items: int, seen: Observed) -> str:
    return f"{items:,} of {max(items, seen.judged):,} items"


def _most(names: Counter[str]) -> str:
    return names.most_common(1)[0][0]
