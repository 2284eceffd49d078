"""The section of an article, by the words of its address: ``/sport/``, ``/deportes/``, ``sport.paper.example``.

Sections are the seventeen top media topics of IPTC. ``sections.json`` has the words of many languages for each.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from urllib.parse import unquote, urlsplit

from scrapy_neardup.evidence.figures.number_words import read_table
from scrapy_neardup.evidence.sources import LONGEST_URL
from scrapy_neardup.text.folding import fold

_FIRST = 3  # parts of a path that name a section

_TOPICS: dict[str, str] = {word: topic for topic, words in read_table("sections.json").items() for word in words}


def section_of(url: str) -> str:
    """Return the section of an article: that of the first part of its path that names one, "" if none does."""
    try:
        parts = urlsplit(url[:LONGEST_URL])
    except ValueError:
        return ""
    folders = unquote(parts.path).split("/")[1:-1]  # the last part is the title
    names = (fold(each).casefold() for each in (*folders[:_FIRST], *parts.netloc.split(".")[:1]))
    return next((_TOPICS[name] for name in names if name in _TOPICS), "")


def commonest_section(urls: Iterable[str]) -> str:
    """Return the section that most of these addresses have that name one, "" if none does."""
    found = Counter(filter(None, map(section_of, urls))).most_common(1)
    return found[0][0] if found else ""
