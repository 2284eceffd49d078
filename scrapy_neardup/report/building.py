"""Build the page of a report, or a digest, from what was gathered."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, islice
from typing import NamedTuple

from scrapy_neardup.report.events import add_reports, reasons_of
from scrapy_neardup.report.gathering import Gathered
from scrapy_neardup.report.news import last_day, news_by_day, news_of
from scrapy_neardup.report.notes import Note, notes_of
from scrapy_neardup.report.overview import overview_of
from scrapy_neardup.report.page import render, write_digest
from scrapy_neardup.report.payload import add_texts, index_of, mark_texts
from scrapy_neardup.report.review import Sample, choose_pairs
from scrapy_neardup.report.stories import FeedStory, Links, group_stories

MOST_BYTES = 24_000_000
"""Of a page. The list of items comes first, and texts fill the rest."""

_MOST_INDEX = 17_000_000  # bytes of the packed list of items
_MOST_TEXTS = 6_000  # read for the page
_FRAME = 400_000  # bytes of the page without its data, at most


class Built(NamedTuple):
    """A page, and what is in it."""

    html: str
    items: int
    again: int  # items whose page came again unchanged, which are not among the others
    listed: int
    stories: int
    texts: int
    notes: list[Note]


def build_report(gathered: Gathered, title: str = "", most_bytes: int = MOST_BYTES) -> Built:
    """Return the page. If there is too much for one page, the page says what it left out."""
    links, stories = _stories_of(gathered)
    sample = choose_pairs(gathered.rows, links, gathered.settings)
    payload, most_index = index_of(stories, links), min(_MOST_INDEX, most_bytes - _FRAME)
    if len(payload.index) > most_index:
        payload = index_of(_largest(stories, most_index / len(payload.index)), links)
    wanted = _wanted_texts(stories, sample)
    texts = mark_texts(gathered.texts(set(wanted)), gathered.settings)
    with_text = add_texts(payload, wanted, texts, most_bytes - _FRAME)
    overview, listed = overview_of(gathered.rows, stories, links), len(payload.places)
    notes = notes_of(gathered, listed=listed, with_text=with_text, without_match=sample.without_match)
    parts = {"days": news_by_day(stories, links), "notes": notes, "reasons": reasons_of(gathered.events)}
    html = render(title, gathered, overview, sample, payload, **parts)
    return Built(html, overview.items, overview.again, listed, overview.stories, with_text, notes)


def build_digest(gathered: Gathered, title: str = "") -> bytes:
    """Return the news of the last 24 hours of the feeds as one e-mail, with an HTML and a plain part."""
    links, stories = _stories_of(gathered)
    return write_digest(news_of(last_day(stories), stories, links), title)


def _stories_of(gathered: Gathered) -> tuple[Links, list[FeedStory]]:
    links = Links(gathered.rows)
    stories = group_stories(gathered.rows, links)
    add_reports(gathered.events, stories)
    return links, stories


def _largest(stories: Sequence[FeedStory], share: float) -> list[FeedStory]:
    """Return the first stories, with at most about this share of the items, and with some room to spare."""
    room, kept = 0.8 * share * sum(len(story.members) for story in stories), list[FeedStory]()
    for story in stories:
        room -= len(story.members)
        if room >= 0:
            kept.append(story)
    return kept


def _wanted_texts(stories: Sequence[FeedStory], sample: Sample) -> list[int]:
    """Return the rows whose texts the page should have: the pairs to review, then the largest stories."""
    reviewed = (row for pair in sample.pairs for row in (pair.match, pair.row))
    members = (row for story in stories for row in story.members)
    numbers = dict.fromkeys(row.number for row in chain(reviewed, members) if row.has_text)
    return list(islice(numbers, _MOST_TEXTS))
