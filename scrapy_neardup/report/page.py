"""Write the page: templates, styles and scripts in one file that asks no network for anything.

The page has a Content-Security-Policy that allows its own scripts and styles by their hashes, and nothing else.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from datetime import datetime, timezone
from email.message import EmailMessage
from email.policy import default as default_policy
from functools import cache
from importlib.resources import files
from itertools import chain, islice
from typing import TYPE_CHECKING, NamedTuple

from scrapy_neardup.document import KINDS
from scrapy_neardup.exceptions import InputError
from scrapy_neardup.report.gathering import Gathered
from scrapy_neardup.report.news import DAY, News, last_day, news_by_day, news_of
from scrapy_neardup.report.notes import Note, notes_of
from scrapy_neardup.report.overview import VERDICTS, Overview, overview_of
from scrapy_neardup.report.payload import Payload, add_texts, index_of, inert_json, mark_texts, review_data
from scrapy_neardup.report.review import Sample, choose_pairs
from scrapy_neardup.report.rows import LONGEST_NAME, clean_line, web_address
from scrapy_neardup.report.stories import FeedStory, Links, add_reports, group_stories, reasons_of
from scrapy_neardup.wording import counted

if TYPE_CHECKING:
    from jinja2 import Environment

_HERE = files("scrapy_neardup.report")
_LIBRARY = "jsdiff-9.0.0"
"""The library that is part of the page. The first lines of its licence name its holders."""

_SCRIPTS = ("data", "elements", "differences", "compare", "stories", "drops", "review", "marks", "page")


def render(
    title: str, gathered: Gathered, overview: Overview, sample: Sample, payload: Payload, **parts: object
) -> str:
    """Return the page. ``parts`` are further variables of the templates: ``days``, ``notes`` and ``reasons``."""
    styles, scripts = _read("static", "report.css"), [_read("static", "vendor", f"{_LIBRARY}.min.js"), _own_script()]
    preset = gathered.settings.resolved_preset()
    meta = {
        "verdicts": VERDICTS,
        "kinds": KINDS,
        "chunkOf": payload.chunk_of,
        "review": review_data(sample, payload),
        "reasons": parts["reasons"],
        "measure": preset.measure,
        "relatedThreshold": preset.related_threshold,
    }
    template = load_templates().get_template("page.html.j2")
    return template.render(
        **parts,
        title=title or _title(overview),
        overview=overview,
        sample=sample,
        payload=payload,
        drop_share=gathered.settings.drop_share,
        feeds=[path.name for path in (*gathered.feeds, *gathered.dropped)],
        policy=_policy(styles, scripts),
        styles=styles,
        scripts=scripts,
        meta=inert_json(meta),
        library=_LIBRARY.replace("-", " "),
        licence=_read("static", "vendor", f"{_LIBRARY}.LICENSE"),
    )


def _title(overview: Overview) -> str:
    days = dict.fromkeys(_moment(time, "%Y-%m-%d") for time in (overview.first, overview.last) if time is not None)
    return f"News of {' to '.join(days)}" if days else "News"


def write_digest(news: News, title: str) -> bytes:
    """Return an e-mail: the news as plain text and as HTML, whose styles are in the elements, as e-mail needs it."""
    plain, html = (load_templates().get_template(f"digest.{form}.j2") for form in ("txt", "html"))
    message = EmailMessage(policy=default_policy)
    start = news.period.start
    day = "" if start is None else f", {_moment(start)} to {_moment(start + DAY)} UTC"
    message["Subject"] = clean_line(title or f"News digest{day}", LONGEST_NAME)
    message.set_content(plain.render(news=news, title=title))
    message.add_alternative(written := html.render(news=news, title=title), subtype="html")
    message.set_boundary(hashlib.sha256(written.encode("utf-8")).hexdigest())  # no text of the feeds can guess it
    return message.as_bytes()


def _policy(styles: str, scripts: list[str]) -> str:
    return (
        f"default-src 'none'; script-src {' '.join(map(_hash, scripts))}; style-src {_hash(styles)}; img-src data:;"
        " base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'"
    )


def _hash(content: str) -> str:
    digest = hashlib.sha256(content.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"


@cache
def _read(*path: str) -> str:
    """Return a file of the package. A browser hashes a script with line feeds, so the file has no others."""
    return _HERE.joinpath(*path).read_text(encoding="utf-8").replace("\r\n", "\n")


def _own_script() -> str:
    """Return the scripts of the report as one, in a scope of its own."""
    parts = "\n".join(_read("static", f"{name}.js") for name in _SCRIPTS)
    return f"(() => {{\n'use strict';\n{parts}\n}})();"


@cache
def load_templates() -> Environment:
    """Return the templates. Raise InputError if Jinja2 is not installed."""
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined
    except ImportError as error:
        raise InputError("the report needs Jinja2: pip install jinja2") from error
    environment = Environment(
        loader=PackageLoader("scrapy_neardup.report"),
        autoescape=lambda name: name is not None and name.endswith(".html.j2"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        number=lambda number: f"{number:,}",
        percent=lambda share: f"{share:.0%}",
        moment=_moment,
        until=_until,
        iso=lambda second: _moment(second, "%Y-%m-%dT%H:%M:%SZ"),
        address=web_address,
    )
    environment.globals.update(counted=counted)
    return environment


def _moment(second: float, form: str = "%Y-%m-%d %H:%M") -> str:
    return f"{datetime.fromtimestamp(second, timezone.utc):{form}}"


def _until(second: float, first: float) -> str:
    """Return a time without its day if that is the day of ``first``."""
    return _moment(second).removeprefix(_moment(first, "%Y-%m-%d "))


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
