"""Pack named fields of documents, members, counters of stories and claims into bytes."""

import struct
from collections.abc import Iterable, Mapping
from typing import cast

from scrapy_neardup.exceptions import StoreError


class PackedFields:
    """Packs named fields: a byte with the version, a header, then the byte strings. All numbers are big-endian.

    ``fields`` has the format of each field: a letter of ``struct``, or ``8s`` for 8 bytes. A format with a star, such
    as ``H*``, is of a byte string: the header holds its length, and the string itself comes after the header. A last
    format of only a star is of the bytes that are left. Without ``version`` there is no version byte.
    """

    def __init__(self, kind: str, fields: Mapping[str, str], version: int | None = None) -> None:
        self.kind = kind
        self.fields = fields
        self.prefix = b"" if version is None else bytes([version])
        formats = fields.values()
        self._header = struct.Struct(">" + "".join(each.rstrip("*") for each in formats))
        self._strings = [place for place, each in enumerate(formats) if len(each) > 1 and each.endswith("*")]
        self._has_rest = "*" in formats
        self._header_values = len(fields) - self._has_rest

    def pack(self, *values: object) -> bytes:
        header = list(values[: self._header_values])
        strings = [cast("bytes", values[place]) for place in self._strings]
        for place, string in zip(self._strings, strings, strict=True):
            header[place] = len(string)
        return b"".join((self.prefix, self._header.pack(*header), *strings, *values[self._header_values :]))  # type: ignore[arg-type]

    def unpack(self, data: bytes) -> list[object]:
        """Return the values. Raise StoreError if they are of another version, or do not end with the data."""
        end = len(self.prefix) + self._header.size
        if not data.startswith(self.prefix) or len(data) < end:
            raise StoreError(f"{len(data)} bytes are no {self.kind} of this version")
        values = list(self._header.unpack_from(data, len(self.prefix)))
        for place in self._strings:
            length = values[place]
            values[place] = data[end : end + length]
            end += length
        if self._has_rest:
            return [*values, data[end:]]
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
    entries = list[bytes]()
    at = 0
    while at + 4 <= len(packed) and (end := at + 4 + int.from_bytes(packed[at : at + 4], "big")) <= len(packed):
        entries.append(packed[at + 4 : end])
        at = end
    return tuple(entries)


def cut_to_bytes(text: str, limit: int) -> bytes:
    """Return the UTF-8 of the beginning of a text: at most ``limit`` bytes, no character cut in two."""
    return text[:limit].encode("utf-8", "replace")[:limit].decode("utf-8", "ignore").encode()
