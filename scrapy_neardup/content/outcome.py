"""What came of a page, in a thread or in a process: its text, or what is wrong."""

from __future__ import annotations

from typing import NamedTuple

from scrapy_neardup.document import MOST_CHARACTERS

MOST_EXTRACTED_CHARACTERS = 5_000_000
"""Of a main content, unless told otherwise."""


MOST_MEMORY = 2_000_000_000
"""Bytes that a worker process may take for its pages, unless told otherwise."""


class Undecoded(NamedTuple):
    """A page as it came, to be decoded by whoever extracts it: of millions of bytes that takes a while."""

    body: bytes
    encoding: str | None  # None if nothing says it


class Extracted(NamedTuple):
    """Main content of a page, and its sketch where a worker process made one; or sketches of several texts alone."""

    text: str
    sketches: tuple[bytes, ...] = ()

    @property
    def sketch(self) -> bytes:
        """That of a page; b"" where there is none."""
        return b"".join(self.sketches)


def checked_text(text: object, most_characters: int) -> str:
    """Return as much of an extractor's answer as is looked at.

    Raises TypeError for an answer that is no text, ValueError for more than a page can hold.
    """
    if not isinstance(text, str):
        raise TypeError(f"the extractor returned {type(text).__name__}, not str")
    if len(text) > most_characters:
        size = f"the extractor returned {len(text)} characters"
        raise ValueError(f"{size}, over NEARDUP_MAX_HTML_BYTES = {most_characters}")
    return text[:MOST_CHARACTERS]


def failure(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"


def of_memory(most: int | None) -> str:
    """Return the end of a message about a page that took too much memory, or may have."""
    return f"; a worker process may take NEARDUP_EXTRACT_MEMORY = {most} bytes" if most is not None else ""
