"""Read tables of words, and say which words are months and days of the week.

Each worker needs these words. The tables of ``figures.number_words``, which only the crawl itself needs, take 40 ms.
"""

import json
from decimal import Decimal
from functools import cache
from importlib.resources import files
from typing import Any

from scrapy_neardup.text.folding import fold


@cache  # several modules read one table
def read_table(name: str) -> Any:
    """Return a table of ``evidence``. Its words are folded as those of a text are, and have no apostrophes."""
    text = files("scrapy_neardup.evidence").joinpath(name).read_text(encoding="utf-8")
    return json.loads(fold(text).casefold().replace("'", ""), parse_float=Decimal)


CLDR: dict[str, Any] = read_table("figures/cldr.json")
# Months and days of the week stand there by their number: words, a stroke, and words that may mean something else.
MONTHS = frozenset(CLDR["other months"].split()).union(
    *(words.partition("|")[0].split() for words in CLDR["months"].values())
)
WEEKDAYS = frozenset(("feira", "axsami")).union(
    *(words.partition("|")[0].split() for words in CLDR["weekdays"].values())
)
