"""Choose, by sketch alone, the candidates whose texts are read before a document is decided.

``Judge.decide`` chooses among all candidates. Some may come in the same batch, so the window reads texts before all
records are known: it chooses among the candidates that are stored. What ``decide`` chooses of these, the window has
chosen too, because whether a candidate may be chosen, and its rank, depend on no other candidate.
"""

from __future__ import annotations

from collections.abc import Sequence

from scrapy_neardup.rules.guards import other_scope
from scrapy_neardup.rules.pair import Pair

MOST_LOOKS = 2
"""How many texts are read for one document."""


def chosen_for_second_look(pairs: Sequence[Pair]) -> list[bytes]:
    """Return the keys of at most ``MOST_LOOKS`` candidates, the best first.

    They are those that may be copies. Of candidates with equal texts one is chosen. If the window has the very text of
    the new document, only another text of its own page is chosen.
    """
    alike = [pair for pair in pairs if other_scope(pair) is None and pair.may_be_copy]
    equal = [pair for pair in alike if pair.same_content and pair.state == "seen"]
    if equal:
        is_of_page = any(pair.same_page for pair in equal)
        alike = [pair for pair in alike if pair.same_page and not pair.same_text and not is_of_page]
    copies = dict[bytes, bytes]()  # content -> key
    for pair in sorted(alike, key=_rank):
        copies.setdefault(pair.old.content_hash, pair.key)
    return [*copies.values()][:MOST_LOOKS]


def _rank(pair: Pair) -> tuple[bool, bool, float, bytes]:
    """Return the key by which pairs are sorted, the best first, as ``Match.rank`` sorts copies."""
    return not pair.same_text, not pair.same_page, -(pair.likeness.similarity + pair.estimated_share), pair.age_rank
