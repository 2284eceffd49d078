"""Texts for people: safe to print, on one line, with numbers and nouns, without passwords."""

import re

# Control characters except line feed and tab, characters that change the direction of writing or are seen nowhere,
# lone surrogates, and two that are no characters.
UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u206f\ud800-\udfff\ufeff\ufff9-\ufffb\ufffe\uffff]"
)

# In the name of an option nothing is tried twice, so this takes linear time.
_SECRET_OPTION = re.compile(
    "([?&](?:(?!password|username)[^?&#=])*(?:password|username)[^?&#=]*=)[^&#]*", re.IGNORECASE
)


def without_password(url: str) -> str:
    """Return the url as messages may show it: user and password are replaced, before the host and among the options."""
    url = _SECRET_OPTION.sub(r"\1***", url)
    scheme, separator, rest = url.partition("://")
    _, at, host = rest.rpartition("@")
    if at:
        return f"{scheme}{separator}***@{host}"
    return url


def printable(text: str) -> str:
    """Return the text with a replacement character for each character that a terminal, a log or a reader might obey."""
    return UNSAFE.sub("\ufffd", text)


def one_line(text: str, most: int) -> str:
    """Return a printable text on one line. A text of more than ``most`` characters ends with "…", behind a word."""
    line = " ".join(printable(text[: 10 * most]).split())
    if len(line) <= most:
        return line
    words, _, rest = line[:most].rpartition(" ")
    if not words or len(rest) >= 40:  # so long a word is cut
        words = line[: most - 1]
    return f"{words}…"


def counted(number: int, noun: str, nouns: str = "") -> str:
    """Return a number with its noun: "1 event", "1,200 events".

    ``nouns`` is the plural if it is not the noun with an "s".
    """
    return f"{number:,} {noun if number == 1 else nouns or noun + 's'}"


def coverage_words(papers: int, sites: int, items: int, reprints: int) -> str:
    """Return the size of a story: "4 papers on 5 sites, 6 items; 3 reprint the same text"."""
    told = counted(papers, "paper")
    if sites > papers:
        told += f" on {sites:,} sites"
    if items != papers:
        told += f", {counted(items, 'item')}"
    if reprints:
        told += f"; {counted(reprints, 'reprints', 'reprint')} the same text"
    return told
