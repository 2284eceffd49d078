"""The plain data of the package: what goes in, what is kept, what comes out. Nothing here does I/O."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

Status = Literal["original", "related", "update", "duplicate", "unchecked"]
Kind = Literal["exact", "near", "abridged", "extended", "revisit"]
Reason = Literal["no-text", "too-short", "boilerplate", "store-unavailable", "extraction-failed", "internal-error"]
Level = Literal["watch", "breaking", "update", "ended"]

STATUSES: tuple[Status, ...] = ("original", "related", "update", "duplicate", "unchecked")
KINDS: tuple[Kind, ...] = ("exact", "near", "abridged", "extended", "revisit")
LEVELS: tuple[Level, ...] = ("watch", "breaking", "update", "ended")
REASONS: tuple[Reason, ...] = (
    "no-text",
    "too-short",
    "boilerplate",
    "store-unavailable",
    "extraction-failed",
    "internal-error",
)


@dataclass(frozen=True, slots=True)
class Document:
    """One article, as it is judged.

    ``id`` is 16 hexadecimal digits: 4 bytes of ``seen_at`` (big-endian), then 4 bytes of a hash, so that
    ids sort by time and name their own hour. Checking the same id twice is one check.
    """

    id: str
    url: str
    source: str  # registrable domain of the url, "" where there is none
    title: str
    text: str  # main content
    seen_at: float  # Unix seconds, UTC
    url_identity: str = ""  # what makes two urls the same page; "" if the url does not name this text
    article: str = ""  # the number by which its source knows the article; "" if the url has none
    language: str = ""  # ISO 639 code, as its page says; "" if nothing says it


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """What the index keeps of a document's text.

    ``signature`` holds lanes of one byte each, or is empty for a text too short to be compared other than exactly.
    Keys are unsigned 32-bit numbers; documents that share one are candidates of each other.
    """

    signature: bytes
    size: int  # distinct features
    text_hash: bytes  # 8 bytes of the normalised text
    url_hash: bytes  # 8 bytes of the url identity, zeros where there is none
    source_hash: bytes  # 4 bytes of the source, zeros where there is none
    identity_keys: tuple[int, ...]  # of the text, the url and the article number, as far as it has them
    band_keys: tuple[int, ...]
    sample_keys: tuple[int, ...] = ()  # a few of the shingles and sentences themselves
    topic_keys: tuple[int, ...] = ()  # pairs of the names it is about
    figures: bytes = b""  # packed, see sketch.figures
    topic: bytes = b""  # packed, see sketch.topic
    specifics: bytes = b""  # packed, see sketch.specifics
    titles: bytes = b""  # terms of the title, packed, see sketch.titles
    article_hash: bytes = bytes(4)  # of source and article number, zeros if it has none
    language: bytes = bytes(2)  # ISO 639-1 code, zeros if nothing says it
    edition: int = 0  # 8-bit hash of the dates in the title, 0 if there are none
    is_boilerplate: bool = False  # whether nothing but boilerplate is left of the text

    @property
    def text_keys(self) -> tuple[int, ...]:
        """What documents of like text or topic share, each with some probability."""
        return self.band_keys + self.sample_keys + self.topic_keys


MOST_CHARACTERS = 400_000
"""Of a text that are looked at: some 60,000 words. What is longer is no article, and memory is bounded."""

MOST_PRINTED = 24
MOST_LINES = 256
MOST_LINES_EVERYWHERE = 1024

EVERYWHERE = bytes(4)
"""Stands for a source in what is learned of boilerplate: that of several sources."""


class Learned(NamedTuple):
    """What is known of a source's boilerplate, packed by ``sketch.source_boilerplate``, the newest last."""

    lines: tuple[bytes, ...] = ()  # that are boilerplate, at most MOST_LINES; MOST_LINES_EVERYWHERE of EVERYWHERE
    printed: tuple[bytes, ...] = ()  # documents that others are compared with, at most MOST_PRINTED


def most_lines_of(source: bytes) -> int:
    """Return how many boilerplate lines are remembered of a source, or of ``EVERYWHERE``."""
    return MOST_LINES_EVERYWHERE if source == EVERYWHERE else MOST_LINES


@dataclass(frozen=True, slots=True)
class Neighbour:
    """Another story that a document is like, though not as much as the one it joins."""

    story: str  # document id of its first document
    url: str  # of the original there
    title: str


@dataclass(frozen=True, slots=True)
class Match:
    """The best candidate of a document that passed verification.

    ``similarity`` is in [0, 1]: of MinHash signatures the estimated Jaccard resemblance of the two shingle sets, with a
    standard error of about sqrt(J(1-J)/num_perm), 0.032 at most for 256 lanes; of others the share of equal lanes, or
    the cosine.
    """

    original: str  # document id of the first document of its kind
    url: str  # of the original
    title: str  # of the original
    story: str  # document id of the story's first document
    candidate: str  # document id of the best match itself
    candidate_url: str
    candidate_title: str
    similarity: float
    containment: float
    share: float  # of the document's own text that the match holds
    kept_share: float  # of the document's own text that the nearest document holds that ``drop`` keeps
    score: float  # what the thresholds of the policy were compared with
    same_text: bool
    same_url: bool  # or the same article number under another url
    related: bool  # similar enough for the story, too different for a copy
    figures: bytes  # packed, of the best match
    neighbour: Neighbour | None = None  # the best of another story; a document that is checked again has none
    language: str = ""  # of the candidate, ISO 639-1; "" if nothing says it
    is_seen: bool = True  # False if the candidate's run died before it delivered the candidate: it is nobody's original
    registered_before: str = ""  # document id under which such a run registered the same page
    run: int = 0  # that registered the candidate, 0 if the candidate is delivered


@dataclass(frozen=True, slots=True)
class Verdict:
    """The answer for one document. ``original``, ``match`` and ``story`` are document ids.

    ``kind``, ``similarity``, ``containment``, ``share`` and ``changes`` compare the document with its match, the
    document it was found to be like; ``original`` is the first document of its kind.
    """

    status: Status
    kind: Kind | None = None
    original: str | None = None
    original_url: str | None = None
    match: str | None = None
    match_url: str | None = None
    similarity: float | None = None
    containment: float | None = None
    share: float | None = None  # of the document's own text that its match already holds, in [0, 1]
    would_drop: bool = False  # whether ``NEARDUP_ACTION = "drop"`` drops the item
    story: str | None = None
    changes: tuple[str, ...] = ()
    event: str | None = None
    reason: Reason | None = None


def unchecked(reason: Reason) -> Verdict:
    """Return the verdict for a document that cannot be judged."""
    return Verdict("unchecked", reason=reason)


@dataclass(frozen=True, slots=True)
class Member:
    """One document as its story knows it.

    ``number`` is its place in the order of arrival, from 1: of two members the one with the smaller number joined
    first, whatever their times. 0 until it has joined.
    """

    id: str
    url: str
    title: str
    source: str  # "" where there is none
    owner: str  # whose source it is; sources of one owner count once
    status: Status
    kind: Kind | None = None
    changes: tuple[str, ...] = ()
    language: str = ""
    number: int = 0

    @property
    def seen_at(self) -> int:
        """Unix seconds, UTC; the whole second its id begins with."""
        return int(self.id[:8], 16)


@dataclass(frozen=True, slots=True)
class Join:
    """A document that matched, and the first document of the story it joins.

    A page whose text changed is no further item: ``counted`` is False, and only its changes are kept. Nor is a text
    that is related to a related one. What figures say is hashed, 4 bytes a figure: of those that changed before and
    after, in the order of the member's ``changes`` and zeros where it is no one thing; and of all that it has.
    """

    first: Member
    member: Member
    counted: bool = True
    figures_before: bytes = b""
    figures_after: bytes = b""
    figures: bytes = b""
    neighbour: Neighbour | None = None
    registered_before: str = ""  # document id of the same page; if that is a member, the document is no further item

    @property
    def story(self) -> str:
        return self.first.id


class Extent(NamedTuple):
    """How far a story has come."""

    items: int = 0
    sources: int = 0
    confirmed_changes: int = 0  # of figures, to values new to the story that a second source has printed too

    def warrants_update(self, signalled: Extent) -> bool:
        """Return whether a running event has doubled since the last signal, or a figure has been confirmed.

        Independent sources have to double. If there was only one of them, items have to double.
        """
        by_sources = signalled.sources > 1
        before, now = (signalled.sources, self.sources) if by_sources else (signalled.items, self.items)
        return now >= 2 * before > 0 or self.confirmed_changes > signalled.confirmed_changes


@dataclass(frozen=True, slots=True)
class Story:
    """A story's counters as one of its joins left them."""

    id: str  # document id of its first document
    joined: int  # members so far, the pages that changed among them
    items: int
    copies: int  # items that are duplicates
    times: tuple[int, ...]  # Unix seconds of the newest items in ascending order
    sources: tuple[int, ...]  # first time of each independent source, ascending
    levels: tuple[Level, ...] = ()  # raised so far
    changes: tuple[tuple[str, int], ...] = ()  # confirmed ones: document id, and which of its changes, from 0
    languages: tuple[tuple[str, int], ...] = ()  # of the items that joined and say theirs, the commonest first
    signalled: Extent = Extent()  # when the last signal was sent
    neighbours: tuple[Neighbour, ...] = ()  # stories its documents are like as well, in the order they were met

    @property
    def extent(self) -> Extent:
        return Extent(self.items, len(self.sources), len(self.changes))

    @property
    def is_running(self) -> bool:
        """Whether it is an event that has not ended."""
        return bool(self.levels) and "ended" not in self.levels


@dataclass(frozen=True, slots=True)
class Claim:
    """A level that is due: whoever's claim is granted raises it, and nobody else.

    ``last_source`` is the time of the newest independent source this was decided by. ``ended`` is refused where a
    newer one has joined since, and ``update`` where others have signalled as much. ``peak`` goes into the record of the
    last days when an event has ended.

    A claim with a token can be made again if its answer was lost: the same token gets the same grant. The store keeps
    such a grant until it is confirmed that somebody has told of it. ``note`` is for whoever tells in the claimant's
    place.
    """

    story: str
    level: Level
    last_source: int = 0
    peak: int = 0
    extent: Extent = Extent()  # of the story as the claimant knows it
    token: str = ""  # 16 hexadecimal digits, or "" if nobody confirms the grant
    note: str = ""


@dataclass(frozen=True, slots=True)
class Granted:
    """What there is to tell with a level or update that was granted."""

    members: tuple[Member, ...]  # of the story, in the order they joined
    signalled: Extent = Extent()  # when the signal before was sent


@dataclass(frozen=True, slots=True)
class UnconfirmedGrant:
    """A grant that nobody has confirmed for a while: its claimant may have died before it told of it."""

    token: str
    note: str
    story: Story  # as it is now, but ``signalled`` is of the signal before
    members: tuple[Member, ...]  # in the order they joined
