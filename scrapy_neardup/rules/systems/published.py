"""The rules of the published systems: a likeness, and a threshold for copies."""

from __future__ import annotations

from dataclasses import dataclass

from scrapy_neardup.evidence.likeness import Likeness, Measure, likeness_of
from scrapy_neardup.records.documents import Record
from scrapy_neardup.rules.guards import little_in_common, translation
from scrapy_neardup.rules.pair import Pair, any_applies
from scrapy_neardup.rules.systems import COPY, NONE, PROOFS, RELATED, STRANGERS, TRANSLATION, Relation


@dataclass(frozen=True, slots=True)
class Published:
    """Judges by one likeness alone, whatever the titles are. See ``docs/decisions/systems/``.

    With the measure "overlap", more than ``collisions`` equal lanes are needed.
    """

    measure: Measure
    collisions: int = 0

    def likeness(self, new: Record, old: Record) -> Likeness:
        return likeness_of(new, old, self.measure, self.collisions)

    def may_match(self, pair: Pair) -> bool:
        return True

    def relation(self, pair: Pair) -> Relation:
        """Return the relation of a pair. Texts that are no copies are related only between two sources."""
        if any_applies(pair, STRANGERS):
            return NONE
        if any_applies(pair, (translation,)):
            return TRANSLATION
        if any_applies(pair, PROOFS) or not any_applies(pair, (little_in_common,)):
            return COPY
        return RELATED if pair.are_alike and not pair.same_source else NONE
