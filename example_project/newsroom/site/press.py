"""The bundled news site: stories, the pages that print them, and the page designs.

A story is a text file; a page (one line of ``pages.jsonl``) prints it under its own address and headline, whole or
edited; a source (``sources.json``) lends the page its design, language and character encoding.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from html import escape
from importlib.resources import files
from string import Template
from urllib.parse import urlsplit

HERE = files(__package__)  # also in an egg
DIRECTORY = "http://newsstand.example/"

# Designs not listed here wrap a paragraph in <p>, as most of the web does.
PARAGRAPHS = {
    "tables": "$text<br><br>",
    "divsoup": '<div class="par"><p>$text</p></div>',
    "magazine": '<p class="para"><span>$text</span></p>',
}


@dataclass(frozen=True)
class Source:
    """A publisher: its host name, its looks and the encoding and clock it writes in."""

    host: str
    name: str
    tagline: str
    template: str
    language: str
    encoding: str
    utc_offset: str

    @property
    def front_page(self) -> str:
        return f"http://{self.host}/"


@dataclass(frozen=True)
class Page:
    """One printing of a story.

    ``keep`` numbers the paragraphs that are left after an abridgement, from 1; None keeps all of them.
    """

    url: str
    published: str
    headline: str
    byline: str
    story: str
    keep: list[int] | None = None
    replace: dict[str, str] = field(default_factory=dict)
    lead: list[str] = field(default_factory=list)
    more: list[str] = field(default_factory=list)

    def paragraphs(self) -> list[str]:
        """The text as printed. Raises ValueError when an edit does not fit the story any more."""
        story = read_story(self.story)
        kept = story if self.keep is None else [story[number - 1] for number in self.keep]
        text = "\n".join(kept)
        for old, new in self.replace.items():
            if text.count(old) != 1:
                raise ValueError(f"{self.url}: {old!r} is not in the story {self.story!r} exactly once")
            text = text.replace(old, new)
        return [*self.lead, *text.split("\n"), *self.more]


def read_story(name: str) -> list[str]:
    text = (HERE / "stories" / f"{name}.txt").read_text(encoding="utf-8")
    return [" ".join(block.split()) for block in re.split(r"\n\s*\n", text.strip())]


def read_sources() -> dict[str, Source]:
    rows = json.loads((HERE / "sources.json").read_text(encoding="utf-8"))
    return {row["host"]: Source(**row) for row in rows}


def read_pages() -> list[Page]:
    lines = (HERE / "pages.jsonl").read_text(encoding="utf-8").splitlines()
    return [Page(**json.loads(line)) for line in lines]


class Newsstand:
    """Everything the site serves. ``by_url`` holds the versions of a page in the order in which they were printed."""

    def __init__(self, sources: dict[str, Source], pages: list[Page]) -> None:
        self.sources = sources
        self.by_host: dict[str, list[Page]] = defaultdict(list)
        self.by_url: dict[str, list[Page]] = defaultdict(list)
        for page in pages:
            self.by_host[urlsplit(page.url).netloc].append(page)
            self.by_url[page.url].append(page)

    @classmethod
    def load(cls) -> Newsstand:
        return cls(read_sources(), read_pages())

    def directory(self) -> bytes:
        papers = "\n".join(_link(source.front_page, source.name) for source in self.sources.values())
        return _fill("directory", papers=papers).encode()

    def front_page(self, source: Source) -> bytes:
        stories = "\n".join(
            _link(page.url, page.headline, f'<time datetime="{page.published}"></time>')
            for page in self.by_host[source.host]
        )
        return _encode(_fill("front", stories=stories, **_looks(source)), source)

    def article(self, page: Page, source: Source) -> bytes:
        others = (other for other in self.by_host[source.host] if other.url != page.url)
        clock = _local_time(page.published, source.utc_offset)
        shape = Template(PARAGRAPHS.get(source.template, "<p>$text</p>"))
        html = _fill(
            source.template,
            headline=escape(page.headline),
            byline=escape(page.byline),
            published=clock.isoformat(),
            published_text=f"{clock:%d.%m.%Y %H:%M}",
            structured_data=_structured_data(page, source),
            paragraphs="\n".join(shape.substitute(text=escape(text, quote=False)) for text in page.paragraphs()),
            related="".join(_link(other.url, other.headline) for other in _first(5, others)),
            **_looks(source),
        )
        return _encode(html, source)


def _fill(template: str, **values: str) -> str:
    return Template((HERE / "templates" / f"{template}.html").read_text(encoding="utf-8")).substitute(values)


def _looks(source: Source) -> dict[str, str]:
    return {
        "site": escape(source.name),
        "tagline": escape(source.tagline),
        "language": source.language,
        "encoding": source.encoding,
    }


def _encode(html: str, source: Source) -> bytes:
    # What an old encoding cannot write becomes a character reference, as any publishing system does it.
    return html.encode(source.encoding, errors="xmlcharrefreplace")


def _link(url: str, text: str, after: str = "") -> str:
    return f'<li><a href="{escape(url)}">{escape(text)}</a>{after}</li>'


def _first(count: int, pages: Iterable[Page]) -> list[Page]:
    """The first pages, each address once."""
    return list({page.url: page for page in pages}.values())[:count]


def _local_time(published: str, utc_offset: str) -> datetime:
    hours, minutes = (int(part) for part in utc_offset[1:].split(":"))
    shift = timedelta(hours=hours, minutes=minutes) * (-1 if utc_offset.startswith("-") else 1)
    return datetime.fromisoformat(published.replace("Z", "+00:00")).astimezone(timezone(shift))


def _structured_data(page: Page, source: Source) -> str:
    data = {
        "@context": "https://schema.org",
        "@type": "NewsArticle",
        "headline": page.headline,
        "datePublished": page.published,
        "author": {"@type": "Organization", "name": page.byline},
        "publisher": {"@type": "Organization", "name": source.name},
    }
    return json.dumps(data).replace("<", "\\u003c")
