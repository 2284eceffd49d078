"""The life of a document on its way to the feed, from its verdict until its item has left the crawl for good.

docs/architecture.md has a section about it, which explains the states.
"""

from __future__ import annotations

from typing import Literal

IS_DROPPED = 1 << 31
DELIVERED = 0
WITHDRAWN = IS_DROPPED - 1
LARGEST_RUN = WITHDRAWN - 1  # so ``WITHDRAWN`` is the number of no run

State = Literal["delivered", "on its way", "dropped", "withdrawn"]


class Life(int):
    """How far a document has come: the number ``packed_life`` of its record.

    It is the number of the run that has yet to deliver the document, with the bit ``IS_DROPPED`` if the run drops it as
    a copy; or ``DELIVERED``, or ``WITHDRAWN``.
    """

    @property
    def state(self) -> State:
        if self >= IS_DROPPED:
            return "dropped"
        if self == WITHDRAWN:
            return "withdrawn"
        return "on its way" if self else "delivered"

    @property
    def run(self) -> int:
        """The run that has yet to deliver the document or its match: 0 if it is delivered, that of nobody if lost."""
        return self & ~IS_DROPPED

    @property
    def as_dropped(self) -> Life:
        """The life of the same document if its run drops it."""
        return Life(self | IS_DROPPED)
