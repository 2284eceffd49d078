"""What processes learn of a source, as a store keeps it."""

from __future__ import annotations

from typing import NamedTuple

MOST_SOURCE_DOCUMENTS = 24
MOST_LINES = 256


class KnownBoilerplate(NamedTuple):
    """Known boilerplate of a source, packed by ``evidence.source_boilerplate``, the newest last."""

    lines: tuple[bytes, ...] = ()  # lines that are boilerplate; at most MOST_LINES
    documents: tuple[
        bytes, ...
    ] = ()  # earlier documents, with which new ones are compared; at most MOST_SOURCE_DOCUMENTS
