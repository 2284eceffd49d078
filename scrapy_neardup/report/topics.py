"""Why an item joined its story by its topic: the score, and the terms that it shares with its match."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from scrapy_neardup.evidence.titles import title_terms
from scrapy_neardup.evidence.topic import MOST_SHARED_WORDS, TopicWeights, shared_words, topic_score
from scrapy_neardup.report.clean import clean_line, share_of
from scrapy_neardup.report.passages import MarkedText
from scrapy_neardup.report.rows import LONGEST_NAME, LONGEST_URL, Row
from scrapy_neardup.report.stories import Links, order_of
from scrapy_neardup.settings import NearDupSettings


class SharedTopic(NamedTuple):
    """The score of two topics, from 0 to 1, and the heaviest terms that they share, as words of the item."""

    score: float
    terms: str


def topics_of(
    rows: Sequence[Row],
    links: Links,
    texts: Mapping[int, MarkedText],
    reports: Sequence[Mapping[str, Any]],
    settings: NearDupSettings,
) -> dict[int, SharedTopic]:
    """Return the topics of ``related`` items by the number of their row.

    A special report says what the crawl found. For other items the topics are made again from the texts, and how
    rare terms are is known from these texts alone. So the score may differ a little from the score in the crawl.
    """
    found = _made_again(rows, links, texts, settings)
    reported = _reported(reports)
    for row in rows:
        if row.status == "related" and row.url and (topic := reported.get(row.url)):
            found[row.number] = topic
    return found


def _made_again(
    rows: Sequence[Row], links: Links, texts: Mapping[int, MarkedText], settings: NearDupSettings
) -> dict[int, SharedTopic]:
    weights, topics = TopicWeights(settings.resolved_preset().topic_terms), dict[int, bytes]()
    found = {}
    for row in sorted((rows[number] for number in texts), key=order_of):
        text = texts[row.number]
        topics[row.number], _ = weights.topic(text.lead, title_terms(row.title))
        match = links.match(row) if row.status == "related" else None
        if match is not None and match.number in topics:
            score = topic_score(topics[row.number], topics[match.number])
            words = shared_words(topics[row.number], topics[match.number], row.title, text.text)
            if score:
                found[row.number] = SharedTopic(round(score, 2), ", ".join(words))
    return found


def _reported(reports: Sequence[Mapping[str, Any]]) -> dict[str, SharedTopic]:
    """Read the topics of members by their urls."""
    found = {}
    for report in reports:
        for member in report["members"]:
            if not isinstance(member, Mapping):
                continue
            score, terms = share_of(member.get("topic")), member.get("terms")
            if score and isinstance(terms, list):
                shown = (clean_line(term, LONGEST_NAME) for term in terms[:MOST_SHARED_WORDS])
                found[clean_line(member.get("url"), LONGEST_URL)] = SharedTopic(score, ", ".join(filter(None, shown)))
    return found
