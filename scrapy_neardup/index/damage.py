"""Warn once about each kind of damaged data in a store."""

from __future__ import annotations

import logging

logger = logging.getLogger(__name__)


class DamageLog:
    """Warns about damaged data of one store."""

    def __init__(self, location: str) -> None:
        self._location = location  # without a password
        self._warned: set[str] = set()

    def warn_of_record(self) -> None:
        self.warn_once("a record", "its document is not compared")

    def warn_of_story(self) -> None:
        self.warn_once("a story", "its event is not reported")

    def warn_once(self, kind: str, effect: str) -> None:
        """Warn that data of this kind is damaged, and name the effect. Warn only once for each kind."""
        if kind not in self._warned:
            self._warned.add(kind)
            logger.warning(
                "%s: %s is damaged, or not of this version: %s. Further cases are not logged.",
                *(self._location, kind, effect),
            )
