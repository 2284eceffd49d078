"""Pack and read the ledger of a story, see ``rules/ledger.py``, and what it has told, see ``rules/news.py``."""

import struct
from collections.abc import Iterable, Sequence

from scrapy_neardup.exceptions import StoreError
from scrapy_neardup.records.packing import split
from scrapy_neardup.story import QUALIFIERS, Ledger, PrintedFigure

VERSION = 1
_HEAD = struct.Struct(">BIH")  # version, how many states there have been, how many figures are printed
_PRINTED = struct.Struct(">BB?dd4s8sI")
_NO_BOUND = float("inf")


def pack_ledger(ledger: Ledger) -> bytes:
    """Pack a ledger: 35 bytes a figure, and nothing if it is empty."""
    if not ledger.printed:
        return b""
    head = _HEAD.pack(VERSION, ledger.changed, len(ledger.printed))
    return head + b"".join(map(_pack, (*ledger.printed, *ledger.states)))


def _pack(printed: PrintedFigure) -> bytes:
    kind, low, high, qualifier, *rest = printed
    return _PRINTED.pack(
        kind, QUALIFIERS.index(qualifier), rest[0], low, _NO_BOUND if high is None else high, *rest[1:]
    )


def read_ledger(packed: bytes | None) -> Ledger:
    """Return what ``pack_ledger`` packed. Raise StoreError for anything else."""
    if not packed:
        return Ledger()
    try:
        version, changed, count = _HEAD.unpack_from(packed)
        figures = [_read(each) for each in split(packed[_HEAD.size :], _PRINTED.size)]
    except (struct.error, IndexError) as error:
        raise StoreError(f"{len(packed)} bytes are no ledger of this version: {error}") from error
    if version != VERSION or not 0 < count <= len(figures):
        raise StoreError(f"{len(packed)} bytes are no ledger of this version")
    return Ledger(figures[:count], figures[count:], changed)


def _read(packed: bytes) -> PrintedFigure:
    kind, qualifier, is_correction, low, high, *rest = _PRINTED.unpack(packed)
    bound = None if high == _NO_BOUND else high
    return PrintedFigure(kind, low, bound, QUALIFIERS[qualifier], is_correction, *rest)


def without_documents(ledger: Ledger, gone: Iterable[bytes]) -> Ledger:
    """Return a ledger without what these documents print. A state that one of them was the first to print goes too."""
    keys = frozenset(gone)
    printed = [each for each in ledger.printed if each.document not in keys]
    states = [each for each in ledger.states if each.document not in keys]
    return Ledger(printed, states, ledger.changed)


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
