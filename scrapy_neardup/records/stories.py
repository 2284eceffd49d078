"""The counters that a store keeps of a story. ``rules/membership.py`` has the rules by which they change.

Damaged data of a store cost one warning for each kind, and are left out.
"""

from __future__ import annotations

import logging
import re
import struct
from collections.abc import Iterable
from dataclasses import astuple, dataclass

from scrapy_neardup.document import EventSources, Extent, Level, Story
from scrapy_neardup.exceptions import StoreError
from scrapy_neardup.records.documents import KEY_BYTES, seconds_of
from scrapy_neardup.records.members import unpack_neighbours
from scrapy_neardup.records.packing import split

logger = logging.getLogger(__name__)

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


_TYPES = [type(default) for default in astuple(StoryCounters())]
_NEIGHBOURS = COUNTERS.index("neighbours")
_EFFECTS = {
    "a record": "its document is not compared",
    "a story": "its event is not reported",
    "the list of neighbours of a story": "they are left out",
}


class DamageLog:
    """Warns about damaged data of one store."""

    def __init__(self, location: str) -> None:
        self._location = location  # without a password
        self._warned: set[str] = set()

    def warn_once(self, kind: str) -> None:
        """Warn that data of this kind is damaged, and name the effect. Warn only once for each kind."""
        if kind not in self._warned:
            self._warned.add(kind)
            logger.warning(
                "%s: %s is damaged, or not of this version: %s. Further cases are not logged.",
                *(self._location, kind, _EFFECTS.get(kind, "it is left out")),
            )

    def readable_story(self, key: object, values: Iterable[object]) -> Story | None:
        """Return the story with these counters, None if they are damaged."""
        try:
            if isinstance(key, bytes) and len(key) == KEY_BYTES:
                return self.counters(key, values).story(key)
        except StoreError:
            pass
        self.warn_once("a story")
        return None

    def counters(self, key: bytes, values: Iterable[object]) -> StoryCounters:
        """Return the counters of a story. Raise StoreError if they are damaged. Leave out damaged neighbours."""
        whole = list(values)
        whole[_NEIGHBOURS] = self._readable_neighbours(whole[_NEIGHBOURS])
        if [*map(type, whole)] != _TYPES:
            raise StoreError(f"story {key.hex()}: its counters are not those of this version")
        counters = StoryCounters(*whole)  # type: ignore[arg-type]  # checked above
        # Of two stories the one with the lower key stays. So nobody who follows a story comes back to it.
        if counters.moved and (len(counters.moved) != KEY_BYTES or counters.moved >= key):
            raise StoreError(f"story {key.hex()}: it is a part of {counters.moved.hex()}, which is no earlier story")
        return counters

    def _readable_neighbours(self, packed: object) -> bytes:
        """Return packed neighbours as they are, or nothing if they are damaged."""
        try:
            if isinstance(packed, bytes):
                unpack_neighbours(packed)
                return packed
        except StoreError:
            pass
        self.warn_once("the list of neighbours of a story")
        return b""
