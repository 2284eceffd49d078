"""The rules of the published systems: a likeness, and a threshold for copies, whatever the titles are.

See ``docs/published-systems.md``.
"""

from __future__ import annotations

from scrapy_neardup.rules.findings import ask
from scrapy_neardup.rules.guards import little_in_common
from scrapy_neardup.rules.pair import Pair
from scrapy_neardup.rules.systems import DECIDED_FIRST, Relation, System, concluded


def relation(pair: Pair) -> Relation:
    """Return the relation of a pair. Texts that are no copies are related only between two sources."""
    findings, applying = ask(pair, DECIDED_FIRST)
    if applying:
        return concluded(pair, DECIDED_FIRST[applying], findings)
    no_copy = ask(pair, (little_in_common,))
    findings += no_copy.findings
    if not no_copy.applying:
        return concluded(pair, "copy", findings)
    is_related = pair.are_alike and not pair.same_source
    return concluded(pair, "related" if is_related else "none", findings)


PUBLISHED = System(lambda _: True, relation)
