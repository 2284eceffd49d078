"""Build the page of a report, or a digest, from what was gathered."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from scrapy_neardup.report.contents import Contents, Note
from scrapy_neardup.report.events import add_reports, reasons_of
from scrapy_neardup.report.gathering import Gathered
from scrapy_neardup.report.news import last_day, news_by_day, news_of
from scrapy_neardup.report.notes import notes_of
from scrapy_neardup.report.overview import overview_of
from scrapy_neardup.report.page import render, write_digest
from scrapy_neardup.report.passages import mark_texts
from scrapy_neardup.report.payload import Payload, add_texts, index_of, review_data
from scrapy_neardup.report.review import Sample, choose_pairs
from scrapy_neardup.report.rows import Row
from scrapy_neardup.report.stories import Links, Story, group_stories

MOST_BYTES = 24_000_000
"""Of a page. The list of items comes first, and texts fill the rest."""

_MOST_INDEX = 17_000_000  # bytes of the packed list of items
_MOST_TEXT = 24_000_000  # characters of texts read for the page
_MOST_TEXTS = 6_000
_MOST_PAGES = 1_000  # recorded pages whose text has to be extracted
_USUAL_TEXT = 3_000  # characters, if the length of a text is not known yet
_FRAME = 400_000  # bytes of the page without its data, at most


@dataclass(slots=True)
class Built:
    """A page, and what is in it."""

    html: str
    items: int
    again: int  # items whose page came again unchanged, which are not among the others
    listed: int
    stories: int
    texts: int
    notes: list[Note] = field(default_factory=list)


def build_report(gathered: Gathered, title: str = "", most_bytes: int = MOST_BYTES) -> Built:
    """Return the page. If there is too much for one page, the page says what it left out."""
    links, stories = _stories_of(gathered)
    sample = choose_pairs(gathered.rows, links, gathered.settings)
    payload, listed = _fitting_index(stories, links, sample, min(_MOST_INDEX, most_bytes - _FRAME))
    wanted = _wanted_texts(stories, sample)
    texts = mark_texts(gathered.texts(set(wanted)), gathered.settings)
    with_text = add_texts(payload, wanted, texts, most_bytes - _FRAME)
    contents = Contents(
        gathered=gathered,
        overview=overview_of(gathered.rows, stories, links),
        news=news_by_day(stories, links),
        sample=sample,
        payload=payload,
        listed=listed,
        reasons=reasons_of(gathered.events),
    )
    contents.notes = notes_of(contents)
    html = render(contents, review_data(sample, payload), title)
    overview = contents.overview
    return Built(html, overview.items, overview.again, listed, overview.stories, with_text, contents.notes)


def build_digest(gathered: Gathered, title: str = "") -> bytes:
    """Return the news of the last 24 hours of the feeds as one e-mail, with an HTML and a plain part."""
    links, stories = _stories_of(gathered)
    return write_digest(news_of(last_day(stories), stories, links), title)


def _stories_of(gathered: Gathered) -> tuple[Links, list[Story]]:
    links = Links(gathered.rows)
    stories = group_stories(gathered.rows, links)
    add_reports(gathered.events, stories)
    return links, stories


def _fitting_index(stories: Sequence[Story], links: Links, sample: Sample, most: int) -> tuple[Payload, int]:
    """Return the list of items, and how many it has. If it is too large, stories of one item are left out first."""
    reviewed = {row.number for pair in sample.pairs for row in (pair.match, pair.row)}
    kept = list(stories)
    while True:
        payload = index_of(kept, links)
        if len(payload.index) <= most or not kept:
            return payload, sum(len(story.members) for story in kept)
        share = 0.9 * most / len(payload.index)
        first = kept[: int(len(kept) * share)]
        rest = kept[len(first) :]
        kept = [*first, *(story for story in rest if share > 0.1 and any(r.number in reviewed for r in story.members))]


def _wanted_texts(stories: Sequence[Story], sample: Sample) -> list[int]:
    """Return the rows whose texts the page should have, the most important first."""
    wanted: dict[int, None] = {}
    characters = pages = 0
    for row in _by_importance(stories, sample):
        if row.number in wanted or not row.has_text:
            continue
        is_page = row.is_page and not row.characters
        if is_page and pages >= _MOST_PAGES:
            continue
        pages += is_page
        characters += row.characters or _USUAL_TEXT
        if characters > _MOST_TEXT or len(wanted) >= _MOST_TEXTS:
            break
        wanted[row.number] = None
    return list(wanted)


def _by_importance(stories: Sequence[Story], sample: Sample) -> Iterator[Row]:
    for pair in sample.pairs:
        yield from (pair.match, pair.row)
    for story in stories:
        yield from story.members
