"""Cut time into slices of records, which expire together, and generations of postings (look-up keys)."""

from __future__ import annotations

from scrapy_neardup.similarity.policy import HOUR

GENERATION = 1 << 16
"""Seconds of a generation of postings: as many as 2 bytes can number."""

_MOST_SLICES = 50  # before and after a document: a check passes all their keys to Redis
_MOST_HOURLY = 48 * HOUR  # the longest window that is kept by the hour
_MOST_GENERATIONS = 3  # within one window


def slice_seconds(window: int) -> int:
    """Return the length of a slice of records: an hour, or some hours if the window is longer than two days."""
    return HOUR if window <= _MOST_HOURLY else -(-window // (_MOST_SLICES * HOUR)) * HOUR


def generation_seconds(window: int) -> int:
    """Return the length of a generation: ``GENERATION``, doubled until three of them reach over the window."""
    seconds = GENERATION
    while window > _MOST_GENERATIONS * seconds:
        seconds *= 2
    return seconds
