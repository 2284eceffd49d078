"""The contract every store keeps."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Literal

from scrapy_neardup.document import Claim, Document, Fingerprint, Join, Match, Member, Story

Measure = Literal["containment", "resemblance"]
Scope = Literal["all", "same-source", "cross-source"]

HOUR = 3600
PEAKS_SECONDS = 8 * 24 * HOUR
"""How long the peaks of events that have ended are kept after the last of them."""


@dataclass(frozen=True, slots=True)
class Policy:
    """What makes a candidate a match. Every store judges by the same policy in the same way.

    A candidate with the same url or the same text is a match whatever its measure; any other is a copy from
    ``threshold`` on and related from ``related_threshold`` on. ``scope`` never hides the document's own url.
    """

    window: int = 24 * HOUR  # seconds
    measure: Measure = "containment"
    threshold: float = 0.5
    related_threshold: float = 0.25
    scope: Scope = "all"

    @property
    def hours(self) -> int:
        """Hourly slices before its own that a document is compared with."""
        return -(-self.window // HOUR)


@dataclass(frozen=True, slots=True)
class StoreSummary:
    """What a store holds for one namespace and configuration."""

    location: str
    namespace: str
    config: str
    documents_per_hour: dict[int, int]  # hour (Unix seconds // 3600) -> documents
    bytes: int | None = None  # None where the store cannot tell

    @property
    def documents(self) -> int:
        return sum(self.documents_per_hour.values())


class Index(ABC):
    """Finds the best match of a document in the window and registers the document, in one atomic step.

    1. Of documents alike enough to match each other exactly one is the original, whatever the number of tasks,
       threads and processes that check at the same time.
    2. Time is the documents' own ``seen_at``: two documents at most ``window`` seconds apart are compared.
    3. Memory is bounded by what the window holds; an idle namespace vanishes by itself.
    4. Checking a document id again gives the same answer again, and registers nothing.
    5. A match names the original, never another duplicate, also when the original's own hour is over.
    6. What is read back is length-checked and never evaluated.
    7. Two stores given the same documents in the same order give the same answers.
    8. A document joins its story once, however often it is said; a level of an event is granted to one claim.
    """

    @abstractmethod
    async def open(self) -> None:
        """Connect, inside the running loop; opening twice is opening once.

        Raises StoreError where the store cannot be used as configured.
        """

    @abstractmethod
    async def close(self) -> None:
        """Finish what is under way and let go of every resource; closing twice is closing once."""

    @abstractmethod
    async def check(self, fingerprint: Fingerprint, document: Document) -> Match | None:
        """The best match within the window, or None for the first of its kind.

        Raises StoreUnavailable where the store does not answer in time; the document may then be registered or not.
        """

    @abstractmethod
    async def join(self, join: Join) -> Story:
        """Add a document that matched to its story, and the story's first document where it is its second.

        Returns the story as this join left it; joining again changes nothing. A story lives a window after its last
        member. Raises StoreUnavailable where the store does not answer in time; then join again.
        """

    @abstractmethod
    async def claim(self, claim: Claim) -> tuple[Member, ...] | None:
        """The members of the story in the order they joined where the level is now the claimant's, else None."""

    @abstractmethod
    async def open_events(self, quiet_since: int | None = None) -> list[Story]:
        """Stories with a level raised that have not ended, by id; with a time those without a new source since."""

    @abstractmethod
    async def members(self, story: str) -> tuple[Member, ...]:
        """What is kept of a story's members, in the order they joined; none of a story that is gone."""

    @abstractmethod
    async def peaks(self, since: int) -> dict[str, int]:
        """The peak of each event that has ended, by story; forgets stories that began before ``since``."""

    @abstractmethod
    async def summary(self) -> StoreSummary:
        """What the store holds of this namespace and configuration."""
