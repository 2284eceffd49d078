"""What a document tells that its story did not: the sentences of ``neardup_news``."""

from __future__ import annotations

from dataclasses import replace

from scrapy_neardup.evidence.lead import find_lead
from scrapy_neardup.evidence.news import news_among, told_by
from scrapy_neardup.records.texts import StoredText
from scrapy_neardup.story import Join

MOST_TOLD = 4096
"""How many hashes of weighty terms a story keeps, the newest: about those of 1,000 sentences, in 8 kB."""


def with_news(told: list[int], join: Join, first_text: StoredText | None, *, is_begun: bool) -> Join:
    """Return a join whose member has its news, and whose first document has its lead. Note what the document tells.

    ``told`` are the hashes of the terms that the story has told. A story whose first text is not known has no news.
    """
    if not is_begun and first_text is not None:
        told[:] = told_by(first_text.title, first_text.text)
        lead = find_lead(first_text.title, first_text.text)
        join = replace(join, first=replace(join.first, news=(lead,) if lead else ()))
    document = join.document
    if not told or document is None:
        return join
    news = news_among(join.sentences, document.title, set(told))
    told[:] = united_told(told, told_by(document.title, document.text) if join.sentences else [])
    return replace(join, member=replace(join.member, news=news))


def united_told(told: list[int], more: list[int]) -> list[int]:
    """Return the hashes of both lists, each once."""
    return list(dict.fromkeys((*told, *more)))[-MOST_TOLD:]
