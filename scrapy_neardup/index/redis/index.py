"""The shared store: one Redis that any number of crawler processes use as one window.

All keys carry one hash tag, ``{neardup:<namespace>:<config>}``, and all of them expire. Only records count: a posting
whose record is gone is no candidate. The keys: layout.py, stories.py.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, cast

from scrapy_neardup.document import (
    Claim,
    Document,
    Fingerprint,
    Granted,
    Join,
    Learned,
    Match,
    Member,
    Story,
    UnconfirmedGrant,
)
from scrapy_neardup.exceptions import StoreError, StoreUnavailable
from scrapy_neardup.index.base import Index, Selection, StoreSummary
from scrapy_neardup.index.batching import Batcher
from scrapy_neardup.index.damage import DamageLog
from scrapy_neardup.index.horizon import ExpiredSpan
from scrapy_neardup.index.redis.connection import Address, Connection, without_password
from scrapy_neardup.index.redis.errors import explain_error
from scrapy_neardup.index.redis.key_lookup import records_by_keys
from scrapy_neardup.index.redis.layout import RedisLayout, window_arguments
from scrapy_neardup.index.redis.learned import share_learned
from scrapy_neardup.index.redis.lua import Call, script, window_script
from scrapy_neardup.index.redis.runs import RedisRuns
from scrapy_neardup.index.redis.stories import RedisStories
from scrapy_neardup.index.redis.survey import purge, records_of, survey
from scrapy_neardup.index.redis.types import WrongTypes, is_wrong_type
from scrapy_neardup.index.runs import shared_folder
from scrapy_neardup.records.documents import KEY_BYTES, Record, new_record, read_record, seconds_of
from scrapy_neardup.similarity.policy import HOUR, Policy
from scrapy_neardup.similarity.verification import CANDIDATE_STATES, most_similar, score_candidate, to_match

logger = logging.getLogger(__name__)

if TYPE_CHECKING:
    from redis.asyncio import Redis

_BATCH = 64
R = TypeVar("R")


class RedisIndex(Index):
    """``url``: see connection.py.

    Checks that wait together travel in one pipeline over one connection; each is one call of ``check.lua``.
    """

    def __init__(self, url: str, namespace: str, config: str, policy: Policy, *, timeout: float = 2.0) -> None:
        self.url = url
        self._address = Address.read(url)
        self.namespace = namespace
        self.config = self.stored_as = config
        self.policy = policy
        self.timeout = timeout
        self.prefix = f"{{neardup:{namespace}:{config}}}"
        self._batcher: Batcher[tuple[Fingerprint, Document], Match | None] = Batcher(self._run_batch, _BATCH)
        self._types = WrongTypes()
        self._stories = RedisStories(self.prefix, policy.window, self._types)
        self._joins: Batcher[Join, Story] = Batcher(self._run_joins, _BATCH)
        self._claims: Batcher[Claim, Granted | None] = Batcher(self._run_claims, _BATCH)
        self._opening = asyncio.Lock()
        self._connection: Connection | None = None
        self._layout = RedisLayout(self.prefix, policy.window)
        self._check_script = window_script("check", policy, parts=1)
        self._damage = DamageLog(self.prefix)
        self._runs = RedisRuns([self._layout], self._types, 2 * policy.window)

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
        for batcher in (self._batcher, self._joins, self._claims):
            await batcher.join()
        connection, self._connection = self._connection, None
        await connection.close()

    async def _try(self, client: Redis) -> None:
        """Send a command for one of our keys, so that a node of a cluster fails now and not at each check."""
        await client.exists(f"{self.prefix}:records:0")

    async def check(self, fingerprint: Fingerprint, document: Document) -> Match | None:
        return await self._batcher.submit((fingerprint, document))

    @property
    def run_folder(self) -> Path | None:
        return shared_folder(f"{without_password(self.url)} {self.prefix}")

    async def beat(self, alive: Collection[int] = (), dead: Collection[int] = ()) -> None:
        await self._ask(lambda client: self._runs.beat(client, self.run, alive, dead))

    async def end_run(self) -> None:
        await self._ask(lambda client: self._runs.beat(client, 0, (), [self.run]))

    async def deliver(self, documents: Sequence[str]) -> None:
        await self._ask(lambda client: self._runs.deliver(client, documents))

    async def withdraw(self, documents: Sequence[str]) -> None:
        await self._ask(lambda client: self._runs.withdraw(client, documents))

    async def join(self, join: Join) -> Story:
        return await self._joins.submit(join)

    async def claim(self, claim: Claim) -> Granted | None:
        return await self._claims.submit(claim)

    async def confirm(self, grants: Sequence[tuple[str, str]]) -> None:
        await self._ask(lambda client: self._stories.confirm(client, grants))

    async def take_over(self, seconds: float) -> list[UnconfirmedGrant]:
        return await self._ask(lambda client: self._stories.take_over(client, seconds))

    async def open_events(self, quiet_since: int | None = None) -> list[Story]:
        return await self._ask(lambda client: self._stories.open_events(client, quiet_since))

    async def members(self, story: str) -> tuple[Member, ...]:
        return await self._ask(lambda client: self._stories.members(client, story))

    async def peaks(self, since: int) -> dict[str, int]:
        return await self._ask(lambda client: self._stories.peaks(client, since))

    async def similar(
        self, fingerprint: Fingerprint, document: Document, most: int, *, by_keys: bool = False
    ) -> list[Match]:
        keys = self._keys_by_prefix(fingerprint, document) if by_keys else None
        records = await self._ask(lambda client: self._records(client, keys))
        return most_similar(records, new_record(fingerprint, document), self.policy, most)

    def _keys_by_prefix(self, fingerprint: Fingerprint, document: Document) -> Mapping[str, Sequence[int]]:
        """Return the keys of a document by the prefix under which they are posted."""
        return {self.prefix: fingerprint.identity_keys + fingerprint.text_keys}

    async def _records(self, client: Redis, keys: Mapping[str, Sequence[int]] | None) -> Sequence[tuple[bytes, bytes]]:
        """Return the records that have one of the keys; all records if the keys are None or too common."""
        found = None if keys is None else await records_by_keys(client, self.namespace, keys)
        return await records_of(client, self.namespace, self.stored_as) if found is None else found

    async def add_frequencies(self, counted: bytes) -> bytes:
        arguments = (counted, str(self.policy.window + HOUR).encode())
        call = ([f"{self.prefix}:frequencies"], arguments)
        (answer,) = await self._ask(lambda client: self._types.run(client, [(script("learn"), *call)]))
        if isinstance(answer, Exception):
            raise self._explained(answer) from answer
        return cast("bytes", answer)

    async def share_learned(self, learned: Mapping[bytes, Learned]) -> dict[bytes, Learned]:
        return await self._ask(lambda client: share_learned(client, self.prefix, learned))

    async def summary(self) -> StoreSummary:
        return await self._ask(lambda client: survey(client, self.url, self.namespace, self.config))

    async def purge(self, selection: Selection, *, dry_run: bool = False) -> int:
        return await self._ask(lambda client: purge(client, self.namespace, selection, dry_run=dry_run))

    async def _ask(self, question: Callable[[Redis], Awaitable[R]]) -> R:
        if self._connection is None:
            raise StoreUnavailable(f"{without_password(self.url)}: the store is closed")
        try:
            return await self._connection.ask(question)
        except Exception as error:
            if is_wrong_type(error) and (lines := await self._wrong_keys()):
                raise StoreError(f"{without_password(self.url)}: {'; '.join(lines)}") from error
            raise self._explained(error) from error

    async def _wrong_keys(self) -> list[str]:
        """Return a line for each key of another type, except the keys of an hour or a story."""
        assert self._connection is not None
        names = [f"{prefix}:{kind}" for prefix in self._prefixes for kind in ("stories", "events", "peaks", "grants")]
        try:
            return await self._connection.ask(lambda client: self._types.look_at(client, names))
        except Exception as error:
            raise self._explained(error) from error

    @property
    def _prefixes(self) -> list[str]:
        return [self.prefix]

    def _explained(self, error: Exception) -> StoreError:
        return error if isinstance(error, StoreError) else explain_error(self.url, error)

    async def _run_batch(self, batch: Sequence[tuple[Fingerprint, Document]]) -> list[Match | BaseException | None]:
        records = [new_record(fingerprint, document, self.run) for fingerprint, document in batch]
        calls = [(self._check_script, *self._call(*each, record)) for each, record in zip(batch, records, strict=True)]
        answers = await self._ask(lambda client: self._types.run(client, calls))
        await self._unlink_dead(batch)
        return [self._match(record, answer) for record, answer in zip(records, answers, strict=True)]

    async def _run_joins(self, batch: Sequence[Join]) -> list[Story | BaseException]:
        return self._each_explained(await self._ask(lambda client: self._stories.join(client, batch)))

    async def _run_claims(self, batch: Sequence[Claim]) -> list[Granted | BaseException | None]:
        return self._each_explained(await self._ask(lambda client: self._stories.claim(client, batch)))

    def _each_explained(self, answers: Sequence[R | BaseException]) -> list[R | BaseException]:
        return [self._explained(answer) if isinstance(answer, Exception) else answer for answer in answers]

    def _call(self, fingerprint: Fingerprint, document: Document, record: Record) -> Call:
        """Return keys and arguments of one call of ``check.lua``."""
        posted = fingerprint.identity_keys + fingerprint.text_keys
        least_dropped = self.policy.least_dropped_share(document.source)
        key = bytes.fromhex(document.id)
        return self._layout.keys(seconds_of(key)), window_arguments(
            key, record, posted, len(fingerprint.identity_keys), least_dropped
        )

    def _match(self, new: Record, answer: object) -> Match | BaseException | None:
        if answer is None:
            return None
        if isinstance(answer, Exception):
            return self._explained(answer)
        number, key, packed, other_key, other_packed, before, damaged = cast(
            "tuple[int, bytes, bytes, bytes, bytes, bytes, bytes]", answer
        )
        if damaged:
            self._damage.warn_of_record()
        if not key:
            return None
        if len(key) != KEY_BYTES:
            return StoreError(f"{without_password(self.url)}: a document key of {len(key)} bytes is not one of ours")
        old = read_record(packed)
        scored = None if old is None else score_candidate(key, new, old, self.policy, CANDIDATE_STATES[number])
        other = read_record(other_packed) if other_packed else None
        return None if scored is None else to_match(scored, (other_key, other) if other else None, before)

    async def _unlink_dead(self, batch: Sequence[tuple[Fingerprint, Document]]) -> None:
        """Delete keys that have left the window: a replay runs faster than the clock by which they expire."""
        dead: list[str] = []
        spans: set[ExpiredSpan] = set()
        for _, document in batch:
            if (found := self._layout.dead_after(int(document.seen_at))) is not None:
                dead += found[0]
                spans.add(found[1])
        if dead:
            await self._free(self._stories, dead, spans)

    async def _free(self, stories: RedisStories, dead: Sequence[str], spans: Iterable[ExpiredSpan]) -> None:
        async def unlink(client: Redis) -> None:
            await client.unlink(*dead)
            for span in spans:
                await stories.unlink_dead(client, span)

        try:
            await self._ask(unlink)
        except StoreError as error:  # the checks are done, and the keys expire anyway
            logger.warning("Expired keys are not deleted now: %s", error)
