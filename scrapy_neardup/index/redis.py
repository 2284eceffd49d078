"""The shared store: one Redis that any number of crawler processes use as one window.

All keys carry one hash tag, ``{neardup:<namespace>:<config>}``, and every one of them expires:

``…:records:<hour>``     HASH document key -> packed record, until the hour's end + window
``…:bands:<generation>`` HASH shard -> postings, until the generation's end + window

Records are the truth; bands are hints, and a posting whose record is gone is no candidate. Stories: redis_stories.py.
"""

from __future__ import annotations

import asyncio
import logging
import struct
from collections.abc import Awaitable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, cast

from scrapy_neardup.document import Claim, Document, Fingerprint, Join, Match, Member, Story
from scrapy_neardup.exceptions import StoreError, StoreUnavailable
from scrapy_neardup.index.base import HOUR, Index, Policy, StoreSummary
from scrapy_neardup.index.batching import Batcher
from scrapy_neardup.index.lua import script
from scrapy_neardup.index.record import KEY_BYTES, Record, intact, new_record
from scrapy_neardup.index.redis_stories import RedisStories
from scrapy_neardup.index.verification import IDENTITY_WEIGHT, MAX_CANDIDATES, NEWEST, grade, to_match
from scrapy_neardup.measures import LEAST_FIGURES, LEAST_NAMES, SAME_FIGURES, SAME_NAMES

logger = logging.getLogger(__name__)

if TYPE_CHECKING:
    from redis.asyncio import Redis

_BATCH = 64
_CONNECTIONS = 2
_GENERATION = 1 << 16  # seconds: a posting has 2 bytes for the second within its generation
_MOST_DEAD = 2000  # hours removed at once at either end; the longest window has 744
_MEASURES = {"containment": 0, "resemblance": 1}
_SCOPES = {"all": 0, "same-source": 1, "cross-source": 2}
R = TypeVar("R")


class RedisIndex(Index):
    """``url`` as redis-py takes it: ``redis://``, ``rediss://`` or ``unix://``.

    Checks that wait together travel in one pipeline over one connection; each is one call of ``check.lua``.
    """

    def __init__(self, url: str, namespace: str, config: str, policy: Policy, *, timeout: float = 2.0) -> None:
        self.url = url
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
        self._client: Redis | None = None
        self._previous_second: int | None = None
        self._first_live: tuple[int, int] | None = None  # hour, generation

    async def open(self) -> None:
        async with self._opening:
            if self._client is not None:
                return
            client = _connect(self.url, self.timeout)
            try:
                await client.ping()
            except Exception as error:
                await client.aclose()
                raise self._named(error) from error
            self._client = client

    async def close(self) -> None:
        if self._client is None:
            return
        for batcher in (self._batcher, self._joins, self._claims):
            await batcher.join()
        client, self._client = self._client, None
        await client.aclose()

    async def check(self, fingerprint: Fingerprint, document: Document) -> Match | None:
        return await self._batcher.submit((fingerprint, document))

    async def join(self, join: Join) -> Story:
        return await self._joins.submit(join)

    async def claim(self, claim: Claim) -> tuple[Member, ...] | None:
        return await self._claims.submit(claim)

    async def open_events(self, quiet_since: int | None = None) -> list[Story]:
        return await self._named_errors(self._stories.open_events(self._opened(), quiet_since))

    async def members(self, story: str) -> tuple[Member, ...]:
        return await self._named_errors(self._stories.members(self._opened(), story))

    async def peaks(self, since: int) -> dict[str, int]:
        return await self._named_errors(self._stories.peaks(self._opened(), since))

    async def summary(self) -> StoreSummary:
        client = self._opened()
        hours: dict[int, int] = {}
        used = 0
        try:
            async for name in client.scan_iter(match=_glob(self.prefix) + ":*", count=1000):
                kind, number = name.decode().rsplit(":", 2)[1:]
                used += await client.memory_usage(name, samples=0) or 0
                if kind == "records":
                    hours[int(number)] = await client.hlen(name)
        except Exception as error:
            raise self._named(error) from error
        return StoreSummary(_without_password(self.url), self.namespace, self.config, dict(sorted(hours.items())), used)

    def _opened(self) -> Redis:
        if self._client is None:
            raise StoreUnavailable(f"{_without_password(self.url)}: the store is closed")
        return self._client

    def _named(self, error: Exception) -> StoreError:
        """Errors of the server name it and what to do about it."""
        from redis import exceptions

        where = _without_password(self.url)
        if isinstance(error, StoreError):
            return error
        if isinstance(error, exceptions.AuthenticationError | exceptions.NoPermissionError):
            return StoreError(f"{where}: {error}; check user and password in NEARDUP_STORE, and the user's ACL")
        return StoreUnavailable(f"{where}: {type(error).__name__}: {error}")

    async def _run_batch(self, batch: Sequence[tuple[Fingerprint, Document]]) -> list[Match | BaseException | None]:
        client = self._opened()
        calls = [self._call(fingerprint, document) for fingerprint, document in batch]
        answers = await self._named_errors(script("check").run(client, calls))
        await self._unlink_dead(client, batch)
        records = [new_record(fingerprint, document) for fingerprint, document in batch]
        return [self._match(record, answer) for record, answer in zip(records, answers, strict=True)]

    async def _run_joins(self, batch: Sequence[Join]) -> list[Story | BaseException]:
        answers = await self._named_errors(self._stories.join(self._opened(), batch))
        return [self._named(answer) if isinstance(answer, Exception) else answer for answer in answers]

    async def _run_claims(self, batch: Sequence[Claim]) -> list[tuple[Member, ...] | BaseException | None]:
        answers = await self._named_errors(self._stories.claim(self._opened(), batch))
        return [self._named(answer) if isinstance(answer, Exception) else answer for answer in answers]

    async def _named_errors(self, answer: Awaitable[R]) -> R:
        try:
            return await answer
        except Exception as error:
            raise self._named(error) from error

    def _call(self, fingerprint: Fingerprint, document: Document) -> tuple[list[str], list[bytes]]:
        """Keys and arguments of one call of ``check.lua``."""
        second, window, length = int(document.seen_at), self.policy.window, _GENERATION
        first_generation, last_generation = (second - window) // length, (second + window) // length
        first_hour, last_hour = (second - window) // HOUR, (second + window) // HOUR
        keys = [f"{self.prefix}:bands:{number}" for number in range(first_generation, last_generation + 1)]
        keys += [f"{self.prefix}:records:{number}" for number in range(first_hour, last_hour + 1)]
        numbers = (
            len(fingerprint.identity_keys),
            last_generation - first_generation + 1,
            second // length - first_generation + 1,
            first_generation,
            length,
            first_hour,
            window,
            self.policy.threshold,
            self.policy.related_threshold,
            _MEASURES[self.policy.measure],
            _SCOPES[self.policy.scope],
            NEWEST,
            MAX_CANDIDATES,
            IDENTITY_WEIGHT,
            LEAST_NAMES,
            SAME_NAMES,
            LEAST_FIGURES,
            SAME_FIGURES,
        )
        posted = fingerprint.identity_keys + fingerprint.text_keys
        return keys, [
            bytes.fromhex(document.id),
            new_record(fingerprint, document).pack(),
            struct.pack(f">{len(posted)}I", *posted),
            " ".join(map(repr, numbers)).encode(),
        ]

    def _match(self, new: Record, answer: object) -> Match | BaseException | None:
        if answer is None:
            return None
        if isinstance(answer, Exception):
            return self._named(answer)
        key, packed = cast("list[bytes]", answer)
        if len(key) != KEY_BYTES:
            return StoreError(f"{_without_password(self.url)}: a document key of {len(key)} bytes is not one of ours")
        old = intact(packed)
        graded = None if old is None else grade(key, new, old, self.policy)
        return None if graded is None else to_match(graded)

    async def _unlink_dead(self, client: Redis, batch: Sequence[tuple[Fingerprint, Document]]) -> None:
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
                    await client.unlink(*dead)
                    await self._stories.unlink_dead(client, horizon // HOUR * HOUR)
                except Exception as error:  # the checks are done, and what is not freed now expires
                    logger.warning("Dead keys are not freed: %s", self._named(error))


def _between(first: int, last: int) -> list[int]:
    """The numbers from ``first`` to before ``last``; of a leap over years the ends, where the documents are."""
    numbers = range(first, last)
    return [*numbers[:_MOST_DEAD], *numbers[_MOST_DEAD:][-_MOST_DEAD:]]


def _connect(url: str, timeout: float) -> Redis:
    from redis.asyncio import BlockingConnectionPool, Redis
    from redis.asyncio.retry import Retry
    from redis.backoff import NoBackoff
    from redis.exceptions import ConnectionError as LostConnection

    options: dict[str, Any] = {
        "max_connections": _CONNECTIONS,
        "timeout": timeout,
        "socket_timeout": timeout,
        "socket_connect_timeout": timeout,
        # A connection the server closed while idle; a check may be sent twice, and is one check.
        "retry": Retry(NoBackoff(), 1, supported_errors=(LostConnection,)),
        "protocol": 2,
    }
    return Redis(connection_pool=BlockingConnectionPool.from_url(url, **options))


def _glob(text: str) -> str:
    return "".join(f"\\{character}" if character in "\\*?[]" else character for character in text)


def _without_password(url: str) -> str:
    head, at, tail = url.rpartition("@")
    scheme = head.partition("://")[0]
    return f"{scheme}://***@{tail}" if at else url
