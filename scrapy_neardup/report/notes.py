"""Say what a report could not know, and which setting or option helps."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from scrapy_neardup.report.gathering import Gathered
from scrapy_neardup.report.rows import UNTAGGED, Row
from scrapy_neardup.wording import counted

_WITHOUT_DOCUMENT = ("no-text", "extraction-failed", "internal-error")  # such items are not recorded
_LINKED = ("duplicate", "update", "related")
_MOST_PROBLEMS = 20  # listed; the others are counted


class Note(NamedTuple):
    """Something that a reader of the page has to know."""

    text: str
    remedy: str = ""  # what to do about it
    is_warning: bool = True
    details: tuple[str, ...] = ()  # lines of their own


def notes_of(gathered: Gathered, *, listed: int, with_text: int, without_match: int) -> list[Note]:
    """Return what is missing, the most important first.

    ``listed`` items are in the page, ``with_text`` of them with their texts. The matches of ``without_match`` items are
    in none of the feeds.
    """
    rows = [row for row in gathered.rows if not row.is_reported]
    if not rows:
        what = "events only" if gathered.events else "no items"
        return [Note(f"The feeds hold {what}.", "Give the feed of a crawl, or the output of scrapy neardup replay.")]
    return [
        *_about_reading(gathered, rows),
        *_about_items(gathered, rows, without_match),
        *_about_size(gathered, rows, listed, with_text),
    ]


def _about_reading(gathered: Gathered, rows: list[Row]) -> Iterator[Note]:
    if problems := gathered.problems:
        more = [f"and {len(problems) - _MOST_PROBLEMS:,} more"] if len(problems) > _MOST_PROBLEMS else []
        listed = (*problems[:_MOST_PROBLEMS], *more)
        yield Note(f"{counted(len(problems), 'line')} could not be read.", details=listed)
    wanting = [row for row in rows if row.reason not in _WITHOUT_DOCUMENT]
    without = sum(row.document < 0 for row in wanting)
    if gathered.documents and without:
        names = " and ".join(path.name for path in gathered.documents)
        yield Note(
            f"{_of(without, wanting, 'item')} without a document of its id or url in {names}.",
            "Give the recording of the same crawl (NEARDUP_RECORD) with --documents.",
        )


def _about_items(gathered: Gathered, rows: list[Row], without_match: int) -> Iterator[Note]:
    if untagged := sum(row.status == UNTAGGED for row in rows):
        yield Note(
            f"{_of(untagged, rows, 'item')} without a verdict.",
            'Turn the plugin on (ADDONS = {"scrapy_neardup.Addon": 500}), and let the items take its tags: declare '
            "them with NearDupItem or NearDupFields, name them in FEED_EXPORT_FIELDS if you set it, and read "
            "NEARDUP_FIELDS and NEARDUP_ITEM_CLASSES. If this is a file of documents, judge them first (scrapy neardup "
            "replay INPUT -O verdicts.jsonl), and then give it with --documents.",
        )
    linked = [row for row in rows if row.status in _LINKED]
    if linked and not any(row.match for row in rows):
        text = "No item says which document it was compared with, so it is compared with its original here."
        yield Note(text, "Let NEARDUP_FIELDS select neardup_match.")
    if linked and not any(row.story for row in rows):
        yield Note("No item names its story, so nothing is grouped.", "Let NEARDUP_FIELDS select neardup_story.")
    if without_match:
        text = f"{_of(without_match, linked, 'match', 'matches')} in none of these feeds"
        remedy = "Give the feeds of the last 24 hours together."
        yield Note(f"{text}: they were seen in an earlier crawl.", remedy, is_warning=False)
    without_time, field = sum(row.time is None for row in rows), gathered.format.time_field
    if without_time == len(rows):
        yield Note(
            "No item has a time: nothing can be shown over time, and items are in the order of their feed.",
            "Let the spider fill a field with the time, and name it in NEARDUP_ITEM_FIELDS, for example with "
            """-s 'NEARDUP_ITEM_FIELDS={"time": "published"}'. Or give --documents.""",
        )
    elif without_time:
        yield Note(f"{_of(without_time, rows, 'item')} without a time{f' in the field {field!r}' if field else ''}.")
    elif field and gathered.settings.item_fields["time"] is None and not gathered.documents:
        yield Note(f"Times are those of the field {field!r}.", is_warning=False)


def _about_size(gathered: Gathered, rows: list[Row], listed: int, shown: int) -> Iterator[Note]:
    with_text = sum(row.has_text for row in rows)
    if not with_text:
        remedy = (
            "Give the recorded documents (--documents INPUT), or let the items carry their text in the field that "
            f"NEARDUP_ITEM_FIELDS names (now {gathered.settings.item_fields['text']!r})."
        )
        # With documents, another note says that they are those of other items.
        text = "There are no texts, so nothing can be compared side by side."
        yield Note(text, "" if gathered.documents else remedy)
    elif shown < len(rows):
        yield Note(
            f"Texts of {shown:,} of {len(rows):,} items are in this page: those of the pairs to review and of the "
            f"largest stories. {len(rows) - with_text:,} items have no text.",
            is_warning=False,
        )
    if listed < len(gathered.rows):
        yield Note(
            f"{listed:,} of {len(gathered.rows):,} items are listed; the smallest stories were left "
            "out to keep the page small. All numbers count every item."
        )


def _of(number: int, among: list[Row], noun: str, nouns: str = "") -> str:
    verb = "is" if number == 1 else "are"
    return f"{number:,} of {counted(len(among), noun, nouns)} {verb}"
