"""The rules for news. The order of the guards is the rule; ``rules/guards.py`` has each of them."""

from __future__ import annotations

from collections.abc import Sequence

from scrapy_neardup.evidence.topic import share_terms
from scrapy_neardup.rules import guards
from scrapy_neardup.rules.findings import Guard, ask
from scrapy_neardup.rules.pair import Pair
from scrapy_neardup.rules.systems import DECIDED_FIRST, Relation, System, concluded

NO_COPY: Sequence[Guard] = (
    guards.less_alike_than_others,
    guards.little_in_common,
    guards.other_subject,
    guards.shared_part,
    guards.only_through_another,
)
NOT_BY_TEXT: Sequence[Guard] = (guards.other_topic, guards.only_through_another)
NOT_BY_TOPIC: Sequence[Guard] = (guards.low_topic_score, guards.only_terms_in_common, guards.far_from_first)
NOT_BY_NAMES: Sequence[Guard] = (guards.few_common_names, guards.other_meaning)
"""Asked of two languages, after ``NOT_BY_TOPIC``."""
NO_MATCH: Sequence[Guard] = (guards.other_form,)
"""Asked last, unless a proof decided: if one applies, the pair is no match at all."""


def may_match(pair: Pair) -> bool:
    """Decide whether it is worth while to ask the guards: four of five candidates share two or three rare terms."""
    new, old = pair.new, pair.old
    if pair.same_text or pair.same_url or pair.same_number or share_terms(new.topic, old.topic, pair.least_terms):
        return True
    return (pair.two_languages and share_terms(new.names, old.names, pair.least_names)) or pair.are_alike


def relation(pair: Pair) -> Relation:
    """Return the relation of a pair, with what the guards found."""
    findings, applying = ask(pair, DECIDED_FIRST)
    if applying:
        return concluded(pair, DECIDED_FIRST[applying], findings)
    no_copy = ask(pair, NO_COPY)
    findings += no_copy.findings
    found = Relation("copy", ())
    if no_copy.applying:
        found = _related(pair)
        findings += found.findings
    if found.name != "none":
        no_match = ask(pair, NO_MATCH)
        findings += no_match.findings
        if no_match.applying:
            return Relation("none", findings)
    return concluded(pair, found.name, findings, found.topic_score)


def _related(pair: Pair) -> Relation:
    """Return the relation of two texts that are no copies of each other."""
    if pair.are_alike:
        by_text = ask(pair, NOT_BY_TEXT)
        return Relation("none" if by_text.applying else "related", by_text.findings)
    findings, applying = ask(pair, NOT_BY_TOPIC)
    if not applying:
        return Relation("related", findings, pair.topic_score)
    if pair.two_languages:
        by_names = ask(pair, NOT_BY_NAMES)
        findings += by_names.findings
        if not by_names.applying:
            return Relation("related", findings, guards.foreign_score(pair))
    return Relation("none", findings)


NEWS = System(may_match, relation)
