"""Exchange through the store what processes learn from documents: feature frequencies and boilerplate."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from typing import Protocol

from scrapy_neardup.document import EVERYWHERE, Document, Learned
from scrapy_neardup.sketch.fingerprint import Sketcher, source_hash

logger = logging.getLogger(__name__)

_SHARED_TOGETHER = 64  # documents whose features or lines are counted here before the store gets them


class KnowledgeStore(Protocol):
    """The part of a store that keeps what processes learned; see ``index/base.py``."""

    async def add_frequencies(self, counted: bytes) -> bytes: ...

    async def share_learned(self, learned: Mapping[bytes, Learned]) -> dict[bytes, Learned]: ...


class Knowledge:
    """What one sketcher learned, and its exchange with the store. Methods raise what the store raises.

    Nothing is lost if the store fails: what it did not take is shared the next time.
    """

    def __init__(self, sketcher: Sketcher, store: KnowledgeStore) -> None:
        self._frequencies = sketcher.frequencies
        self._boilerplate = sketcher.boilerplate
        self._store = store

    @property
    def frequencies_are_due(self) -> bool:
        return self._frequencies is not None and self._frequencies.pending >= _SHARED_TOGETHER

    @property
    def boilerplate_is_due(self) -> bool:
        return self._boilerplate is not None and self._boilerplate.pending >= _SHARED_TOGETHER

    def new_sources(self, documents: Iterable[Document]) -> list[bytes]:
        """Return the hashes of sources that this process has not met before."""
        if self._boilerplate is None:
            return []
        return list(self._boilerplate.unmet(source_hash(each.source) for each in documents if each.source))

    async def share_frequencies(self) -> None:
        """Add the features counted here to the store's sum, and go on with that sum."""
        if self._frequencies is None:
            return
        pending = self._frequencies.take_pending()
        try:
            self._frequencies.replace(await self._store.add_frequencies(pending))
        except ValueError as error:
            self._frequencies.give_back(pending)
            logger.warning("Document frequencies cannot be read: %s", error)
        except BaseException:
            self._frequencies.give_back(pending)
            raise

    async def share_boilerplate(self, new_sources: Iterable[bytes] = ()) -> None:
        """Add the boilerplate found here to the store, and take over what other processes found.

        With ``new_sources`` only these sources are asked about; without, what is boilerplate everywhere.
        """
        if self._boilerplate is None:
            return
        pending = self._boilerplate.take_pending()
        asked = {source: Learned() for source in new_sources or [EVERYWHERE]}
        try:
            found = await self._store.share_learned(asked | pending)
        except BaseException:
            self._boilerplate.give_back(pending)
            raise
        self._boilerplate.merge(found)
