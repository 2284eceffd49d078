"""The plain data of the package: documents, fingerprints, matches, verdicts and stories. Nothing here does I/O."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Status = Literal["original", "related", "update", "duplicate", "unchecked"]
Kind = Literal["exact", "near", "abridged", "extended", "revisit", "translation"]
Reason = Literal["no-text", "too-short", "boilerplate", "store-unavailable", "extraction-failed", "internal-error"]
Level = Literal["watch", "breaking", "update", "ended"]

# Stores keep the places of statuses and kinds in these tuples: add new ones at the end.
STATUSES: tuple[Status, ...] = get_args(Status)
KINDS: tuple[Kind, ...] = get_args(Kind)
LEVELS: tuple[Level, ...] = get_args(Level)


@dataclass(kw_only=True)
class NearDupFields:
    """Mixin of dataclass items that get tags. Its fields are keyword-only and have defaults.

    This is the list of tags: all other places are made from it.
    """

    neardup_status: str | None = None
    neardup_kind: str | None = None
    neardup_original: str | None = None
    neardup_match: str | None = None
    neardup_similarity: float | None = None
    neardup_containment: float | None = None
    neardup_share: float | None = None
    neardup_would_drop: bool | None = None
    neardup_story: str | None = None
    neardup_changes: str | None = None
    neardup_event: str | None = None
    neardup_reason: str | None = None


TAGS = tuple(each.name for each in fields(NearDupFields))

WHOLE_TEXT = 255
"""Shares of a text that are kept in a byte are counted in parts of this number."""


@dataclass(frozen=True, slots=True)
class Document:
    """One article. Make it with ``NearDupDetector.document``.

    ``id`` is 16 hexadecimal digits: 4 bytes of ``seen_at`` (big-endian), then 4 bytes of a hash. So ids sort by time,
    and the id of a document tells its hour. Checking the same id twice gives the same status.
    """

    id: str
    url: str
    source: str  # the publisher that the url names, "" if there is none
    title: str
    text: str  # main content
    seen_at: float  # Unix seconds, UTC
    url_identity: str = ""  # the same text for all urls of one page; "" if the url does not belong to this text
    article: str = ""  # the number by which its source knows the article; "" if the url has none
    language: str = ""  # ISO 639 code of the text, "" if it is unknown
    canonical: str = ""  # the url that the page gives as its own, if it is of the same source
    counted_at: float | None = None  # when it counts for events, in Unix seconds; None if that is ``seen_at``
    sketch: bytes = field(default=b"", repr=False, compare=False)  # of the text, if a worker made one
    vector: bytes = field(default=b"", repr=False, compare=False)  # of ``NEARDUP_EMBEDDER``, see ``evidence.vectors``

    @property
    def link(self) -> str:
        """Return the url by which links, stories and reports name the document."""
        return self.canonical or self.url

    @property
    def counted_second(self) -> int:
        """Return the time at which the document counts for events, in whole Unix seconds, UTC."""
        return int(self.seen_at if self.counted_at is None else self.counted_at)


@dataclass(slots=True)  # not frozen: a check makes a dozen records, and that takes three times as long
class Evidence:
    """What is compared of a document before its text is read.

    ``signature`` holds lanes of one byte each. It is empty if the text is so short that only an exact copy of it can
    be recognised.
    """

    size: int  # distinct features
    text_hash: bytes  # 8 bytes of the normalised text
    url_hash: bytes  # 8 bytes of the url identity, zeros if there is none
    source_hash: bytes  # 4 bytes of the source, zeros if there is none
    article_hash: bytes = bytes(4)  # of source and article number, zeros if it has none
    content_hash: bytes = bytes(8)  # of the title and all lines, also those that are too short to be compared
    language: bytes = bytes(2)  # ISO 639-1 code, zeros if it is unknown
    signature: bytes = b""
    topic: bytes = b""  # packed, see evidence.topic
    names: bytes = b""  # packed, see evidence.names
    titles: bytes = b""  # terms of the title, packed, see evidence.titles


@dataclass(slots=True)
class Fingerprint(Evidence):
    """The evidence of a new document, and the keys under which it is found.

    Keys are unsigned 32-bit numbers. Documents that share a key are candidates of each other.
    """

    identity_keys: tuple[int, ...] = ()  # of the text, the url and the article number, if it has them
    band_keys: tuple[int, ...] = ()
    sample_keys: tuple[int, ...] = ()  # hashes of a few shingles and of the first sentences
    name_keys: tuple[int, ...] = ()  # of the rarest names
    topic_keys: tuple[int, ...] = ()  # of the heaviest terms of the topic
    vector: bytes = b""  # packed, see evidence.vectors; empty without ``NEARDUP_EMBEDDER``
    learned: tuple[str, ...] = ()  # its lines that are boilerplate of its source
    is_boilerplate: bool = False  # True if too little text is left without the boilerplate
    tells_title: bool = False  # whether the beginning of the text has half of the terms of the title
    # From these the sketcher learns if the document is an original. No store keeps them.
    features: NDArray[np.uint32] | None = field(default=None, repr=False, compare=False)

    @property
    def text_keys(self) -> tuple[int, ...]:
        """Return all other keys. Documents of similar text, names or topic probably share some of them."""
        return self.band_keys + self.sample_keys + self.name_keys + self.topic_keys


LAST_SECOND = 0xFFFF_FFFF
"""The latest time that a store can keep, in Unix seconds: in the year 2106."""

MOST_CHARACTERS = 400_000
"""How many characters of a text are read: about 60,000 words. The rest is ignored, to bound memory."""

LONG_TEXT = 8_000
"""Texts of this many characters or more are read in a thread: the worst of them would block the event loop."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The answer for one document. ``id``, ``original``, ``match`` and ``story`` are document ids.

    ``id`` is the id under which the store keeps the document, None if it does not keep it. It is the id of the
    ``Document``, unless another document of the same second has that id.

    ``kind``, ``similarity``, ``containment``, ``share`` and ``changes`` compare the document with its match, which is
    the document it resembles most. ``original`` is the document that the match is a copy of, or the match itself.
    """

    status: Status
    kind: Kind | None = None
    original: str | None = None
    original_url: str | None = None
    match: str | None = None
    match_url: str | None = None
    similarity: float | None = None
    containment: float | None = None
    share: float | None = None  # share of the document's own text that its match already holds, in [0, 1]
    would_drop: bool = False  # whether ``NEARDUP_ACTION = "drop"`` drops the item
    story: str | None = None
    changes: tuple[str, ...] = ()
    event: str | None = None
    reason: Reason | None = None
    id: str | None = field(default=None, compare=False)


def with_id(document: Document, registered: str) -> Document:
    """Return the document with the id under which it is registered."""
    return document if document.id == registered else replace(document, id=registered)


def counted_names(verdict: Verdict) -> list[str]:
    """Return the names under which a verdict is counted: its status, and the status with its kind or reason."""
    detail = verdict.kind or verdict.reason
    return [verdict.status, f"{verdict.status}/{detail}"] if detail else [verdict.status]


def unchecked(reason: Reason) -> Verdict:
    """Return the verdict for a document that cannot be judged."""
    return Verdict("unchecked", reason=reason)


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
