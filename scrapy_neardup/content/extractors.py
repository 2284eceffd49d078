"""Extractors: callables ``(html, url) -> main content``, one block a line, "" if there is no main content.

The types of a page before and after extraction are here too, and their limits.
"""

import re
from collections.abc import Callable
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import NamedTuple

from scrapy_neardup.document import MOST_CHARACTERS
from scrapy_neardup.exceptions import SettingsError
from scrapy_neardup.settings.values import load_callable
from scrapy_neardup.text.misread import repaired
from scrapy_neardup.text.words import count_words

Extractor = Callable[[str, str], str]

# Version of ``whole_text.py``. It is part of the configuration in the keys of a store: raise it if texts change.
REPAIRS = 1
# A larger page is not extracted.
MOST_HTML_BYTES = 5_000_000
_STOP = re.compile(r"[.!?…][\"'”’»)\]]*(?=\s|$)|[。！？।॥؟۔።။។։]")
_FEWEST_WORDS = 20  # the default of NEARDUP_MIN_WORDS
THIN_WORDS = 100  # of prose: with fewer another pass may find more
# The first letters pass over most other tags in three quarters of the time.
_SELF_CLOSING = re.compile(
    r"<(?=[istn])(iframe|script|style|textarea|title|noscript)\b([^<>]{0,2000})/>", re.IGNORECASE
)


class BuiltIn(NamedTuple):
    """An extractor of this package, and the library that it needs."""

    extract: Extractor
    module: str  # of the library: a worker imports it before its first page
    oldest: int = 0  # the major version of the library, if an extra brings it


class Extracted(NamedTuple):
    """The main content of a page, or another text, and its sketch if a worker process made one."""

    text: str
    sketch: bytes = b""
    is_of_page: bool = True


def checked_text(text: object) -> str:
    """Return the beginning of an extractor's answer, of at most ``MOST_CHARACTERS``: the rest is not compared.

    Raise TypeError if the answer is not a text, ValueError if it is longer than a page may be.
    """
    if not isinstance(text, str):
        raise TypeError(f"the extractor returned {type(text).__name__}, not str")
    if len(text) > MOST_HTML_BYTES:
        raise ValueError(f"the extractor returned {len(text)} characters, over the limit of {MOST_HTML_BYTES}")
    return repaired(text[:MOST_CHARACTERS])


def extractor_identity(name: str | None) -> str:
    """Return what makes texts comparable: the name of their extractor, and its version if it is built in.

    Nothing is imported.
    """
    if name not in BUILT_IN:
        return name or ""
    try:
        return f"{name} {version(name)} {REPAIRS}"
    except PackageNotFoundError:
        return name


def load_extractor(name: str | None) -> Extractor:
    """Return the extractor of a name or import path. Raise SettingsError if it cannot be used."""
    if name is None:
        return lambda html, url: ""  # the items of the crawl bring their texts
    if name.startswith("__main__."):
        raise SettingsError(
            "NEARDUP_EXTRACTOR",
            name,
            "worker processes cannot import the script that is run: put it into a module",
        )
    if name not in BUILT_IN:
        return load_callable(
            "NEARDUP_EXTRACTOR",
            name,
            f"{', '.join(map(repr, BUILT_IN))}, the import path of a callable (html, url), or None",
        )
    built_in = BUILT_IN[name]
    if built_in.oldest:
        try:
            import_module(built_in.module)  # a broken binary shows itself here
            if int(version(name).partition(".")[0]) < built_in.oldest:
                raise ImportError(f"version {version(name)} is too old")
        except ImportError as error:  # PackageNotFoundError is one
            raise SettingsError(
                "NEARDUP_EXTRACTOR", name, f"{error}; pip install '{name}>={built_in.oldest}'"
            ) from error
    return built_in.extract


def extract_with_trafilatura(html: str, url: str) -> str:
    """Return the answer of trafilatura's quick pass, or of a slower pass if that finds more prose, see ``whole_text``.

    Passes with tables and with fallbacks run only if the quick pass finds next to no prose. A page that is laid out in
    tables would otherwise give its menus.
    """
    from scrapy_neardup.content.whole_text import whole_text  # workers need it

    def extract(html: str) -> str:
        text = _trafilatura(html, url)
        for options in ({"tables": True}, {"fast": False}):
            if prose_words(text) < THIN_WORDS:
                text = max(text, _trafilatura(html, url, **options), key=prose_words)
        return text

    return whole_text(html, extract)


def extract_with_resiliparse(html: str, url: str) -> str:
    """Return the answer of resiliparse, or that of trafilatura if resiliparse finds too few words to judge a page by.

    A self-closing tag of an element that HTML does not close so would swallow the rest of the page, so it is closed
    first. See ``whole_text``.
    """
    from resiliparse.extract.html2text import extract_plain_text

    from scrapy_neardup.content.whole_text import whole_text

    def extract(html: str) -> str:
        text: str = extract_plain_text(_SELF_CLOSING.sub(r"<\1\2></\1>", html), main_content=True, alt_texts=False)
        # Nearly every text has so many words in its first 500 characters.
        if count_words(text[:500]) >= _FEWEST_WORDS or count_words(text) >= _FEWEST_WORDS:
            return text
        return max(text, _trafilatura(html, url), key=count_words)

    return whole_text(html, extract)


def _trafilatura(html: str, url: str, *, fast: bool = True, tables: bool = False) -> str:
    from trafilatura import extract

    # ``deduplicate`` stays off: its cache is kept for the whole process, so a page's fourth extraction would be empty.
    return (
        extract(html, url=url or None, fast=fast, include_comments=False, include_tables=tables, with_metadata=False)
        or ""
    )


def prose_words(text: str) -> int:
    """Count the words that are in sentences, because menus have no sentences.

    Two characters of a script without spaces count as one word.
    """
    return sum(_words_in_sentences(line) for line in text.splitlines())


def _words_in_sentences(line: str) -> int:
    whole = count_words(line)
    if whole < 8:  # it is no paragraph
        return 0
    if re.search("[\u0e00-\u0eff]", line):  # Thai and Lao have no stops
        return whole
    # A longer sentence is taken for a menu.
    return sum(words for words in map(count_words, _STOP.split(line)[:-1]) if words <= 50)


BUILT_IN = {
    "trafilatura": BuiltIn(extract_with_trafilatura, "trafilatura"),
    "resiliparse": BuiltIn(extract_with_resiliparse, "resiliparse.extract.html2text", 2),
}
