"""What a document tells that its story did not: the sentences of ``neardup_news``."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from scrapy_neardup.evidence.figures.counted import FigureKind
from scrapy_neardup.evidence.figures.tolls import tolls_of
from scrapy_neardup.evidence.lead import find_lead
from scrapy_neardup.evidence.news import LEAST_OF_VERSION, LEAST_SCORE, language_mark, news_among, told_by
from scrapy_neardup.records.texts import StoredText
from scrapy_neardup.story import Join, Ledger

cached_tolls_of = lru_cache(maxsize=16)(tolls_of)  # they are read for the ledger too, and a commit may be tried again

MOST_TOLD = 4096
"""How many hashes of weighty terms a story keeps, the newest: about those of 1,000 sentences, in 8 kB."""


def with_news(told: list[int], ledger: Ledger, join: Join, first_text: StoredText | None, *, is_begun: bool) -> Join:
    """Return a join whose member has its news, and whose first document has its lead. Note what the document tells.

    ``told`` are the hashes of the terms that the story has told, and ``ledger`` has the figures. A story whose first
    text is not known has no news.
    """
    tolls = {(each.kind, each.low) for each in ledger.printed}
    if not is_begun and first_text is not None:
        told[:] = told_by(first_text.title, first_text.text, join.first.language)
        first_tolls = cached_tolls_of(first_text.title, first_text.text, join.first.language)
        tolls |= {(each.kind, float(each.low)) for each in first_tolls}
        lead = find_lead(first_text.title, first_text.text)
        join = replace(join, first=replace(join.first, news=(lead,) if lead else ()))
    document = join.document
    if not told or document is None or not join.sentences:
        return join
    terms = told_by(document.title, document.text, join.language)
    news: tuple[str, ...] = ()
    is_version = join.member.status != "related"
    if is_version or language_mark(join.language) in told:
        printed = cached_tolls_of(document.title, document.text, document.language)
        counted = [each for each in printed if each.kind is not FigureKind.MONEY]
        new_tolls = [each.text for each in counted if (each.kind, float(each.low)) not in tolls]
        least = LEAST_OF_VERSION if is_version else LEAST_SCORE
        news = news_among(join.sentences, document.title, told, new_tolls, join.language, least)
    told[:] = united_told(told, terms)
    return replace(join, member=replace(join.member, news=news))


def united_told(told: list[int], more: list[int]) -> list[int]:
    """Return the hashes of both lists, each once."""
    return list(dict.fromkeys((*told, *more)))[-MOST_TOLD:]
