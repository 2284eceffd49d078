"""Pack the changes of stories, as the log of a window has them."""

from __future__ import annotations

from typing import Literal, NamedTuple, cast

from scrapy_neardup.document import LEVELS, Level
from scrapy_neardup.exceptions import StoreError
from scrapy_neardup.records.packing import PackedFields
from scrapy_neardup.records.stories import VERSION

ChangeKind = Literal["joined", "united", "muted"] | Level

_KINDS: tuple[ChangeKind, ...] = ("joined", "united", "muted", *LEVELS)
_CHANGE = PackedFields("change", {"kind": "B", "story": "8s", "document": "8s", "second": "I"}, VERSION)


class StoryChange(NamedTuple):
    """What happened to a story: a document joined it, it became a part of another one, or it reached a level.

    ``document`` is the document that joined or tipped it, or the story that it became a part of, or zeros.
    """

    kind: ChangeKind
    story: bytes
    document: bytes = bytes(8)
    second: int = 0  # of an event, in Unix seconds

    def pack(self) -> bytes:
        return _CHANGE.pack(_KINDS.index(self.kind), *self[1:])


def read_change(packed: bytes) -> StoryChange | None:
    """Return a change, None for other bytes."""
    try:
        kind, *rest = _CHANGE.unpack_whole(packed)
        return StoryChange(_KINDS[cast("int", kind)], *rest)  # type: ignore[arg-type]  # in the order of the fields
    except (StoreError, IndexError):
        return None
