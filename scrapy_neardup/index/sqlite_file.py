"""The SQLite file of a store: how it is opened, held while it is written, and what its errors say."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar

from scrapy_neardup.exceptions import StoreError, StoreUnavailable
from scrapy_neardup.private_files import make_private_directory, make_private_file

MEMORY = ":memory:"
_POLL = 0.001  # seconds
R = TypeVar("R")


class SQLiteFile:
    """One connection to a file, or to a database in memory. Everything but ``named`` is called in one thread."""

    def __init__(self, path: str, timeout: float) -> None:
        self.path = path
        self.timeout = timeout
        self._connection: sqlite3.Connection | None = None
        self._version = 0  # changes with every commit of another connection

    def connect(self) -> None:
        if self.path != MEMORY:
            try:
                make_private_directory(Path(self.path).absolute().parent)
            except OSError as error:
                raise StoreError(f"{self.path}: the folder cannot be made ({error})") from error
            with suppress(OSError):  # SQLite says it better; -wal and -shm take the mode of the file
                make_private_file(Path(self.path))
        # No waiting in SQLite: its pauses grow to 100 ms, and a busy writer never leaves a gap that long.
        self._connection = sqlite3.connect(self.path, timeout=0, isolation_level=None)
        self._patiently("PRAGMA journal_mode = WAL")
        # Safe against a crash of the process; a power cut may lose the last checks, not the file.
        self._connection.execute("PRAGMA synchronous = NORMAL")

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
        """A writer's transaction from its first statement on, so that no other process reads in between."""
        sql = self.connection
        self._patiently("BEGIN IMMEDIATE")
        try:
            yield sql
        except BaseException:
            if sql.in_transaction:
                sql.execute("ROLLBACK")
            raise
        sql.execute("COMMIT")
        self._leave_room()

    def named(self, step: Callable[..., R], *arguments: object) -> R:
        """Return what a step returns. Errors of SQLite name the file and what to do about it."""
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

    def _patiently(self, statement: str) -> None:
        """Try again every millisecond while another connection holds the file."""
        deadline = time.monotonic() + self.timeout
        while True:
            try:
                self.connection.execute(statement)
            except sqlite3.OperationalError as error:  # noqa: PERF203
                if "locked" not in str(error) or time.monotonic() > deadline:
                    raise
                time.sleep(_POLL)
            else:
                return

    def _leave_room(self) -> None:
        """Where others write too, pause for long enough that the one who waits gets its turn."""
        version = self.connection.execute("PRAGMA data_version").fetchone()[0]
        if version != self._version:
            self._version = version
            time.sleep(2 * _POLL)
