"""The counters that a store keeps of a story. ``rules/membership.py`` has the rules by which they change."""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass

from scrapy_neardup.document import EventSources, Extent, Level, Story
from scrapy_neardup.exceptions import StoreError
from scrapy_neardup.records.documents import KEY_BYTES, seconds_of
from scrapy_neardup.records.members import unpack_neighbours
from scrapy_neardup.records.packing import split

WATCH, BREAKING, ENDED = 1, 2, 4
MUTED = 8
"""A bit beside those of the levels: somebody has muted the story."""

LEVEL_BITS: dict[Level, int] = {"watch": WATCH, "breaking": BREAKING, "ended": ENDED}

ITEM_BYTES = 12
"""An entry of ``items_seen``: the second at which an item counts, and its document key."""

SOURCE_BYTES = 8
"""An entry of ``sources``: 4 bytes of the owner, and the second at which its first item counts."""

VALUE_BYTES = 4
"""A hash of a figure and its value."""

CHANGE_BYTES = 9
"""An entry of ``changes``: the key of the document that brought it, and which of that document's changes it is."""

PRINTED_BYTES = VALUE_BYTES + 4 + CHANGE_BYTES
"""An entry of ``printed``: a value, an owner that printed it, and the change by which it came."""

COUNTERS = (
    *("joined", "items", "copies", "levels", "last", "ids", "sources"),
    *("said", "changes", "told", "languages", "neighbours", "united", "moved"),
)
"""The names under which stores keep the fields of ``StoryCounters``, in their order."""

_ITEM, _SOURCE = struct.Struct(">I8x"), struct.Struct(">4xI")
_EXTENT = re.compile("([0-9]+) ([0-9]+) ([0-9]+)")
_LANGUAGE = re.compile("([^ ]+) ([0-9]+)")


@dataclass(slots=True)
class StoryCounters:
    """The counters of a story, as they are stored."""

    joined: int = 0
    items: int = 0
    copies: int = 0
    levels: int = 0  # bits of those raised
    last: int = 0  # the latest second of any member
    items_seen: bytes = b""  # the newest items
    sources: bytes = b""
    printed: bytes = b""  # values of figures that changed, those before the change too
    changes: bytes = b""  # see document.Story
    signalled: str = ""  # the extent of the story at its last signal, see ``pack_extent``
    languages: str = ""  # each with its items: "en 5 de 1"
    neighbours: bytes = b""  # packed one behind the other
    united: bytes = b""  # keys of the stories that became a part of this one
    moved: bytes = b""  # key of the story that this one became a part of, empty if it did not

    @property
    def is_open(self) -> bool:
        return 0 < self.levels & ~MUTED < ENDED and not self.moved

    @property
    def newest_source(self) -> int:
        """The second of the newest source, or of the newest item if no member has a source."""
        return max(_seconds(_SOURCE, self.sources) or _seconds(_ITEM, self.items_seen), default=0)

    @property
    def items_by_language(self) -> dict[str, int]:
        return {language: int(count) for language, count in _LANGUAGE.findall(self.languages)}

    def story(self, key: bytes) -> Story:
        """Return the story. Raise StoreError if the counters are damaged."""
        try:
            entries = (self.items_seen, ITEM_BYTES), (self.sources, SOURCE_BYTES), (self.printed, PRINTED_BYTES)
            if any(
                len(packed) % size
                for packed, size in (*entries, (self.changes, CHANGE_BYTES), (self.united, KEY_BYTES))
            ):
                raise ValueError("entries are not whole")
            if not 0 <= self.levels < 2 * MUTED:
                raise ValueError(f"levels {self.levels}")
            return Story(
                id=key.hex(),
                joined=self.joined,
                items=self.items,
                copies=self.copies,
                times=tuple(sorted(_seconds(_ITEM, self.items_seen))),
                sources=tuple(sorted(_seconds(_SOURCE, self.sources))),
                levels=tuple(level for level, bit in LEVEL_BITS.items() if self.levels & bit),
                changes=tuple((each[:8].hex(), each[8]) for each in split(self.changes, CHANGE_BYTES)),
                languages=tuple(sorted(self.items_by_language.items(), key=lambda row: (-row[1], row[0]))),
                signalled=read_extent(self.signalled),
                neighbours=unpack_neighbours(self.neighbours),
                is_muted=bool(self.levels & MUTED),
                united=tuple(key.hex() for key in split(self.united, KEY_BYTES)),
            )
        except (TypeError, ValueError) as error:
            raise StoreError(f"story {key.hex()}: its counters are not those of this version ({error})") from error


def _seconds(entry: struct.Struct, packed: bytes) -> list[int]:
    """Return the seconds of packed entries. An entry that is not whole has none."""
    return [second for (second,) in entry.iter_unpack(packed[: len(packed) - len(packed) % entry.size])]


def read_sources(packed: bytes) -> EventSources:
    """Read entries of ``StoryCounters.sources``, in the order of their times."""
    return tuple(sorted((seconds_of(entry[4:]), entry[:4]) for entry in split(packed, SOURCE_BYTES)))


def read_extent(packed: str) -> Extent:
    """Read items, sources and changes: "12 6 1". Anything else is an extent of nothing."""
    found = _EXTENT.fullmatch(packed)
    return Extent(*map(int, found.groups())) if found else Extent()


def pack_extent(extent: Extent) -> str:
    return " ".join(map(str, extent))
