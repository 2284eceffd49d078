"""Open the SQLite file of a store, run transactions on it, and explain its errors."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar
from urllib.parse import quote

from scrapy_neardup.exceptions import StoreError, StoreUnavailable
from scrapy_neardup.index.sqlite.version import bring_up_to_date, check_version
from scrapy_neardup.records.private_files import make_private_directory, make_private_file

MEMORY = ":memory:"
_POLL = 0.001  # seconds
_CACHE_KB = 64_000
_CHECKPOINT_PAGES = 8000  # 32 MB of the log: pages that change often are written to the file once
R = TypeVar("R")


class SQLiteFile:
    """One connection to a file, or to a database in memory. All methods but ``run_step`` are called in one thread.

    If the file or its folder may not be written, the file is opened read-only.
    """

    def __init__(self, path: str, timeout: float) -> None:
        self.path = path
        self.timeout = timeout
        self.is_read_only = False
        self._connection: sqlite3.Connection | None = None
        self._version = 0  # changes with every commit of another connection

    def connect(self) -> None:
        """Open the file and bring its tables up to date. Raise StoreError if it is not one of ours."""
        if self.path != MEMORY:
            try:
                make_private_directory(Path(self.path).absolute().parent)
            except OSError as error:
                raise StoreError(f"{self.path}: the folder cannot be made ({error})") from error
        self.is_read_only = self._may_only_be_read()
        if self.path != MEMORY and not self.is_read_only:
            with suppress(OSError):  # SQLite explains it better; -wal and -shm get the mode of the file
                make_private_file(Path(self.path))
        # Do not let SQLite wait for locks: its pauses grow to 100 ms, and a busy writer never leaves a gap that long.
        location = self._read_only_uri() if self.is_read_only else self.path
        self._connection = sqlite3.connect(location, timeout=0, isolation_level=None, uri=self.is_read_only)
        # Before anything is written: a file of another program stays as it is.
        self._when_free(self._check_version)
        if self.is_read_only:
            return
        self._patiently("PRAGMA journal_mode = WAL")
        # Safe against a crash of the process; a power cut may lose the last checks, not the file.
        self._connection.execute("PRAGMA synchronous = NORMAL")
        self._connection.execute(f"PRAGMA cache_size = -{_CACHE_KB}")
        self._connection.execute(f"PRAGMA wal_autocheckpoint = {_CHECKPOINT_PAGES}")
        with self.writing() as sql:
            bring_up_to_date(sql, self.path)

    def _check_version(self) -> None:
        with self.reading() as sql:  # one state: another process may be making the tables now
            check_version(sql, self.path)

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
            raise StoreError(f"{self.path}: the file or its folder may not be written: give this user the right to")
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
        sql = self.connection
        self._patiently(begin)
        try:
            yield sql
        except BaseException:
            if sql.in_transaction:
                sql.execute("ROLLBACK")
            raise
        sql.execute("COMMIT")

    def run_step(self, step: Callable[..., R], *arguments: object) -> R:
        """Return what ``step`` returns. Turn errors of SQLite into StoreErrors that name the file and the remedy."""
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

    def _may_only_be_read(self) -> bool:
        file = Path(self.path)
        if self.path == MEMORY or not file.is_file():
            return False
        return not (os.access(file, os.W_OK) and os.access(file.parent, os.W_OK))

    def _read_only_uri(self) -> str:
        """Return the uri to read the file.

        If the file has no log and its folder may not be written, nobody writes it. SQLite need not look for a log.
        """
        has_log = Path(f"{self.path}-wal").exists()
        is_still = not has_log and not os.access(Path(self.path).parent, os.W_OK)
        return f"file:{quote(str(Path(self.path).absolute()))}?mode=ro{'&immutable=1' if is_still else ''}"

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
