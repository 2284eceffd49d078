"""The systems, each a judge of one pair: the one for news, and one for all that are published."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

from scrapy_neardup.rules import guards
from scrapy_neardup.rules.findings import Finding, Guard, ask
from scrapy_neardup.rules.pair import Pair

STRANGERS: Sequence[Guard] = (guards.other_scope,)
"""They leave a pair out, for every system."""

TRANSLATIONS: Sequence[Guard] = (guards.translation,)
"""They prove that two documents are related, for every system. They are asked before the proofs of a copy."""

PROOFS: Sequence[Guard] = (guards.one_page, guards.one_text)
"""They prove a copy, for every system."""

RELATED_ONLY: Sequence[Guard] = ()
"""Asked of copies, for every system: if one applies, the documents are related and never duplicates. Empty now."""

NOT_DROPPED: Sequence[Guard] = (
    guards.variant_came_first,
    guards.unread_text,
    guards.other_content,
)
"""Asked of a copy that would be dropped: if one applies, it is kept, with every system."""

RelationName = Literal["none", "copy", "related"]

DECIDED_FIRST: dict[Guard, RelationName] = {
    **dict.fromkeys(STRANGERS, "none"),
    **dict.fromkeys(TRANSLATIONS, "related"),
    **dict.fromkeys(PROOFS, "copy"),
}
"""The guards that every system asks first, in their order, with the relation of a pair if one applies."""


class Relation(NamedTuple):
    """What a new document is to an old one. ``topic_score`` is 0 unless only their topics or names relate them.

    ``findings`` are those of all guards that were asked, in their order.
    """

    name: RelationName
    findings: Sequence[Finding]
    topic_score: float = 0.0


def concluded(pair: Pair, name: RelationName, findings: list[Finding], topic_score: float = 0.0) -> Relation:
    """Return the relation of a pair that all other guards were asked of: copies may be ``RELATED_ONLY``."""
    if name == "copy":
        never_copies = ask(pair, RELATED_ONLY)
        findings = findings + never_copies.findings
        if never_copies.applying:
            name = "related"
    return Relation(name, findings, topic_score)


class System(NamedTuple):
    """Says what a new document is to an old one. There are two: ``NEWS`` in news.py, ``PUBLISHED`` in published.py.

    ``relation`` returns the relation of a pair, with what the guards found. ``may_match`` returns False only if this
    relation is none. It is faster.
    """

    may_match: Callable[[Pair], bool]
    relation: Callable[[Pair], Relation]
