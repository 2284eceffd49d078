"""Exchange what a sketcher learns with other processes, through the store."""

from __future__ import annotations

import logging
from collections.abc import Iterable

from scrapy_neardup.document import Document
from scrapy_neardup.evidence.source_boilerplate import SourceBoilerplate
from scrapy_neardup.evidence.vectors import BLOCK
from scrapy_neardup.index.index import Index
from scrapy_neardup.index.store import Breaker
from scrapy_neardup.records.feature_counts import Frequencies
from scrapy_neardup.records.learned import KnownBoilerplate
from scrapy_neardup.sketch.fingerprint import Sketcher, packed_language, source_hash

logger = logging.getLogger(__name__)

_SHARED_TOGETHER = 64  # documents whose features or lines are counted here before the store gets them


class Knowledge:
    """Exchanges the knowledge of one sketcher with the store, if the store answers. Never raises a StoreError.

    A thread may sketch a long text meanwhile, so what is learned is used under the lock of the sketcher.

    If the store fails, what it did not take is shared the next time. Only mean vectors are not: they are estimates.
    """

    def __init__(self, sketcher: Sketcher, store: Index, breaker: Breaker) -> None:
        self._lock = sketcher.lock
        self._frequencies = sketcher.all_frequencies
        self._boilerplate = sketcher.boilerplate
        self._means = sketcher.vector_means
        self._store = store
        self._breaker = breaker

    async def exchange_all(self, *, is_last: bool = False) -> None:
        """Exchange what is known at the beginning, or in the end: then also means of few documents."""
        await self._exchange_frequencies(all_of_them=True)
        await self._exchange_boilerplate(is_last=is_last)

    async def exchange_due(self) -> None:
        """Exchange what enough documents have taught."""
        await self._exchange_frequencies()
        if self._boilerplate and (self._boilerplate.pending >= _SHARED_TOGETHER or self._means.is_due):
            await self._exchange_boilerplate()

    async def meet(self, documents: Iterable[Document]) -> None:
        """Take over what is known of sources and languages that this process has not met before."""
        if self._boilerplate is None:
            return
        sources = self._boilerplate.unmet(source_hash(each.source) for each in documents if each.source)
        means = self._means.unmet(packed_language(each.language) for each in documents if each.vector)
        if sources or means:
            await self._exchange_boilerplate([*sources, *means])

    def discard_learned(self) -> None:
        """Forget the counts and lines that the store does not know yet."""
        with self._lock:
            for frequencies in self._frequencies.values():
                frequencies.take_pending()
            if self._boilerplate is not None:
                self._boilerplate.take_pending()
            self._means.take_pending(1)

    async def _exchange_frequencies(self, *, all_of_them: bool = False) -> None:
        """Add what was counted here to the store's sums, and go on with these sums."""
        for kind, frequencies in self._frequencies.items():
            # The more is known, the less often it is asked.
            is_due = frequencies.pending >= max(_SHARED_TOGETHER, frequencies.documents >> 5)
            if (all_of_them or is_due) and not self._breaker.is_open:
                await self._breaker.ask(self._add_frequencies(kind, frequencies), "Document frequencies")

    async def _add_frequencies(self, kind: str, frequencies: Frequencies) -> None:
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

    async def _exchange_boilerplate(self, new_sources: Iterable[bytes] = (), *, is_last: bool = False) -> None:
        if self._boilerplate is not None and not self._breaker.is_open:
            exchanged = self._add_boilerplate(self._boilerplate, new_sources, 1 if is_last else BLOCK)
            await self._breaker.ask(exchanged, "Learned boilerplate")

    async def _add_boilerplate(self, boilerplate: SourceBoilerplate, new_sources: Iterable[bytes], least: int) -> None:
        """Add the boilerplate and the mean vectors found here to the store, and take over what other processes found.

        Also take over the boilerplate and the means under the keys ``new_sources``. Only means of at least so many
        documents are added.
        """
        with self._lock:
            pending, means = boilerplate.take_pending(), self._means.take_pending(least)
        exchanged = {source: KnownBoilerplate() for source in new_sources} | pending | means
        try:
            found = await self._store.exchange_boilerplate(exchanged) if exchanged else {}
        except BaseException:
            with self._lock:
                boilerplate.give_back(pending)
            raise
        with self._lock:
            boilerplate.merge(self._means.merge(found))
