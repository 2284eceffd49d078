"""Stories as they were read from the store, and changed since, until they are written."""

import struct
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import cast

from scrapy_neardup.exceptions import StoreError
from scrapy_neardup.records.documents import KEY_BYTES
from scrapy_neardup.records.stories import StoryCounters, read_counters
from scrapy_neardup.story import QUALIFIERS, Ledger, PrintedFigure, Story

LEDGER_VERSION = 1
_HEAD = struct.Struct(">BIH")  # version, how many states there have been, how many figures are printed
# Kind, qualifier, whether it is a correction, the two numbers; then owner, document and time.
_PRINTED = struct.Struct(">BB?dd4s8sI")
_NO_BOUND = float("inf")

# The fields of a story in the store, besides its members.
FIELDS = "counts", "version", "ledger", "told"


@dataclass(slots=True)
class StoredStory:
    key: bytes
    version: bytes  # empty if there is no such story
    counters: StoryCounters
    was_open: bool
    members: dict[bytes, bytes]  # packed, by document key: those that were asked for
    ledger: Ledger
    told: list[int]  # see ``evidence/news.py``; empty if nobody knows what the story has told
    asked: set[bytes] = field(default_factory=set)

    @property
    def snapshot(self) -> Story:
        return self.counters.story(self.key, replace(self.ledger))


def _stored(key: bytes, values: Sequence[bytes | None], members: dict[bytes, bytes]) -> StoredStory:
    """Return a story from the values of its fields. Raise StoreError if they are damaged."""
    counters = read_counters(key, values[0])
    return StoredStory(
        key, values[1] or b"", counters, counters.is_open, members, read_ledger(values[2]), read_told(values[3])
    )


def asked_story(key: bytes, members: Collection[bytes], answer: object) -> StoredStory | Exception:
    """Return a story with those of these members that it has. Return the error if it cannot be used."""
    if isinstance(answer, Exception):
        return answer
    values = cast("list[bytes | None]", answer)
    pairs = zip(members, values[len(FIELDS) :], strict=True)
    try:
        story = _stored(key, values[: len(FIELDS)], {each: packed for each, packed in pairs if packed})
    except StoreError as error:
        return error
    story.asked.update(members)
    return story


def whole_story(key: bytes, answer: object) -> StoredStory:
    """Return a story with all its members, from all its fields. Raise StoreError if they are damaged."""
    fields = cast("dict[bytes, bytes]", answer)
    return _stored(key, [fields.get(name.encode()) for name in FIELDS], members_of(fields))


def members_of(fields: Mapping[bytes, bytes]) -> dict[bytes, bytes]:
    """Return the members among the fields of a story, by document key: only they have names of that length."""
    return {name: value for name, value in fields.items() if len(name) == KEY_BYTES}


def pack_ledger(ledger: Ledger) -> bytes:
    """Pack a ledger: 35 bytes a figure, and nothing if it is empty."""
    if not ledger.printed:
        return b""
    head = _HEAD.pack(LEDGER_VERSION, ledger.changed, len(ledger.printed))
    return head + b"".join(
        _PRINTED.pack(
            kind, QUALIFIERS.index(qualifier), is_correction, low, _NO_BOUND if high is None else high, *source
        )
        for kind, low, high, qualifier, is_correction, *source in (*ledger.printed, *ledger.states)
    )


def read_ledger(packed: bytes | None) -> Ledger:
    """Return what ``pack_ledger`` packed. Raise StoreError for anything else."""
    if not packed:
        return Ledger()
    try:
        version, changed, count = _HEAD.unpack_from(packed)
        figures = [
            PrintedFigure(kind, low, None if high == _NO_BOUND else high, QUALIFIERS[qualifier], is_correction, *source)
            for kind, qualifier, is_correction, low, high, *source in _PRINTED.iter_unpack(packed[_HEAD.size :])
        ]
    except (struct.error, IndexError) as error:
        raise StoreError(f"{len(packed)} bytes are no ledger of this version: {error}") from error
    if version != LEDGER_VERSION or not 0 < count <= len(figures):
        raise StoreError(f"{len(packed)} bytes are no ledger of this version")
    return Ledger(figures[:count], figures[count:], changed)


def without_documents(ledger: Ledger, gone: Iterable[bytes]) -> Ledger:
    """Return a ledger without what these documents print. A state that one of them was the first to print goes too."""
    keys = frozenset(gone)
    return Ledger(
        [each for each in ledger.printed if each.document not in keys],
        [each for each in ledger.states if each.document not in keys],
        ledger.changed,
    )


def pack_told(told: Sequence[int]) -> bytes:
    """Pack the hashes of what a story has told: 2 bytes each, the newest last."""
    return struct.pack(f">{len(told)}H", *told)


def read_told(packed: bytes | None) -> list[int]:
    """Return what ``pack_told`` packed. Raise StoreError for anything else."""
    if not packed:
        return []
    if len(packed) % 2:
        raise StoreError(f"{len(packed)} bytes are no list of hashes")
    return list(struct.unpack(f">{len(packed) // 2}H", packed))
