"""The judges of one pair: the one for news, and one for each published system."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple, Protocol

from scrapy_neardup.evidence.minima import Likeness, Measure
from scrapy_neardup.records.documents import Record
from scrapy_neardup.rules.guards import one_page, one_text, other_scope
from scrapy_neardup.rules.pair import Guard, Pair

PROOFS: Sequence[Guard] = (one_page, one_text)
"""They prove a copy, for every system."""

STRANGERS: Sequence[Guard] = (other_scope,)
"""They leave a pair out, for every system."""


class Relation(NamedTuple):
    """What a new document is to an old one. ``topic`` is the score of their topics if nothing else relates them."""

    name: Literal["none", "copy", "related", "translation"]
    topic: float = 0.0


NONE, COPY, RELATED, TRANSLATION = Relation("none"), Relation("copy"), Relation("related"), Relation("translation")


class System(Protocol):
    """Says how alike two documents are, and what that makes of them."""

    @property
    def measure(self) -> Measure: ...

    def likeness(self, new: Record, old: Record) -> Likeness: ...

    def may_match(self, pair: Pair) -> bool:
        """Return False only if the relation of the pair is none. This is faster, and notes nothing."""

    def relation(self, pair: Pair) -> Relation:
        """Return the relation of a pair. The pair notes what the guards found."""
