"""The rules for news. The order of the guards is the rule; ``rules/guards.py`` has each of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from scrapy_neardup.evidence.likeness import Likeness, Measure, likeness_of
from scrapy_neardup.evidence.topic import share_terms
from scrapy_neardup.records.documents import Record
from scrapy_neardup.rules import guards
from scrapy_neardup.rules.pair import Guard, Pair, any_applies
from scrapy_neardup.rules.systems import COPY, NONE, PROOFS, RELATED, STRANGERS, TRANSLATION, Relation

NO_COPY: Sequence[Guard] = (
    guards.less_alike_than_others,
    guards.little_in_common,
    guards.other_subject,
    guards.shared_part,
    guards.only_through_another,
)
NOT_BY_TEXT: Sequence[Guard] = (guards.other_topic, guards.only_through_another)
NOT_BY_TOPIC: Sequence[Guard] = (guards.low_topic_score, guards.no_common_name, guards.far_from_first)
NO_MATCH: Sequence[Guard] = (guards.other_table, guards.other_form)
"""Asked last, unless a proof decided: if one applies, the pair is no match at all."""


@dataclass(frozen=True, slots=True)
class News:
    """Compares MinHash signatures by a measure of two sets, and then titles, names, figures and topics."""

    measure: Measure = "containment"

    def likeness(self, new: Record, old: Record) -> Likeness:
        return likeness_of(new, old, self.measure)

    def may_match(self, pair: Pair) -> bool:
        """Decide whether it is worth while to ask the guards: four of five candidates share two or three rare terms."""
        new, old = pair.new, pair.old
        if pair.same_text or pair.same_url or pair.same_number or share_terms(new.topic, old.topic, pair.least_terms):
            return True
        return (pair.two_languages and share_terms(new.names, old.names, pair.least_names)) or pair.are_alike

    def relation(self, pair: Pair) -> Relation:
        if any_applies(pair, STRANGERS):
            return NONE
        if any_applies(pair, (guards.translation,)):
            return TRANSLATION
        if any_applies(pair, PROOFS):
            return COPY
        relation = COPY if not any_applies(pair, NO_COPY) else _related(pair)
        return NONE if relation is NONE or any_applies(pair, NO_MATCH) else relation


NEWS = News()


def _related(pair: Pair) -> Relation:
    """Return the relation of two texts that are no copies of each other."""
    if pair.are_alike:
        return NONE if any_applies(pair, NOT_BY_TEXT) else RELATED
    topic = topic_link(pair)
    if not topic and pair.two_languages:
        by_names = guards.few_common_names if pair.vector_cosine is None else guards.other_meaning
        topic = 0.0 if any_applies(pair, (by_names,)) else guards.foreign_score(pair)
    return Relation("related", topic) if topic else NONE


def topic_link(pair: Pair) -> float:
    """Return the score of two topics if a document joins the story of another one by its topic, else 0."""
    return 0.0 if any_applies(pair, NOT_BY_TOPIC) else pair.topic_score
