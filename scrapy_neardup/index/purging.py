"""Decide which packed members of stories a purge removes, for every store."""

from __future__ import annotations

from scrapy_neardup.exceptions import StoreError
from scrapy_neardup.index.base import Selection
from scrapy_neardup.index.membership import unpack_member
from scrapy_neardup.records.documents import KEY_BYTES


def is_member_selected(selection: Selection, key: object, packed: object) -> bool:
    """Return whether a member belongs to the selection. A damaged member names nobody and does not."""
    if not isinstance(key, bytes) or not isinstance(packed, bytes) or len(key) != KEY_BYTES:
        return False
    try:
        return selection.takes_member(unpack_member(key, packed))
    except StoreError:
        return False
