"""A store in the memory of this process. It carries out the commands of Redis that this package uses."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from math import inf
from typing import TypeVar

from scrapy_neardup.exceptions import StoreError, StoreUnavailable
from scrapy_neardup.index.store import Argument, Client, Facts, LocalClient, Store, as_bytes, finished

R = TypeVar("R")


class MemoryStore(Store):
    """What it keeps ends when it is closed."""

    location = "memory://"

    def __init__(self) -> None:
        self._client: MemoryClient | None = None

    async def open(self, key: str) -> None:
        self._client = self._client or MemoryClient()

    async def close(self) -> None:
        self._client = None

    async def ask(self, steps: Callable[[Client], Awaitable[R]], *, reads: bool = False) -> R:
        if self._client is None:
            raise StoreUnavailable(f"{self.location}: the store is closed")
        self._client.unlink_expired()
        return finished(steps(self._client))

    def explained(self, error: Exception) -> StoreError:
        return error if isinstance(error, StoreError) else StoreError(f"{self.location}: {error}")


class MemoryClient(LocalClient):
    """Carries out commands on dictionaries, which keep the data."""

    def __init__(self) -> None:
        super().__init__()
        self._hashes: dict[str, dict[bytes, bytes]] = {}
        self._expires: dict[str, float] = {}  # by this machine's clock
        self._next_expiry = inf  # no key expires before

    def unlink_expired(self) -> None:
        """Remove what has expired. Call this at the beginning of each step."""
        self.now = time.time()
        if self.now >= self._next_expiry:
            for key in [key for key, expires in self._expires.items() if expires <= self.now]:
                self.unlink(key)
            self._next_expiry = min(self._expires.values(), default=inf)

    async def names(self, beginning: str) -> list[str]:
        return sorted(key for key in self._hashes if key.startswith(beginning))

    async def facts(self, keys: Sequence[str]) -> Facts:
        kept = (each for found in self._hashes.values() for pair in found.items() for each in pair)
        return Facts({"server": "the memory of this process"}, bytes=sum(map(len, kept)))

    def append(self, key: str, pairs: Iterable[tuple[bytes, bytes]]) -> None:
        found = self._hashes.setdefault(key, {})
        for name, value in pairs:
            found[name] = found.get(name, b"") + value

    def hdel(self, key: str, *fields: Argument) -> None:
        found = self._hashes.get(key, {})
        for name in fields:
            found.pop(as_bytes(name), None)

    def hmget(self, key: str, *fields: Argument) -> list[bytes | None]:
        found = self._hashes.get(key, {})
        return [found.get(each if isinstance(each, bytes) else as_bytes(each)) for each in fields]

    def hgetall(self, key: str) -> dict[bytes, bytes]:
        return dict(self._hashes.get(key, {}))

    def hlen(self, key: str) -> int:
        return len(self._hashes.get(key, ()))

    def hset(self, key: str, *pairs: Argument) -> None:
        names, values = map(as_bytes, pairs[::2]), map(as_bytes, pairs[1::2])
        self._hashes.setdefault(key, {}).update(zip(names, values, strict=True))

    def expire(self, key: str, seconds: float) -> None:
        self._expires[key] = expires = max(self._expires.get(key, 0.0), self.now + seconds)
        self._next_expiry = min(self._next_expiry, expires)

    def unlink(self, key: str) -> None:
        self._hashes.pop(key, None)
        self._expires.pop(key, None)
