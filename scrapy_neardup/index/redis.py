"""The shared store: one Redis that any number of crawler processes use as one window.

All keys carry one hash tag, ``{neardup:<namespace>:<config>}``, and every one of them expires:

``…:records:<hour>``     HASH document key -> packed record, until the hour's end + window
``…:bands:<generation>`` HASH shard -> postings, until the generation's end + window
``…:frequencies``        document frequencies of features, where a preset learns them, until a window after the last

Records are the truth; bands are hints, and a posting whose record is gone is no candidate. Stories: redis_stories.py.
"""

from __future__ import annotations

import asyncio
import logging
import struct
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, TypeVar, cast, get_args

from scrapy_neardup.document import Claim, Document, Fingerprint, Join, Match, Member, Story
from scrapy_neardup.exceptions import StoreError, StoreUnavailable
from scrapy_neardup.frequencies import MOST_DOCUMENTS, SUM_BYTES
from scrapy_neardup.index.base import HOUR, Index, Policy, Selection, StoreSummary
from scrapy_neardup.index.batching import Batcher
from scrapy_neardup.index.connection import Address, Connection, without_password
from scrapy_neardup.index.lua import Call, script
from scrapy_neardup.index.record import KEY_BYTES, Record, intact, new_record
from scrapy_neardup.index.redis_errors import named
from scrapy_neardup.index.redis_stories import RedisStories
from scrapy_neardup.index.redis_survey import purge, records_of, survey
from scrapy_neardup.index.verification import IDENTITY_WEIGHT, MAX_CANDIDATES, NEWEST, grade, most_alike, to_match
from scrapy_neardup.measures import LEAST_FIGURES, LEAST_NAMES, SAME_FIGURES, SAME_NAMES, Measure

logger = logging.getLogger(__name__)

if TYPE_CHECKING:
    from redis.asyncio import Redis

_BATCH = 64
_GENERATION = 1 << 16  # seconds: a posting has 2 bytes for the second within its generation
_MOST_DEAD = 2000  # hours removed at once at either end; the longest window has 744
_NUMBERS = struct.Struct(">19d")
_MEASURES = {measure: number for number, measure in enumerate(get_args(Measure))}
_SCOPES = {"all": 0, "same-source": 1, "cross-source": 2}
R = TypeVar("R")


class RedisIndex(Index):
    """``url``: see connection.py.

    Checks that wait together travel in one pipeline over one connection; each is one call of ``check.lua``.
    """

    def __init__(self, url: str, namespace: str, config: str, policy: Policy, *, timeout: float = 2.0) -> None:
        self.url = url
        self._address = Address.read(url)
        self.namespace = namespace
        self.config = config
        self.policy = policy
        self.timeout = timeout
        self.prefix = f"{{neardup:{namespace}:{config}}}"
        self._batcher: Batcher[tuple[Fingerprint, Document], Match | None] = Batcher(self._run_batch, _BATCH)
        self._stories = RedisStories(self.prefix, policy.window)
        self._joins: Batcher[Join, Story] = Batcher(self._run_joins, _BATCH)
        self._claims: Batcher[Claim, tuple[Member, ...] | None] = Batcher(self._run_claims, _BATCH)
        self._opening = asyncio.Lock()
        self._connection: Connection | None = None
        self._previous_second: int | None = None
        self._layout: tuple[object, tuple[bytes, ...], tuple[float, ...]] | None = None
        self._first_live: tuple[int, int] | None = None  # hour, generation

    async def open(self) -> None:
        async with self._opening:
            if self._connection is not None:
                return
            connection = Connection(self._address, self.timeout)
            try:
                await connection.ask(self._try)
            except Exception as error:
                await connection.close()
                raise self._named(error) from error
            self._connection = connection

    async def close(self) -> None:
        if self._connection is None:
            return
        for batcher in (self._batcher, self._joins, self._claims):
            await batcher.join()
        connection, self._connection = self._connection, None
        await connection.close()

    async def _try(self, client: Redis) -> None:
        """A command on a key of ours: a node of a cluster that is no store for us says so now, not at each check."""
        await client.exists(f"{self.prefix}:records:0")

    async def check(self, fingerprint: Fingerprint, document: Document) -> Match | None:
        return await self._batcher.submit((fingerprint, document))

    async def join(self, join: Join) -> Story:
        return await self._joins.submit(join)

    async def claim(self, claim: Claim) -> tuple[Member, ...] | None:
        return await self._claims.submit(claim)

    async def open_events(self, quiet_since: int | None = None) -> list[Story]:
        return await self._ask(lambda client: self._stories.open_events(client, quiet_since))

    async def members(self, story: str) -> tuple[Member, ...]:
        return await self._ask(lambda client: self._stories.members(client, story))

    async def peaks(self, since: int) -> dict[str, int]:
        return await self._ask(lambda client: self._stories.peaks(client, since))

    async def similar(self, fingerprint: Fingerprint, document: Document, most: int) -> list[Match]:
        records = await self._ask(lambda client: records_of(client, self.namespace, self.config))
        return most_alike(records, new_record(fingerprint, document), self.policy, most)

    async def add_frequencies(self, counted: bytes) -> bytes:
        arguments = (counted, *(str(n).encode() for n in (SUM_BYTES, MOST_DOCUMENTS, self.policy.window + HOUR)))
        call = ([f"{self.prefix}:frequencies"], arguments)
        (answer,) = await self._ask(lambda client: script("learn").run(client, [call]))
        if isinstance(answer, Exception):
            raise self._named(answer) from answer
        return cast("bytes", answer)

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
            raise self._named(error) from error

    def _named(self, error: Exception) -> StoreError:
        return error if isinstance(error, StoreError) else named(self.url, error)

    async def _run_batch(self, batch: Sequence[tuple[Fingerprint, Document]]) -> list[Match | BaseException | None]:
        records = [new_record(fingerprint, document) for fingerprint, document in batch]
        calls = [self._call(*each, record) for each, record in zip(batch, records, strict=True)]
        answers = await self._ask(lambda client: script("check").run(client, calls))
        await self._unlink_dead(batch)
        return [self._match(record, answer) for record, answer in zip(records, answers, strict=True)]

    async def _run_joins(self, batch: Sequence[Join]) -> list[Story | BaseException]:
        answers = await self._ask(lambda client: self._stories.join(client, batch))
        return [self._named(answer) if isinstance(answer, Exception) else answer for answer in answers]

    async def _run_claims(self, batch: Sequence[Claim]) -> list[tuple[Member, ...] | BaseException | None]:
        answers = await self._ask(lambda client: self._stories.claim(client, batch))
        return [self._named(answer) if isinstance(answer, Exception) else answer for answer in answers]

    def _call(self, fingerprint: Fingerprint, document: Document, record: Record) -> Call:
        """Keys and arguments of one call of ``check.lua``."""
        second = int(document.seen_at)
        keys, numbers = self._keys_and_numbers(second)
        posted = fingerprint.identity_keys + fingerprint.text_keys
        return keys, (
            bytes.fromhex(document.id),
            record.pack(),
            struct.pack(f">{len(posted)}I", *posted),
            _NUMBERS.pack(len(fingerprint.identity_keys), *numbers),
        )

    def _keys_and_numbers(self, second: int) -> tuple[tuple[bytes, ...], tuple[float, ...]]:
        """Most documents of a crawl are of one hour, and of one span of generations and hours."""
        window, length = self.policy.window, _GENERATION
        spans = (second - window) // length, (second + window) // length, second // length
        hours = (second - window) // HOUR, (second + window) // HOUR
        if self._layout is None or self._layout[0] != (spans, hours):
            first, last, own = spans
            keys = [f"{self.prefix}:bands:{number}" for number in range(first, last + 1)]
            keys += [f"{self.prefix}:records:{number}" for number in range(hours[0], hours[1] + 1)]
            policy = self.policy
            numbers = (
                *(last - first + 1, own - first + 1, first, length, hours[0], window),
                *(policy.threshold, policy.related_threshold, _MEASURES[policy.measure], _SCOPES[policy.scope]),
                *(NEWEST, MAX_CANDIDATES, IDENTITY_WEIGHT),
                *(LEAST_NAMES, SAME_NAMES, LEAST_FIGURES, SAME_FIGURES, policy.collisions),
            )
            self._layout = (spans, hours), tuple(map(str.encode, keys)), numbers
        return self._layout[1:]

    def _match(self, new: Record, answer: object) -> Match | BaseException | None:
        if answer is None:
            return None
        if isinstance(answer, Exception):
            return self._named(answer)
        key, packed = cast("list[bytes]", answer)
        if len(key) != KEY_BYTES:
            return StoreError(f"{without_password(self.url)}: a document key of {len(key)} bytes is not one of ours")
        old = intact(packed)
        graded = None if old is None else grade(key, new, old, self.policy)
        return None if graded is None else to_match(graded)

    async def _unlink_dead(self, batch: Sequence[tuple[Fingerprint, Document]]) -> None:
        """Free what left the window now: a replay runs faster than the clock its keys expire by.

        Two documents in a row must agree that an hour is over: one with a wrong date does not empty the window.
        """
        for _, document in batch:
            second = int(document.seen_at)
            agreed = second if self._previous_second is None else min(second, self._previous_second)
            self._previous_second = second
            horizon = agreed - self.policy.window
            live = horizon // HOUR, horizon // _GENERATION
            if self._first_live is None or live < self._first_live:
                self._first_live = live
            elif live > self._first_live:
                hours, generations = (_between(*ends) for ends in zip(self._first_live, live, strict=True))
                dead = [f"{self.prefix}:records:{number}" for number in hours]
                dead += [f"{self.prefix}:bands:{number}" for number in generations]
                self._first_live = live
                try:
                    await self._ask(lambda client: self._unlink(client, dead, horizon // HOUR * HOUR))  # noqa: B023
                except StoreError as error:  # the checks are done, and what is not freed now expires
                    logger.warning("Dead keys are not freed: %s", error)

    async def _unlink(self, client: Redis, dead: Sequence[str], horizon: int) -> None:
        await client.unlink(*dead)
        await self._stories.unlink_dead(client, horizon)


def _between(first: int, last: int) -> list[int]:
    """The numbers from ``first`` to before ``last``; of a leap over years the ends, where the documents are."""
    numbers = range(first, last)
    return [*numbers[:_MOST_DEAD], *numbers[_MOST_DEAD:][-_MOST_DEAD:]]
