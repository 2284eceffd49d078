"""What a store keeps of a story: its counters and its members, packed. ``scripts/join.lua`` holds the same rules."""

from __future__ import annotations

import logging
import re
import struct
from collections.abc import Container, Iterable
from dataclasses import dataclass

import xxhash

from scrapy_neardup.document import (
    KINDS,
    STATUSES,
    Claim,
    Extent,
    Join,
    Level,
    Member,
    Neighbour,
    Story,
)
from scrapy_neardup.exceptions import StoreError
from scrapy_neardup.index.base import Selection
from scrapy_neardup.records.documents import KEY_BYTES, MAX_TITLE_BYTES, MAX_URL_BYTES, cut_to_bytes, seconds_of

logger = logging.getLogger(__name__)

MOST_ITEM_TIMES = 512
"""Newest items whose times are kept: more of them in a window tell a rule nothing new."""

MOST_SOURCES = 512
"""Independent sources that are told apart; a story never has more."""

MOST_MEMBERS_KEPT = 200
"""Members kept for the report; after these only the first member of each further source is."""

MOST_VALUES = 256
"""Values of figures that are told apart; a story in which more were said is a table, and its changes no news."""

MOST_LANGUAGES = 16

MOST_NEIGHBOURS = 16
"""Other stories that are remembered, the first ones met."""

NO_OWNER = bytes(4)
WATCH, BREAKING, ENDED = 1, 2, 4
BITS: dict[Level, int] = {"watch": WATCH, "breaking": BREAKING, "ended": ENDED}

_ENTRY = 8  # bytes: an item is a document key; a source is its owner's hash and the second of its first item
_VALUE = 4  # bytes: hash of a figure and what is said of it
_SAID = 17  # bytes: a value, the owner of who said it first, the key of that document, and which of its changes it is
_CHANGE = 9  # bytes: key of the document that brought it, and which of its changes it is
_SETTLED = b"\xff" * 4  # in the owner's place: said by several, or the value before the change
_NO_VALUE = bytes(4)
_TOLD = re.compile("([0-9]+) ([0-9]+) ([0-9]+)")
_LANGUAGE = re.compile("([^ ]+) ([0-9]+)")
VERSION = 2
_MEMBER = struct.Struct(">BBBBBBHHH")  # version, status, kind, lengths of language, source, owner, url, title, changes
_NEIGHBOUR = struct.Struct(">8sHB")  # key of the story's first document, lengths of url and title
_MAX_TITLE_BYTES = 300
_MAX_CHANGES_BYTES = 1000


@dataclass(slots=True)
class StoryCounters:
    """A story's counters, as they are stored."""

    joined: int = 0
    items: int = 0
    copies: int = 0
    levels: int = 0  # bits of those raised
    last: int = 0  # the latest second of any member
    ids: bytes = b""
    sources: bytes = b""
    said: bytes = b""  # values of figures that changed, those before the change too
    changes: bytes = b""  # see document.Story
    told: str = ""  # items, sources and changes as the last signal found them
    languages: str = ""  # each with its items: "en 5 de 1"
    neighbours: bytes = b""  # packed one behind the other

    @property
    def is_open(self) -> bool:
        return 0 < self.levels < ENDED

    @property
    def last_source(self) -> int:
        """The time of the newest source; of the newest item where no member has a source."""
        seconds = [second for _, second in self._first_times()] or list(map(seconds_of, _entries(self.ids)))
        return max(seconds, default=0)

    def knows(self, key: bytes) -> bool:
        return key in _entries(self.ids)

    def add(self, key: bytes, owner: bytes, *, counted: bool, copy: bool) -> bool:
        """True where the document is the first of its owner."""
        self.joined += 1
        self.last = max(self.last, seconds_of(key))
        if not counted:
            return False
        self.items += 1
        self.copies += copy
        self.ids = (self.ids + key)[-MOST_ITEM_TIMES * _ENTRY :]
        return owner != NO_OWNER and self._add_source(owner, key[:4])

    def _add_source(self, owner: bytes, second: bytes) -> bool:
        for at in range(0, len(self.sources), _ENTRY):
            if self.sources[at : at + 4] == owner:
                if second < self.sources[at + 4 : at + _ENTRY]:
                    self.sources = self.sources[: at + 4] + second + self.sources[at + _ENTRY :]
                return False
        if len(self.sources) >= MOST_SOURCES * _ENTRY:
            return False
        self.sources += owner + second
        return True

    def speak(self, language: str) -> None:
        """Count an item in its language."""
        counts = dict(_languages(self.languages))
        if language in counts or len(counts) < MOST_LANGUAGES:
            counts[language] = counts.get(language, 0) + 1
            self.languages = " ".join(f"{each} {count}" for each, count in counts.items())

    def say(self, key: bytes, owner: bytes, join: Join) -> bool:
        """Note what a document says of figures; True where it is the first to say something."""
        self._confirm(owner, _entries(join.figures, _VALUE))
        for value in _entries(join.figures_before, _VALUE):
            self._note(value, _SETTLED + key + b"\0")
        known = len(self.said)
        for number, value in enumerate(_entries(join.figures_after, _VALUE)):
            self._note(value, owner + key + bytes([number]))
        return len(self.said) > known

    def _confirm(self, owner: bytes, values: list[bytes]) -> None:
        """A change is confirmed by a second owner; where nobody owns the first document, it is the first owner's."""
        entries = _entries(self.said, _SAID)
        for number, entry in enumerate(entries):
            first = entry[4:8]
            if owner == NO_OWNER or first in (_SETTLED, owner) or entry[:4] not in values:
                continue
            if first != NO_OWNER:
                self.changes += entry[8:]
            entries[number] = entry[:4] + (owner if first == NO_OWNER else _SETTLED) + entry[8:]
        self.said = b"".join(entries)

    def _note(self, value: bytes, said_by: bytes) -> None:
        is_known = value == _NO_VALUE or any(entry[:4] == value for entry in _entries(self.said, _SAID))
        if not is_known and len(self.said) < MOST_VALUES * _SAID:
            self.said += value + said_by

    def meet(self, key: bytes, neighbour: bytes) -> None:
        """Note another story, packed; not this one, and none twice."""
        known = [bytes.fromhex(each.story) for each in unpack_neighbours(self.neighbours)]
        if neighbour and neighbour[:KEY_BYTES] not in (key, *known) and len(known) < MOST_NEIGHBOURS:
            self.neighbours += neighbour

    def grants(self, claim: Claim) -> bool:
        """Whether a level is still to be raised: ``watch`` first of all, ``breaking`` once, ``ended`` of what is open.

        An event that ended as a mere watch may still break, and then ends again. What is open gets an ``update`` where
        there is more to say than was signalled before. Where granted the level is set, and what is signalled.
        """
        levels = self.levels
        if claim.level == "watch":
            granted, levels = levels == 0, WATCH
        elif claim.level == "breaking":
            granted, levels = not levels & BREAKING, WATCH | BREAKING
        elif claim.level == "update":
            granted = self.is_open and claim.extent.is_news_after(self.signalled)
        else:
            granted, levels = self.is_open and self.last_source <= claim.last_source, levels | ENDED
        if granted:
            self.levels = levels
            if claim.level != "ended":
                self.told = " ".join(map(str, map(max, self.signalled, claim.extent)))
        return granted

    @property
    def signalled(self) -> Extent:
        return read_extent(self.told)

    def story(self, key: bytes) -> Story:
        """Raises StoreError on what is not as it was stored."""
        try:
            return self._story(key)
        except (TypeError, ValueError) as error:
            raise StoreError(f"story {key.hex()}: its counters are not those of this version ({error})") from error

    def _story(self, key: bytes) -> Story:
        sizes = (self.ids, _ENTRY), (self.sources, _ENTRY), (self.said, _SAID), (self.changes, _CHANGE)
        if any(len(entries) % size for entries, size in sizes) or not 0 <= self.levels < 2 * ENDED:
            raise ValueError("entries are not whole")
        return Story(
            id=key.hex(),
            joined=self.joined,
            items=self.items,
            copies=self.copies,
            times=tuple(sorted(map(seconds_of, _entries(self.ids)))),
            sources=tuple(sorted(second for _, second in self._first_times())),
            levels=tuple(level for level, bit in BITS.items() if self.levels & bit),
            changes=tuple((each[:8].hex(), each[8]) for each in _entries(self.changes, _CHANGE)),
            languages=tuple(sorted(_languages(self.languages), key=lambda row: (-row[1], row[0]))),
            told=self.signalled,
            neighbours=unpack_neighbours(self.neighbours),
        )

    def _first_times(self) -> list[tuple[bytes, int]]:
        return [(entry[:4], int.from_bytes(entry[4:], "big")) for entry in _entries(self.sources)]


def read_extent(packed: str) -> Extent:
    """Read "12 6 1": items, sources and changes. Anything else is nothing told."""
    found = _TOLD.fullmatch(packed)
    return Extent(*map(int, found.groups())) if found else Extent()


def count_join(tally: StoryCounters, join: Join, kept: Container[str]) -> list[tuple[bytes, bytes]]:
    """Count a document into its story, and the story's first one where there is no story yet.

    Returns the members to be kept, by key. A document that is a member already changes nothing; ``kept`` has the ids of
    members that the caller knows of.
    """

    def is_member(document: str) -> bool:
        return document == join.story or document in kept or tally.knows(bytes.fromhex(document))

    logged: list[tuple[bytes, bytes]] = []
    if is_member(join.member.id):
        return logged
    is_again = bool(join.registered_before) and is_member(join.registered_before)
    both = [(join.first, True), (join.member, join.counted and not is_again)]
    for member, counted in both[1:] if tally.joined else both:
        key = bytes.fromhex(member.id)
        new_source = tally.add(key, owner_hash(member), counted=counted, copy=member.status == "duplicate")
        brings_news = False
        if counted and member.language:
            tally.speak(member.language)
        if member is join.member:
            brings_news = tally.say(key, owner_hash(member), join)
            tally.meet(bytes.fromhex(join.story), pack_neighbour(join.neighbour))
        if tally.joined <= MOST_MEMBERS_KEPT or new_source or brings_news:
            logged.append((key, struct.pack(">I", tally.joined) + pack_member(member)))
    return logged


def owner_hash(member: Member) -> bytes:
    """4 bytes of the owner, zeros where there is none."""
    return xxhash.xxh32_digest(member.owner.encode("utf-8", "surrogatepass")) if member.owner else NO_OWNER


def pack_member(member: Member) -> bytes:
    """What is kept of a member beside its key and number; long texts are cut."""
    parts = (
        cut_to_bytes(member.language, 255),
        cut_to_bytes(member.source, 255),
        cut_to_bytes(member.owner, 255),
        member.url.encode("utf-8", "replace")[:MAX_URL_BYTES],
        cut_to_bytes(member.title, _MAX_TITLE_BYTES),
        cut_to_bytes("\n".join(member.changes), _MAX_CHANGES_BYTES),
    )
    status = STATUSES.index(member.status)
    kind = KINDS.index(member.kind) + 1 if member.kind else 0
    return _MEMBER.pack(VERSION, status, kind, *map(len, parts)) + b"".join(parts)


def unpack_member(key: bytes, data: bytes) -> Member:
    """From the member's number and what ``pack_member`` made. Raises StoreError on any other bytes."""
    start = 4 + _MEMBER.size
    if len(key) != KEY_BYTES or len(data) < start or data[4] != VERSION:
        raise StoreError(f"a member of {len(data)} bytes is not one of version {VERSION}")
    _, status, kind, *lengths = _MEMBER.unpack_from(data, 4)
    if start + sum(lengths) != len(data) or status >= len(STATUSES) or kind > len(KINDS):
        raise StoreError(f"member {key.hex()}: {len(data)} bytes do not hold what they say")
    texts = []
    for length in lengths:
        texts.append(data[start : start + length].decode("utf-8", "replace"))
        start += length
    language, source, owner, url, title, changes = texts
    return Member(
        id=key.hex(),
        url=url,
        title=title,
        source=source,
        owner=owner,
        status=STATUSES[status],
        kind=KINDS[kind - 1] if kind else None,
        changes=tuple(changes.split("\n")) if changes else (),
        language=language,
        number=int.from_bytes(data[:4], "big"),
    )


def read_members(rows: Iterable[tuple[bytes, bytes]]) -> tuple[Member, ...]:
    """In the order they joined. One that cannot be read is left out: a level that is granted is to be raised."""
    members = []
    for key, packed in rows:
        try:
            members.append(unpack_member(key, packed))
        except StoreError as error:  # noqa: PERF203
            logger.warning("A member of a story is left out: %s", error)
    return tuple(sorted(members, key=lambda member: member.number))


def pack_neighbour(neighbour: Neighbour | None) -> bytes:
    """Empty for None."""
    if neighbour is None:
        return b""
    url = neighbour.url.encode("utf-8", "replace")[:MAX_URL_BYTES]
    title = cut_to_bytes(neighbour.title, MAX_TITLE_BYTES)
    return _NEIGHBOUR.pack(bytes.fromhex(neighbour.story), len(url), len(title)) + url + title


def unpack_neighbours(packed: bytes) -> tuple[Neighbour, ...]:
    """Raises StoreError on bytes that are not whole neighbours."""
    found, at = [], 0
    while at < len(packed):
        if len(packed) < at + _NEIGHBOUR.size:
            raise StoreError(f"neighbours of {len(packed)} bytes end in the middle of one")
        key, url_bytes, title_bytes = _NEIGHBOUR.unpack_from(packed, at)
        middle = at + _NEIGHBOUR.size + url_bytes
        url, title = packed[at + _NEIGHBOUR.size : middle], packed[middle : middle + title_bytes]
        at = middle + title_bytes
        if at > len(packed):
            raise StoreError(f"neighbours of {len(packed)} bytes say they have {at}")
        found.append(Neighbour(key.hex(), url.decode("utf-8", "replace"), title.decode("utf-8", "replace")))
    return tuple(found)


def remaining_neighbours(packed: bytes, selection: Selection, gone: Container[bytes]) -> bytes:
    """Without those of the selection, and of stories whose first document is gone; of damaged ones nothing."""
    try:
        neighbours = unpack_neighbours(packed)
    except StoreError:
        return b""
    kept = (
        each for each in neighbours if bytes.fromhex(each.story) not in gone and not selection.takes_neighbour(each)
    )
    return b"".join(map(pack_neighbour, kept))


def _languages(packed: str) -> list[tuple[str, int]]:
    return [(language, int(count)) for language, count in _LANGUAGE.findall(packed)]


def _entries(packed: bytes, size: int = _ENTRY) -> list[bytes]:
    return [packed[at : at + size] for at in range(0, len(packed), size)]
