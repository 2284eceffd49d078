"""The judges of one pair: the one for news, and one for each published system."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple, Protocol

from scrapy_neardup.evidence.likeness import Likeness, Measure
from scrapy_neardup.records.documents import Record
from scrapy_neardup.rules import guards
from scrapy_neardup.rules.pair import Guard, Pair

PROOFS: Sequence[Guard] = (guards.one_page, guards.one_text)
"""They prove a copy, for every system."""

STRANGERS: Sequence[Guard] = (guards.other_scope,)
"""They leave a pair out, for every system."""

NOT_DROPPED: Sequence[Guard] = (
    guards.variant_came_first,
    guards.unread_text,
    guards.other_content,
)
"""Asked of a copy that would be dropped: if one applies, it is kept, with every system."""


class Relation(NamedTuple):
    """What a new document is to an old one. ``topic_score`` is 0 unless only their topics relate them."""

    name: Literal["none", "copy", "related", "translation"]
    topic_score: float = 0.0


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
