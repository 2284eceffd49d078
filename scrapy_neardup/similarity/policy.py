"""What makes a candidate a match."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from scrapy_neardup.similarity.likeness import Measure

Scope = Literal["all", "same-source", "cross-source"]

HOUR = 3600
NEVER_DROPPED = 2.0


@dataclass(frozen=True, slots=True)
class Policy:
    """What makes a candidate a match. Every store judges by the same policy in the same way.

    A candidate with the same url or the same text is a match whatever its measure; any other is a copy from
    ``threshold`` on and related from ``related_threshold`` on. What is none of these is related all the same to the
    first document of a story, or to a copy of it, of another source, with which it shares ``topic_threshold`` of the
    names it is about: a story grows by what is rewritten, and not by what is like a rewrite. ``scope`` never hides the
    document's own url.

    With ``by_titles`` two documents of one source under different urls are copies on more evidence the more their
    titles differ, see ``measures.is_copy_within_source``. ``drop_share`` and ``keep_sources`` say which copies a crawl
    that drops them would keep, whether this one drops or not; ``keep_updates`` says that it keeps a page whose text
    changed. ``drops`` says that this crawl drops them.
    """

    window: int = 24 * HOUR  # seconds
    measure: Measure = "containment"
    threshold: float = 0.5
    related_threshold: float = 0.25
    topic_threshold: float = 0.4
    scope: Scope = "all"
    collisions: int = 0  # equal lanes that are not yet enough for the measure "overlap"
    drop_share: float = 0.7
    keep_sources: frozenset[str] = frozenset()
    keep_updates: bool = True
    by_titles: bool = True
    drops: bool = False

    def least_dropped_share(self, source: str) -> float:
        """Return the share from which on a copy by this source is dropped; over 1 if none of them ever is."""
        return NEVER_DROPPED if source in self.keep_sources else self.drop_share

    @property
    def hours(self) -> int:
        """Hourly slices before its own that a document is compared with."""
        return -(-self.window // HOUR)
