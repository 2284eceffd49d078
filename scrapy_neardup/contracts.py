"""The small contracts that the index keeps, each for one reader of it. ``index/index.py`` puts them together."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from scrapy_neardup.document import Claim, EventSources, Member, Story

MOST_SOURCE_DOCUMENTS = 24
MOST_LINES = 256


class KnownBoilerplate(NamedTuple):
    """Known boilerplate of a source, packed by ``evidence.source_boilerplate``, the newest last."""

    lines: tuple[bytes, ...] = ()  # lines that are boilerplate; at most MOST_LINES
    documents: tuple[
        bytes, ...
    ] = ()  # earlier documents, with which new ones are compared; at most MOST_SOURCE_DOCUMENTS


@dataclass(frozen=True, slots=True)
class Granted:
    """A claim that is granted, with the story that it is for."""

    claim: Claim  # with the extent that was signalled before
    story: Story  # as it is now
    members: tuple[Member, ...]  # in the order they joined


class StoryStore(Protocol):
    """Stories and their events. A document joins its story when it is checked, see ``Index.check``.

    A level of an event is granted to one claim, and to that claim as often as it asks.
    """

    async def unite(self, story: str, other: Member) -> Story:
        """Make one story of a story and of the story that begins with another document. Return the united story.

        The story with the lower id stays: it takes over members, counters, sources and levels of the other one. Joins
        and claims for the other one are then for the story that stays. Uniting again changes nothing. Raise
        StoreUnavailable if the store does not answer in time; then unite again.
        """

    async def mute(self, story: str, *, muted: bool) -> Story | None:
        """Mute a story, or raise its events again. Return the story, or None if there is none with this id.

        The story stays muted for as long as it lives, also as a part of another story, which is then muted too.
        """

    async def final_stories(self, stories: Collection[str]) -> dict[str, str]:
        """Return for each of these stories that became a part of another one the id of the story it is a part of."""

    async def claim(self, claim: Claim) -> Granted | None:
        """Return the grant if the level or update is granted to the claim, else None.

        A claim that was granted is granted again until it is confirmed. Raise StoreUnavailable if the store does not
        answer in time; then ask again with the same token.
        """

    async def confirm(self, tokens: Sequence[str]) -> None:
        """Forget the grants of claims with these tokens, because their events have been passed on."""

    async def take_over(self, seconds: float) -> list[Granted]:
        """Return grants that were given at least ``seconds`` ago and not confirmed. The caller passes their events on.

        No other caller gets them for the next ``seconds``. At most ``MOST_TAKEN_OVER`` are returned.
        """

    async def open_events(self, quiet_since: int | None = None) -> list[Story]:
        """Return the stories with a raised level that have not ended, in order of their ids.

        With ``quiet_since``, return only the stories without a new source since then.
        """

    async def members(self, story: str) -> tuple[Member, ...]:
        """Return the members of a story that are kept, in the order they joined. A story that is gone has none."""

    async def ended_events(self, since: int) -> list[EventSources]:
        """Return the sources of each event that has ended and whose newest source came at ``since`` or later.

        They are kept for ``ENDED_SECONDS``.
        """


class LearnedStore(Protocol):
    """What all processes have learned from documents."""

    async def add_frequencies(self, kind: str, counted: bytes) -> bytes:
        """Add document frequencies of one kind to those of all processes. Return the packed sum.

        See ``records/feature_counts.py``. The sum expires a window after the last addition. Raise StoreUnavailable if
        the store does not answer in time; the frequencies may then be added or not.
        """

    async def exchange_boilerplate(self, learned: Mapping[bytes, KnownBoilerplate]) -> dict[bytes, KnownBoilerplate]:
        """Add the boilerplate that was learned of some sources.

        Return all entries that the store has for each of these sources. Sources are given by their hash. A source may
        have nothing to add. For each source the store keeps the newest entries, as many as ``KnownBoilerplate`` says,
        for ``LEARNED_SECONDS`` after the last addition. Raise StoreUnavailable if the store does not answer in time;
        the entries may then be added or not.
        """
