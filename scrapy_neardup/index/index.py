"""The index: it finds the best match of a document in the window, and registers the document."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, cast

from scrapy_neardup.contracts import (
    MOST_SOURCE_DOCUMENTS,
    Granted,
    Judge,
    KnownBoilerplate,
    LearnedStore,
    StoryStore,
    most_lines_of,
)
from scrapy_neardup.document import Claim, Document, EventSources, Fingerprint, Match, Member, Story
from scrapy_neardup.exceptions import StoreError, StoreUnavailable
from scrapy_neardup.index import runs
from scrapy_neardup.index.batch import Checked, Question
from scrapy_neardup.index.layout import Layout
from scrapy_neardup.index.store import Batcher, Call, Client, Expected, Store, retried, run, swap
from scrapy_neardup.index.stories import ENDED_SECONDS, Stories
from scrapy_neardup.index.window import Window
from scrapy_neardup.records.documents import Record, new_record
from scrapy_neardup.records.feature_counts import DOCUMENTS_BYTES, NOTHING, add_counts
from scrapy_neardup.records.stories import DamageLog
from scrapy_neardup.rules.decision import most_similar
from scrapy_neardup.rules.policy import HOUR, Policy

if TYPE_CHECKING:
    from scrapy_neardup.index.purging import Selection
    from scrapy_neardup.index.survey import StoreSummary

logger = logging.getLogger(__name__)

LEARNED_SECONDS = ENDED_SECONDS
"""How long the boilerplate of a source is remembered after the source printed it last."""

COUNTED_MINUTES = 120
"""How long the counts of verdicts are kept."""

MOST_COUNTED = 3000
"""How many names are counted in ten minutes; more are left out."""

_SPAN = 10  # minutes of a hash of counts
_BATCH = 64
_PURGED_AT_ONCE = 500  # calls; in between others may write
R = TypeVar("R")


class Index(StoryStore, LearnedStore):
    """Finds the best match of a document in the window and registers the document, in one atomic step.

    1. If documents are alike enough to match each other, exactly one of them is the original, whatever the number of
       tasks, threads and processes that check at the same time.
    2. Time is the documents' own ``seen_at``: two documents at most ``window`` seconds apart are compared.
    3. Memory is bounded by what the window holds; an idle namespace vanishes by itself.
    4. Checking a document again gives the same answer again, and registers nothing. It is the same document if id,
       text and url are the same. If another document has its id, the document gets the next id that is free.
    5. A match names the original, never another duplicate, even if the original's own hour is over.
    6. Data that is read back is length-checked and never evaluated.
    7. Documents in the same order get the same answers, whatever the store. In a crowd, a check does not look at every
       document. It chooses in two steps:

       - Of each key it reads at most ``MOST_POSTINGS`` documents: the newest ones of the window, by their own time.
       - Of all these it compares at most ``MAX_CANDIDATES``: those that share most keys with the new document, and
         among equals the oldest.

       A store forgets the other postings of a key; see ``Generation.add``.
    8. A document joins its story in the same atomic step that registers it, and only once, however often it is checked.
       The second document of a story also adds the first one. A story lives for a window after its last member. A level
       of an event is granted to one claim, and to that claim as often as it asks.
    9. A document that a run registered counts as seen if it is delivered or the run lives. Until it is
       delivered, a document that the run drops as a copy counts only as long as its match counts. A page that is
       registered again after its run died rejoins its old story.

    Checks that wait together go to the store together.
    """

    run: int = 0
    """Number of the run that registers documents, up to ``runs.LARGEST_RUN``; 0 registers them as delivered."""

    def __init__(self, store: Store, namespace: str, config: str, policy: Policy) -> None:
        self.store = store
        self.policy = policy
        self.layout = Layout(namespace, config, policy.window)
        self._checks: Batcher[Question, Checked] = Batcher(self._run_checks, _BATCH)
        damage = DamageLog(f"{store.location} {self.layout.prefix}")
        self._stories = Stories(self.layout, policy.window, damage)
        self._window = Window(store, self.layout, policy, self._stories, damage)

    async def open(self) -> None:
        """Connect, inside the running loop. Opening twice does no harm.

        Raise StoreError if the store cannot be used as configured.
        """
        await self.store.open(f"{self.layout.prefix}:records:0")

    async def close(self) -> None:
        """Finish the calls under way and release every resource. Closing twice does no harm."""
        await self._checks.join()
        await self.store.close()

    async def check(self, fingerprint: Fingerprint, document: Document, judge: Judge | None = None) -> Checked:
        """Return the id of the document, and the best match within the window: None for the first of its kind.

        ``judge`` says how the document joins a story. If ``is_seen`` of the match is False, the document is the first
        of its kind that counts.

        Raise StoreUnavailable if the store does not answer in time; the document may then be registered or not.
        """
        return await self._checks.submit((fingerprint, document, judge))

    async def _run_checks(self, batch: Sequence[Question]) -> Sequence[Checked | StoreError]:
        """Check documents together. If data is damaged, check each alone: only those that need this data fail."""
        try:
            answers = await self._window.check(batch, self.run)
        except StoreUnavailable:
            raise
        except StoreError as error:
            if len(batch) == 1:
                return [error]
            return [answer for each in batch for answer in await self._run_checks([each])]
        await self._unlink_dead(document for _, document, _ in batch)
        return answers

    async def _unlink_dead(self, documents: Iterable[Document]) -> None:
        """Delete keys that have left the window: a replay runs faster than the clock by which they expire."""
        expired = [self.layout.dead_after(int(each.seen_at)) for each in documents]
        try:
            for names, first, end in expired:
                if names:
                    await self.store.ask(partial(self._stories.unlink_dead, names, first, end))
        except StoreError as error:  # the checks are done, and the keys expire anyway
            logger.warning("Expired keys are not deleted now: %s", error)

    async def similar(self, fingerprint: Fingerprint, document: Document, most: int) -> list[Match]:
        """Return all documents that match, best first; register nothing. This reads every record: it is for people."""
        return most_similar(await self.records(), new_record(fingerprint, document), self.policy, most)

    async def records(self) -> list[tuple[bytes, Record]]:
        """Return the keys and records of all documents. Like ``similar``, this is for people."""
        from scrapy_neardup.index.survey import records_of  # no crawl needs it

        return await self._read(lambda client: records_of(client, self.layout))

    async def summary(self) -> StoreSummary:
        """Return a summary of this namespace and configuration."""
        from scrapy_neardup.index.survey import survey

        return await self._read(lambda client: survey(client, self.store.location, self.layout, self._stories))

    async def purge(self, selection: Selection, *, dry_run: bool = False) -> int:
        """Remove the selected documents of this namespace, whatever their configuration.

        Also remove the copies whose original is removed. Return their number. They are removed from the members of
        stories too, but the counters of these stories stay. A selection of all leaves nothing of the namespace. With
        ``dry_run`` only count the documents. This is not one atomic step: documents that are registered meanwhile may
        stay.
        """
        from scrapy_neardup.index.purging import to_purge

        count, calls = await self._read(lambda client: to_purge(client, self.layout, selection))
        for first in range(0, 0 if dry_run else len(calls), _PURGED_AT_ONCE):
            await self.store.ask(partial(run, calls=calls[first : first + _PURGED_AT_ONCE]))
        return count

    @property
    def run_folder(self) -> Path | None:
        """Return the folder where runs of this machine leave their locks; None if nobody shares the store."""
        return self.store.run_folder(f"{self.layout.namespace}-{self.layout.config}")

    async def beat(self, alive: Collection[int] = (), dead: Collection[int] = ()) -> None:
        """Tell the store that ``run`` is alive, and which other runs are known to be alive or dead."""
        await self._beat(self.run, alive, dead)

    async def end_run(self) -> None:
        """Tell the store that ``run`` is over: documents that it has not delivered no longer count."""
        await self._beat(0, (), [self.run])

    async def _beat(self, own: int, alive: Collection[int], dead: Collection[int]) -> None:
        seconds = 2 * self.policy.window
        await self._change(lambda client: runs.beat(client, self.layout, seconds, own, alive, dead))

    async def deliver(self, documents: Sequence[str]) -> None:
        """Tell the store that documents with these ids are delivered. Those it does not have are left out."""
        await self._change(lambda client: runs.deliver(client, self.layout, documents))

    async def withdraw(self, documents: Sequence[str]) -> None:
        """Remove documents with these ids from the window: nobody will deliver them."""
        await self._change(lambda client: runs.withdraw(client, self.layout, documents))

    async def unite(self, story: str, other: Member) -> Story:
        return await self._change(lambda client: self._stories.unite(client, story, other))

    async def mute(self, story: str, *, muted: bool) -> Story | None:
        return await self._change(lambda client: self._stories.mute(client, story, muted=muted))

    async def final_stories(self, stories: Collection[str]) -> dict[str, str]:
        return await self._read(lambda client: self._stories.final_stories(client, stories))

    async def claim(self, claim: Claim) -> Granted | None:
        return await self._change(lambda client: self._stories.claim(client, claim))

    async def confirm(self, tokens: Sequence[str]) -> None:
        await self._change(lambda client: self._stories.confirm(client, tokens))

    async def take_over(self, seconds: float) -> list[Granted]:
        return await self._change(lambda client: self._stories.take_over(client, seconds))

    async def open_events(self, quiet_since: int | None = None) -> list[Story]:
        return await self._read(lambda client: self._stories.open_events(client, quiet_since))

    async def members(self, story: str) -> tuple[Member, ...]:
        return await self._read(lambda client: self._stories.members(client, story))

    async def ended_events(self, since: int) -> list[EventSources]:
        return await self._read(lambda client: self._stories.ended_events(client, since))

    async def add_frequencies(self, kind: str, counted: bytes) -> bytes:
        seconds, once = self.policy.window + HOUR, self.layout.once()
        add = partial(_add_frequencies, layout=self.layout, kind=kind, counted=counted, seconds=seconds, once=once)
        return await (self._read(add) if counted == NOTHING else self._change(add))

    async def exchange_boilerplate(self, learned: Mapping[bytes, KnownBoilerplate]) -> dict[bytes, KnownBoilerplate]:
        once = self.layout.once()
        exchange = partial(_exchange_boilerplate, layout=self.layout, learned=learned, once=once)
        return await (self._change(exchange) if any(map(any, learned.values())) else self._read(exchange))

    async def count_verdicts(self, minute: int, counts: Mapping[str, int]) -> None:
        """Add to the counts of verdicts of a minute (Unix time by the caller's clock // 60), for people who watch.

        The counts of a minute are kept for ``COUNTED_MINUTES``, and at most ``MOST_COUNTED`` names a minute. Raise
        StoreUnavailable if the store does not answer in time; the counts may then be added or not.
        """
        once = self.layout.once()
        await self._change(lambda client: _count_verdicts(client, self.layout, minute, counts, once))

    async def verdict_counts(self, since: int, until: int) -> dict[int, dict[str, int]]:
        """Return the counts of the minutes from ``since`` to ``until`` that have any, of all processes."""
        return await self._read(lambda client: _verdict_counts(client, self.layout, since, until))

    async def _read(self, steps: Callable[[Client], Awaitable[R]]) -> R:
        return await self.store.ask(steps, reads=True)

    async def _change(self, steps: Callable[[Client], Awaitable[R]]) -> R:
        """Return the answer of ``steps``, which read, decide and swap. Repeat them if others were faster."""
        return await retried(lambda: self.store.ask(steps))


async def _add_frequencies(client: Client, layout: Layout, kind: str, counted: bytes, seconds: int, once: str) -> bytes:
    """See ``LearnedStore.add_frequencies``. Raise ConflictError if others add some meanwhile."""
    key = f"{layout.prefix}:frequencies:{kind}"
    (answer,) = await run(client, [Call("HMGET", key, ("documents", "total"))])
    documents, before = (each or b"" for each in cast("list[bytes | None]", answer))
    total = add_counts(before, counted)
    if counted != NOTHING:  # else somebody only reads: an idle namespace stays empty, and expires
        expected = Expected(Call("HGET", key, ("documents",)), documents)
        fields = "documents", total[:DOCUMENTS_BYTES], "total", total
        await swap(client, [expected], [Call("HSET", key, fields), Call("EXPIRE", key, (seconds,))], once)
    return total


async def _exchange_boilerplate(
    client: Client, layout: Layout, learned: Mapping[bytes, KnownBoilerplate], once: str
) -> dict[bytes, KnownBoilerplate]:
    """See ``LearnedStore``. An addition also renews the time limit of the older lines or documents of the source."""
    reads, writes = list[Call](), list[Call]()
    for source, (lines, documents) in learned.items():
        for kind, entries, most in (
            ("lines", lines, most_lines_of(source)),
            ("printed", documents, MOST_SOURCE_DOCUMENTS),
        ):
            key = f"{layout.prefix}:learned:{kind}:{source.hex()}"
            reads.append(Call("LRANGE", key, (0, -1)))
            if entries:
                writes += Call("RPUSH", key, entries[-most:]), Call("LTRIM", key, (-most, -1))
            if lines or documents:
                writes.append(Call("EXPIRE", key, (LEARNED_SECONDS,)))
    if writes:
        await swap(client, [], writes, once)
    lists = iter(cast("list[list[bytes]]", await run(client, reads)))
    return {source: KnownBoilerplate(tuple(next(lists)), tuple(next(lists))) for source in learned}


async def _count_verdicts(client: Client, layout: Layout, minute: int, counts: Mapping[str, int], once: str) -> None:
    """Add counts. Leave out new names over the limit. Processes that add at the same time may exceed it."""
    key = _key_of_span(layout, minute // _SPAN)
    fields = {f"{minute}:{name}": count for name, count in counts.items()}
    length, answer = await run(client, [Call("HLEN", key), Call("HMGET", key, [*fields])])
    before = dict(zip(fields, cast("list[bytes | None]", answer), strict=True))
    room = max(0, MOST_COUNTED - cast("int", length))
    new = [field for field, value in before.items() if value is None]
    damaged = [field for field, value in before.items() if not (value or b"0").isdigit()]
    writes = [Call("HDEL", key, damaged)] if damaged else []
    writes += [Call("HINCRBY", key, (field, fields[field])) for field in fields.keys() - new[room:]]
    await swap(client, [], [*writes, Call("EXPIRE", key, (60 * (COUNTED_MINUTES + _SPAN),))], once)


async def _verdict_counts(client: Client, layout: Layout, since: int, until: int) -> dict[int, dict[str, int]]:
    """Return the counts by minute. Leave out what is damaged."""
    found: dict[int, dict[str, int]] = {}
    calls = [Call("HGETALL", _key_of_span(layout, span)) for span in range(since // _SPAN, until // _SPAN + 1)]
    for answer in await run(client, calls):
        for field, count in cast("dict[bytes, bytes]", answer).items():
            minute, _, name = field.decode("utf-8", "replace").partition(":")
            if minute.isdecimal() and count.isdigit() and since <= int(minute) <= until:
                found.setdefault(int(minute), {})[name] = int(count)
    return found


def _key_of_span(layout: Layout, span: int) -> str:
    return f"{layout.prefix}:verdicts:{span}"
