"""Keep a crawl at full speed while its store does not answer."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

logger = logging.getLogger(__name__)

_FIRST_PAUSE = 0.5  # seconds
_LONGEST_PAUSE = 15.0


class Breaker:
    """A circuit breaker. It is closed while the store answers, even if its answer is that some data are damaged.

    After a failure it opens for a pause that doubles up to 15 s. Then one check at a time may try. One warning is
    logged when the store is lost, and one when it is back.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._pause = 0.0  # 0 while closed
        self._retry_at = 0.0
        self._probing = False
        self._missed = 0

    @property
    def is_open(self) -> bool:
        return self._pause > 0

    def allows(self) -> bool:
        """Decide whether a check may go to the store now. After True, call ``failed`` or ``succeeded``."""
        if not self.is_open:
            return True
        if self._clock() < self._retry_at:
            self._missed += 1
            return False
        self._probing = True
        self._retry_at = self._clock() + _LONGEST_PAUSE  # if this check is never answered, another one may try then
        return True

    def failed(self, error: Exception, *, is_known: bool = False) -> None:
        """Note a failure. Log the first one, unless the caller tells the user of it (``is_known``)."""
        if not self.is_open:
            if not is_known:
                logger.warning("The store is lost; items pass unchecked until it is back. %s", error)
            self._pause = _FIRST_PAUSE
        elif self._probing:
            self._pause = min(2 * self._pause, _LONGEST_PAUSE)
        self._probing = False
        self._missed += 1
        self._retry_at = self._clock() + self._pause

    def succeeded(self) -> None:
        if self.is_open:
            logger.warning("The store is back; %d documents passed unchecked.", self._missed)
        self._pause = 0.0
        self._probing = False
        self._missed = 0
