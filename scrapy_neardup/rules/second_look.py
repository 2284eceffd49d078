"""The second look: choose, by sketch alone, the candidates whose texts are read before a document is decided.

``Judge.decide`` chooses among all candidates. Some may come in the same batch, so the window reads texts before all
records are known: it chooses among the candidates that are stored. What ``decide`` chooses of these, the window has
chosen too, unless an equal text is in the same batch: the rank of a candidate depends on no other candidate.
"""

from collections.abc import Mapping, Sequence

from scrapy_neardup.document import Document
from scrapy_neardup.records.texts import StoredText
from scrapy_neardup.rules.findings import any_applies
from scrapy_neardup.rules.pair import Pair
from scrapy_neardup.rules.systems import STRANGERS

MOST_LOOKS = 2
"""How many texts are read for one document."""

Texts = Mapping[bytes, StoredText]
"""Texts of documents by the keys of the documents."""


def chosen_for_second_look(pairs: Sequence[Pair]) -> list[Pair]:
    """Return at most ``MOST_LOOKS`` pairs, the best first.

    They are those that may be copies. Of candidates with equal texts one is chosen. If the window has the very text of
    the new document, only another text of its own page is chosen, and nothing if that very text is of this page.
    """
    alike = [pair for pair in pairs if pair.may_be_copy and not any_applies(STRANGERS, pair)]
    equal = [pair for pair in alike if pair.same_content and pair.is_seen]
    if equal:
        is_of_page = any(pair.same_page for pair in equal)
        alike = [pair for pair in alike if pair.same_page and not pair.same_text and not is_of_page]
    by_content = dict[bytes, Pair]()
    for pair in sorted(alike, key=_rank):
        by_content.setdefault(pair.old.content_hash, pair)
    return [*by_content.values()][:MOST_LOOKS]


def _rank(pair: Pair) -> tuple[bool, bool, float, bytes]:
    """Return the key by which pairs are sorted, the best first, as ``Match.rank`` sorts copies."""
    return not pair.same_text, not pair.same_page, -(pair.likeness.similarity + pair.estimated_share), pair.age_rank


def with_second_look(pairs: Sequence[Pair], document: Document, texts: Texts) -> Sequence[Pair]:
    """Return the pairs with what a second look brings. Candidates with equal texts get it together."""
    chosen = {pair.old.content_hash: pair.key for pair in chosen_for_second_look(pairs)}
    if not chosen:
        return pairs
    new_text = StoredText.of(document.title, document.text)
    looked = []
    for pair in pairs:
        if (key := chosen.get(pair.old.content_hash)) is not None:
            looked.append(pair.with_texts(new_text, texts.get(key), texts.get(pair.kept_key)))
        elif pair.may_be_copy and not pair.same_content:
            looked.append(pair.passed_over())
        else:
            looked.append(pair)
    return looked
