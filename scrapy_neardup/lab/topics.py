"""The topics of two documents side by side: the parts of the score, and the shared terms with their weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from scrapy_neardup.document import Document, Fingerprint
from scrapy_neardup.evidence.topic import HEAVIEST_TERM, documents_of_language, shared_terms, topic_parts, words_of
from scrapy_neardup.records.feature_counts import Frequencies
from scrapy_neardup.sketch import Sketcher


@dataclass(frozen=True, slots=True)
class LearnedTerms:
    """Document frequencies of terms, and where they come from."""

    frequencies: Frequencies
    source: str  # for people


@dataclass(frozen=True, slots=True)
class WeighedTerm:
    """A term that two topics share, as a word of each document. The heaviest term of a document has the weight 1."""

    first: str
    second: str
    weight_in_first: float
    weight_in_second: float
    in_both_titles: bool


@dataclass(frozen=True, slots=True)
class TopicComparison:
    """The score of two topics, which is the sum of ``from_terms`` and ``from_titles``, with the terms behind it."""

    score: float
    from_terms: float
    from_titles: float
    terms: tuple[WeighedTerm, ...]  # those that add most to the score first
    shared_keys: int
    learned_from: str
    documents: int  # from which the rarity of terms was learned
    documents_of_language: tuple[int, int]  # about how many of them are in the language of each document


def compare_topics(
    documents: Sequence[Document], prints: Sequence[Fingerprint], learned: LearnedTerms, sketcher: Sketcher
) -> TopicComparison:
    """Compare the topics of two documents, whose fingerprints are ``prints``."""
    topics = prints[0].topic, prints[1].topic
    parts, shared = topic_parts(*topics), shared_terms(*topics)
    first, second = (words_of([term.slot for term in shared], each.title, each.text) for each in documents)
    leads = (sketcher.lead(sketcher.body(each.text)) for each in documents)
    in_a, in_b = (documents_of_language(lead, learned.frequencies) for lead in leads)
    terms = tuple(
        WeighedTerm(
            first.get(term.slot, ""),
            second.get(term.slot, ""),
            round(term.weight_a / HEAVIEST_TERM, 3),
            round(term.weight_b / HEAVIEST_TERM, 3),
            term.in_titles,
        )
        for term in shared
    )
    return TopicComparison(
        score=parts.score,
        from_terms=parts.terms,
        from_titles=parts.titles,
        terms=terms,
        shared_keys=len(set(prints[0].topic_keys) & set(prints[1].topic_keys)),
        learned_from=learned.source,
        documents=learned.frequencies.documents,
        documents_of_language=(in_a, in_b),
    )
