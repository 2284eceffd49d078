"""Keep the boilerplate that was learned of sources in a table of the SQLite file."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Mapping

from scrapy_neardup.document import EVERYWHERE, MOST_PRINTED, Learned, most_lines_of
from scrapy_neardup.index.base import LEARNED_SECONDS

SCHEMA = (
    """
    CREATE TABLE IF NOT EXISTS learned_{space} (
        id INTEGER PRIMARY KEY AUTOINCREMENT, source BLOB NOT NULL, is_line INTEGER NOT NULL,
        added REAL NOT NULL,  -- Unix seconds by this machine's clock
        entry BLOB NOT NULL
    )
    """,
    "CREATE INDEX IF NOT EXISTS learned_of_{space} ON learned_{space} (source, is_line, id)",
    "CREATE INDEX IF NOT EXISTS learned_at_{space} ON learned_{space} (added)",
)


def share_learned(
    sql: sqlite3.Connection, space: int, learned: Mapping[bytes, Learned], *, read_only: bool = False
) -> dict[bytes, Learned]:
    """See ``Index.share_learned``; part of a transaction."""
    now, table = time.time(), f"learned_{space}"
    if not read_only:
        sql.execute(f"DELETE FROM {table} WHERE added < ?", (now - LEARNED_SECONDS,))
    return {
        source: Learned(
            _add(sql, table, source, True, now, each.lines, most_lines_of(source)),
            _add(sql, table, source, False, now, each.printed, MOST_PRINTED),
        )
        for source, each in learned.items()
    }


def forget_learned(sql: sqlite3.Connection, space: int, source: bytes) -> None:
    """Forget the boilerplate of a source, also its entries in the boilerplate of all sources."""
    sql.execute(f"DELETE FROM learned_{space} WHERE source = ?", (source,))
    # An entry of EVERYWHERE has the source after the 4 bytes of the line.
    sql.execute(f"DELETE FROM learned_{space} WHERE source = ? AND substr(entry, 5, 4) = ?", (EVERYWHERE, source))


def _add(
    sql: sqlite3.Connection, table: str, source: bytes, is_line: bool, now: float, entries: tuple[bytes, ...], most: int
) -> tuple[bytes, ...]:
    """Add entries, forget the oldest over ``most``, and return all that are left."""
    if entries:
        rows = [(source, is_line, now, entry) for entry in entries]
        sql.executemany(f"INSERT INTO {table} (source, is_line, added, entry) VALUES (?, ?, ?, ?)", rows)
        sql.execute(
            f"DELETE FROM {table} WHERE source = ? AND is_line = ? AND id <= (SELECT id FROM {table}"
            " WHERE source = ? AND is_line = ? ORDER BY id DESC LIMIT 1 OFFSET ?)",
            (source, is_line, source, is_line, most),
        )
    query = f"SELECT entry FROM {table} WHERE source = ? AND is_line = ? AND typeof(entry) = 'blob' ORDER BY id"
    return tuple(entry for (entry,) in sql.execute(query, (source, is_line)))
