"""Counts of verdicts in a SQLite file. Each function is part of a transaction that its caller has begun."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping

from scrapy_neardup.index.base import COUNTED_MINUTES, MOST_COUNTED


def add_verdicts(sql: sqlite3.Connection, space: int, minute: int, counts: Mapping[str, int]) -> None:
    """Add to the counts of a minute, and forget those of minutes that are too long ago."""
    sql.execute(f"DELETE FROM verdicts_{space} WHERE minute < ?", (minute - COUNTED_MINUTES,))
    of_minute = f"SELECT name FROM verdicts_{space} WHERE minute = ?"
    known = {str(name) for (name,) in sql.execute(of_minute, (minute,))}
    new = [name for name in counts if name not in known][: max(0, MOST_COUNTED - len(known))]
    rows = [(minute, name, counts[name]) for name in counts if name in known or name in new]
    sql.executemany(
        f"INSERT INTO verdicts_{space} VALUES (?, ?, ?)"
        " ON CONFLICT (minute, name) DO UPDATE SET count = count + excluded.count",
        rows,
    )


def read_verdicts(sql: sqlite3.Connection, space: int, since: int, until: int) -> dict[int, dict[str, int]]:
    """Return the counts by minute. Leave out what is damaged."""
    found: dict[int, dict[str, int]] = {}
    query = f"SELECT minute, name, count FROM verdicts_{space} WHERE minute BETWEEN ? AND ?"
    for minute, name, count in sql.execute(query, (since, until)):
        if isinstance(minute, int) and isinstance(count, int):  # otherwise it is damaged
            found.setdefault(minute, {})[str(name)] = count
    return found
