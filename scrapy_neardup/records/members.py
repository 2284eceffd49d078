"""Pack the data that a store keeps of the members and the neighbours of a story.

A member is kept as its number in the story, then its fields. A neighbour is another story that a document is like.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import cast

import xxhash

from scrapy_neardup.document import KINDS, STATUSES, Member, Neighbour
from scrapy_neardup.exceptions import StoreError
from scrapy_neardup.records.documents import KEY_BYTES, MAX_TITLE_BYTES, MAX_URL_BYTES
from scrapy_neardup.records.packing import PackedFields, cut_to_bytes

logger = logging.getLogger(__name__)

VERSION = 6
"""Of members, of the counters of stories, and of grants."""

MEMBER = PackedFields(
    "member",
    {
        "status": "B",
        "kind": "B",
        "topic": "H",
        "language": "B*",
        "source": "B*",
        "owner": "B*",
        "url": "H*",
        "title": "H*",
        "changes": "H*",
        "terms": "H*",
    },
    VERSION,
)
NEIGHBOUR = PackedFields("neighbour", {"story": "8s", "url": "H*", "title": "B*"})
NO_OWNER = bytes(4)
_NUMBER_BYTES = 4
_MAX_NAME_BYTES = 255
_MAX_MEMBER_TITLE_BYTES = 300
_MAX_CHANGES_BYTES = 1000
_MAX_TERMS_BYTES = 200
_TOPIC_PARTS = 10_000  # a score of 1


def owner_hash(member: Member) -> bytes:
    """Return a hash of the owner in 4 bytes, ``NO_OWNER`` if there is none."""
    return xxhash.xxh32_digest(member.owner.encode("utf-8", "surrogatepass")) if member.owner else NO_OWNER


def pack_member(member: Member) -> bytes:
    """Pack the fields of a member, except its key and its number. Long texts are cut.

    The owner is left out if it is the source itself, as for most members.
    """
    return MEMBER.pack(
        STATUSES.index(member.status),
        KINDS.index(member.kind) + 1 if member.kind else 0,
        round(member.topic * _TOPIC_PARTS),
        *(cut_to_bytes(each, _MAX_NAME_BYTES) for each in (member.language, member.source)),
        b"" if member.owner == member.source else cut_to_bytes(member.owner, _MAX_NAME_BYTES),
        cut_to_bytes(member.url, MAX_URL_BYTES),
        cut_to_bytes(member.title, _MAX_MEMBER_TITLE_BYTES),
        cut_to_bytes("\n".join(member.changes), _MAX_CHANGES_BYTES),
        cut_to_bytes("\n".join(member.terms), _MAX_TERMS_BYTES),
    )


def number_member(number: int, packed: bytes) -> bytes:
    """Put the number of a member before its packed fields."""
    return number.to_bytes(_NUMBER_BYTES, "big") + packed


def unpack_member(key: bytes, data: bytes) -> Member:
    """Read a numbered member. Raise StoreError on any other bytes."""
    status, kind, topic, *texts = MEMBER.unpack_whole(data, _NUMBER_BYTES)
    status, kind, topic = cast("int", status), cast("int", kind), cast("int", topic)
    if len(key) != KEY_BYTES or status >= len(STATUSES) or kind > len(KINDS) or topic > _TOPIC_PARTS:
        raise StoreError(f"member {key.hex()}: {len(data)} bytes are no member of this version")
    decoded = (cast("bytes", text).decode("utf-8", "replace") for text in texts)
    language, source, owner, url, title, changes, terms = decoded
    return Member(
        id=key.hex(),
        url=url,
        title=title,
        source=source,
        owner=owner or source,
        status=STATUSES[status],
        kind=KINDS[kind - 1] if kind else None,
        changes=tuple(changes.split("\n")) if changes else (),
        language=language,
        topic=topic / _TOPIC_PARTS,
        terms=tuple(terms.split("\n")) if terms else (),
        number=int.from_bytes(data[:_NUMBER_BYTES], "big"),
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


def pack_neighbour(neighbour: Neighbour | None) -> bytes:
    """Return the packed neighbour, or nothing for None."""
    if neighbour is None:
        return b""
    url, title = cut_to_bytes(neighbour.url, MAX_URL_BYTES), cut_to_bytes(neighbour.title, MAX_TITLE_BYTES)
    return NEIGHBOUR.pack(bytes.fromhex(neighbour.story), url, title)


def unpack_neighbours(packed: bytes) -> tuple[Neighbour, ...]:
    """Read neighbours that were packed one after the other. Raise StoreError if one of them is not whole."""
    found, at = [], 0
    while at < len(packed):
        values, at = NEIGHBOUR.unpack(packed, at)
        story, url, title = (value for value in values if isinstance(value, bytes))
        found.append(Neighbour(story.hex(), url.decode("utf-8", "replace"), title.decode("utf-8", "replace")))
    return tuple(found)
