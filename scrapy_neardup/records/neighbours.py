"""Pack the data that a store keeps of a neighbour. A neighbour is another story that a document is like."""

from __future__ import annotations

from scrapy_neardup.document import Neighbour
from scrapy_neardup.records.documents import MAX_TITLE_BYTES, MAX_URL_BYTES
from scrapy_neardup.records.packing import PackedFields, cut_to_bytes

NEIGHBOUR = PackedFields("neighbour", {"story": "8s", "url": "H*", "title": "B*"})


def pack_neighbour(neighbour: Neighbour | None) -> bytes:
    """Return the packed neighbour, or nothing for None."""
    if neighbour is None:
        return b""
    url = neighbour.url.encode("utf-8", "replace")[:MAX_URL_BYTES]
    return NEIGHBOUR.pack(bytes.fromhex(neighbour.story), url, cut_to_bytes(neighbour.title, MAX_TITLE_BYTES))


def unpack_neighbours(packed: bytes) -> tuple[Neighbour, ...]:
    """Read neighbours that were packed one after the other. Raise StoreError if one of them is not whole."""
    found, at = [], 0
    while at < len(packed):
        values, at = NEIGHBOUR.unpack(packed, at)
        story, url, title = (value for value in values if isinstance(value, bytes))
        found.append(Neighbour(story.hex(), url.decode("utf-8", "replace"), title.decode("utf-8", "replace")))
    return tuple(found)
