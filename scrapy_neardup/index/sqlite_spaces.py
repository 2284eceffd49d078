"""The spaces of a SQLite file: the tables of each namespace and configuration."""

from __future__ import annotations

import sqlite3
import time

from scrapy_neardup.index.base import HOUR
from scrapy_neardup.index.sqlite_learned import SCHEMA as _LEARNED_SCHEMA
from scrapy_neardup.index.sqlite_postings import SCHEMA as _WINDOW_SCHEMA
from scrapy_neardup.index.sqlite_postings import TABLES as _WINDOW_TABLES
from scrapy_neardup.index.sqlite_runs import SCHEMA as _RUNS_SCHEMA
from scrapy_neardup.index.sqlite_runs import TABLES as _RUNS_TABLES
from scrapy_neardup.index.sqlite_stories import SCHEMA as _STORIES_SCHEMA
from scrapy_neardup.index.sqlite_stories import TABLES as _STORIES_TABLES

SCHEMA = """
CREATE TABLE IF NOT EXISTS spaces (
    id INTEGER PRIMARY KEY, namespace TEXT NOT NULL, config TEXT NOT NULL,
    expires REAL NOT NULL,  -- Unix seconds by this machine's clock
    UNIQUE (namespace, config)
)
"""
_FREQUENCIES = (
    "CREATE TABLE IF NOT EXISTS frequencies_{space} (id INTEGER PRIMARY KEY CHECK (id = 0), total BLOB NOT NULL)"
)
_SPACE_SCHEMA = (*_WINDOW_SCHEMA, _FREQUENCIES, *_LEARNED_SCHEMA, *_RUNS_SCHEMA, *_STORIES_SCHEMA)
TABLES = (*_WINDOW_TABLES, "frequencies", "learned", *_RUNS_TABLES, *_STORIES_TABLES)


def claim_space(sql: sqlite3.Connection, namespace: str, config: str, window: int) -> int:
    """Put off the end of the tables of a namespace and configuration; make them where they are missing.

    Another process may have removed them while this one was idle for longer than the window.
    """
    sql.execute(
        "INSERT INTO spaces (namespace, config, expires) VALUES (?, ?, ?)"
        " ON CONFLICT (namespace, config) DO UPDATE SET expires = max(expires, excluded.expires)",
        (namespace, config, time.time() + window + HOUR),
    )
    row = sql.execute("SELECT id FROM spaces WHERE namespace = ? AND config = ?", (namespace, config))
    space = int(row.fetchone()[0])
    make_tables(sql, space)
    return space


def make_tables(sql: sqlite3.Connection, space: int) -> None:
    """Make the tables of a space that are missing."""
    for statement in _SPACE_SCHEMA:
        sql.execute(statement.format(space=space))


def spaces_of(sql: sqlite3.Connection, namespace: str) -> list[int]:
    return [space for (space,) in sql.execute("SELECT id FROM spaces WHERE namespace = ?", (namespace,)).fetchall()]


def drop_idle_spaces(sql: sqlite3.Connection) -> None:
    for (space,) in sql.execute("SELECT id FROM spaces WHERE expires < ?", (time.time(),)).fetchall():
        for table in TABLES:
            sql.execute(f"DROP TABLE IF EXISTS {table}_{space}")
        sql.execute("DELETE FROM spaces WHERE id = ?", (space,))
