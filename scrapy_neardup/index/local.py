"""Stores inside this process: how they carry out commands, and the one that keeps the window in memory.

A local client answers at once. So a step (see ``partition.py``) goes from its first to its last line without a pause,
and nobody else comes in between: in memory because one thread does everything, in SQLite because of its transaction.
"""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from math import inf
from typing import TypeVar

from scrapy_neardup.exceptions import StoreError, StoreUnavailable
from scrapy_neardup.index.store import LOGGED, Argument, Call, Client, Commit, Facts, NewPostings, Store, as_bytes
from scrapy_neardup.records.packing import split

R = TypeVar("R")


class LocalClient(Client):
    """A client inside this process. A command of Redis is the method that has its name in lower case, ``HGET`` hget().

    The methods without a docstring are these commands. A store adds those that touch its data.
    """

    def __init__(self) -> None:
        self.now = time.time()

    async def send(self, calls: Sequence[Call | Commit]) -> list[object]:
        return [self._commit(call) if isinstance(call, Commit) else self._run(call) for call in calls]

    async def run_aside(self, function: Callable[..., R], *arguments: object) -> R:
        return function(*arguments)

    def _run(self, call: Call) -> object:
        return getattr(self, call.name.lower())(call.key, *call.arguments)

    def _commit(self, commit: Commit) -> object:
        for call, expected in commit.expected:
            answer = self._run(call)
            if as_bytes(answer or b"") != expected:
                return answer
        if commit.postings is not None and not self._post(commit.postings):
            return 0
        for call in commit.writes:
            self._run(call)
        return 1

    def _post(self, new: NewPostings) -> bool:
        """Post a document. Return False if somebody else has posted anything near it since the caller has read."""
        for key, _, version, _ in new.hashes:
            if (self.hget(key, "version") or b"") != version:
                return False
        own, bits, _, _ = new.hashes[-1]
        for shard, gone in new.gone:
            kept = [each for each in split(self.hget(own, shard) or b"", new.size) if each != gone]
            self.hset(own, shard, b"".join(kept))
        self.append(own, new.added)
        self.hset(own, "bits", bits, "version", new.version)
        return True

    async def fields(self, key: str) -> Mapping[bytes, bytes]:
        return self.hgetall(key)

    def hget(self, key: str, field: Argument) -> bytes | None:
        return self.hmget(key, field)[0]

    def hexists(self, key: str, field: Argument) -> int:
        return int(self.hget(key, field) is not None)

    def runs(self, key: str) -> tuple[int, dict[bytes, bytes]]:
        return int(1000 * self.now), self.hgetall(key)

    # A log is a hash whose fields are numbers without a gap. A log that is made anew goes on behind the lost one.

    def xadd(self, key: str, _maxlen: str, _about: str, most: int, *entry: Argument) -> None:
        first, last = self._bounds(key)
        number = last + 1 or int(1_000_000 * self.now)
        first = max(first, number + 1 - most) if last >= first else number
        self.hset(key, "first", first, "last", number, number, entry[-1])
        self.hdel(key, first - 1)

    def xlen(self, key: str) -> int:
        first, last = self._bounds(key)
        return last + 1 - first

    def xrange(self, key: str, start: str, *limits: Argument) -> list[tuple[bytes, dict[bytes, bytes]]]:
        first, last = self._bounds(key)
        return self._entries(key, range(max(first, int(start.partition("-")[0] or 0)), last + 1)[: int(limits[-1])])

    def xrevrange(self, key: str, *limits: Argument) -> list[tuple[bytes, dict[bytes, bytes]]]:
        first, last = self._bounds(key)
        return self._entries(key, range(last, first - 1, -1)[: int(limits[-1])])

    def _bounds(self, key: str) -> tuple[int, int]:
        """Return the numbers of the first and the last entry of a log; of an empty or damaged one 0 and -1."""
        first, last = (each or b"" for each in self.hmget(key, "first", "last"))
        return (int(first), int(last)) if first.isdigit() and last.isdigit() else (0, -1)

    def _entries(self, key: str, numbers: Sequence[int]) -> list[tuple[bytes, dict[bytes, bytes]]]:
        values = zip(numbers, self.hmget(key, *numbers), strict=True)
        return [(b"%d-0" % number, {LOGGED: value}) for number, value in values if value is not None]

    @abstractmethod
    def append(self, key: str, pairs: Iterable[tuple[bytes, bytes]]) -> None:
        """Append to each field of a hash the value behind it."""

    @abstractmethod
    def hmget(self, key: str, *fields: Argument) -> list[bytes | None]: ...

    @abstractmethod
    def hgetall(self, key: str) -> dict[bytes, bytes]: ...

    @abstractmethod
    def hdel(self, key: str, *fields: Argument) -> None: ...

    @abstractmethod
    def hset(self, key: str, *pairs: Argument) -> None: ...


class MemoryStore(Store):
    """What it keeps ends when it is closed."""

    location = "memory://"

    def __init__(self) -> None:
        self._client: MemoryClient | None = None

    async def open(self, key: str) -> None:
        self._client = self._client or MemoryClient()

    async def close(self) -> None:
        self._client = None

    async def ask(self, step: Callable[[Client], Awaitable[R]], *, reads: bool = False) -> R:
        if self._client is None:
            raise StoreUnavailable(f"{self.location}: the store is closed")
        self._client.unlink_expired()
        return await step(self._client)

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
        names = map(as_bytes, pairs[::2])
        values = map(as_bytes, pairs[1::2])
        self._hashes.setdefault(key, {}).update(zip(names, values, strict=True))

    def expire(self, key: str, seconds: float) -> None:
        self._expires[key] = expires = max(self._expires.get(key, 0.0), self.now + seconds)
        self._next_expiry = min(self._next_expiry, expires)

    def unlink(self, key: str) -> None:
        self._hashes.pop(key, None)
        self._expires.pop(key, None)
