"""The wipe-out guard: a source of which nearly everything is a duplicate says more of its template than of its news."""

from __future__ import annotations

import logging
from collections import OrderedDict, deque

logger = logging.getLogger(__name__)

LAST = 50
SHARE = 0.9
_MOST_SOURCES = 10_000


class WipeoutGuard:
    """Watches each source's last 50 documents; over 90 % duplicates of other urls, and none of them is dropped."""

    def __init__(self) -> None:
        self._recent: OrderedDict[str, deque[bool]] = OrderedDict()
        self._warned: set[str] = set()

    def seen(self, source: str, copies_other_url: bool) -> bool:
        """Note one document; returns whether its source may lose duplicates now."""
        if not source:
            return True
        recent = self._recent.setdefault(source, deque(maxlen=LAST))
        self._recent.move_to_end(source)
        while len(self._recent) > _MOST_SOURCES:
            self._recent.popitem(last=False)
        recent.append(copies_other_url)
        if len(recent) < LAST or sum(recent) <= SHARE * LAST:
            return True
        if source not in self._warned:
            self._warned.add(source)
            logger.warning(
                "Of the last %d documents of %s, %d are duplicates of other urls; they are tagged, not dropped, while "
                "that is so. If its pages share a template, set NEARDUP_TEXT_FIELD or NEARDUP_EXTRACTOR.",
                LAST,
                source,
                sum(recent),
            )
        return False
