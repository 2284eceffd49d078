"""Exchange what a sketcher learns with other processes, through the store."""

from __future__ import annotations

import logging
from collections.abc import Iterable

from scrapy_neardup.document import Document
from scrapy_neardup.evidence.vectors import BLOCK
from scrapy_neardup.index.index import Index
from scrapy_neardup.records.feature_counts import Frequencies
from scrapy_neardup.records.learned import KnownBoilerplate
from scrapy_neardup.sketch.fingerprint import Sketcher, packed_language, source_hash

logger = logging.getLogger(__name__)

_SHARED_TOGETHER = 64  # documents whose features or lines are counted here before the store gets them


class Knowledge:
    """Exchanges the knowledge of one sketcher with the store. Errors of the store are passed on.

    A thread may sketch a long text meanwhile, so what is learned is used under the lock of the sketcher.

    If the store fails, what it did not take is shared the next time. Only mean vectors are not: they are estimates.
    """

    def __init__(self, sketcher: Sketcher, store: Index) -> None:
        self._lock = sketcher.lock
        self._frequencies = sketcher.all_frequencies
        self._boilerplate = sketcher.boilerplate
        self._means = sketcher.vector_means
        self._store = store

    @property
    def boilerplate_is_due(self) -> bool:
        if self._boilerplate is None:
            return False
        return self._boilerplate.pending >= _SHARED_TOGETHER or self._means.is_due

    def new_sources(self, documents: Iterable[Document]) -> list[bytes]:
        """Return the hashes of sources that this process has not met before, and the keys of new languages' means."""
        if self._boilerplate is None:
            return []
        sources = self._boilerplate.unmet(source_hash(each.source) for each in documents if each.source)
        return [*sources, *self._means.unmet(packed_language(each.language) for each in documents if each.vector)]

    def discard_learned(self) -> None:
        """Forget the counts and lines that the store does not know yet."""
        with self._lock:
            for frequencies in self._frequencies.values():
                frequencies.take_pending()
            if self._boilerplate is not None:
                self._boilerplate.take_pending()
            self._means.take_pending(1)

    async def exchange_frequencies(self, *, all_of_them: bool = False) -> None:
        """Add what was counted here to the store's sums, and go on with these sums.

        Without ``all_of_them`` exchange only what is due.
        """
        for kind, frequencies in self._frequencies.items():
            # The more is known, the less often it is asked.
            if all_of_them or frequencies.pending >= max(_SHARED_TOGETHER, frequencies.documents >> 5):
                await self._exchange(kind, frequencies)

    async def _exchange(self, kind: str, frequencies: Frequencies) -> None:
        with self._lock:
            pending = frequencies.take_pending()
        try:
            total = await self._store.add_frequencies(kind, pending)
            with self._lock:
                frequencies.replace(total)
        except BaseException as error:
            with self._lock:
                frequencies.give_back(pending)
            if not isinstance(error, ValueError):
                raise
            logger.warning("Document frequencies cannot be read: %s", error)

    async def exchange_boilerplate(self, new_sources: Iterable[bytes] = (), *, is_last: bool = False) -> None:
        """Add the boilerplate and the mean vectors found here to the store, and take over what other processes found.

        Also take over the boilerplate and the means under the keys ``new_sources``. If this exchange is the last, also
        add means of few documents.
        """
        if self._boilerplate is None:
            return
        with self._lock:
            pending, means = self._boilerplate.take_pending(), self._means.take_pending(1 if is_last else BLOCK)
        exchanged = {source: KnownBoilerplate() for source in new_sources} | pending | means
        try:
            found = await self._store.exchange_boilerplate(exchanged) if exchanged else {}
        except BaseException:
            with self._lock:
                self._boilerplate.give_back(pending)
            raise
        with self._lock:
            self._boilerplate.merge(self._means.merge(found))
