"""What all processes have learned of words, sources and languages, and how a sketcher exchanges it with them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import cast

from scrapy_neardup.document import HOUR, Document
from scrapy_neardup.evidence.vectors import BLOCK
from scrapy_neardup.index.events import ENDED_SECONDS
from scrapy_neardup.index.layout import Part, swaps
from scrapy_neardup.index.store import Breaker, Call, Client, answers, swap
from scrapy_neardup.records.learned import (
    MOST_LINES,
    MOST_SOURCE_DOCUMENTS,
    NOTHING,
    LearnedEntries,
    add_counts,
)
from scrapy_neardup.records.packing import join_entries, split_entries
from scrapy_neardup.sketch.fingerprint import Sketcher
from scrapy_neardup.sketch.origin import packed_language, source_hash

_SHARED_TOGETHER = 64  # documents whose features or lines are counted here before the store gets them


class Learned(Part):
    @swaps
    async def add_frequencies(self, client: Client, kind: str, counted: bytes) -> bytes:
        """Add document frequencies of one kind to those of all processes. Return the packed sum.

        See ``records/learned.py``. The sum expires a window after the last addition. Raise StoreUnavailable if
        the store does not answer in time; the frequencies may then be added or not.
        """
        key = self.layout.frequencies(kind)
        (answer,) = await answers(client, [Call("HMGET", key, ("version", "total"))])
        version, before = (each or b"" for each in cast("list[bytes | None]", answer))
        total = add_counts(before, counted)
        if counted != NOTHING:  # who adds nothing only reads: an idle namespace stays empty, and expires
            await swap(
                client,
                {key: version},
                [Call("HSET", key, ("total", total)), Call("EXPIRE", key, (self.policy.window + HOUR,))],
            )
        return total

    @swaps
    async def exchange_boilerplate(
        self, client: Client, learned: Mapping[bytes, LearnedEntries]
    ) -> dict[bytes, LearnedEntries]:
        """Add the boilerplate that was learned of some sources.

        Return all entries that the store has for each of these sources. Sources are given by their hash. A source may
        have nothing to add. For each source the store keeps the newest entries, as many as ``LearnedEntries`` says,
        for ``ENDED_SECONDS`` after the last addition. Raise StoreUnavailable if the store does not answer in time;
        the entries may then be added or not.
        """
        known = dict[bytes, LearnedEntries]()
        writes = list[Call]()
        versions = dict[str, bytes]()
        calls = [Call("HMGET", self.layout.learned(source), ("version", "lines", "printed")) for source in learned]
        for (source, new), answer in zip(learned.items(), await answers(client, calls), strict=True):
            version, lines, documents = (each or b"" for each in cast("list[bytes | None]", answer))
            known[source] = kept = LearnedEntries(
                (split_entries(lines) + new.lines)[-MOST_LINES:],
                (split_entries(documents) + new.documents)[-MOST_SOURCE_DOCUMENTS:],
            )
            if any(new):
                key = self.layout.learned(source)
                versions[key] = version
                writes += [
                    Call("HSET", key, ("lines", join_entries(kept.lines), "printed", join_entries(kept.documents))),
                    Call("EXPIRE", key, (ENDED_SECONDS,)),
                ]
        if writes:
            await swap(client, versions, writes)
        return known


class Knowledge:
    """Exchanges the knowledge of one sketcher with the store, if the store answers. Never raises a StoreError.

    A thread may sketch a long text meanwhile, so what is learned is used under the lock of the sketcher.

    If the store fails, what it did not take is shared the next time. Only mean vectors are not: they are estimates.
    """

    def __init__(self, sketcher: Sketcher, learned: Learned, breaker: Breaker) -> None:
        self._sketcher = sketcher
        self._learned = learned
        self._breaker = breaker

    async def exchange(self, *, everything: bool = False, least: int = BLOCK) -> None:
        """Exchange what enough documents have taught, or everything. Add only means of at least so many documents."""
        for kind, frequencies in self._sketcher.all_frequencies.items():
            # The more is known, the less often it is asked.
            is_due = frequencies.pending >= max(_SHARED_TOGETHER, frequencies.documents >> 5)
            if (everything or is_due) and not self._breaker.is_open:
                with self._sketcher.lock:
                    pending = frequencies.take_pending()
                total = None
                try:
                    total = await self._breaker.ask(
                        self._learned.add_frequencies(kind, pending), "Document frequencies"
                    )
                finally:
                    with self._sketcher.lock:
                        if total is None:
                            frequencies.give_back(pending)
                        else:
                            frequencies.replace(total)
        learned = self._sketcher.boilerplate
        if learned and (everything or learned.pending >= _SHARED_TOGETHER or self._sketcher.vector_means.is_due):
            await self._exchange_boilerplate(least=least)

    async def meet(self, documents: Sequence[Document]) -> Sequence[Document]:
        """Take over what is known of sources and languages that this process has not met before.

        Return the documents with what is known of the clocks of their sources.
        """
        boilerplate = self._sketcher.boilerplate
        if boilerplate is None:
            return documents
        sources = boilerplate.unmet(source_hash(each.source) for each in documents if each.source)
        means = self._sketcher.vector_means.unmet(packed_language(each.language) for each in documents if each.vector)
        if sources or means:
            await self._exchange_boilerplate([*sources, *means])
        with self._sketcher.lock:
            wrong = {
                each.source
                for each in documents
                if each.source and boilerplate.is_clock_wrong(source_hash(each.source), is_seen=each.is_clock_wrong)
            }
        return [replace(each, is_clock_wrong=True) if each.source in wrong else each for each in documents]

    def discard_learned(self) -> None:
        """Forget the counts and lines that the store does not know yet."""
        with self._sketcher.lock:
            for frequencies in self._sketcher.all_frequencies.values():
                frequencies.take_pending()
            if self._sketcher.boilerplate is not None:
                self._sketcher.boilerplate.take_pending()
            self._sketcher.vector_means.take_pending(1)

    async def _exchange_boilerplate(self, new_sources: Iterable[bytes] = (), *, least: int = BLOCK) -> None:
        """Add the boilerplate and the mean vectors found here to the store, and take over what other processes found.

        Also take over the boilerplate and the means under the keys ``new_sources``. Only means of at least so many
        documents are added.
        """
        boilerplate = self._sketcher.boilerplate
        if boilerplate is None or self._breaker.is_open:
            return
        with self._sketcher.lock:
            pending = boilerplate.take_pending()
            means = self._sketcher.vector_means.take_pending(least)
        exchanged = {source: LearnedEntries() for source in new_sources} | pending | means
        found = None
        try:
            found = await self._breaker.ask(self._learned.exchange_boilerplate(exchanged), "Learned boilerplate")
        finally:
            with self._sketcher.lock:
                if found is None:
                    boilerplate.give_back(pending)
                else:
                    boilerplate.merge(self._sketcher.vector_means.merge(found))
