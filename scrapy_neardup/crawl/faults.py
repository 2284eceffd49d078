"""Log the errors of this package's own code: the first of each kind with its trace. Count all of them."""

from __future__ import annotations

import logging
import traceback
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scrapy.statscollectors import StatsCollector

logger = logging.getLogger(__name__)

_OURS = str(Path(__file__).parents[1])
_LONGEST_SUBJECT = 200  # characters


class FaultLog:
    """Logs the errors of this package's own code in one crawl. No item is lost because of such an error."""

    def __init__(self) -> None:
        self._logged: set[tuple[type, str, int]] = set()

    def log(self, error: Exception, subject: str, stats: StatsCollector | None) -> None:
        """Count an error, and log the first of its kind. ``subject`` is what failed, such as the url of an item."""
        if stats is not None:
            stats.inc_value("neardup/errors")
        kind = (type(error), *_place(error))
        if kind in self._logged:
            return
        self._logged.add(kind)
        logger.error(
            "%s: an error of scrapy-neardup; the item is kept. More of this kind are only counted, in neardup/errors",
            f"{subject:.{_LONGEST_SUBJECT}}",
            exc_info=error,
        )


def _place(error: Exception) -> tuple[str, int]:
    """Return file and line of this package at which an error was raised."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if frame.filename.startswith(_OURS)] or frames
    return (ours[-1].filename, ours[-1].lineno or 0) if ours else ("", 0)
