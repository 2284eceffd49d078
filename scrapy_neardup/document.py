"""The plain data of the package: what goes in, what is kept, what comes out. Nothing here does I/O."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Status = Literal["original", "related", "update", "duplicate", "unchecked"]
Kind = Literal["exact", "near", "contained", "revisit"]
Reason = Literal["no-text", "too-short", "store-unavailable", "extraction-failed"]
Level = Literal["watch", "breaking", "ended"]

STATUSES: tuple[Status, ...] = ("original", "related", "update", "duplicate", "unchecked")
KINDS: tuple[Kind, ...] = ("exact", "near", "contained", "revisit")
REASONS: tuple[Reason, ...] = ("no-text", "too-short", "store-unavailable", "extraction-failed")
LEVELS: tuple[Level, ...] = ("watch", "breaking", "ended")


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
    url_identity: str = ""  # what makes two urls the same page; "" where the url does not name this text


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
    identity_keys: tuple[int, ...]  # of the text, and of the url where it has one
    band_keys: tuple[int, ...]
    sample_keys: tuple[int, ...] = ()  # a few of the shingles and sentences themselves
    figures: bytes = b""  # packed, see sketch.figures
    specifics: bytes = b""  # packed, see sketch.specifics

    @property
    def text_keys(self) -> tuple[int, ...]:
        """What documents of like text share, each with some probability."""
        return self.band_keys + self.sample_keys


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
    similarity: float
    containment: float
    score: float  # what the thresholds of the policy were compared with
    same_text: bool
    same_url: bool
    related: bool  # similar enough for the story, too different for a copy
    figures: bytes  # packed, of the best match


@dataclass(frozen=True, slots=True)
class Verdict:
    """The answer for one document. ``original`` and ``story`` are document ids."""

    status: Status
    kind: Kind | None = None
    original: str | None = None
    original_url: str | None = None
    similarity: float | None = None
    containment: float | None = None
    story: str | None = None
    changes: tuple[str, ...] = ()
    event: str | None = None
    reason: Reason | None = None


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
    number: int = 0

    @property
    def seen_at(self) -> int:
        """Unix seconds, UTC; the whole second its id begins with."""
        return int(self.id[:8], 16)


@dataclass(frozen=True, slots=True)
class Join:
    """A document that matched, and the first document of the story it joins.

    A page whose text changed is no further item: ``counted`` is False, and only its changes are kept. Nor is a text
    that is related to a related one.
    """

    first: Member
    member: Member
    counted: bool = True

    @property
    def story(self) -> str:
        return self.first.id


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


@dataclass(frozen=True, slots=True)
class Claim:
    """A level that is due: whoever's claim is granted raises it, and nobody else.

    ``last_source`` is the time of the newest independent source this was decided by. ``ended`` is refused where a
    newer one has joined since. ``peak`` goes into the record of the last days when an event has ended.
    """

    story: str
    level: Level
    last_source: int = 0
    peak: int = 0
