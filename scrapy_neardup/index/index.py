"""The index: it finds the best match of a document in the window, and registers the document."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import cast

from scrapy_neardup.document import Document
from scrapy_neardup.evidence.source_boilerplate import SourceBoilerplate
from scrapy_neardup.evidence.vectors import BLOCK
from scrapy_neardup.index.changes import Changes
from scrapy_neardup.index.layout import Layout, reads, swaps
from scrapy_neardup.index.store import Argument, Breaker, Call, Client, Store, answers, swap
from scrapy_neardup.index.stories import ENDED_SECONDS
from scrapy_neardup.index.upkeep import Selection, StoreSummary, records_of, survey, to_purge
from scrapy_neardup.index.window import Window
from scrapy_neardup.records.documents import WITHDRAWN, Record, read_record
from scrapy_neardup.records.learned import (
    MOST_LINES,
    MOST_SOURCE_DOCUMENTS,
    NOTHING,
    Frequencies,
    KnownBoilerplate,
    add_counts,
)
from scrapy_neardup.records.packing import join_entries, split_entries
from scrapy_neardup.records.texts import StoredText
from scrapy_neardup.rules.decision import Judge
from scrapy_neardup.rules.policy import HOUR
from scrapy_neardup.sketch.fingerprint import Sketcher
from scrapy_neardup.sketch.origin import packed_language, source_hash

logger = logging.getLogger(__name__)

LEARNED_SECONDS = ENDED_SECONDS
"""How long the boilerplate of a source is remembered after the source printed it last."""

COUNTED_MINUTES = 120
"""How long the counts of verdicts are kept."""

_SPAN = 10  # minutes of a hash of counts
_SHARED_TOGETHER = 64  # documents whose features or lines are counted here before the store gets them
_PURGED_AT_ONCE = 500  # calls; in between others may write


class Index(Window):
    """Finds the best match of a document in the window and registers the document, in one atomic step.

    1. If documents are alike enough to match each other, exactly one of them is the original, whatever the number of
       tasks, threads and processes that check at the same time.
    2. Time is the documents' own ``seen_at``: two documents at most ``window`` seconds apart are compared.
    3. Memory is bounded by what the window holds; an idle namespace vanishes by itself.
    4. Checking a document again gives the same status again, and registers nothing. It is the same document if id,
       text and url are the same. If another document has its id, the document gets the next id that is free.
    5. A match names the original, never another duplicate, even if the original's own hour is over.
    6. Data that is read back is length-checked and never evaluated.
    7. Documents in the same order get the same answers, whatever the store, if the same ones wait together: a group is
       checked at once, and may be cut in another way. In a crowd, a check does not look at every document. It chooses
       in two steps:

       - Of each key it reads at most ``MOST_POSTINGS`` documents: the newest ones of the window, by their own time.
       - Of all these it compares at most ``MAX_CANDIDATES``: those that share most keys with the new document, and
         among equals the oldest.

       A store forgets the other postings of a key; see ``Generation.add``.
    8. A document joins its story in the same atomic step that registers it, and only once, however often it is checked.
       The second document of a story also adds the first one. A story lives for a window after its last member. A level
       of an event is granted to one claim, and to that claim as often as it asks.
    9. A document that a run registered counts as seen if it is delivered or the run lives. A document that the run
       drops as a copy counts if its match counts. A page that is registered again after its run died rejoins its old
       story.
    """

    def __init__(self, store: Store, namespace: str, config: str, judge: Judge) -> None:
        super().__init__(store, Layout(namespace, config, judge.policy.window), judge)
        self.log_of_changes = Changes(self.store, self.layout, self.policy)

    async def open(self) -> None:
        """Connect, inside the running loop. Opening twice does no harm.

        Raise StoreError if the store cannot be used as configured.
        """
        await self.store.open(f"{self.layout.prefix}:records:0")

    async def close(self) -> None:
        """Finish the calls under way and release every resource. Closing twice does no harm."""
        await self.store.close()

    @reads
    async def records_of(self, client: Client, keys: Sequence[bytes]) -> dict[bytes, Record]:
        """Return the records of documents, without those that are gone or lost on their way."""
        calls = self._reads_of(keys)
        found = zip(keys, await answers(client, calls), strict=True)
        records = {key: read_record(packed) for key, packed in found if isinstance(packed, bytes)}
        return {key: each for key, each in records.items() if each and each.run != WITHDRAWN}

    @reads
    async def text_of(self, client: Client, record: Record) -> StoredText | None:
        """Return the text that the window keeps of a document, None if it is not kept, gone or damaged."""
        return (await self.texts(client, {record.text_at})).get(record.text_at)

    @reads
    async def records(self, client: Client) -> list[tuple[bytes, Record]]:
        """Return the keys and records of all documents. This reads the whole window: it is for people."""
        return await records_of(client, self.layout)

    @reads
    async def summary(self, client: Client) -> StoreSummary:
        """Return a summary of this namespace and configuration."""
        return await survey(client, self.store.location, self.layout, self.stories)

    async def purge(self, selection: Selection, *, dry_run: bool = False) -> int:
        """Remove the selected documents of this namespace, whatever their configuration.

        Also remove the copies whose original is removed. Return their number. They are removed from the members of
        stories too, but the counters of these stories stay. A selection of all leaves nothing of the namespace. With
        ``dry_run`` only count the documents. This is not one atomic step: documents that are registered meanwhile may
        stay.
        """
        count, calls = await self.store.ask(lambda client: to_purge(client, self.layout, selection), reads=True)
        for first in range(0, 0 if dry_run else len(calls), _PURGED_AT_ONCE):
            await self.store.ask(partial(answers, calls=calls[first : first + _PURGED_AT_ONCE]))
        return count

    @swaps
    async def add_frequencies(self, client: Client, kind: str, counted: bytes) -> bytes:
        """Add document frequencies of one kind to those of all processes. Return the packed sum.

        See ``records/learned.py``. The sum expires a window after the last addition. Raise StoreUnavailable if
        the store does not answer in time; the frequencies may then be added or not.
        """
        key = self.layout.name(f"frequencies:{kind}")
        (answer,) = await answers(client, [Call("HMGET", key, ("version", "total"))])
        version, before = (each or b"" for each in cast("list[bytes | None]", answer))
        total = add_counts(before, counted)
        if counted != NOTHING:  # who adds nothing only reads: an idle namespace stays empty, and expires
            writes = [Call("HSET", key, ("total", total)), Call("EXPIRE", key, (self.policy.window + HOUR,))]
            await swap(client, {key: version}, writes)
        return total

    @swaps
    async def exchange_boilerplate(
        self, client: Client, learned: Mapping[bytes, KnownBoilerplate]
    ) -> dict[bytes, KnownBoilerplate]:
        """Add the boilerplate that was learned of some sources.

        Return all entries that the store has for each of these sources. Sources are given by their hash. A source may
        have nothing to add. For each source the store keeps the newest entries, as many as ``KnownBoilerplate`` says,
        for ``LEARNED_SECONDS`` after the last addition. Raise StoreUnavailable if the store does not answer in time;
        the entries may then be added or not.
        """
        known, writes, versions = dict[bytes, KnownBoilerplate](), list[Call](), dict[str, bytes]()
        calls = [Call("HMGET", self.layout.learned(source), ("version", "lines", "printed")) for source in learned]
        for (source, new), answer in zip(learned.items(), await answers(client, calls), strict=True):
            version, lines, documents = (each or b"" for each in cast("list[bytes | None]", answer))
            known[source] = kept = KnownBoilerplate(
                (split_entries(lines) + new.lines)[-MOST_LINES:],
                (split_entries(documents) + new.documents)[-MOST_SOURCE_DOCUMENTS:],
            )
            if any(new):
                key = self.layout.learned(source)
                versions[key] = version
                writes.append(
                    Call("HSET", key, ("lines", join_entries(kept.lines), "printed", join_entries(kept.documents)))
                )
                writes.append(Call("EXPIRE", key, (LEARNED_SECONDS,)))
        if writes:
            await swap(client, versions, writes)
        return known

    @swaps
    async def count_verdicts(self, client: Client, minute: int, counts: Mapping[str, int]) -> None:
        """Add to the counts of verdicts of a minute (Unix time by the caller's clock // 60), for people who watch.

        The counts of a minute are kept for ``COUNTED_MINUTES``. Names are few: those of statuses, kinds and levels.
        Raise StoreUnavailable if the store does not answer in time; the counts may then be added or not.
        """
        key = self._counts_of(minute // _SPAN)
        names = [f"{minute}:{name}" for name in counts]
        (answer,) = await answers(client, [Call("HMGET", key, ("version", *names))])
        version, *before = cast("list[bytes | None]", answer)
        fields = list[Argument]()
        for name, more, value in zip(names, counts.values(), before, strict=True):
            fields += name, more + (int(value) if value and value.isdigit() else 0)
        writes = [Call("HSET", key, fields)] if fields else []
        await swap(client, {key: version or b""}, [*writes, Call("EXPIRE", key, (60 * (COUNTED_MINUTES + _SPAN),))])

    @reads
    async def verdict_counts(self, client: Client, since: int, until: int) -> dict[int, dict[str, int]]:
        """Return the counts of the minutes from ``since`` to ``until`` that have any, of all processes."""
        found: dict[int, dict[str, int]] = {}
        calls = [Call("HGETALL", self._counts_of(span)) for span in range(since // _SPAN, until // _SPAN + 1)]
        for answer in await answers(client, calls):
            for field, count in cast("dict[bytes, bytes]", answer).items():
                minute, _, name = field.decode("utf-8", "replace").partition(":")
                if minute.isdecimal() and count.isdigit() and since <= int(minute) <= until:
                    found.setdefault(int(minute), {})[name] = int(count)
        return found

    def _counts_of(self, span: int) -> str:
        return self.layout.name(f"verdicts:{span}")


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
