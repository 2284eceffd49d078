"""The settings by which a store decides whether a candidate is a match."""

import math
from dataclasses import dataclass

from scrapy_neardup.document import HOUR, WHOLE_TEXT
from scrapy_neardup.evidence.sources import names_of
from scrapy_neardup.settings.presets import PRESETS, Preset


@dataclass(frozen=True, slots=True)
class Policy:
    """What decides a verdict. Every store judges by the same policy in the same way.

    The ``measure`` of the ``preset`` says how the score of a candidate is computed from two signatures. With "overlap"
    more than ``collisions`` equal lanes are needed.

    A candidate of the same page or with the same text is a copy. Any other candidate is a copy if its score is at least
    ``threshold``, and related if its score is at least ``related_threshold``, as far as the rules of the system allow.
    With news, a candidate with a lower score is still related if the score of the topics is at least
    ``topic_threshold``.

    ``drop_share`` and ``keep_sources`` decide which copies are kept by a crawl that drops copies. They are used even if
    this crawl drops none. With ``keep_updates`` a crawl that drops copies keeps a page whose text changed. ``drops`` is
    True if this crawl drops copies. With ``keep_texts`` a store keeps the texts of new documents.
    """

    preset: Preset = PRESETS["news"]
    window: int = 24 * HOUR  # seconds
    drop_share: float = 0.7
    keep_sources: frozenset[str] = frozenset()
    keep_updates: bool = True
    drops: bool = False
    keep_texts: bool = True

    def held_parts(self, share: float) -> int:
        """Return ``kept_share_parts`` of a dropped copy of whose text documents that are kept hold this share.

        They are at least the least share of a drop: what is dropped now is dropped when its page is crawled again.
        """
        return max(int(WHOLE_TEXT * share), math.ceil(WHOLE_TEXT * self.drop_share))

    def keeps(self, source: str) -> bool:
        """Return whether no copy by this source is dropped."""
        return not self.keep_sources.isdisjoint(names_of(source))


def longest_hold(window: int) -> int:
    """Return how many seconds lie at most between a document and the one that holds its text, which is equal."""
    return window // 8
