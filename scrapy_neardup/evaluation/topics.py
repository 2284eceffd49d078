"""The topics of two documents side by side: shared terms with their weights, and the parts of the score."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from scrapy_neardup.document import Document, Fingerprint
from scrapy_neardup.similarity.likeness import (
    HEAVIEST_TERM,
    SAME_SOURCE_EXTRA,
    least_topic_score,
    shared_terms,
    topic_parts,
)
from scrapy_neardup.similarity.verification import is_same_source, least_supporting_score
from scrapy_neardup.sketch.guards.topic import words_of
from scrapy_neardup.sketch.signatures.base import Frequencies


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
    """The score of two topics, and what it has to reach.

    ``score`` is the sum of ``from_terms`` and ``from_titles``. ``needed`` is the sum of ``threshold`` and
    ``same_source_extra``. Two documents are compared by their topics only if they share at least two keys.
    """

    terms: tuple[WeighedTerm, ...]  # those that add most to the score first
    from_terms: float
    from_titles: float
    score: float
    threshold: float
    same_source_extra: float
    needed: float
    needed_support: float  # instead of ``needed``, if the texts are similar enough to be related
    shared_keys: int
    learned_from: str
    documents: int  # from which the weights were learned


def compare_topics(
    documents: Sequence[Document],
    prints: Sequence[Fingerprint],
    threshold: float,
    learned: LearnedTerms,
) -> TopicComparison:
    """Compare the topics of two documents, whose fingerprints are ``prints``."""
    topics = [each.topic for each in prints]
    shared = shared_terms(*topics)
    first, second = (words_of([term.slot for term in shared], each.title, each.text) for each in documents)
    parts, same_source = topic_parts(*topics), is_same_source(*prints)
    return TopicComparison(
        terms=tuple(
            WeighedTerm(
                first.get(term.slot, ""),
                second.get(term.slot, ""),
                round(term.weight_a / HEAVIEST_TERM, 3),
                round(term.weight_b / HEAVIEST_TERM, 3),
                term.in_titles,
            )
            for term in shared
        ),
        from_terms=parts.terms,
        from_titles=parts.titles,
        score=parts.score,
        threshold=threshold,
        same_source_extra=SAME_SOURCE_EXTRA if same_source else 0.0,
        needed=least_topic_score(threshold, same_source=same_source),
        needed_support=least_supporting_score(same_source, threshold) if any(topics) else 0.0,
        shared_keys=len(set(prints[0].topic_keys) & set(prints[1].topic_keys)),
        learned_from=learned.source,
        documents=learned.frequencies.documents,
    )
