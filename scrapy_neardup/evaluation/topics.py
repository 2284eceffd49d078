"""The topics of two documents side by side: the parts of the score, what it must reach, and the shared terms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from scrapy_neardup.document import Document, Fingerprint
from scrapy_neardup.evaluation.pairs import Pair
from scrapy_neardup.records.documents import Record
from scrapy_neardup.similarity.likeness import (
    HEAVIEST_TERM,
    LEAST_SHARED_TERMS,
    LEAST_STORY_COSINE,
    SAME_SOURCE_EXTRA,
    least_topic_score,
    shared_terms,
    topic_cosine,
    topic_parts,
)
from scrapy_neardup.similarity.verification import least_supporting_score
from scrapy_neardup.sketch import Sketcher
from scrapy_neardup.sketch.guards.topic import documents_of_language, words_of
from scrapy_neardup.sketch.signatures.base import Frequencies

TopicRole = Literal["join", "support", "none"]
"""``join``: the texts are not alike, so only the topics can relate the documents. ``support``: the texts are alike
enough to be related, if the topics do not speak against it. ``none``: the texts alone make the second a copy."""


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
class TopicScore:
    """The score of two topics, and what it must reach.

    ``score`` is the sum of ``from_terms`` and ``from_titles``; it is 0 if the topics share fewer than ``least_shared``
    terms.
    """

    role: TopicRole
    shared: int  # number of terms
    least_shared: int
    from_terms: float
    from_titles: float
    score: float
    threshold: float
    same_source_extra: float
    needed: float  # in this role
    # The cosine of the topic of the second document and that of the story of the first. None if the story is only that.
    story_cosine: float | None
    least_story_cosine: float

    @property
    def is_enough(self) -> bool:
        return self.score >= self.needed


@dataclass(frozen=True, slots=True)
class TopicComparison(TopicScore):
    """The score with the terms behind it. Two documents are compared by topics only if they share two look-up keys."""

    terms: tuple[WeighedTerm, ...]  # those that add most to the score first
    shared_keys: int
    learned_from: str
    documents: int  # from which the rarity of terms was learned
    documents_of_language: tuple[int, int]  # about how many of them are in the language of each document


def score_topics(pair: Pair) -> TopicScore:
    """Score the topics of two documents."""
    a, b, threshold = pair.a, pair.b, pair.policy.topic_threshold
    parts = topic_parts(a.topic, b.topic)
    role: TopicRole = "none" if pair.is_copy or pair.is_copy_by_text else "support" if pair.shares_a_part else "join"
    needed = {"join": least_topic_score(threshold, same_source=pair.same_source), "support": 0.0, "none": 0.0}
    if a.topic or b.topic:
        needed["support"] = least_supporting_score(pair.same_source, threshold)
    story = a.story_topic if isinstance(a, Record) else b""
    return TopicScore(
        role=role,
        shared=len(shared_terms(a.topic, b.topic)),
        least_shared=LEAST_SHARED_TERMS,
        from_terms=parts.terms,
        from_titles=parts.titles,
        score=parts.score,
        threshold=threshold,
        same_source_extra=SAME_SOURCE_EXTRA if pair.same_source else 0.0,
        needed=needed[role],
        story_cosine=topic_cosine(b.topic, story) if story else None,
        least_story_cosine=LEAST_STORY_COSINE,
    )


def compare_topics(
    documents: Sequence[Document],
    prints: Sequence[Fingerprint],
    found: TopicScore,
    learned: LearnedTerms,
    sketcher: Sketcher,
) -> TopicComparison:
    """Add the shared terms to the score of two documents, whose fingerprints are ``prints``."""
    shared = shared_terms(*(each.topic for each in prints))
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
    score = {name: getattr(found, name) for name in TopicScore.__dataclass_fields__}
    return TopicComparison(
        **score,
        terms=terms,
        shared_keys=len(set(prints[0].topic_keys) & set(prints[1].topic_keys)),
        learned_from=learned.source,
        documents=learned.frequencies.documents,
        documents_of_language=(in_a, in_b),
    )
