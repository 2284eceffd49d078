"""Errors of this package's own: each kind is logged once with its trace, all are counted."""

from __future__ import annotations

import logging
import traceback
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scrapy.statscollectors import StatsCollector

logger = logging.getLogger(__name__)

_OURS = str(Path(__file__).parents[1])
_LONGEST = 200  # characters of what failed, such as a url


class Faults:
    """What went wrong in one crawl. No item is lost for it."""

    def __init__(self) -> None:
        self._told: set[tuple[type, str, int]] = set()

    def note(self, error: Exception, what: str, stats: StatsCollector | None) -> None:
        """Count an error that ``what``, such as the url of an item, ran into; log the first one of its kind."""
        if stats is not None:
            stats.inc_value("neardup/errors")
        kind = (type(error), *_place(error))
        if kind in self._told:
            return
        self._told.add(kind)
        logger.error(
            "%s: an error of scrapy-neardup; the item is kept. Others of its kind are counted in neardup/errors only",
            f"{what:.{_LONGEST}}",
            exc_info=error,
        )


def _place(error: Exception) -> tuple[str, int]:
    """File and line of this package at which an error came up."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if frame.filename.startswith(_OURS)] or frames
    return (ours[-1].filename, ours[-1].lineno or 0) if ours else ("", 0)
