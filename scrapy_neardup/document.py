"""The plain data of documents: texts, fingerprints and verdicts. Nothing here does I/O."""

from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Literal, get_args

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Status = Literal["original", "related", "update", "duplicate", "unchecked"]
Kind = Literal["exact", "near", "abridged", "extended", "revisit", "translation"]
Reason = Literal["no-text", "too-short", "boilerplate", "store-unavailable", "extraction-failed", "internal-error"]

# Stores keep the places of statuses and kinds in these tuples: add new ones at the end.
STATUSES: tuple[Status, ...] = get_args(Status)
KINDS: tuple[Kind, ...] = get_args(Kind)


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
    neardup_news: str | None = None
    neardup_event: str | None = None
    neardup_reason: str | None = None

    def __new__(cls, *values: Any, **named: Any) -> "NearDupFields":
        """Put the tags behind the fields of the item itself: feeds write them in this order."""
        cls.__dataclass_fields__ = dict(sorted(cls.__dataclass_fields__.items(), key=lambda each: each[0] in TAGS))
        return super().__new__(cls)


TAGS = tuple(each.name for each in fields(NearDupFields))

HOUR = 3600  # seconds

# Shares of a text that are kept in a byte are counted in parts of this number.
WHOLE_TEXT = 255

MOST_TOPIC_TERMS = 64


@dataclass(frozen=True, slots=True)
class Document:
    """One article. Make it with ``NearDupDetector.document``.

    ``id`` is 16 hexadecimal digits: 4 bytes of ``seen_at`` (big-endian), then 4 bytes of a hash. So ids sort by time,
    and the id of a document tells its second. Checking the same id twice gives the same status.
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
    section: str = ""  # one of ``settings.values.SECTIONS``, "" if it is unknown
    publisher: str = ""  # who publishes it, as feed or page say, see ``evidence.sources.publisher_of``
    counted_at: float | None = None  # when it counts for events, in Unix seconds; None if that is ``seen_at``
    is_clock_wrong: bool = False  # its source has given times that were yet to come, so ``seen_at`` proves nothing
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
    features: "NDArray[np.uint32] | None" = field(default=None, repr=False, compare=False)

    @property
    def text_keys(self) -> tuple[int, ...]:
        """Return all keys but ``identity_keys``. Documents of similar text, names or topic probably share some."""
        return self.band_keys + self.sample_keys + self.name_keys + self.topic_keys


# The latest time that a store can keep, in Unix seconds: in the year 2106.
LAST_SECOND = 0xFFFF_FFFF

# How many characters of a text are read: about 60,000 words. The rest is ignored, to bound memory.
MOST_CHARACTERS = 400_000


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
    news: tuple[str, ...] = ()  # sentences of the document that tell what its story did not, the best first
    event: str | None = None
    reason: Reason | None = None
    id: str | None = field(default=None, compare=False)


def counted_names(verdict: Verdict) -> list[str]:
    """Return the names under which a verdict is counted: its status, and the status with its kind or reason."""
    if detail := verdict.kind or verdict.reason:
        return [verdict.status, f"{verdict.status}/{detail}"]
    return [verdict.status]
