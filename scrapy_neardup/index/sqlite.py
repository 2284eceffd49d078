"""The embedded store: one SQLite file shared by the processes of one machine, or a database in memory."""

from __future__ import annotations

import asyncio
import sqlite3
import struct
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar

from scrapy_neardup.document import Claim, Document, Fingerprint, Granted, Join, Learned, Match, Member, Story, Untold
from scrapy_neardup.exceptions import StoreError, StoreUnavailable
from scrapy_neardup.frequencies import added
from scrapy_neardup.index.base import HOUR, Index, Policy, Selection, StoreSummary
from scrapy_neardup.index.batching import Batcher
from scrapy_neardup.index.record import Record, intact, new_record, seconds_of
from scrapy_neardup.index.sqlite_learned import SCHEMA as _LEARNED_SCHEMA
from scrapy_neardup.index.sqlite_learned import share_learned
from scrapy_neardup.index.sqlite_stories import SCHEMA as _STORIES_SCHEMA
from scrapy_neardup.index.sqlite_stories import TABLES as _STORIES_TABLES
from scrapy_neardup.index.sqlite_stories import SQLiteStories
from scrapy_neardup.index.sqlite_survey import purge, survey
from scrapy_neardup.index.verification import (
    IDENTITY_WEIGHT,
    MAX_CANDIDATES,
    NEWEST,
    Graded,
    beside,
    best,
    grade,
    linked,
    most_alike,
    to_match,
)
from scrapy_neardup.private_files import make_private_directory, make_private_file

MEMORY = ":memory:"
_BATCH = 64
_EXPIRED_A_CHECK = 4  # postings of as many records are removed: twice what a steady window needs
_MOST_EXPIRED = 20_000  # records at once: an hour of a large crawl, or a tenth of a second
_POLL = 0.001  # seconds
_CLAIM_SECONDS = 600  # a crawl that runs for days keeps its space

_SCHEMA = """
CREATE TABLE IF NOT EXISTS spaces (
    id INTEGER PRIMARY KEY, namespace TEXT NOT NULL, config TEXT NOT NULL,
    expires REAL NOT NULL,  -- Unix seconds by this machine's clock
    UNIQUE (namespace, config)
)
"""
# Row numbers grow in the order of arrival and are never given twice: the newest postings of a key are the last ones.
_SPACE_SCHEMA = (
    """
    CREATE TABLE IF NOT EXISTS records_{space} (
        id INTEGER PRIMARY KEY AUTOINCREMENT, key BLOB NOT NULL UNIQUE,
        keys BLOB NOT NULL,  -- identity and band keys, to find this record's postings again
        record BLOB NOT NULL
    )
    """,
    """
    CREATE TABLE IF NOT EXISTS postings_{space} (
        band INTEGER NOT NULL, id INTEGER NOT NULL, PRIMARY KEY (band, id)
    ) WITHOUT ROWID
    """,
    # Records that are gone and whose postings are not yet.
    "CREATE TABLE IF NOT EXISTS expired_{space} (id INTEGER PRIMARY KEY, keys BLOB NOT NULL)",
    "CREATE TABLE IF NOT EXISTS frequencies_{space} (id INTEGER PRIMARY KEY CHECK (id = 0), total BLOB NOT NULL)",
    *_LEARNED_SCHEMA,
    *_STORIES_SCHEMA,
)
R = TypeVar("R")
_Step = Callable[..., R]


class SQLiteIndex(Index):
    """``path`` is a file, made with its folder where it is missing, or ``":memory:"``.

    All SQL runs in one thread of its own; checks that wait together share one transaction.
    """

    def __init__(self, path: str | Path, namespace: str, config: str, policy: Policy, *, timeout: float = 2.0) -> None:
        self.path = str(path)
        self.namespace = namespace
        self.config = config
        self.policy = policy
        self.timeout = timeout
        self._batcher: Batcher[tuple[Fingerprint, Document], Match | None] = Batcher(self._run_batch, _BATCH)
        self._joins: Batcher[Join, Story] = Batcher(self._run_joins, _BATCH)
        self._stories = SQLiteStories(0)
        self._opening = asyncio.Lock()
        self._thread: ThreadPoolExecutor | None = None
        self._connection: sqlite3.Connection | None = None
        self._space = 0
        self._claimed = 0.0
        self._previous_second: int | None = None
        self._version = 0  # changes with every commit of another connection

    async def open(self) -> None:
        async with self._opening:
            if self._thread is not None:
                return
            self._thread = ThreadPoolExecutor(1, thread_name_prefix="neardup-sqlite")
            try:
                await self._in_thread(self._connect)
            except BaseException:
                self._thread.shutdown(wait=False)
                self._thread = None
                raise

    async def close(self) -> None:
        if self._thread is None:
            return
        await self._batcher.join()
        await self._joins.join()
        await self._in_thread(self._disconnect)
        self._thread.shutdown()
        self._thread = None

    async def check(self, fingerprint: Fingerprint, document: Document) -> Match | None:
        return await self._batcher.submit((fingerprint, document))

    async def join(self, join: Join) -> Story:
        return await self._joins.submit(join)

    async def claim(self, claim: Claim) -> Granted | None:
        return await self._in_thread(self._write, lambda sql: self._stories.claim(sql, claim))

    async def confirm(self, grants: Sequence[tuple[str, str]]) -> None:
        await self._in_thread(self._write, lambda sql: self._stories.confirm(sql, grants))

    async def take_over(self, seconds: float) -> list[Untold]:
        return await self._in_thread(self._write, lambda sql: self._stories.take_over(sql, seconds))

    async def open_events(self, quiet_since: int | None = None) -> list[Story]:
        return await self._in_thread(self._write, lambda sql: self._stories.open_events(sql, quiet_since))

    async def members(self, story: str) -> tuple[Member, ...]:
        return await self._in_thread(self._write, lambda sql: self._stories.members(sql, story))

    async def peaks(self, since: int) -> dict[str, int]:
        return await self._in_thread(self._write, lambda sql: self._stories.peaks(sql, since))

    async def similar(
        self, fingerprint: Fingerprint, document: Document, most: int, *, by_keys: bool = False
    ) -> list[Match]:
        new = new_record(fingerprint, document)
        keys = fingerprint.identity_keys + fingerprint.text_keys if by_keys else None
        return await self._in_thread(self._write, lambda sql: self._similar(sql, new, keys, most))

    async def add_frequencies(self, counted: bytes) -> bytes:
        return await self._in_thread(self._write, lambda sql: self._add_frequencies(sql, counted))

    async def share_learned(self, learned: Mapping[bytes, Learned]) -> dict[bytes, Learned]:
        return await self._in_thread(self._write, lambda sql: share_learned(sql, self._space, learned))

    async def summary(self) -> StoreSummary:
        return await self._in_thread(self._summarise)

    async def purge(self, selection: Selection, *, dry_run: bool = False) -> int:
        return await self._in_thread(self._write, lambda sql: self._purge(sql, selection, dry_run))

    async def _run_batch(self, batch: Sequence[tuple[Fingerprint, Document]]) -> Sequence[Match | None]:
        return await self._in_thread(self._check_all, batch)

    async def _run_joins(self, batch: Sequence[Join]) -> Sequence[Story]:
        return await self._in_thread(self._write, lambda sql: [self._stories.join(sql, join) for join in batch])

    async def _in_thread(self, step: _Step[R], *arguments: object) -> R:
        if self._thread is None:
            raise StoreUnavailable(f"{self.path}: the store is closed")
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._named, step, *arguments)

    def _named(self, step: _Step[R], *arguments: object) -> R:
        """Errors of SQLite name the file and what to do about it."""
        try:
            return step(*arguments)
        except sqlite3.OperationalError as error:
            if "locked" in str(error) or "busy" in str(error):
                raise StoreUnavailable(
                    f"{self.path}: another process held the file for over {self.timeout:g} s ({error})"
                ) from error
            raise StoreError(
                f"{self.path}: {error}; the file and its folder must be readable and writable, with room on the disk"
            ) from error
        except sqlite3.DatabaseError as error:
            raise StoreError(
                f"{self.path}: {error}; it is damaged or no SQLite file: move it away and a new one is made"
            ) from error

    # What follows runs in the store's own thread.

    def _connect(self) -> None:
        if self.path != MEMORY:
            try:
                make_private_directory(Path(self.path).absolute().parent)
            except OSError as error:
                raise StoreError(f"{self.path}: the folder cannot be made ({error})") from error
            with suppress(OSError):  # SQLite says it better; -wal and -shm take the mode of the file
                make_private_file(Path(self.path))
        # No waiting in SQLite: its pauses grow to 100 ms, and a busy writer never leaves a gap that long.
        self._connection = sqlite3.connect(self.path, timeout=0, isolation_level=None)
        try:
            self._patiently("PRAGMA journal_mode = WAL")
            # Safe against a crash of the process; a power cut may lose the last checks, not the file.
            self._connection.execute("PRAGMA synchronous = NORMAL")
            with self._transaction() as sql:
                sql.execute(_SCHEMA)
                self._drop_idle_spaces(sql)
                self._claim_space(sql)
                self._previous_second = self._last_second(sql)
        except BaseException:
            self._disconnect()
            raise

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """A writer's transaction from its first statement on, so that no other process reads in between."""
        sql = self._connection
        if sql is None:
            raise StoreUnavailable(f"{self.path}: the store is closed")
        self._patiently("BEGIN IMMEDIATE")
        try:
            yield sql
        except BaseException:
            if sql.in_transaction:
                sql.execute("ROLLBACK")
            raise
        sql.execute("COMMIT")
        self._leave_room()

    def _patiently(self, statement: str) -> None:
        """Try again every millisecond while another connection holds the file."""
        assert self._connection is not None
        deadline = time.monotonic() + self.timeout
        while True:
            try:
                self._connection.execute(statement)
            except sqlite3.OperationalError as error:  # noqa: PERF203
                if "locked" not in str(error) or time.monotonic() > deadline:
                    raise
                time.sleep(_POLL)
            else:
                return

    def _leave_room(self) -> None:
        """Where others write too, pause for long enough that the one who waits gets its turn."""
        assert self._connection is not None
        version = self._connection.execute("PRAGMA data_version").fetchone()[0]
        if version != self._version:
            self._version = version
            time.sleep(2 * _POLL)

    def _claim_space(self, sql: sqlite3.Connection) -> None:
        """Put off the end of this namespace's and configuration's tables; make them where they are missing.

        Another process may have removed them while this one was idle for longer than the window.
        """
        now = time.time()
        sql.execute(
            "INSERT INTO spaces (namespace, config, expires) VALUES (?, ?, ?)"
            " ON CONFLICT (namespace, config) DO UPDATE SET expires = max(expires, excluded.expires)",
            (self.namespace, self.config, now + self.policy.window + HOUR),
        )
        row = sql.execute("SELECT id FROM spaces WHERE namespace = ? AND config = ?", (self.namespace, self.config))
        self._space = int(row.fetchone()[0])
        for statement in _SPACE_SCHEMA:
            sql.execute(statement.format(space=self._space))
        self._stories = SQLiteStories(self._space)
        self._claimed = now

    def _drop_idle_spaces(self, sql: sqlite3.Connection) -> None:
        for (space,) in sql.execute("SELECT id FROM spaces WHERE expires < ?", (time.time(),)).fetchall():
            for table in ("records", "postings", "expired", "frequencies", "learned", *_STORIES_TABLES):
                sql.execute(f"DROP TABLE IF EXISTS {table}_{space}")
            sql.execute("DELETE FROM spaces WHERE id = ?", (space,))

    def _write(self, step: Callable[[sqlite3.Connection], R]) -> R:
        try:
            with self._transaction() as sql:
                if time.time() - self._claimed > _CLAIM_SECONDS:
                    self._claim_space(sql)
                return step(sql)
        except BaseException:
            self._claimed = 0.0  # what was rolled back may have been the claim
            raise

    def _check_all(self, batch: Sequence[tuple[Fingerprint, Document]]) -> list[Match | None]:
        def step(sql: sqlite3.Connection) -> list[Match | None]:
            matches = [self._check(sql, fingerprint, document) for fingerprint, document in batch]
            self._expire(sql, batch)
            return matches

        return self._write(step)

    def _check(self, sql: sqlite3.Connection, fingerprint: Fingerprint, document: Document) -> Match | None:
        new, key = new_record(fingerprint, document), bytes.fromhex(document.id)
        if self._is_registered(sql, key):
            return self._answer_again(sql, key)
        graded = list(self._graded(sql, fingerprint, key, new))
        match = best(graded)
        least_dropped = self.policy.least_dropped_share(document.source)
        registered = new if match is None else linked(new, match, self.policy, least_dropped)
        self._insert(sql, key, registered, fingerprint.identity_keys + fingerprint.text_keys)
        if match is None:
            return None
        other = beside(graded, match)
        return to_match(match, (other.key, other.record) if other else None)

    def _is_registered(self, sql: sqlite3.Connection, key: bytes) -> bool:
        return sql.execute(f"SELECT 1 FROM records_{self._space} WHERE key = ?", (key,)).fetchone() is not None

    def _answer_again(self, sql: sqlite3.Connection, key: bytes) -> Match | None:
        known = self._record(sql, key)
        if known is None or known.candidate == key or (old := self._record(sql, known.candidate)) is None:
            return None
        graded = grade(known.candidate, known, old, self.policy)
        return None if graded is None else to_match(graded)

    def _record(self, sql: sqlite3.Connection, key: bytes) -> Record | None:
        row = sql.execute(f"SELECT record FROM records_{self._space} WHERE key = ?", (key,)).fetchone()
        return None if row is None else intact(row[0])

    def _graded(self, sql: sqlite3.Connection, fingerprint: Fingerprint, key: bytes, new: Record) -> Iterator[Graded]:
        seen_at = seconds_of(key)
        query = f"SELECT record FROM records_{self._space} WHERE id = ?"
        for row_id, candidate in self._candidates(sql, fingerprint, seen_at):
            old = intact(sql.execute(query, (row_id,)).fetchone()[0])
            if old is not None and (graded := grade(candidate, new, old, self.policy)) is not None:
                yield graded

    def _candidates(self, sql: sqlite3.Connection, fingerprint: Fingerprint, seen_at: int) -> list[tuple[int, bytes]]:
        """Row numbers and keys of those in the window that share most, the oldest of equals first."""
        first = max(0, seen_at - self.policy.window).to_bytes(4, "big")
        last = min(seen_at + self.policy.window, (1 << 32) - 1).to_bytes(4, "big") + b"\xff" * 4
        # What is out of the window takes no one's place among the newest.
        query = (
            f"SELECT p.id, r.key FROM postings_{self._space} p JOIN records_{self._space} r ON r.id = p.id"
            f" WHERE p.band = ? AND r.key >= ? AND r.key <= ? ORDER BY p.id DESC LIMIT {NEWEST}"
        )
        weights: Counter[tuple[int, bytes]] = Counter()
        for keys, weight in ((fingerprint.identity_keys, IDENTITY_WEIGHT), (fingerprint.text_keys, 1)):
            for band in keys:
                for row in sql.execute(query, (band, first, last)):
                    weights[row] += weight
        return sorted(weights, key=lambda row: (-weights[row], row[1]))[:MAX_CANDIDATES]

    def _insert(self, sql: sqlite3.Connection, key: bytes, record: Record, keys: tuple[int, ...]) -> None:
        row_id = sql.execute(
            f"INSERT INTO records_{self._space} (key, keys, record) VALUES (?, ?, ?)",
            (key, struct.pack(f">{len(keys)}I", *keys), record.pack()),
        ).lastrowid
        sql.executemany(
            f"INSERT OR IGNORE INTO postings_{self._space} (band, id) VALUES (?, ?)", [(band, row_id) for band in keys]
        )

    def _last_second(self, sql: sqlite3.Connection) -> int | None:
        row = sql.execute(f"SELECT key FROM records_{self._space} ORDER BY id DESC LIMIT 1").fetchone()
        return None if row is None else seconds_of(row[0])

    def _expire(self, sql: sqlite3.Connection, batch: Sequence[tuple[Fingerprint, Document]]) -> None:
        """Remove the records of the hours that left the window, and a few postings of records that are gone.

        Two documents in a row must agree that an hour is over: one with a wrong date does not empty the window.
        """
        horizon = 0
        for _, document in batch:
            second = int(document.seen_at)
            if self._previous_second is not None:
                agreed = min(second, self._previous_second)
                horizon = max(horizon, (agreed - self.policy.window) // HOUR * HOUR)
            self._previous_second = second
        self._stories.expire(sql, horizon, _EXPIRED_A_CHECK * len(batch))
        records, expired = f"records_{self._space}", f"expired_{self._space}"
        over = [horizon.to_bytes(4, "big")]
        if sql.execute(f"SELECT 1 FROM {records} WHERE key < ? LIMIT 1", over).fetchone():
            most = f"SELECT key FROM {records} WHERE key < ? ORDER BY key LIMIT 1 OFFSET {_MOST_EXPIRED}"
            over = list(sql.execute(most, over).fetchone() or over)
            sql.execute(f"INSERT OR IGNORE INTO {expired} SELECT id, keys FROM {records} WHERE key < ?", over)
            sql.execute(f"DELETE FROM {records} WHERE key < ?", over)
        limit = _EXPIRED_A_CHECK * len(batch)
        for row_id, packed in sql.execute(f"SELECT id, keys FROM {expired} ORDER BY id LIMIT {limit}").fetchall():
            keys = struct.unpack(f">{len(packed) // 4}I", packed[: len(packed) // 4 * 4])
            sql.executemany(
                f"DELETE FROM postings_{self._space} WHERE band = ? AND id = ?", [(band, row_id) for band in keys]
            )
            sql.execute(f"DELETE FROM {expired} WHERE id = ?", (row_id,))

    def _similar(self, sql: sqlite3.Connection, new: Record, keys: tuple[int, ...] | None, most: int) -> list[Match]:
        """Look at the records that have one of the keys; at all of them if the keys are None."""
        query = f"SELECT key, record FROM records_{self._space}"
        if keys is not None:
            bands = ", ".join("?" * len(keys))
            query += f" WHERE id IN (SELECT id FROM postings_{self._space} WHERE band IN ({bands}))"
        return most_alike(sql.execute(query, keys or ()), new, self.policy, most)

    def _add_frequencies(self, sql: sqlite3.Connection, counted: bytes) -> bytes:
        row = sql.execute(f"SELECT total FROM frequencies_{self._space}").fetchone()
        total = added(row[0] if row else b"", counted)
        sql.execute(f"INSERT OR REPLACE INTO frequencies_{self._space} (id, total) VALUES (0, ?)", (total,))
        return total

    def _summarise(self) -> StoreSummary:
        assert self._connection is not None
        return survey(self._connection, self.path, self._space, self.namespace, self.config)

    def _purge(self, sql: sqlite3.Connection, selection: Selection, dry_run: bool) -> int:
        spaces = sql.execute("SELECT id FROM spaces WHERE namespace = ?", (self.namespace,)).fetchall()
        for (space,) in spaces:
            for statement in _SPACE_SCHEMA:  # of a version of this package that knew fewer tables
                sql.execute(statement.format(space=space))
        return sum(purge(sql, space, selection, dry_run=dry_run) for (space,) in spaces)
