"""Say what a report could not know, and which setting or option mends it."""

from __future__ import annotations

from collections.abc import Iterator

from scrapy_neardup.document import counted
from scrapy_neardup.report.contents import Contents, Note
from scrapy_neardup.report.rows import UNTAGGED

_WITHOUT_DOCUMENT = ("no-text", "extraction-failed", "internal-error")  # such items are not recorded
_LINKED = ("duplicate", "update", "related")


def notes_of(contents: Contents) -> list[Note]:
    """Return what is missing, the most important first."""
    if not contents.gathered.rows:
        what = "events only" if contents.gathered.events else "no items"
        return [Note(f"The feeds hold {what}.", "Give the feed of a crawl, or the output of scrapy neardup replay.")]
    return [*_about_reading(contents), *_about_tags(contents), *_about_times(contents), *_about_size(contents)]


def _about_reading(contents: Contents) -> Iterator[Note]:
    gathered = contents.gathered
    if gathered.problem_count:
        more = gathered.problem_count - len(gathered.problems)
        listed = [*gathered.problems, *([f"and {more:,} more"] if more else [])]
        yield Note(f"{counted(gathered.problem_count, 'line')} could not be read.", details=tuple(listed))
    if gathered.repeated:
        yield Note(
            f"{_of(gathered.repeated, len(gathered.rows), 'item')} in a feed before it too, and counted again.",
            "Leave out the feed whose items the other feeds hold.",
        )
    wanting = [row for row in gathered.rows if row.reason not in _WITHOUT_DOCUMENT]
    without = sum(row.document < 0 for row in wanting)
    if gathered.documents and without:
        names = " and ".join(path.name for path in gathered.documents)
        yield Note(
            f"{_of(without, len(wanting), 'item')} without a document of its id or url in {names}.",
            "Give the recording of the same crawl (NEARDUP_RECORD) with --documents.",
        )


def _about_tags(contents: Contents) -> Iterator[Note]:
    gathered, verdicts = contents.gathered, contents.overview.verdicts
    untagged = verdicts.get(UNTAGGED, 0)
    if untagged == len(gathered.rows) and all(row.id and row.has_text for row in gathered.rows):
        yield Note(
            "These are documents without verdicts.",
            "Judge them first (scrapy neardup replay INPUT -O verdicts.jsonl), then give the verdicts as the feed and "
            "this file with --documents.",
        )
    elif untagged:
        yield Note(
            f"{_of(untagged, len(gathered.rows), 'item')} without a verdict.",
            'Turn the plugin on (ADDONS = {"scrapy_neardup.Addon": 500}), and let the items take its tags: declare '
            "them with NearDupItem or NearDupFields, name them in FEED_EXPORT_FIELDS if you set it, and read "
            "NEARDUP_FIELDS and NEARDUP_ITEM_CLASSES.",
        )
    linked = sum(verdicts.get(status, 0) for status in _LINKED)
    if linked and not gathered.fields["match"]:
        yield Note(
            "No item says which document it was compared with, so it is compared with its original here.",
            "Let NEARDUP_FIELDS select neardup_match; feeds of versions before it do not have it.",
        )
    if linked and not gathered.fields["story"]:
        yield Note("No item names its story, so nothing is grouped.", "Let NEARDUP_FIELDS select neardup_story.")
    if contents.sample.without_match:
        yield Note(
            f"{_of(contents.sample.without_match, linked, 'match', 'matches')} in none of these feeds: they were seen "
            "in an earlier crawl.",
            "Give the feeds of the last 24 hours together.",
            is_warning=False,
        )


def _about_times(contents: Contents) -> Iterator[Note]:
    rows, without = contents.gathered.rows, contents.overview.without_time
    field = contents.gathered.format.time_field
    if without == len(rows):
        yield Note(
            "No item has a time: nothing can be shown over time, and items stand in the order of their feed.",
            "Let the spider fill a field with the time, and name this field in NEARDUP_TIME_FIELD, for example with "
            f"-s NEARDUP_TIME_FIELD=published{'' if contents.gathered.documents else '. Or give --documents'}.",
        )
    elif without:
        where = f" in the field {field!r}" if field else ""
        yield Note(f"{_of(without, len(rows), 'item')} without a time{where}.")
    elif field and contents.gathered.settings.time_field is None:
        yield Note(f"Times are those of the field {field!r}.", is_warning=False)


def _about_size(contents: Contents) -> Iterator[Note]:
    rows, payload = contents.gathered.rows, contents.payload
    with_text = sum(row.has_text for row in rows)
    if not with_text:
        yield Note(
            "There are no texts, so nothing can be compared side by side.",
            ""
            if contents.gathered.documents  # another note says that they are those of other items
            else "Give the recorded documents (--documents INPUT), or let the items carry their text in the field that "
            f"NEARDUP_TEXT_FIELD names (now {contents.gathered.settings.text_field!r}).",
        )
    elif len(payload.chunk_of) < len(rows):
        yield Note(
            f"Texts of {len(payload.chunk_of):,} of {len(rows):,} items are in this page: those of the pairs to review "
            f"and of the largest stories. {len(rows) - with_text:,} items have no text.",
            is_warning=False,
        )
    if contents.listed < len(rows):
        yield Note(
            f"{contents.listed:,} of {len(rows):,} items are listed; the smallest stories were left out to keep the "
            "page small. All numbers of the overview count every item."
        )
    hidden = len(contents.events) - len(contents.shown_events)
    if hidden > 0:
        yield Note(f"The {len(contents.shown_events)} largest events are shown, and {hidden:,} are left out.")


def _of(number: int, total: int, noun: str, nouns: str = "") -> str:
    verb = "is" if number == 1 else "are"
    return f"{number:,} of {total:,} {noun if total == 1 else nouns or noun + 's'} {verb}"
