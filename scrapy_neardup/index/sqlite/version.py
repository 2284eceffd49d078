"""Check that a SQLite file is ours and which version its tables have, and bring older tables up to date."""

from __future__ import annotations

import logging
import sqlite3

from scrapy_neardup.exceptions import StoreError
from scrapy_neardup.index.sqlite.spaces import COLUMNS, SPACES

logger = logging.getLogger(__name__)

APPLICATION = 0x4E44_5550
"""``PRAGMA application_id`` of our files: the letters NDUP."""

VERSION = 1
"""``PRAGMA user_version``. Version 0 set neither of the two pragmas, and kept all postings in one table."""

_MEND = "move it away, or set NEARDUP_STORE to another file"


def check_version(sql: sqlite3.Connection, path: str) -> int | None:
    """Return the version of the tables in a file, None if it is empty. Raise StoreError if it is not ours to write."""
    application, version = (_number(sql, name) for name in ("application_id", "user_version"))
    if application == APPLICATION:
        if version <= VERSION:
            return version
        raise StoreError(
            f"{path}: it was made by a later version of scrapy-neardup (tables of version {version}, this one knows"
            f" {VERSION}): install that version, or {_MEND}"
        )
    tables = {name for (name,) in sql.execute("SELECT name FROM sqlite_master")}
    if application == 0 and version == 0:
        if not tables:
            return None
        columns = {name for _, name, *_ in sql.execute("PRAGMA table_info(spaces)")}
        if {"namespace", "config", "expires"} <= columns:
            return 0
    raise StoreError(f"{path}: it is a SQLite file of another program: {_MEND}")


def bring_up_to_date(sql: sqlite3.Connection, path: str) -> None:
    """Make the tables that every file has, whatever its spaces. Raise as ``check_version``. Part of a transaction."""
    found = check_version(sql, path)
    if found == VERSION:
        return
    sql.execute(SPACES)
    known = {name for _, name, *_ in sql.execute("PRAGMA table_info(spaces)")}
    for column in COLUMNS:
        if column.partition(" ")[0] not in known:
            sql.execute(f"ALTER TABLE spaces ADD COLUMN {column}")
    if found is not None:
        _migrate(sql, path)
    sql.execute(f"PRAGMA application_id = {APPLICATION}")
    sql.execute(f"PRAGMA user_version = {VERSION}")


def _migrate(sql: sqlite3.Connection, path: str) -> None:
    """Drop the records and postings of version 0, which nobody can read. Keep learned boilerplate and stories."""
    dropped = 0
    for (space,) in sql.execute("SELECT id FROM spaces").fetchall():
        for table in ("records", "postings", "expired"):
            names = sql.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (f"{table}_{space}",)).fetchone()
            dropped += table == "records" and names is not None
            sql.execute(f"DROP TABLE IF EXISTS {table}_{space}")
    logger.warning(
        "%s was made by an older version of scrapy-neardup: what it learned is kept, and its window begins anew"
        " (%d namespaces and configurations).",
        *(path, dropped),
    )


def _number(sql: sqlite3.Connection, pragma: str) -> int:
    return int(sql.execute(f"PRAGMA {pragma}").fetchone()[0])
