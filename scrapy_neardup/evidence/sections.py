"""The section of an article, by what its page or feed says, or else by its address: ``/sport/``, ``/deportes/``.

Sections are the seventeen top media topics of IPTC. ``sections.json`` has the words of many languages for each.
"""

import re
from urllib.parse import unquote

from scrapy_neardup.evidence.sources import LONGEST_URL
from scrapy_neardup.evidence.word_tables import read_table
from scrapy_neardup.text.folding import fold

_BETWEEN = re.compile("[\\n,;:/|&\u00b7\u00bb\u203a>+]")  # "Sports / Football", "Arts & Culture"

_TOPICS: dict[str, str] = {word: topic for topic, words in read_table("sections.json").items() for word in words}


def section_of(url: str, said: str = "") -> str:
    """Return the section that the first of the names in ``said`` means, a line each, else the url: path, then host.

    Return "" if none of them is known.
    """
    parts = unquote(url[:LONGEST_URL].partition("?")[0]).split("/")  # the last part is the title
    host = "".join(parts[2:3]).partition(".")[0]
    # The last breadcrumb may be a headline, which is longer than the name of a section.
    short = [line for line in said.split("\n") if len(line.split()) <= 6]
    names = []
    for name in _BETWEEN.split("\n".join(short)):
        words = name.split()
        names.append("-".join(words))
        if len(words) == 2:  # "World politics", "Sports News"
            names += words
    names += [*parts[3:-1][:3], host]
    return next((_TOPICS[name] for name in (fold(each).casefold() for each in names) if name in _TOPICS), "")
