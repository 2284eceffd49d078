"""A SQLite file as a store, which processes of one machine share.

It carries out the commands of Redis that this package uses, on two tables. A step is a transaction. All SQL runs in one
separate thread.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar, cast

from scrapy_neardup.exceptions import StoreError, StoreUnavailable
from scrapy_neardup.index.sqlite.file import SQLiteFile
from scrapy_neardup.index.store import (
    Argument,
    Client,
    Facts,
    LocalClient,
    Store,
    as_bytes,
    finished,
    score_range,
)

_MOST_FREED = 20_000  # entries of dead keys in a transaction, which takes some hundredths of a second
R = TypeVar("R")


class SQLiteStore(Store):
    """A missing file is made with its folder.

    With ``reads_only`` nothing is written, not even the tables of a new file.
    """

    def __init__(self, path: str | Path, timeout: float = 2.0, *, reads_only: bool = False) -> None:
        self.location = str(path)
        self._file = SQLiteFile(self.location, timeout, reads_only=reads_only)
        self._opening = asyncio.Lock()
        self._thread: ThreadPoolExecutor | None = None

    def run_folder(self, window: str) -> Path:
        return Path(f"{self.location}-runs", window)

    async def open(self, key: str) -> None:
        async with self._opening:
            if self._thread is not None:
                return
            self._thread = ThreadPoolExecutor(1, thread_name_prefix="neardup-sqlite")
            try:
                await self._in_thread(self._file.connect)
            except BaseException:
                self._thread.shutdown(wait=False)
                self._thread = None
                raise

    async def close(self) -> None:
        if self._thread is not None:
            await self._in_thread(self._file.disconnect)
            self._thread.shutdown()
            self._thread = None

    async def ask(self, steps: Callable[[Client], Awaitable[R]], *, reads: bool = False) -> R:
        return await self._in_thread(self._take, steps, reads)

    def explained(self, error: Exception) -> StoreError:
        return error if isinstance(error, StoreError) else self._file.explained(error)

    async def _in_thread(self, function: Callable[..., R], *arguments: object) -> R:
        if self._thread is None:
            raise StoreUnavailable(f"{self.location}: the store is closed")
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, self._explaining, function, *arguments)

    def _explaining(self, function: Callable[..., R], *arguments: object) -> R:
        try:
            return function(*arguments)
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:  # the latter if SQLite quotes damaged bytes
            raise self._file.explained(error) from error

    def _take(self, steps: Callable[[Client], Awaitable[R]], reads: bool) -> R:
        with (self._file.reading if reads else self._file.writing)() as sql:
            client = SQLiteClient(sql)
            if not reads:
                client.free_dead_keys()
            return finished(steps(client))


class SQLiteClient(LocalClient):
    """Carries out commands in a transaction that its caller has begun. Each method that has no docstring is a command.

    A hash has its fields in ``entries``, a sorted set its members with their scores, and a list its places.
    """

    def __init__(self, sql: sqlite3.Connection) -> None:
        super().__init__()
        self._sql = sql
        self._ids: dict[str, int | None] = {}

    async def names(self, beginning: str) -> list[str]:
        query = "SELECT name FROM keys WHERE substr(name, 1, ?) = ? AND expires > ? ORDER BY name"
        return [str(name) for (name,) in self._sql.execute(query, (len(beginning), beginning, self.now))]

    async def facts(self, keys: Sequence[str]) -> Facts:
        pages, size, mode = (self._pragma(name) for name in ("page_count", "page_size", "journal_mode"))
        facts = {"server": f"SQLite {sqlite3.sqlite_version}", "journal": str(mode)}
        return Facts(facts, bytes=cast("int", pages) * cast("int", size))

    def _pragma(self, name: str) -> object:
        return self._sql.execute(f"PRAGMA {name}").fetchone()[0]

    def free_dead_keys(self) -> None:
        """Remove entries of keys that have expired or were removed, some at a time, so that others can write soon."""
        dead = self._sql.execute("SELECT id FROM keys WHERE expires <= ? LIMIT 100", (self.now,)).fetchall()
        left = _MOST_FREED
        for key in dead:
            some = "SELECT field FROM entries WHERE key = ? LIMIT ?"
            removed = f"DELETE FROM entries WHERE key = ? AND field IN ({some})"
            left -= self._sql.execute(removed, (*key, *key, left)).rowcount
            if left <= 0:
                return
            self._sql.execute("DELETE FROM keys WHERE id = ?", key)

    def append(self, key: str, pairs: Iterable[tuple[bytes, bytes]]) -> None:
        # SQLite calls what it appends a text, whatever its bytes.
        self._put(key, list(pairs), "CAST(value || excluded.value AS BLOB)")

    def _find(self, key: str) -> int | None:
        """Return the number of a key, None if there is no such key."""
        if key not in self._ids:
            row = self._sql.execute("SELECT id FROM keys WHERE name = ? AND expires > ?", (key, self.now)).fetchone()
            self._ids[key] = row and row[0]
        return self._ids[key]

    def _own(self, key: str) -> int:
        """Return the number of a key. Make the key if it is missing."""
        if (found := self._find(key)) is None:
            self.unlink(key)  # it may have expired
            found = self._ids[key] = self._sql.execute("INSERT INTO keys (name) VALUES (?)", (key,)).lastrowid
        return cast("int", found)

    def _rows(self, key: str, more: str = "", *values: object) -> list[tuple[bytes, object]]:
        if (number := self._find(key)) is None:
            return []
        query = f"SELECT field, value FROM entries WHERE key = ? {more}"
        return self._sql.execute(query, (number, *values)).fetchall()

    def _put(self, key: str, pairs: Sequence[tuple[bytes, object]], value: str = "excluded.value") -> None:
        """Write fields. ``value`` is what a field gets that is there already."""
        if pairs:
            # One statement, because the interpreter's lock is given up and taken again around every step of SQLite.
            number, rows = self._own(key), ", ".join(["(?, ?, ?)"] * len(pairs))
            values = [each for pair in pairs for each in (number, *pair)]
            update = f"ON CONFLICT (key, field) DO UPDATE SET value = {value}"
            self._sql.execute(f"INSERT INTO entries (key, field, value) VALUES {rows} {update}", values)

    def remove(self, key: str, fields: Sequence[Argument]) -> None:
        rows = [(self._find(key), as_bytes(field)) for field in fields]
        self._sql.executemany("DELETE FROM entries WHERE key = ? AND field = ?", rows)

    def hmget(self, key: str, *fields: Argument) -> list[bytes | None]:
        asked = [as_bytes(field) for field in fields]
        rows = self._rows(key, f"AND field IN ({', '.join('?' * len(asked))})", *asked)
        found = dict(rows)
        return [None if (value := found.get(field)) is None else as_bytes(value) for field in asked]

    def hgetall(self, key: str) -> dict[bytes, bytes]:
        return {as_bytes(field): as_bytes(value) for field, value in self._rows(key)}

    def hlen(self, key: str) -> int:
        (count,) = self._sql.execute("SELECT count(*) FROM entries WHERE key = ?", (self._find(key),)).fetchone()
        return int(count)

    def hset(self, key: str, *pairs: Argument) -> None:
        self._put(key, [(as_bytes(each), as_bytes(value)) for each, value in zip(pairs[::2], pairs[1::2], strict=True)])

    def zadd(self, key: str, *arguments: Argument) -> None:
        *options, score, member = arguments
        value = "max(value, excluded.value)" if "GT" in options else "excluded.value"
        self._put(key, [(as_bytes(member), score)], value)

    def zrangebyscore(self, key: str, low: Argument, high: Argument, *limit: Argument) -> list[bytes]:
        condition, bounds = _range(low, high)
        rows = self._rows(key, f"{condition} ORDER BY value, field LIMIT ?", *bounds, limit[-1] if limit else -1)
        return [as_bytes(member) for member, _ in rows]

    def zremrangebyscore(self, key: str, low: Argument, high: Argument) -> None:
        condition, bounds = _range(low, high)
        self._sql.execute(f"DELETE FROM entries WHERE key = ? {condition}", (self._find(key), *bounds))

    def rpush(self, key: str, *values: Argument) -> None:
        places = self._rows(key, "ORDER BY field DESC LIMIT 1")
        first = int.from_bytes(as_bytes(places[0][0]), "big") + 1 if places else 0
        self._put(key, [((first + n).to_bytes(8, "big"), as_bytes(value)) for n, value in enumerate(values)])

    def ltrim(self, key: str, start: int, end: int) -> None:
        kept = "SELECT field FROM entries WHERE key = ? ORDER BY field DESC LIMIT ?"
        number = self._find(key)
        self._sql.execute(f"DELETE FROM entries WHERE key = ? AND field NOT IN ({kept})", (number, number, -start))

    def lrange(self, key: str, start: int, end: int) -> list[bytes]:
        return [as_bytes(value) for _, value in self._rows(key, "ORDER BY field")]

    def lrem(self, key: str, count: int, value: bytes) -> None:
        self._sql.execute("DELETE FROM entries WHERE key = ? AND value = ?", (self._find(key), value))

    def expire(self, key: str, seconds: float) -> None:
        self._sql.execute("UPDATE keys SET expires = ? WHERE id = ?", (self.now + seconds, self._find(key)))

    def unlink(self, key: str) -> None:
        self._sql.execute("UPDATE keys SET name = NULL, expires = 0 WHERE name = ?", (key,))
        self._ids.pop(key, None)


def _range(low: Argument, high: Argument) -> tuple[str, tuple[float, float]]:
    """Return a condition for scores, and its bounds."""
    least, most, is_closed = score_range(low, high)
    return f"AND value >= ? AND value {'<=' if is_closed else '<'} ?", (least, most)
