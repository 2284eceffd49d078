"""Open the SQLite file of a store, check its version, run transactions on it, and explain its errors.

Also make, find and drop spaces. A space is the set of tables of one namespace and configuration in the file. The
functions for spaces are part of a transaction that their caller has begun.
"""

from __future__ import annotations

import os
import re
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TypeVar
from urllib.parse import quote

from scrapy_neardup.document import printable
from scrapy_neardup.exceptions import StoreError, StoreUnavailable
from scrapy_neardup.index.horizon import HorizonState
from scrapy_neardup.records.private_files import make_private_directory, make_private_file
from scrapy_neardup.rules.policy import HOUR

APPLICATION = 0x4E44_5550
"""``PRAGMA application_id`` of our files: the letters NDUP."""

VERSION = 1
"""``PRAGMA user_version``."""

MEMORY = ":memory:"
_MEND = "move it away, or set NEARDUP_STORE to another file"
_UNUSABLE = ("disk", "unable to open", "readonly", "permission", "locking protocol")
"""Words in errors about a file that may be in order: it cannot be used now."""

_POLL = 0.001  # seconds
_CACHE_KB = 16_000
_CHECKPOINT_PAGES = 8000  # 32 MB of the log: pages that change often are written to the file once
R = TypeVar("R")

SPACES = """
CREATE TABLE spaces (
    id INTEGER PRIMARY KEY, namespace TEXT NOT NULL, config TEXT NOT NULL,
    expires REAL NOT NULL,  -- Unix seconds by this machine's clock
    window INTEGER NOT NULL DEFAULT 0,  -- the window it was last used with
    idle_since REAL,  -- when it was found idle
    -- How far time has passed, see HorizonState:
    top INTEGER, floor INTEGER NOT NULL DEFAULT 0, before INTEGER NOT NULL DEFAULT 0,
    held_since REAL NOT NULL DEFAULT 0,
    UNIQUE (namespace, config)
)
"""

TABLES_OF_SPACE = (
    "CREATE TABLE IF NOT EXISTS documents_{space} (key INTEGER PRIMARY KEY, record BLOB NOT NULL)",
    "CREATE TABLE IF NOT EXISTS frequencies_{space} (kind TEXT PRIMARY KEY, total BLOB NOT NULL)",
    """
    CREATE TABLE IF NOT EXISTS learned_{space} (
        id INTEGER PRIMARY KEY AUTOINCREMENT, source BLOB NOT NULL, is_line INTEGER NOT NULL,
        added REAL NOT NULL,  -- Unix seconds by this machine's clock
        entry BLOB NOT NULL
    )
    """,
    # Unix seconds by this machine's clock: the first heartbeat and the last one.
    "CREATE TABLE IF NOT EXISTS runs_{space} (run INTEGER PRIMARY KEY, started REAL NOT NULL, beat REAL NOT NULL)",
    """
    CREATE TABLE IF NOT EXISTS stories_{space} (
        key BLOB PRIMARY KEY, joined INTEGER NOT NULL, items INTEGER NOT NULL, copies INTEGER NOT NULL,
        levels INTEGER NOT NULL, last INTEGER NOT NULL, ids BLOB NOT NULL, sources BLOB NOT NULL,
        open_since INTEGER,  -- second of the newest source of an event that has not ended
        said BLOB NOT NULL DEFAULT x'', changes BLOB NOT NULL DEFAULT x'',
        told TEXT NOT NULL DEFAULT '', languages TEXT NOT NULL DEFAULT '', neighbours BLOB NOT NULL DEFAULT x'',
        united BLOB NOT NULL DEFAULT x'', moved BLOB NOT NULL DEFAULT x''
    ) WITHOUT ROWID
    """,
    """
    CREATE TABLE IF NOT EXISTS members_{space} (
        story BLOB NOT NULL, key BLOB NOT NULL, packed BLOB NOT NULL, PRIMARY KEY (story, key)
    ) WITHOUT ROWID
    """,
    """
    CREATE TABLE IF NOT EXISTS verdicts_{space} (
        minute INTEGER NOT NULL, name TEXT NOT NULL, count INTEGER NOT NULL, PRIMARY KEY (minute, name)
    ) WITHOUT ROWID
    """,
    """
    CREATE TABLE IF NOT EXISTS ended_{space} (
        story BLOB PRIMARY KEY, newest INTEGER NOT NULL, sources BLOB NOT NULL
    ) WITHOUT ROWID
    """,
    """
    CREATE TABLE IF NOT EXISTS grants_{space} (
        token TEXT PRIMARY KEY, story BLOB NOT NULL, granted_at REAL NOT NULL,  -- Unix seconds by this machine's clock
        told TEXT NOT NULL, note TEXT NOT NULL
    ) WITHOUT ROWID
    """,
)

INDEXES_OF_SPACE = (
    "CREATE INDEX IF NOT EXISTS learned_of_{space} ON learned_{space} (source, is_line, id)",
    "CREATE INDEX IF NOT EXISTS learned_at_{space} ON learned_{space} (added)",
    "CREATE INDEX IF NOT EXISTS stories_last_{space} ON stories_{space} (last)",
    "CREATE INDEX IF NOT EXISTS stories_open_{space} ON stories_{space} (open_since) WHERE open_since IS NOT NULL",
)

# Each generation has its own table. When it is over, the table is dropped, and no posting has to be looked for.
GENERATION = "CREATE TABLE {table} (band INTEGER NOT NULL, key INTEGER NOT NULL, PRIMARY KEY (band, key)) WITHOUT ROWID"


class SQLiteFile:
    """One connection to a file, or to a database in memory. All methods but ``run_step`` are called in one thread.

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
        if self.path != MEMORY and not self.reads_only:
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
                sql.execute(SPACES)
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

    def run_step(self, step: Callable[..., R], *arguments: object) -> R:
        """Return what ``step`` returns. Turn errors of SQLite into StoreErrors that name the file and the remedy."""
        try:
            return step(*arguments)
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:  # the latter if SQLite quotes damaged bytes
            raise self._explained(error) from error

    def _explained(self, error: Exception) -> StoreError:
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
        if self.path == MEMORY or not (self.is_read_only or self.reads_only):
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
    if application == APPLICATION and version > VERSION:
        raise StoreError(
            f"{path}: it was made by a later version of scrapy-neardup (tables of version {version}, this one knows"
            f" {VERSION}): install that version, or {_MEND}"
        )
    is_empty = sql.execute("SELECT 1 FROM sqlite_master").fetchone() is None
    if application != APPLICATION and (application or version or not is_empty):
        raise StoreError(f"{path}: it is a SQLite file of another program: {_MEND}")
    return application == APPLICATION


def claim_space(sql: sqlite3.Connection, namespace: str, config: str, window: int) -> int:
    """Return the space of a namespace and configuration, and postpone its end. Make its tables if they are missing.

    Another process may have removed them while this one was idle for longer than the window.
    """
    sql.execute(
        "INSERT INTO spaces (namespace, config, expires, window) VALUES (?, ?, ?, ?) ON CONFLICT (namespace, config)"
        " DO UPDATE SET expires = max(expires, excluded.expires), window = excluded.window, idle_since = NULL",
        (namespace, config, time.time() + window + HOUR, window),
    )
    space = space_of(sql, namespace, config)
    assert space is not None
    for statement in (*TABLES_OF_SPACE, *INDEXES_OF_SPACE):
        sql.execute(statement.format(space=space))
    return space


def space_of(sql: sqlite3.Connection, namespace: str, config: str) -> int | None:
    row = sql.execute("SELECT id FROM spaces WHERE namespace = ? AND config = ?", (namespace, config)).fetchone()
    return None if row is None else int(row[0])


def make_temporary_tables(sql: sqlite3.Connection) -> int:
    """Make the tables of an empty space outside the file, for a file that may not be written. Return the space."""
    for statement in TABLES_OF_SPACE:
        sql.execute(statement.format(space=0).replace("CREATE TABLE", "CREATE TEMP TABLE", 1))
    return 0


def tables_of(sql: sqlite3.Connection, space: int) -> list[str]:
    """Return the tables of a space, including those of its postings."""
    names = sql.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name").fetchall()
    return [name for (name,) in names if re.fullmatch(rf"[a-z]+_{space}(_\d+_\d+)?", name)]


def spaces_of(sql: sqlite3.Connection, namespace: str) -> list[int]:
    return [space for (space,) in sql.execute("SELECT id FROM spaces WHERE namespace = ?", (namespace,)).fetchall()]


def drop_idle_spaces(sql: sqlite3.Connection) -> None:
    """Drop spaces that were found idle a window ago and are still idle.

    Once is not enough, because the clock may have been wrong.
    """
    now = time.time()
    rows = sql.execute("SELECT id, window, idle_since FROM spaces WHERE expires < ?", (now,)).fetchall()
    for space, window, idle_since in rows:
        if idle_since is None or idle_since > now:
            sql.execute("UPDATE spaces SET idle_since = ? WHERE id = ?", (now, space))
        elif now - idle_since >= window:
            for table in tables_of(sql, space):
                sql.execute(f"DROP TABLE {table}")
            sql.execute("DELETE FROM spaces WHERE id = ?", (space,))


def read_horizon_state(sql: sqlite3.Connection, space: int) -> HorizonState:
    row = sql.execute("SELECT top, floor, before, held_since FROM spaces WHERE id = ?", (space,)).fetchone()
    if row is None or not all(isinstance(each, int | float) for each in row[1:]):
        return HorizonState()
    return HorizonState(row[0] if isinstance(row[0], int) else None, int(row[1]), int(row[2]), float(row[3]))


def save_horizon_state(sql: sqlite3.Connection, space: int, state: HorizonState) -> None:
    sql.execute(
        "UPDATE spaces SET top = ?, floor = ?, before = ?, held_since = ? WHERE id = ?",
        (state.horizon, state.kept_before, state.horizon_before_leap, state.held_since, space),
    )
