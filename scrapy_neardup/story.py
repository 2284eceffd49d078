"""The plain data of stories: members, counters, and the levels that an event may claim. Nothing here does I/O."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, get_args

from scrapy_neardup.document import Document, Kind, Status

Level = Literal["watch", "breaking", "update", "ended"]
LEVELS: tuple[Level, ...] = get_args(Level)
"""Stores keep the places of levels in this tuple: add new ones at the end."""


@dataclass(frozen=True, slots=True)
class Member:
    """The data that a story keeps of one of its documents.

    ``topic`` is the score of its topic if it joined only by its topic, else 0. ``terms`` are the heaviest terms that it
    then shares with its match, as words of its own; a few at most.

    ``number`` counts the members from 1, in the order in which they joined. The times of the documents do not matter.
    It is 0 before the document has joined.
    """

    id: str
    url: str
    title: str
    source: str  # "" if there is none
    owner: str  # who runs the source; sources of one owner count once
    status: Status
    kind: Kind | None = None
    changes: tuple[str, ...] = ()
    language: str = ""
    topic: float = 0.0
    terms: tuple[str, ...] = ()
    number: int = 0
    is_counted: bool = True  # False if it is listed only, and counts neither as an item nor as a source
    counted_at: int | None = None  # of a story's first document: when it counts, None if that is ``seen_at``. Not kept
    has_many_figures: bool = False  # a result, a price list: it counts less for an alarm. Not kept

    @property
    def seen_at(self) -> int:
        """Return the time of the document in whole Unix seconds, UTC. The id of the document begins with it."""
        return int(self.id[:8], 16)


@dataclass(frozen=True, slots=True)
class Join:
    """A document that matched, and the first document of the story that it joins.

    ``is_coverage`` is False if the document does not count as a further item of the story. Two kinds of documents do
    not count: a page whose text changed, and a text that is similar only to a related text and has another topic than
    the first document. The changes of a changed page are still kept.

    The values of figures are hashed, with 4 bytes for each figure. ``figures_before`` and ``figures_after`` hold the
    values that changed, in the order of the member's ``changes``. If one change concerns several figures, its value is
    four zero bytes. ``figures`` are read only if the story has changed figures.
    """

    first: Member
    member: Member
    is_coverage: bool = True
    figures_before: bytes = b""
    figures_after: bytes = b""
    figures: Callable[[], bytes] = bytes  # returns the values of all figures of the document
    also: Member | None = None  # the first document of another story that turned out to be the same one
    earlier_of_page: str = ""  # id of an earlier document of the page; if it is a member, this one is not counted
    counted_at: int | None = None  # when the document counts, in Unix seconds; None if that is the member's own time
    document: Document | None = field(default=None, repr=False, compare=False)  # for the lead of an event it may raise

    @property
    def story(self) -> str:
        """Return the id of the story. It is the id of its first document."""
        return self.first.id

    @property
    def time(self) -> int:
        """Return the time at which the document counts for events, in whole Unix seconds, UTC."""
        return self.member.seen_at if self.counted_at is None else self.counted_at


EventSources = tuple[tuple[int, bytes, str], ...]
"""The independent sources of an event, by time: Unix seconds of the first item, a hash of the owner, its language."""

MANY_FIGURES = "#"
"""Stands for the language of a source whose first item has many figures, see ``rules/joining.py``."""


class Extent(NamedTuple):
    """The size of a story: its items, its independent sources and its confirmed changes."""

    items: int = 0
    sources: int = 0
    confirmed_changes: int = 0  # of a figure, to a new value that enough sources print, see ``sources_needed``

    def warrants_update(self, signalled: Extent) -> bool:
        """Return whether a running event has doubled since the extent ``signalled``, or a figure has been confirmed.

        An event has doubled if its number of independent sources has doubled. If it had at most one source, its number
        of items must have doubled.
        """
        by_sources = signalled.sources > 1
        before, now = (signalled.sources, self.sources) if by_sources else (signalled.items, self.items)
        return now >= 2 * before > 0 or self.confirmed_changes > signalled.confirmed_changes


@dataclass(frozen=True, slots=True)
class Story:
    """The counters of a story, just after one of its documents joined."""

    id: str  # document id of its first document
    joined: int  # members so far, including pages that changed
    items: int
    copies: int  # items that are duplicates
    times: tuple[int, ...]  # Unix seconds of the newest items in ascending order
    sources: tuple[int, ...]  # Unix seconds of each independent source's first item in ascending order
    levels: tuple[Level, ...] = ()  # levels raised so far
    changes: tuple[tuple[str, int], ...] = ()  # confirmed changes: document id, and index into its changes
    signalled: Extent = Extent()  # the extent at the last signal
    united: tuple[str, ...] = ()  # ids of the stories that became a part of this one
    is_muted: bool = False  # nothing but its end is noted, and nobody is told
    source_languages: tuple[str, ...] = ()  # of the first item of each of ``sources``, or ``MANY_FIGURES``

    @property
    def extent(self) -> Extent:
        """Return the counts of items, independent sources and confirmed changes."""
        return Extent(self.items, len(self.sources), len(self.changes))

    @property
    def is_running(self) -> bool:
        """Return whether the story is an event that has not ended."""
        return bool(self.levels) and "ended" not in self.levels


CRAWL = bytes(4)
"""Stands among the receivers of an event for the feed and the signals of the crawl itself."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A request to raise a level of an event. The store grants each level to one claim only.

    ``last_source`` is the time of the newest independent source that the claimant knows. The level ``ended`` is refused
    if a newer source has joined since. The level ``update`` is refused if another process has already signalled an
    extent at least as large.

    A claim with a token can be repeated if its answer was lost: the same token gets the same answer. A claim that is
    granted is the event on its way. The store keeps it until all its ``receivers`` have the event. If the crawl that
    has it in hand dies, another process sends the event: the counters of the claim tell how the story was.
    """

    story: str
    level: Level
    last_source: int = 0
    extent: Extent = Extent()  # of the story as the claimant knows it
    signalled: Extent = Extent()  # the extent at the signal before this one; the store says so
    token: str = ""  # 16 hexadecimal digits, or "" if the store need not keep the event
    run: int = 0  # the crawl that has the event in hand, 0 if it is none
    receivers: tuple[bytes, ...] = (CRAWL,)  # that have not got the event yet
    time: int = 0  # of the event, in Unix seconds
    item: str | None = None  # id of the document that tipped it; None for an end
    joined: int = 0
    copies: int = 0
    breaking_over: int = 0  # the threshold of ``breaking`` at that time
    lead: str = ""  # the first sentence of that document
