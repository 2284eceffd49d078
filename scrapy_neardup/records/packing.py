"""The one way in which documents, members and neighbours are packed into bytes."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping

from scrapy_neardup.exceptions import StoreError


class PackedFields:
    """Packs named fields: a byte with the version, a header, then the byte strings. All numbers are big-endian.

    ``fields`` has the format of each field: a letter of ``struct``, or ``8s`` for 8 bytes. A format with a star, such
    as ``H*``, is of a byte string: the header holds its length, and the string itself comes after the header.
    Without ``version`` there is no version byte.
    """

    def __init__(self, kind: str, fields: Mapping[str, str], version: int | None = None) -> None:
        self.kind = kind
        self.fields = fields
        self.prefix = b"" if version is None else bytes([version])
        formats = fields.values()
        self._header = struct.Struct(">" + "".join(each.rstrip("*") for each in formats))
        self.header_bytes = len(self.prefix) + self._header.size
        self._strings = [place for place, each in enumerate(formats) if each.endswith("*")]

    def pack(self, *values: object) -> bytes:
        header, strings = list(values), []
        for place in self._strings:
            string = values[place]
            assert isinstance(string, bytes)
            header[place] = len(string)
            strings.append(string)
        return b"".join((self.prefix, self._header.pack(*header), *strings))

    def unpack(self, data: bytes, at: int = 0) -> tuple[list[object], int]:
        """Return the values that begin at this place, and where they end.

        Raise StoreError if they are of another version, or if the data ends before they do.
        """
        start = at + self.header_bytes
        if not data.startswith(self.prefix, at) or len(data) < start:
            raise StoreError(f"{len(data)} bytes, from byte {at} on, are no {self.kind} of this version")
        values = list(self._header.unpack_from(data, at + len(self.prefix)))
        for place in self._strings:
            length = values[place]
            values[place] = data[start : start + length]
            start += length
        if start > len(data):
            raise StoreError(f"{len(data)} bytes are no {self.kind} that ends at byte {start}")
        return values, start

    def unpack_whole(self, data: bytes, at: int = 0) -> list[object]:
        """Return the values that begin at this place. Raise StoreError if they do not end with the data."""
        values, end = self.unpack(data, at)
        if end != len(data):
            raise StoreError(f"{len(data)} bytes are no {self.kind} that ends at byte {end}")
        return values


def split(packed: bytes, size: int) -> list[bytes]:
    """Return the entries of ``size`` bytes each."""
    return [packed[at : at + size] for at in range(0, len(packed), size)]


def join_entries(entries: Iterable[bytes]) -> bytes:
    """Pack entries of any length: each comes after its length in 4 bytes."""
    return b"".join(len(entry).to_bytes(4, "big") + entry for entry in entries)


def split_entries(packed: bytes) -> tuple[bytes, ...]:
    """Return what ``join_entries`` packed. Of damaged bytes return what is whole."""
    entries, at = list[bytes](), 0
    while at + 4 <= len(packed) and (end := at + 4 + int.from_bytes(packed[at : at + 4], "big")) <= len(packed):
        entries.append(packed[at + 4 : end])
        at = end
    return tuple(entries)


def cut_to_bytes(text: str, limit: int) -> bytes:
    """Return the UTF-8 of the beginning of a text: at most ``limit`` bytes, no character cut in two."""
    return text[:limit].encode("utf-8", "replace")[:limit].decode("utf-8", "ignore").encode()
