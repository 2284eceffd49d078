"""Pack and read the data that a store keeps of a story: its members, counters and changes, and its events on their way.

``rules/membership.py`` says how all this changes.
"""

import logging
import struct
from collections.abc import Iterable
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Literal, NamedTuple, cast

import xxhash

from scrapy_neardup.document import KINDS, STATUSES
from scrapy_neardup.exceptions import StoreError
from scrapy_neardup.records.documents import KEY_BYTES, MAX_URL_BYTES, seconds_of
from scrapy_neardup.records.packing import PackedFields, cut_to_bytes, split
from scrapy_neardup.story import LEVELS, Claim, EventSources, Extent, Ledger, Level, Member, Story
from scrapy_neardup.text.display import one_line

logger = logging.getLogger(__name__)

# Of members, of the counters and changes of stories, and of events on their way.
VERSION = 17

MEMBER = PackedFields(
    "member",
    {
        "number": "I",
        "status": "B",
        "kind": "B",
        "is_counted": "B",
        "topic": "H",
        "language": "B*",
        "section": "B*",
        "source": "B*",
        "owner": "B*",
        "url": "H*",
        "title": "H*",
        "changes": "H*",
        "terms": "H*",
        "lead": "H*",
        "news": "*",
    },
    VERSION,
)
_STORED_KINDS = (None, *KINDS)
NO_OWNER = bytes(4)
_CODE_BYTES = 2  # of a language
_MAX_NAME_BYTES = 255
_TOPIC_PARTS = 10_000  # a score of 1


def owner_hash(owner: str) -> bytes:
    """Return a hash of an owner in 4 bytes, ``NO_OWNER`` if there is none."""
    return xxhash.xxh32_digest(owner.encode("utf-8", "surrogatepass")) if owner else NO_OWNER


def owner_in(language: str, owner: str) -> bytes:
    """Pack an owner that prints in a language, given by its code, or in a country, whose code has capitals."""
    return packed_code(language) + owner_hash(owner)


def language_of_owner(packed: bytes) -> str:
    """Return the language, or the country, of an owner that ``owner_in`` packed."""
    return packed[:_CODE_BYTES].decode("latin-1").strip()


def packed_code(language: str) -> bytes:
    """Return two bytes of the code of a language or country."""
    return language.encode("latin-1", "replace")[:_CODE_BYTES].ljust(_CODE_BYTES)


def pack_member(member: Member) -> bytes:
    """Pack the fields of a member, except its key. Long texts are cut.

    The owner is left out if it is the source itself, as for most members.
    """
    return MEMBER.pack(
        member.number,
        STATUSES.index(member.status),
        _STORED_KINDS.index(member.kind),
        member.is_counted,
        round(member.topic * _TOPIC_PARTS),
        *(cut_to_bytes(each, _MAX_NAME_BYTES) for each in (member.language, member.section, member.source)),
        b"" if member.owner == member.source else cut_to_bytes(member.owner, _MAX_NAME_BYTES),
        cut_to_bytes(member.url, MAX_URL_BYTES),
        one_line(member.title, 250).encode("utf-8", "replace"),
        cut_to_bytes("\n".join(member.changes), 1000),
        cut_to_bytes("\n".join(member.terms), 200),
        cut_to_bytes(member.lead, 1200),
        "\n".join(member.news).encode("utf-8", "replace"),
    )


def unpack_member(key: bytes, data: bytes) -> Member:
    """Read a member. Raise StoreError on any other bytes."""
    values: list[Any] = MEMBER.unpack(data)
    number, status, kind, is_counted, topic, *texts = values
    if len(key) != KEY_BYTES or status >= len(STATUSES) or kind >= len(_STORED_KINDS) or topic > _TOPIC_PARTS:
        raise StoreError(f"member {key.hex()}: {len(data)} bytes are no member of this version")
    language, section, source, owner, url, title, changes, terms, lead, news = (
        text.decode("utf-8", "replace") for text in texts
    )
    return Member(
        id=key.hex(),
        url=url,
        title=title,
        source=source,
        owner=owner or source,
        status=STATUSES[status],
        kind=_STORED_KINDS[kind],
        changes=tuple(filter(None, changes.split("\n"))),
        language=language,
        section=section,
        topic=topic / _TOPIC_PARTS,
        terms=tuple(filter(None, terms.split("\n"))),
        news=tuple(filter(None, news.split("\n"))),
        lead=lead,
        number=number,
        is_counted=bool(is_counted),
    )


def read_members(rows: Iterable[tuple[bytes, bytes]]) -> tuple[Member, ...]:
    """Return members in the order they joined. Leave out those that cannot be read, and say so in the log."""
    members = []
    for key, packed in rows:
        try:
            members.append(unpack_member(key, packed))
        except StoreError as error:  # noqa: PERF203
            logger.warning("A member of a story is left out: %s", error)
    return tuple(sorted(members, key=lambda member: member.number))


WATCH = 1
BREAKING = 2
ENDED = 4
# Bits beside those of the levels: somebody has muted the story, and a page begins with a number of people harmed.
MUTED = 8
HARM = 16

LEVEL_BITS: dict[Level, int] = {"watch": WATCH, "breaking": BREAKING, "ended": ENDED}

# An entry of ``items_seen``: the second at which an item counts, and its document key.
ITEM_BYTES = 12

# An entry of ``sources``: 4 bytes of the owner, the second at which its first item counts, its language, its country,
# and 4 bytes of the publisher that it names, or ``NO_OWNER``.
SOURCE_BYTES = 16

COUNTERS = PackedFields(
    "story",
    {
        "joined": "I",
        "items": "I",
        "copies": "I",
        "levels": "B",
        "last": "I",
        "items_seen": "H*",
        "sources": "H*",
        "signalled": "16s",
        "united": "H*",
        "moved": "B*",
        "developments": "I",
        "leads": "H*",
        "telling": "H*",
    },
    VERSION,
)
_VALUES = attrgetter(*COUNTERS.fields)  # of ``StoryCounters``, in the order in which they are packed

# A claim that is granted, after the second by the store's clock at which it was granted, or taken over.
CLAIM = PackedFields(
    "claim",
    {
        "second": "I",
        "run": "I",
        "level": "B",
        "story": "8s",
        "item": "B*",
        "time": "I",
        "extent": "16s",
        "signalled": "16s",
        "joined": "I",
        "copies": "I",
        "breaking_over": "I",
    },
    VERSION,
)

# An entry of ``telling``: the second, 4 bytes of the owner, and hashes of 16 terms that no earlier title or first lines
# have, which may become a development.
TELLING_BYTES = 40

RECEIVER_BYTES = 4

_EXTENT = struct.Struct(">4I")


@dataclass(slots=True)
class StoryCounters:
    joined: int = 0
    items: int = 0
    copies: int = 0
    levels: int = 0  # bits of those raised
    last: int = 0  # the latest second of any member
    items_seen: bytes = b""  # the newest items
    sources: bytes = b""
    signalled: bytes = bytes(16)  # the extent of the story at its last signal, see ``pack_extent``
    united: bytes = b""  # keys of the stories that became a part of this one
    moved: bytes = b""  # key of the story that this one became a part of, empty if it did not
    developments: int = 0
    leads: bytes = b""  # hashes of the terms of titles and first lines
    telling: bytes = b""  # what may become a development, see ``TELLING_BYTES``

    @property
    def is_open(self) -> bool:
        return 0 < self.levels & ~(MUTED | HARM) < ENDED and not self.moved

    @property
    def newest_source(self) -> int:
        """The second of the newest source, or of the newest item if no member has a source."""
        found = [second for second, _, _ in read_sources(self.sources)]
        return max(found or map(seconds_of, split(self.items_seen, ITEM_BYTES)), default=0)

    def pack(self) -> bytes:
        return COUNTERS.pack(*_VALUES(self))

    def story(self, key: bytes, ledger: Ledger) -> Story:
        sources = read_sources(self.sources)
        return Story(
            id=key.hex(),
            joined=self.joined,
            items=self.items,
            copies=self.copies,
            times=tuple(sorted(seconds_of(each) for each in split(self.items_seen, ITEM_BYTES))),
            sources=tuple(second for second, _, _ in sources),
            levels=tuple(level for level, bit in LEVEL_BITS.items() if self.levels & bit),
            ledger=ledger,
            developments=self.developments,
            signalled=read_extent(self.signalled),
            is_muted=bool(self.levels & MUTED),
            begins_with_harm=bool(self.levels & HARM),
            last=self.last,
            united=tuple(key.hex() for key in split(self.united, KEY_BYTES)),
            source_languages=tuple(language for _, _, language in sources),
            countries=tuple(each[10:12].decode("latin-1").strip() for each in split(self.sources, SOURCE_BYTES)),
        )


def read_counters(key: bytes, packed: bytes | None) -> StoryCounters:
    """Return the counters of the story with this key: empty ones if nothing is stored. Raise StoreError for damage."""
    if packed is None:
        return StoryCounters()
    try:
        counters = StoryCounters(*COUNTERS.unpack(packed))  # type: ignore[arg-type]  # in the order of the fields
    except StoreError as error:
        raise StoreError(f"story {key.hex()}: {error}") from error
    entries = [
        (counters.items_seen, ITEM_BYTES),
        (counters.sources, SOURCE_BYTES),
        (counters.united, KEY_BYTES),
        (counters.leads, 2),
        (counters.telling, TELLING_BYTES),
    ]
    # Of two stories the one with the lower key stays. So nobody who follows a story comes back to it.
    is_wrong_way = counters.moved and (len(counters.moved) != KEY_BYTES or counters.moved >= key)
    if any(len(each) % size for each, size in entries) or counters.levels >= 2 * HARM or is_wrong_way:
        raise StoreError(f"story {key.hex()}: its counters are not those of this version")
    return counters


def read_sources(packed: bytes) -> EventSources:
    """Read entries of ``StoryCounters.sources``, in the order of their times."""
    return tuple(
        sorted(
            (seconds_of(each[4:8]), each[:4], each[8:10].decode("latin-1").strip())
            for each in split(packed, SOURCE_BYTES)
        )
    )


def read_extent(packed: bytes) -> Extent:
    return Extent(*_EXTENT.unpack(packed))


def pack_extent(extent: Extent) -> bytes:
    return _EXTENT.pack(*extent)


def pack_claim(second: int, claim: Claim) -> bytes:
    """Pack a claim that is granted or taken over at this second, without its token and receivers."""
    return CLAIM.pack(
        second,
        claim.run,
        LEVELS.index(claim.level),
        bytes.fromhex(claim.story),
        bytes.fromhex(claim.item or ""),
        claim.time,
        pack_extent(claim.extent),
        pack_extent(claim.signalled),
        claim.joined,
        claim.copies,
        claim.breaking_over,
    )


def read_claim(token: bytes, packed: bytes) -> tuple[int, Claim]:
    """Return what ``pack_claim`` packed. Raise StoreError for anything else."""
    values: list[Any] = CLAIM.unpack(packed)
    second, run, level, story, item, time, extent, signalled, joined, copies, breaking_over = values
    if level >= len(LEVELS) or len(item) not in (0, KEY_BYTES):
        raise StoreError(f"{packed!r} is no claim of this version")
    return second, Claim(
        story.hex(),
        LEVELS[level],
        extent=read_extent(extent),
        signalled=read_extent(signalled),
        token=token.decode("utf-8", "replace"),
        run=run,
        time=time,
        item=item.hex() or None,
        joined=joined,
        copies=copies,
        breaking_over=breaking_over,
    )


ChangeKind = Literal["joined", "united", "muted", "state"] | Level

_KINDS: tuple[ChangeKind, ...] = ("joined", "united", "muted", *LEVELS, "state")
_CHANGE = PackedFields("change", {"kind": "B", "story": "8s", "document": "8s", "second": "I"}, VERSION)


class StoryChange(NamedTuple):
    """What happened to a story: a document joined it, it became a part of another one, it reached a level, or its
    ledger has a new state.

    ``document`` is the document that joined or tipped it or first printed the state, or the story that it became a part
    of, or zeros.
    """

    kind: ChangeKind
    story: bytes
    document: bytes = bytes(8)
    second: int = 0  # of an event, in Unix seconds; of a state, how many states there were before it

    def pack(self) -> bytes:
        return _CHANGE.pack(_KINDS.index(self.kind), *self[1:])


def read_change(packed: bytes) -> StoryChange | None:
    """Return a change, None for other bytes."""
    try:
        kind, *rest = _CHANGE.unpack(packed)
        return StoryChange(_KINDS[cast("int", kind)], *rest)  # type: ignore[arg-type]  # in the order of the fields
    except (StoreError, IndexError):
        return None
