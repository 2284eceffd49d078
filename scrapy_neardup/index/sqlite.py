"""A SQLite file as a store, which processes of one machine share; or a database in the memory of this process.

It carries out the commands of Redis that this package uses, on three tables. A step (see ``layout.py``) is a
transaction. All SQL runs in one separate thread, where the client answers at once. So a step goes from its first to its
last line without a pause, and nobody else comes in between.
"""

import asyncio
import os
import sqlite3
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import cast

from scrapy_neardup.exceptions import StoreError, StoreUnavailable
from scrapy_neardup.index.layout import OF_TEXTS
from scrapy_neardup.index.store import (
    LOGGED,
    Argument,
    Call,
    Client,
    Commit,
    Facts,
    LogEntry,
    NewPostings,
    R,
    Store,
    as_bytes,
)
from scrapy_neardup.records.packing import split
from scrapy_neardup.text.display import printable

APPLICATION = 0x4E44_5550  # ``PRAGMA application_id`` of our files: the letters NDUP

VERSION = 3  # ``PRAGMA user_version``

_MEND = "move it away, or set NEARDUP_STORE to another file"
USABLE = (
    "this user must be able to read and write the file and its folder, with room on the disk; or set NEARDUP_STORE to"
    " another file"
)
_POLL = 0.001  # seconds
# A power cut may lose the last checks, not the file. A crash of the process loses nothing.
_PRAGMAS = """
PRAGMA synchronous = NORMAL;
PRAGMA cache_size = -16000;  -- kB
PRAGMA wal_autocheckpoint = 8000;  -- pages, 32 MB of the log: pages that change often are written to the file once
PRAGMA journal_size_limit = 32000000;  -- bytes to which the log shrinks
"""
_COLUMNS = "(key INTEGER NOT NULL, field BLOB NOT NULL, value BLOB NOT NULL, PRIMARY KEY (key, field))"
# What a new file gets: tables, and the marks by which it is known as one of ours.
TABLES = (
    # A key without a name was removed, and its entries are not free yet. A key expires by this machine's clock.
    "CREATE TABLE IF NOT EXISTS keys (id INTEGER PRIMARY KEY, name TEXT UNIQUE, expires REAL NOT NULL DEFAULT 9e99)",
    "CREATE INDEX IF NOT EXISTS keys_expire ON keys (expires)",
    f"CREATE TABLE IF NOT EXISTS entries {_COLUMNS} WITHOUT ROWID",
    # Entries of over 1 kB take a page of their own in a table without row ids: 3.4 kB for a text of 1.2 kB.
    f"CREATE TABLE IF NOT EXISTS texts {_COLUMNS}",
    f"PRAGMA application_id = {APPLICATION}",
    f"PRAGMA user_version = {VERSION}",
)


class SQLiteStore(Store):
    """A missing file is made with its folder. Without a path the window is in memory, and ends when it is closed."""

    def __init__(self, path: str | Path = "", timeout: float = 2.0) -> None:
        self.location = str(path) or "memory://"
        self._file = SQLiteFile(str(path), timeout)
        self._thread: ThreadPoolExecutor | None = None
        self._process = 0  # that has opened the store

    async def open(self, key: str) -> None:
        if self._thread is not None:
            return
        self._process = os.getpid()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="neardup-sqlite")
        await self.ask(lambda client: client.fields(key), reads=True)

    async def close(self) -> None:
        if self._thread is not None and self._process == os.getpid():
            await asyncio.get_running_loop().run_in_executor(self._thread, self._file.disconnect)
            self._thread.shutdown()
            self._thread = None

    async def ask(self, step: Callable[[Client], Awaitable[R]], *, reads: bool = False) -> R:
        if self._thread is None:
            raise StoreUnavailable(f"{self.location}: the store is closed")
        if self._process != os.getpid():  # a fork has no threads
            raise StoreUnavailable(
                f"{self.location}: it was opened in another process: make and open a store in this one"
            )
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, self._transact, step, reads)
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:  # the latter if SQLite quotes damaged bytes
            raise self.explained(error) from error

    def _transact(self, step: Callable[[Client], Awaitable[R]], reads: bool) -> R:
        """Run a step as one transaction, in the thread of the store.

        This thread has no event loop, and needs none: the client answers at once, so the coroutine of the step ends
        when it is started, without giving up control once. Python tells its result by StopIteration.
        """
        self._file.open_if_replaced()
        with self._file.transaction(writes=not reads) as sql:
            client = SQLiteClient(sql)
            if not reads:
                client.free_dead_keys()
            coroutine = step(client).__await__()
            try:
                next(coroutine)
            except StopIteration as done:
                return cast("R", done.value)
            raise AssertionError("a step waited for something other than its client")

    def explained(self, error: Exception) -> StoreError:
        if isinstance(error, StoreError):
            return error
        text = " ".join(printable(str(error)).split())
        if not self._file.path:
            return StoreError(f"{self.location}: {text}")
        if isinstance(error, sqlite3.OperationalError):  # other errors are of damaged data
            if "locked" in text or "busy" in text:
                return StoreUnavailable(
                    f"{self._file.path}: another process held the file for over {self._file.timeout:g} s ({text})"
                )
            # The file may be in order, but cannot be used now.
            if any(words in text for words in ("disk", "unable to open", "readonly", "permission", "locking protocol")):
                return StoreUnavailable(f"{self._file.path}: {text}; {USABLE}")
        return StoreError(
            f"{self._file.path}: {text}; it is damaged or not a SQLite file: move it away and a new one is made"
        )


class SQLiteClient(Client):
    """Carries out commands in a transaction that its caller has begun.

    A command of Redis is the method that has its name in lower case, ``HGET`` hget(). The methods without a docstring
    are these commands.
    """

    def __init__(self, sql: sqlite3.Connection) -> None:
        self.now = time.time()
        self._sql = sql
        self._ids: dict[str, int | None] = {}

    async def send(self, calls: Sequence[Call | Commit]) -> list[object]:
        return [self._commit(call) if isinstance(call, Commit) else self._run(call) for call in calls]

    async def run_aside(self, function: Callable[[], R]) -> R:
        return function()

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
            postings = split(self.hget(own, shard) or b"", new.size)
            self.hset(own, shard, b"".join(each for each in postings if each != gone))
        # SQLite calls what it appends a text, whatever its bytes.
        self._put(own, new.added, "CAST(value || excluded.value AS BLOB)")
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

    # The entries of a log are fields, whose names are their ids: "<number>-0". The first number is the time in
    # microseconds. So all have the same length, and a log that is made anew goes on behind the lost one.

    def xadd(self, key: str, _maxlen: str, _about: str, most: int, *entry: Argument) -> None:
        number = int(1_000_000 * self.now)
        for newest, _ in self._entries(key, "AND field < ? ORDER BY field DESC LIMIT 1", b":"):
            if newest[:-2].isdigit():  # others are damaged, as those that begin with no digit
                number = int(newest[:-2]) + 1
        self.hset(key, b"%d-0" % number, entry[-1])
        self.hdel(key, b"%d-0" % (number - most))

    def xrange(self, key: str, start: str, *limits: Argument) -> list[LogEntry]:
        return self._entries(key, "AND field >= ? ORDER BY field LIMIT ?", start.encode(), limits[-1])

    def xrevrange(self, key: str, *limits: Argument) -> list[LogEntry]:
        return self._entries(key, "ORDER BY field DESC LIMIT ?", limits[-1])

    def _entries(self, key: str, query: str, *values: object) -> list[LogEntry]:
        return [(field, {LOGGED: as_bytes(value)}) for field, value in self._rows(key, query, *values)]

    async def names(self, beginning: str) -> list[str]:
        return [
            str(name)
            for (name,) in self._sql.execute(
                "SELECT name FROM keys WHERE substr(name, 1, ?) = ? AND expires > ? ORDER BY name",
                (len(beginning), beginning, self.now),
            )
        ]

    async def facts(self, keys: Sequence[str]) -> Facts:
        pages, size, mode = self._sql.execute(
            "SELECT * FROM pragma_page_count, pragma_page_size, pragma_journal_mode"
        ).fetchone()
        return Facts({"server": f"SQLite {sqlite3.sqlite_version}", "journal": str(mode)}, bytes=pages * size)

    def free_dead_keys(self) -> None:
        """Remove entries of keys that have expired or were removed, some at a time, so that others can write soon."""
        dead = self._sql.execute("SELECT id FROM keys WHERE expires <= ? LIMIT 100", (self.now,)).fetchall()
        left = 20_000  # takes some hundredths of a second
        for key in dead:
            for table in ("entries", "texts"):
                left -= self._sql.execute(
                    f"DELETE FROM {table} WHERE key = ? AND field IN (SELECT field FROM {table} WHERE key = ? LIMIT ?)",
                    (*key, *key, left),
                ).rowcount
                if left <= 0:
                    return
            self._sql.execute("DELETE FROM keys WHERE id = ?", key)

    def _find(self, key: str) -> int | None:
        """Return the number of a key, None if there is no such key."""
        if key not in self._ids:
            row = self._sql.execute("SELECT id FROM keys WHERE name = ? AND expires > ?", (key, self.now)).fetchone()
            self._ids[key] = row and row[0]
        return self._ids[key]

    def _rows(self, key: str, more: str = "", *values: object) -> list[tuple[bytes, bytes]]:
        if (number := self._find(key)) is None:
            return []
        return self._sql.execute(
            f"SELECT field, value FROM {_table(key)} WHERE key = ? {more}", (number, *values)
        ).fetchall()

    def _put(self, key: str, pairs: Sequence[tuple[bytes, bytes]], value: str = "excluded.value") -> None:
        """Write fields. ``value`` is what a field gets that is there already."""
        if pairs:
            # One statement, because the interpreter's lock is given up and taken again around every step of SQLite.
            number = self._find(key)
            if number is None:
                self.unlink(key)  # it may have expired
                number = self._ids[key] = self._sql.execute("INSERT INTO keys (name) VALUES (?)", (key,)).lastrowid
            rows = ", ".join(["(?1, ?, ?)"] * len(pairs))
            self._sql.execute(
                f"INSERT INTO {_table(key)} (key, field, value) VALUES {rows}"
                f" ON CONFLICT (key, field) DO UPDATE SET value = {value}",
                [number, *(each for pair in pairs for each in pair)],
            )

    def hdel(self, key: str, *fields: Argument) -> None:
        self._sql.executemany(
            f"DELETE FROM {_table(key)} WHERE key = ? AND field = ?",
            [(self._find(key), as_bytes(field)) for field in fields],
        )

    def hmget(self, key: str, *fields: Argument) -> list[bytes | None]:
        asked = [as_bytes(field) for field in fields]
        found = {
            field: as_bytes(value)
            for field, value in self._rows(key, f"AND field IN ({', '.join('?' * len(asked))})", *asked)
        }
        return [found.get(field) for field in asked]

    def hgetall(self, key: str) -> dict[bytes, bytes]:
        return {as_bytes(field): as_bytes(value) for field, value in self._rows(key)}

    def hlen(self, key: str) -> int:
        (count,) = self._sql.execute(f"SELECT count(*) FROM {_table(key)} WHERE key = ?", (self._find(key),)).fetchone()
        return int(count)

    xlen = hlen

    def hset(self, key: str, *pairs: Argument) -> None:
        self._put(key, [(as_bytes(each), as_bytes(value)) for each, value in zip(pairs[::2], pairs[1::2], strict=True)])

    def expire(self, key: str, seconds: float) -> None:
        self._sql.execute(
            "UPDATE keys SET expires = ?1 WHERE id = ?2 AND (expires < ?1 OR expires = 9e99)",
            (self.now + seconds, self._find(key)),
        )

    def unlink(self, key: str) -> None:
        self._sql.execute("UPDATE keys SET name = NULL, expires = 0 WHERE name = ?", (key,))
        self._ids.pop(key, None)


def _table(key: str) -> str:
    return "texts" if OF_TEXTS in key else "entries"


class SQLiteFile:
    """One connection to a file; without a path to a database in memory. All methods are called in one thread."""

    def __init__(self, path: str, timeout: float) -> None:
        self.path = path and os.path.abspath(path)
        self.timeout = timeout
        self._connection: sqlite3.Connection | None = None
        self._version = 0  # changes with every commit of another connection
        self._opened: os.stat_result | None = None  # tells the file that is open from others

    def connect(self) -> None:
        """Open the file, and make its tables if it is new. Raise StoreError if it is not one of ours."""
        if self.path:
            try:
                Path(self.path).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            except OSError as error:
                raise StoreError(f"{self.path}: the folder cannot be made ({error}); {USABLE}") from error
            # If this fails, SQLite explains it better; the files -wal and -shm get the mode of this file.
            with suppress(OSError):
                with suppress(FileExistsError):
                    os.close(os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
                self._opened = os.stat(self.path)
        # Do not let SQLite wait for locks: its pauses grow to 100 ms, and a busy writer never leaves a gap that long.
        self._connection = sql = sqlite3.connect(self.path or ":memory:", timeout=0, isolation_level=None)
        sql.text_factory = partial(bytes.decode, errors="replace")  # damaged bytes may count as text
        # Check this before anything is written, so that a file of another program stays as it is.
        is_current = self._when_free(self._check_version) == VERSION
        self._when_free(lambda: sql.execute("PRAGMA journal_mode = WAL"))
        sql.executescript(_PRAGMAS)
        if is_current:
            return  # without waiting for whoever writes
        with self.transaction(writes=True):
            if found_version(sql, self.path) < VERSION:
                for statement in TABLES:
                    sql.execute(statement)

    def _check_version(self) -> int:
        # Read in one transaction, because another process may be making the tables now.
        with self.transaction(writes=False) as sql:
            return found_version(sql, self.path)

    def open_if_replaced(self) -> None:
        """Open the file, again if it was removed or replaced: nobody else would see what is written to the old one."""
        if self._connection and not self.path:
            return
        with suppress(OSError):
            if self._connection and self._opened and os.path.samestat(os.stat(self.path), self._opened):
                return
        self.disconnect()
        try:
            self.connect()
        except BaseException:
            self.disconnect()
            raise

    def disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    @contextmanager
    def transaction(self, *, writes: bool) -> Iterator[sqlite3.Connection]:
        """Run a transaction. One that writes holds the file, so that no other process writes in between.

        One that only reads sees one state of the file, however long it takes, and blocks nobody.
        """
        sql = cast("sqlite3.Connection", self._connection)
        self._when_free(lambda: sql.execute("BEGIN IMMEDIATE" if writes else "BEGIN"))
        with sql:  # commits, or rolls back after an exception
            yield sql
        if not writes:
            return
        version = sql.execute("PRAGMA data_version").fetchone()[0]
        if version != self._version:  # if other processes write too, let a waiting one have its turn
            self._version = version
            time.sleep(2 * _POLL)

    def _when_free(self, step: Callable[[], R]) -> R:
        """Try again every millisecond while another connection holds the file."""
        deadline = time.monotonic() + self.timeout
        while True:
            try:
                return step()
            except sqlite3.OperationalError as error:  # noqa: PERF203
                if "locked" not in str(error) or time.monotonic() > deadline:
                    raise
                time.sleep(_POLL)


def found_version(sql: sqlite3.Connection, path: str) -> int:
    """Return the version of a file, 0 if it is empty. Raise StoreError if it is not ours to write."""
    application, version = (
        int(sql.execute(f"PRAGMA {name}").fetchone()[0]) for name in ("application_id", "user_version")
    )
    if application == APPLICATION and version != VERSION:
        raise StoreError(
            f"{path}: it was made by another version of scrapy-neardup (tables of version {version}, this one knows"
            f" {VERSION}): install that version, or {_MEND}"
        )
    is_empty = sql.execute("SELECT 1 FROM sqlite_master").fetchone() is None
    if application != APPLICATION and (application or version or not is_empty):
        raise StoreError(f"{path}: it is a SQLite file of another program: {_MEND}")
    return version
