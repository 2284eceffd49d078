"""Say what a report could not know, and which setting or option helps."""

from __future__ import annotations

from collections.abc import Iterator

from scrapy_neardup.document import counted
from scrapy_neardup.report.contents import Contents, Note
from scrapy_neardup.report.rows import UNTAGGED, Row

_WITHOUT_DOCUMENT = ("no-text", "extraction-failed", "internal-error")  # such items are not recorded
_LINKED = ("duplicate", "update", "related")


def notes_of(contents: Contents) -> list[Note]:
    """Return what is missing, the most important first."""
    rows = [row for row in contents.gathered.rows if not row.is_reported]
    if not rows:
        what = "events only" if contents.gathered.events else "no items"
        return [Note(f"The feeds hold {what}.", "Give the feed of a crawl, or the output of scrapy neardup replay.")]
    about = (_about_reading, _about_tags, _about_times, _about_size)
    return [note for each in about for note in each(contents, rows)]


def _about_reading(contents: Contents, rows: list[Row]) -> Iterator[Note]:
    gathered = contents.gathered
    if gathered.problem_count:
        more = gathered.problem_count - len(gathered.problems)
        listed = [*gathered.problems, *([f"and {more:,} more"] if more else [])]
        yield Note(f"{counted(gathered.problem_count, 'line')} could not be read.", details=tuple(listed))
    wanting = [row for row in rows if row.reason not in _WITHOUT_DOCUMENT]
    without = sum(row.document < 0 for row in wanting)
    if gathered.documents and without:
        names = " and ".join(path.name for path in gathered.documents)
        yield Note(
            f"{_of(without, len(wanting), 'item')} without a document of its id or url in {names}.",
            "Give the recording of the same crawl (NEARDUP_RECORD) with --documents.",
        )


def _about_tags(contents: Contents, rows: list[Row]) -> Iterator[Note]:
    fields = contents.gathered.fields
    untagged = sum(row.status == UNTAGGED for row in rows)
    if untagged == len(rows) and all(row.id and row.has_text for row in rows):
        yield Note(
            "These are documents without verdicts.",
            "Judge them first (scrapy neardup replay INPUT -O verdicts.jsonl), then give the verdicts as the feed and "
            "this file with --documents.",
        )
    elif untagged:
        yield Note(
            f"{_of(untagged, len(rows), 'item')} without a verdict.",
            'Turn the plugin on (ADDONS = {"scrapy_neardup.Addon": 500}), and let the items take its tags: declare '
            "them with NearDupItem or NearDupFields, name them in FEED_EXPORT_FIELDS if you set it, and read "
            "NEARDUP_FIELDS and NEARDUP_ITEM_CLASSES.",
        )
    linked = sum(row.status in _LINKED for row in rows)
    if linked and not fields["match"]:
        text = "No item says which document it was compared with, so it is compared with its original here."
        yield Note(text, "Let NEARDUP_FIELDS select neardup_match.")
    if linked and not fields["story"]:
        yield Note("No item names its story, so nothing is grouped.", "Let NEARDUP_FIELDS select neardup_story.")
    if missing := contents.sample.without_match:
        text = f"{_of(missing, linked, 'match', 'matches')} in none of these feeds: they were seen in an earlier crawl."
        yield Note(text, "Give the feeds of the last 24 hours together.", is_warning=False)


def _about_times(contents: Contents, rows: list[Row]) -> Iterator[Note]:
    without = sum(row.time is None for row in rows)
    field = contents.gathered.format.time_field
    if without == len(rows):
        yield Note(
            "No item has a time: nothing can be shown over time, and items are in the order of their feed.",
            "Let the spider fill a field with the time, and name it in NEARDUP_ITEM_FIELDS, for example with "
            """-s 'NEARDUP_ITEM_FIELDS={"time": "published"}'"""
            f"{'' if contents.gathered.documents else '. Or give --documents'}.",
        )
    elif without:
        where = f" in the field {field!r}" if field else ""
        yield Note(f"{_of(without, len(rows), 'item')} without a time{where}.")
    elif field and contents.gathered.settings.item_fields["time"] is None and not contents.gathered.documents:
        yield Note(f"Times are those of the field {field!r}.", is_warning=False)


def _about_size(contents: Contents, rows: list[Row]) -> Iterator[Note]:
    with_text, shown = sum(row.has_text for row in rows), len(contents.payload.chunk_of)
    if not with_text:
        remedy = (
            "Give the recorded documents (--documents INPUT), or let the items carry their text in the field that "
            f"NEARDUP_ITEM_FIELDS names (now {contents.gathered.settings.item_fields['text']!r})."
        )
        text = "There are no texts, so nothing can be compared side by side."
        # With documents, another note says that they are those of other items.
        yield Note(text, "" if contents.gathered.documents else remedy)
    elif shown < len(rows):
        yield Note(
            f"Texts of {shown:,} of {len(rows):,} items are in this page: those of the pairs to review and of the "
            f"largest stories. {len(rows) - with_text:,} items have no text.",
            is_warning=False,
        )
    if contents.listed < len(contents.gathered.rows):
        yield Note(
            f"{contents.listed:,} of {len(contents.gathered.rows):,} items are listed; the smallest stories were left "
            "out to keep the page small. All numbers count every item."
        )


def _of(number: int, total: int, noun: str, nouns: str = "") -> str:
    verb = "is" if number == 1 else "are"
    return f"{number:,} of {total:,} {noun if total == 1 else nouns or noun + 's'} {verb}"
