"""A store in the memory of this process. It carries out the commands of Redis that this package uses."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from typing import TypeVar

from scrapy_neardup.exceptions import StoreError, StoreUnavailable
from scrapy_neardup.index.store import (
    Argument,
    Client,
    Facts,
    LocalClient,
    Store,
    as_bytes,
    finished,
)

R = TypeVar("R")


@dataclass(slots=True)
class _Data:
    """All hashes, and when each of them expires by this machine's clock."""

    hashes: dict[str, dict[bytes, bytes]] = field(default_factory=dict)
    expires: dict[str, float] = field(default_factory=dict)
    next_expiry: float = inf  # no key expires before

    def unlink(self, key: str) -> None:
        self.hashes.pop(key, None)
        self.expires.pop(key, None)

    def unlink_expired(self, now: float) -> None:
        if now >= self.next_expiry:
            for key in [key for key, expires in self.expires.items() if expires <= now]:
                self.unlink(key)
            self.next_expiry = min(self.expires.values(), default=inf)


class MemoryStore(Store):
    """What it keeps ends when it is closed."""

    location = "memory://"

    def __init__(self) -> None:
        self._data: _Data | None = None

    def run_folder(self, window: str) -> Path | None:
        return None

    async def open(self, key: str) -> None:
        self._data = self._data or _Data()

    async def close(self) -> None:
        self._data = None

    async def ask(self, steps: Callable[[Client], Awaitable[R]], *, reads: bool = False) -> R:
        if self._data is None:
            raise StoreUnavailable(f"{self.location}: the store is closed")
        return finished(steps(MemoryClient(self._data)))

    def explained(self, error: Exception) -> StoreError:
        return error if isinstance(error, StoreError) else StoreError(f"{self.location}: {error}")


class MemoryClient(LocalClient):
    """Carries out commands on dictionaries."""

    def __init__(self, data: _Data) -> None:
        super().__init__()
        data.unlink_expired(self.now)
        self._data = data

    async def names(self, beginning: str) -> list[str]:
        return sorted(key for key in self._data.hashes if key.startswith(beginning))

    async def facts(self, keys: Sequence[str]) -> Facts:
        kept = (each for found in self._data.hashes.values() for pair in found.items() for each in pair)
        return Facts({"server": "the memory of this process"}, bytes=sum(map(len, kept)))

    def append(self, key: str, pairs: Iterable[tuple[bytes, bytes]]) -> None:
        found = self._data.hashes.setdefault(key, {})
        for name, value in pairs:
            found[name] = found.get(name, b"") + value

    def hdel(self, key: str, *fields: Argument) -> None:
        found = self._data.hashes.get(key, {})
        for name in fields:
            found.pop(as_bytes(name), None)

    def hmget(self, key: str, *fields: Argument) -> list[bytes | None]:
        return list(map(self._data.hashes.get(key, {}).get, map(as_bytes, fields)))

    def hgetall(self, key: str) -> dict[bytes, bytes]:
        return dict(self._data.hashes.get(key, {}))

    def hlen(self, key: str) -> int:
        return len(self._data.hashes.get(key, ()))

    def hset(self, key: str, *pairs: Argument) -> None:
        names, values = map(as_bytes, pairs[::2]), map(as_bytes, pairs[1::2])
        self._data.hashes.setdefault(key, {}).update(zip(names, values, strict=True))

    def expire(self, key: str, seconds: float) -> None:
        self._data.expires[key] = expires = self.now + seconds
        self._data.next_expiry = min(self._data.next_expiry, expires)

    def unlink(self, key: str) -> None:
        self._data.unlink(key)
