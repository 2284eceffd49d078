"""One SQLite file, or a database in memory: how it is opened, and its transactions."""

import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TypeVar, cast

from scrapy_neardup.exceptions import StoreError

APPLICATION = 0x4E44_5550  # ``PRAGMA application_id`` of our files: the letters NDUP

VERSION = 3  # ``PRAGMA user_version``

_MEND = "move it away, or set NEARDUP_STORE to another file"
USABLE = (
    "this user must be able to read and write the file and its folder, with room on the disk; or set NEARDUP_STORE to"
    " another file"
)
_POLL = 0.001  # seconds
_CACHE_KB = 16_000
_CHECKPOINT_PAGES = 8000  # 32 MB of the log: pages that change often are written to the file once
_LOG_BYTES = 32_000_000  # the log shrinks to this size
R = TypeVar("R")

_COLUMNS = "(key INTEGER NOT NULL, field BLOB NOT NULL, value BLOB NOT NULL, PRIMARY KEY (key, field))"
TABLES = (
    # A key without a name was removed, and its entries are not free yet. A key expires by this machine's clock.
    "CREATE TABLE IF NOT EXISTS keys (id INTEGER PRIMARY KEY, name TEXT UNIQUE, expires REAL NOT NULL DEFAULT 9e99)",
    "CREATE INDEX IF NOT EXISTS keys_expire ON keys (expires)",
    f"CREATE TABLE IF NOT EXISTS entries {_COLUMNS} WITHOUT ROWID",
    # Entries of over 1 kB take a page of their own in a table without row ids: 3.4 kB for a text of 1.2 kB.
    f"CREATE TABLE IF NOT EXISTS texts {_COLUMNS}",
)


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
        self._when_free(self._check_version)
        self._when_free(lambda: sql.execute("PRAGMA journal_mode = WAL"))
        # Safe against a crash of the process; a power cut may lose the last checks, not the file.
        sql.execute("PRAGMA synchronous = NORMAL")
        sql.execute(f"PRAGMA cache_size = -{_CACHE_KB}")
        sql.execute(f"PRAGMA wal_autocheckpoint = {_CHECKPOINT_PAGES}")
        sql.execute(f"PRAGMA journal_size_limit = {_LOG_BYTES}")
        with self.transaction(writes=True):
            if found_version(sql, self.path) < VERSION:
                for statement in TABLES:
                    sql.execute(statement)
                sql.execute(f"PRAGMA application_id = {APPLICATION}")
                sql.execute(f"PRAGMA user_version = {VERSION}")

    def _check_version(self) -> None:
        # Read in one transaction, because another process may be making the tables now.
        with self.transaction(writes=False) as sql:
            found_version(sql, self.path)

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
