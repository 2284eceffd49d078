"""The settings by which a store decides whether a candidate is a match."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from scrapy_neardup.evidence.minima import Measure

Scope = Literal["all", "same-source", "cross-source"]

HOUR = 3600
NEVER_DROPPED = 2.0
REVISIT_SHARE = 0.93  # a page that comes again says nothing new if its earlier version holds this much of its text


@dataclass(frozen=True, slots=True)
class Policy:
    """Decides whether a candidate is a match. Every store judges by the same policy in the same way.

    A candidate with the same url or the same text is a match. Any other candidate is a copy if its score is at least
    ``threshold``, and related if its score is at least ``related_threshold`` and the topics do not speak against it. A
    candidate with a lower score is still related if the score of the topics is at least ``topic_threshold``.
    ``scope`` never excludes candidates with the document's own url.

    With ``by_titles``, two documents of one source under different urls need more evidence to be copies the more their
    titles differ, see ``scoring.score_candidate``. ``drop_share`` and ``keep_sources`` decide which copies are
    kept by a crawl that drops copies. They are used even if this crawl drops none. With ``keep_updates`` a crawl that
    drops copies keeps a page whose text changed. ``drops`` is True if this crawl drops copies.
    """

    window: int = 24 * HOUR  # seconds
    measure: Measure = "containment"
    threshold: float = 0.5
    related_threshold: float = 0.25
    topic_threshold: float = 0.28
    scope: Scope = "all"
    collisions: int = 0  # equal lanes that are not yet enough for the measure "overlap"
    drop_share: float = 0.7
    keep_sources: frozenset[str] = frozenset()
    keep_updates: bool = True
    by_titles: bool = True
    drops: bool = False
    vector_middle: float = 0.34  # these two only with a language model, see ``rules.meaning``
    vector_bar: float = 0.58

    def allows(self, *, same_source: bool) -> bool:
        """Return whether the scope allows a match of two pages of one source, or of two sources."""
        return self.scope == "all" or same_source == (self.scope == "same-source")

    def least_dropped_share(self, source: str) -> float:
        """Return the least share at which a copy by this source is dropped. It is over 1 if no copy is dropped."""
        return self.drop_share if self.keep_sources.isdisjoint(names_of(source)) else NEVER_DROPPED


def names_of(source: str) -> list[str]:
    """Return the domains by which settings can name a source: itself, and those above, such as its platform."""
    labels = source.split(".")
    return [".".join(labels[first:]) for first in range(len(labels))]
