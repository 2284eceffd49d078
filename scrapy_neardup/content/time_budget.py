"""Bound the time that the pages of one source may take from those of other sources."""

from __future__ import annotations

import threading
from collections import OrderedDict, deque
from math import inf

from scrapy_neardup.exceptions import ExtractionError

_EXPECTED = 5e-8  # seconds for each byte, until pages are known: as much as trafilatura takes on a fast machine
_TIMES = 10  # a page may take this many times what other pages take, without counting for its source
_STRANGERS_TIMES = 5  # the same for a source that is not known yet, if others like it have used up their time
_FEWEST = 11  # pages that show what is usual
_MOST_KNOWN = 1 << 14  # sources
_PAGE = 30_000  # bytes: a page takes the time of so many, however small it is


class TimeBudget:
    """Says how long a page may take, by the time that recent pages took for each byte, in the median.

    What a page takes beyond ten times that counts for its source. When the pages of a source have taken ``seconds``
    too long, its next pages are refused, until they would have taken that time. So a source with slow pages is tried
    again now and then, and an honest source with one slow page loses the verdicts of a few others.

    Sources that have not had a page in time share half of such an allowance, so that many of them cost less than one.
    When it is used up, each of their pages may take a twentieth of ``seconds``, or five times what other pages take if
    that is more. Their pages that come in time earn the allowance back.

    While all pages are of one source there is no limit, because there are no others to protect. Call ``expect`` with
    the source of each page as soon as it waits.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._rates = deque([_EXPECTED] * _FEWEST, maxlen=101)  # seconds for each byte
        self._debts: dict[str, float] = {}  # seconds, of sources that have any
        self._refused: set[str] = set()  # sources
        self._in_time: OrderedDict[str, None] = OrderedDict()  # sources that had a page in time
        self._strangers_debt = 0.0  # seconds, of all other sources
        self._first_source: str | None = None
        self._has_several = False  # sources
        self._lock = threading.Lock()

    def expect(self, source: str) -> None:
        """Note the source of a page that waits for its turn."""
        if self._first_source is None:
            self._first_source = source
        self._has_several = self._has_several or source != self._first_source

    def limit(self, source: str, size: int) -> float:
        """Return how many seconds a page may take. Raise ExtractionError if the time of its source is used up."""
        with self._lock:
            if not self._has_several:
                return inf
            usual = self._usual(size)
            debt = self._debts.get(source, 0.0)
            if source not in self._refused:
                if source not in self._in_time:
                    allowed = max(0.0, min(self._seconds - debt, self._seconds / 2 - self._strangers_debt))
                    return allowed + max(_STRANGERS_TIMES * usual, self._seconds / 20)
                return max(_TIMES * usual, _TIMES * usual + self._seconds - debt)
            self._owe(source, debt - usual)
        raise ExtractionError(
            f"pages of {source} took much longer than pages of other sources, so some of them are left out: they may"
            f" take {self._seconds:g} s longer, a tenth of NEARDUP_EXTRACT_TIMEOUT"
        )

    def add(self, source: str, size: int, limit: float, seconds: float) -> None:
        """Count the time that a page took, whose limit was ``limit``."""
        with self._lock:
            usual = self._usual(size)
            beyond = seconds - _TIMES * usual
            is_late = seconds >= limit
            self._rates.append(seconds / (size + _PAGE))
            self._owe(source, self._debts.get(source, 0.0) + beyond)
            if source not in self._in_time:
                self._strangers_debt = max(0.0, self._strangers_debt + max(beyond, 0.0 if is_late else -usual))
            if is_late:
                self._refused.add(source)
                return
            self._in_time[source] = None
            self._in_time.move_to_end(source)
            if len(self._in_time) > _MOST_KNOWN:
                self._in_time.popitem(last=False)

    def _usual(self, size: int) -> float:
        return sorted(self._rates)[len(self._rates) // 2] * (size + _PAGE)

    def _owe(self, source: str, debt: float) -> None:
        if debt > 0:
            self._debts[source] = debt
        else:
            self._debts.pop(source, None)
            self._refused.discard(source)
