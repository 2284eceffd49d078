"""The shared store: one Redis that any number of crawler processes use as one window.

Its keys: layout.py. Only records count: a posting whose record is gone is no candidate.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar, cast

from redis.asyncio import Redis

from scrapy_neardup.contracts import Judge
from scrapy_neardup.document import (
    MOST_SOURCE_DOCUMENTS,
    Claim,
    Document,
    EventSources,
    Fingerprint,
    Granted,
    KnownBoilerplate,
    Match,
    Member,
    Story,
    UnconfirmedGrant,
    most_lines_of,
    without_password,
)
from scrapy_neardup.exceptions import StoreError, StoreUnavailable
from scrapy_neardup.index.base import LEARNED_SECONDS, Checked, DamageLog, Index, Question, Selection, StoreSummary
from scrapy_neardup.index.batching import Batcher
from scrapy_neardup.index.redis import lua, verdict_counts
from scrapy_neardup.index.redis.connection import Address, Connection, explain_error
from scrapy_neardup.index.redis.layout import RedisLayout
from scrapy_neardup.index.redis.lua import Call
from scrapy_neardup.index.redis.runs import beat, deliver, withdraw
from scrapy_neardup.index.redis.stories import RedisStories
from scrapy_neardup.index.redis.survey import purge, records_of, server_facts, survey
from scrapy_neardup.index.redis.swap import retried, swap, swap_call
from scrapy_neardup.index.redis.window import RedisWindow
from scrapy_neardup.index.runs import shared_folder
from scrapy_neardup.records.documents import Record, new_record
from scrapy_neardup.records.feature_counts import DOCUMENTS_BYTES, NOTHING, add_counts
from scrapy_neardup.rules.decision import most_similar
from scrapy_neardup.rules.policy import HOUR, Policy

logger = logging.getLogger(__name__)

BATCH = 64
R = TypeVar("R")


class RedisIndex(Index):
    """``url``: see connection.py.

    Checks that wait together travel together over one connection.
    """

    def __init__(self, url: str, namespace: str, config: str, policy: Policy, *, timeout: float = 2.0) -> None:
        self.url = url
        self._address = Address.read(url)
        self.policy = policy
        self.timeout = timeout
        self.layout = RedisLayout(namespace, config, policy.window)
        self._checks: Batcher[Question, Checked] = Batcher(self._run_checks, BATCH)
        self._damage = DamageLog(self.layout.prefix)
        self._stories = RedisStories(self.layout, policy.window, self._damage)
        self._window = RedisWindow(self.layout, policy, self._stories, self._damage, self._explained)
        self._opening = asyncio.Lock()
        self._connection: Connection | None = None

    async def open(self) -> None:
        async with self._opening:
            if self._connection is not None:
                return
            connection = Connection(self._address, self.timeout)
            try:
                await connection.ask(self._try)
            except Exception as error:
                await connection.close()
                raise self._explained(error) from error
            self._connection = connection

    async def close(self) -> None:
        if self._connection is None:
            return
        await self._checks.join()
        connection, self._connection = self._connection, None
        await connection.close()

    async def _try(self, client: Redis) -> None:
        """Send a command for a key, so that a node of a cluster fails now and not at each check."""
        await client.exists(f"{self.layout.prefix}:records:0")
        facts, warnings = await server_facts(client, self.layout.prefix)
        if facts and warnings:  # a crawl needs no right to ask for facts
            logger.warning("The store may lose data: %s", warnings[0])

    async def check(self, fingerprint: Fingerprint, document: Document, judge: Judge | None = None) -> Checked:
        return await self._checks.submit((fingerprint, document, judge))

    @property
    def run_folder(self) -> Path | None:
        return shared_folder(f"{without_password(self.url)} {self.layout.prefix}")

    async def beat(self, alive: Collection[int] = (), dead: Collection[int] = ()) -> None:
        await self._beat(self.run, alive, dead)

    async def end_run(self) -> None:
        await self._beat(0, (), [self.run])

    async def _beat(self, run: int, alive: Collection[int], dead: Collection[int]) -> None:
        seconds = 2 * self.policy.window
        await self._change(lambda client: beat(client, self.layout, seconds, run, alive, dead))

    async def deliver(self, documents: Sequence[str]) -> None:
        await self._change(lambda client: deliver(client, self.layout, documents))

    async def withdraw(self, documents: Sequence[str]) -> None:
        await self._ask(lambda client: withdraw(client, self.layout, documents))

    async def _change(self, steps: Callable[[Redis], Awaitable[R]]) -> R:
        """Return the answer of ``steps``, which read, decide and swap. Repeat them if others were faster."""
        return await retried(lambda: self._ask(steps))

    async def _call_all(self, calls: Sequence[Call]) -> list[object]:
        """Return the answers of all calls. Raise a StoreError if one of them failed."""
        return await self._ask(lambda client: lua.run_or_raise(client, calls))

    async def unite(self, story: str, other: Member) -> Story:
        return await self._change(lambda client: self._stories.unite(client, story, other))

    async def mute(self, story: str, *, muted: bool) -> Story | None:
        return await self._change(lambda client: self._stories.mute(client, story, muted=muted))

    async def final_stories(self, stories: Collection[str]) -> dict[str, str]:
        return await self._ask(lambda client: self._stories.final_stories(client, stories))

    async def claim(self, claim: Claim) -> Granted | None:
        return await self._change(lambda client: self._stories.claim(client, claim))

    async def confirm(self, grants: Sequence[tuple[str, str]]) -> None:
        await self._ask(lambda client: self._stories.confirm(client, grants))

    async def take_over(self, seconds: float) -> list[UnconfirmedGrant]:
        return await self._ask(lambda client: self._stories.take_over(client, seconds))

    async def open_events(self, quiet_since: int | None = None) -> list[Story]:
        return await self._ask(lambda client: self._stories.open_events(client, quiet_since))

    async def members(self, story: str) -> tuple[Member, ...]:
        return await self._ask(lambda client: self._stories.members(client, story))

    async def ended_events(self, since: int) -> list[EventSources]:
        return await self._ask(lambda client: self._stories.ended_events(client, since))

    async def similar(self, fingerprint: Fingerprint, document: Document, most: int) -> list[Match]:
        return most_similar(await self.records(), new_record(fingerprint, document), self.policy, most)

    async def records(self) -> list[tuple[bytes, Record]]:
        return await self._ask(lambda client: records_of(client, self.layout))

    async def add_frequencies(self, kind: str, counted: bytes) -> bytes:
        key = f"{self.layout.prefix}:frequencies:{kind}"
        return await self._change(lambda client: self._add_frequencies(client, key, counted))

    async def _add_frequencies(self, client: Redis, key: str, counted: bytes) -> bytes:
        (answer,) = await lua.run_or_raise(client, [("GET", (key,), ())])
        before = cast("bytes", answer or b"")
        total = add_counts(before, counted)
        if counted != NOTHING:  # else somebody only reads: an idle namespace stays empty, and expires
            documents = ("GETRANGE", (key,), (0, DOCUMENTS_BYTES - 1)), before[:DOCUMENTS_BYTES]
            write = "SET", (key,), (total, "EX", self.policy.window + HOUR)
            await swap(client, [documents], [write])
        return total

    async def exchange_boilerplate(self, learned: Mapping[bytes, KnownBoilerplate]) -> dict[bytes, KnownBoilerplate]:
        """See ``Index``. An addition also renews the time limit of the older lines or documents of the source."""
        reads: list[Call] = []
        swaps: list[Call] = []
        for source, (lines, documents) in learned.items():
            for kind, entries, most in (
                ("lines", lines, most_lines_of(source)),
                ("printed", documents, MOST_SOURCE_DOCUMENTS),
            ):
                key = (f"{self.layout.prefix}:learned:{kind}:{source.hex()}",)
                reads.append(("LRANGE", key, (0, -1)))
                writes: list[Call] = [("RPUSH", key, entries[-most:]), ("LTRIM", key, (-most, -1))] if entries else []
                if lines or documents:
                    swaps.append(swap_call([], [*writes, ("EXPIRE", key, (LEARNED_SECONDS,))]))
        await self._call_all(swaps)
        lists = iter(cast("list[list[bytes]]", await self._call_all(reads)))
        return {source: KnownBoilerplate(tuple(next(lists)), tuple(next(lists))) for source in learned}

    async def count_verdicts(self, minute: int, counts: Mapping[str, int]) -> None:
        await self._ask(lambda client: verdict_counts.add(client, self.layout, minute, counts))

    async def verdict_counts(self, since: int, until: int) -> dict[int, dict[str, int]]:
        return await self._ask(lambda client: verdict_counts.read(client, self.layout, since, until))

    async def summary(self) -> StoreSummary:
        return await self._ask(lambda client: survey(client, self.url, self.layout))

    async def purge(self, selection: Selection, *, dry_run: bool = False) -> int:
        return await self._ask(lambda client: purge(client, self.layout.namespace, selection, dry_run=dry_run))

    async def _ask(self, question: Callable[[Redis], Awaitable[R]]) -> R:
        if self._connection is None:
            raise StoreUnavailable(f"{without_password(self.url)}: the store is closed")
        try:
            return await self._connection.ask(question)
        except Exception as error:
            raise self._explained(error) from error

    def _explained(self, error: Exception) -> StoreError:
        return error if isinstance(error, StoreError) else explain_error(self.url, error)

    async def _run_checks(self, batch: Sequence[Question]) -> list[Checked | BaseException]:
        answers = await self._ask(lambda client: self._window.check(client, batch, self.run))
        await self._unlink_dead(document for _, document, _ in batch)
        return [self._explained(answer) if isinstance(answer, Exception) else answer for answer in answers]

    async def _unlink_dead(self, documents: Iterable[Document]) -> None:
        """Delete keys that have left the window: a replay runs faster than the clock by which they expire."""
        expired = [self.layout.dead_after(int(document.seen_at)) for document in documents]

        async def unlink(client: Redis) -> None:
            for names, span in filter(None, expired):
                await client.unlink(*names)
                await self._stories.unlink_dead(client, span)

        try:
            if any(expired):
                await self._ask(unlink)
        except StoreError as error:  # the checks are done, and the keys expire anyway
            logger.warning("Expired keys are not deleted now: %s", error)
