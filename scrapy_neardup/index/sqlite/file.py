"""Open the SQLite file of a store, check its version, run transactions on it, and explain its errors."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TypeVar
from urllib.parse import quote

from scrapy_neardup.exceptions import StoreError, StoreUnavailable
from scrapy_neardup.records.private_files import make_private_directory, make_private_file
from scrapy_neardup.wording import printable

APPLICATION = 0x4E44_5550
"""``PRAGMA application_id`` of our files: the letters NDUP."""

VERSION = 2
"""``PRAGMA user_version``."""

_MEND = "move it away, or set NEARDUP_STORE to another file"
_UNUSABLE = ("disk", "unable to open", "readonly", "permission", "locking protocol")
"""Words in errors about a file that may be in order: it cannot be used now."""

_POLL = 0.001  # seconds
_CACHE_KB = 16_000
_CHECKPOINT_PAGES = 8000  # 32 MB of the log: pages that change often are written to the file once
R = TypeVar("R")

TABLES = (
    # A key without a name was removed, and its entries are not free yet. A key expires by this machine's clock.
    "CREATE TABLE keys (id INTEGER PRIMARY KEY, name TEXT UNIQUE, expires REAL NOT NULL DEFAULT 9e99)",
    "CREATE INDEX keys_expire ON keys (expires)",
    "CREATE TABLE entries (key INTEGER NOT NULL, field BLOB NOT NULL, value BLOB NOT NULL, PRIMARY KEY (key, field))"
    " WITHOUT ROWID",
)


class SQLiteFile:
    """One connection to a file. All methods are called in one thread.

    If the file or its folder may not be written, the file is opened read-only. With ``reads_only`` nothing is written
    even if it may be.
    """

    def __init__(self, path: str, timeout: float, *, reads_only: bool = False) -> None:
        self.path = path
        self.timeout = timeout
        self.reads_only = reads_only
        self.is_read_only = False
        self._connection: sqlite3.Connection | None = None
        self._version = 0  # changes with every commit of another connection

    def connect(self) -> None:
        """Open the file, and make its tables if it is new. Raise StoreError if it is not one of ours."""
        try:
            self._connect()
        except BaseException:
            self.disconnect()
            raise

    def _connect(self) -> None:
        if not self.reads_only:
            try:
                make_private_directory(Path(self.path).absolute().parent)
            except OSError as error:
                raise StoreError(f"{self.path}: the folder cannot be made ({error})") from error
            file = Path(self.path)
            # Look for the file before its permissions: another process may make it in between.
            self.is_read_only = file.is_file() and not (os.access(file, os.W_OK) and os.access(file.parent, os.W_OK))
            if not self.is_read_only:
                # If this fails, SQLite explains it better; the files -wal and -shm get the mode of this file.
                with suppress(OSError):
                    make_private_file(file)
        # Do not let SQLite wait for locks: its pauses grow to 100 ms, and a busy writer never leaves a gap that long.
        location, is_uri = self._location()
        self._connection = sqlite3.connect(location, timeout=0, isolation_level=None, uri=is_uri)
        self._connection.text_factory = partial(bytes.decode, errors="replace")  # damaged bytes may count as text
        # Check this before anything is written, so that a file of another program stays as it is.
        self._when_free(self._check_version)
        if self.is_read_only or self.reads_only:
            # Set this only now: a connection that may write leaves no log behind.
            self.is_read_only = True
            return
        self._patiently("PRAGMA journal_mode = WAL")
        # Safe against a crash of the process; a power cut may lose the last checks, not the file.
        self._connection.execute("PRAGMA synchronous = NORMAL")
        self._connection.execute(f"PRAGMA cache_size = -{_CACHE_KB}")
        self._connection.execute(f"PRAGMA wal_autocheckpoint = {_CHECKPOINT_PAGES}")
        with self.writing() as sql:
            if not has_tables(sql, self.path):
                for statement in TABLES:
                    sql.execute(statement)
                sql.execute(f"PRAGMA application_id = {APPLICATION}")
                sql.execute(f"PRAGMA user_version = {VERSION}")

    def _check_version(self) -> None:
        with self.reading() as sql:  # read in one transaction, because another process may be making the tables now
            is_ours = has_tables(sql, self.path)
        if not is_ours and (self.is_read_only or self.reads_only):
            raise StoreError(f"{self.path}: the file is empty: no crawl has kept its window there")

    def disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    @property
    def connection(self) -> sqlite3.Connection:
        if self._connection is None:
            raise StoreUnavailable(f"{self.path}: the store is closed")
        return self._connection

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Run a transaction that writes from its first statement on, so that no other process writes in between."""
        if self.is_read_only:
            raise StoreError(f"{self.path}: this user may not write the file or its folder: change their permissions")
        with self._transaction("BEGIN IMMEDIATE") as sql:
            yield sql
        self._leave_room()

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Run a transaction that reads one state of the file, however long it takes. It blocks nobody."""
        with self._transaction("BEGIN") as sql:
            yield sql

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[sqlite3.Connection]:
        self._patiently(begin)
        with self.connection as sql:  # commits, or rolls back after an exception
            yield sql

    def explained(self, error: Exception) -> StoreError:
        """Return an error of SQLite as a StoreError that names the file and the remedy."""
        text = " ".join(printable(str(error)).split())
        reason = text if isinstance(error, sqlite3.OperationalError) else ""  # other errors are of damaged data
        if "locked" in reason or "busy" in reason:
            return StoreUnavailable(f"{self.path}: another process held the file for over {self.timeout:g} s ({text})")
        if any(words in reason for words in _UNUSABLE):
            mend = "the file and its folder must be readable and writable, with room on the disk"
            return StoreUnavailable(f"{self.path}: {text}; {mend}")
        return StoreError(
            f"{self.path}: {text}; it is damaged or not a SQLite file: move it away and a new one is made"
        )

    def _location(self) -> tuple[str, bool]:
        """Return what to open, and whether it is a uri. Raise StoreError if a file to read does not exist.

        If the file has no log and its folder may not be written, nobody writes it. SQLite need not look for a log.
        """
        if not (self.is_read_only or self.reads_only):
            return self.path, False
        try:
            os.stat(self.path)
        except FileNotFoundError as error:
            raise StoreError(f"{self.path}: there is no such file") from error
        except OSError:
            pass  # SQLite explains it better
        mode = "rw"  # makes no file if another process removes it now
        if self.is_read_only:
            has_log = Path(f"{self.path}-wal").exists()
            is_still = not has_log and not os.access(Path(self.path).parent, os.W_OK)
            mode = f"ro{'&immutable=1' if is_still else ''}"
        return f"file:{quote(str(Path(self.path).absolute()))}?mode={mode}", True

    def _patiently(self, statement: str) -> None:
        self._when_free(lambda: self.connection.execute(statement))

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

    def _leave_room(self) -> None:
        """If other processes write too, pause for long enough that a waiting one gets its turn."""
        version = self.connection.execute("PRAGMA data_version").fetchone()[0]
        if version != self._version:
            self._version = version
            time.sleep(2 * _POLL)


def has_tables(sql: sqlite3.Connection, path: str) -> bool:
    """Return whether a file has our tables; False if it is empty. Raise StoreError if it is not ours to write."""
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
    return application == APPLICATION
