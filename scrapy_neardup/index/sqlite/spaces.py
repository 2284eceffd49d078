"""Make, find and drop spaces. A space is the set of tables of one namespace and configuration in a SQLite file.

Every function is part of a transaction that its caller has begun.
"""

from __future__ import annotations

import sqlite3
import time

from scrapy_neardup.index.horizon import HorizonState
from scrapy_neardup.index.sqlite.learned import SCHEMA as _LEARNED_SCHEMA
from scrapy_neardup.index.sqlite.postings import SCHEMA as _WINDOW_SCHEMA
from scrapy_neardup.index.sqlite.postings import TABLES as _WINDOW_TABLES
from scrapy_neardup.index.sqlite.runs import SCHEMA as _RUNS_SCHEMA
from scrapy_neardup.index.sqlite.runs import TABLES as _RUNS_TABLES
from scrapy_neardup.index.sqlite.stories import SCHEMA as _STORIES_SCHEMA
from scrapy_neardup.index.sqlite.stories import TABLES as _STORIES_TABLES
from scrapy_neardup.similarity.policy import HOUR

SPACES = """
CREATE TABLE IF NOT EXISTS spaces (
    id INTEGER PRIMARY KEY, namespace TEXT NOT NULL, config TEXT NOT NULL,
    expires REAL NOT NULL,  -- Unix seconds by this machine's clock
    UNIQUE (namespace, config)
)
"""
# The window a space was last used with, since when it has been found idle, and how far time has passed (horizon.py).
COLUMNS = (
    "window INTEGER NOT NULL DEFAULT 0",
    "idle_since REAL",
    "top INTEGER",
    "floor INTEGER NOT NULL DEFAULT 0",
    "before INTEGER NOT NULL DEFAULT 0",
    "held_since REAL NOT NULL DEFAULT 0",
)
_FREQUENCIES = (
    "CREATE TABLE IF NOT EXISTS frequencies_{space} (id INTEGER PRIMARY KEY CHECK (id = 0), total BLOB NOT NULL)"
)
_SPACE_SCHEMA = (*_WINDOW_SCHEMA, _FREQUENCIES, *_LEARNED_SCHEMA, *_RUNS_SCHEMA, *_STORIES_SCHEMA)
TABLES = (*_WINDOW_TABLES, "frequencies", "learned", *_RUNS_TABLES, *_STORIES_TABLES)


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
    make_tables(sql, space)
    return space


def space_of(sql: sqlite3.Connection, namespace: str, config: str) -> int | None:
    row = sql.execute("SELECT id FROM spaces WHERE namespace = ? AND config = ?", (namespace, config)).fetchone()
    return None if row is None else int(row[0])


def make_tables(sql: sqlite3.Connection, space: int) -> None:
    """Make the tables of a space that are missing."""
    for statement in _SPACE_SCHEMA:
        sql.execute(statement.format(space=space))


def imagine_tables(sql: sqlite3.Connection) -> int:
    """Make the tables of an empty space outside the file, for a file that may not be written. Return the space."""
    for statement in _SPACE_SCHEMA:
        if "CREATE TABLE" in statement:
            sql.execute(statement.format(space=0).replace("CREATE TABLE", "CREATE TEMP TABLE", 1))
    return 0


def tables_of(sql: sqlite3.Connection, space: int) -> list[str]:
    """Return the tables of a space, including those of its postings."""
    names = sql.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name").fetchall()
    own = {f"{table}_{space}" for table in TABLES}
    return [name for (name,) in names if name in own or name.startswith(f"postings_{space}_")]


def spaces_of(sql: sqlite3.Connection, namespace: str) -> list[int]:
    return [space for (space,) in sql.execute("SELECT id FROM spaces WHERE namespace = ?", (namespace,)).fetchall()]


def drop_idle_spaces(sql: sqlite3.Connection) -> None:
    """Drop spaces that were found idle a window ago and still are: at the first time the clock may have been wrong."""
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


def save_horizon_state(sql: sqlite3.Connection, space: int, passed: HorizonState) -> None:
    sql.execute(
        "UPDATE spaces SET top = ?, floor = ?, before = ?, held_since = ? WHERE id = ?",
        (passed.top, passed.floor, passed.before, passed.held_since, space),
    )
