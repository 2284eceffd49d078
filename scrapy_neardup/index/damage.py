"""What of a store cannot be read is said once a kind."""

from __future__ import annotations

import logging

logger = logging.getLogger(__name__)


class Damage:
    """Notes what of one store is damaged."""

    def __init__(self, location: str) -> None:
        self._location = location  # without a password
        self._noted: set[str] = set()

    def note(self, what: str, effect: str) -> None:
        """Warn of damage and say what it costs; once for all damage of this kind."""
        if what not in self._noted:
            self._noted.add(what)
            logger.warning(
                "%s: %s is damaged, or not of this version: %s. More of this kind is passed over in silence.",
                *(self._location, what, effect),
            )
