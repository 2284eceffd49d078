"""What a SQLite file holds of a namespace, and how to be rid of it. Every function is part of a transaction."""

from __future__ import annotations

import sqlite3
from collections import Counter

from scrapy_neardup.exceptions import StoreError
from scrapy_neardup.index.base import HOUR, Selection, StoreSummary
from scrapy_neardup.index.membership import kept_neighbours, unpack_member
from scrapy_neardup.index.record import intact, seconds_of
from scrapy_neardup.index.sqlite_learned import forget_learned


def survey(sql: sqlite3.Connection, path: str, space: int, namespace: str, config: str) -> StoreSummary:
    hours = Counter(seconds_of(key) // HOUR for (key,) in sql.execute(f"SELECT key FROM records_{space}"))
    pages, size, mode = (sql.execute(f"PRAGMA {name}").fetchone()[0] for name in _PRAGMAS)
    (stories,) = sql.execute(f"SELECT count(*) FROM stories_{space}").fetchone()
    (events,) = sql.execute(f"SELECT count(*) FROM stories_{space} WHERE open_since IS NOT NULL").fetchone()
    others = sql.execute("SELECT config FROM spaces WHERE namespace = ? AND config <> ?", (namespace, config))
    return StoreSummary(
        location=path,
        namespace=namespace,
        config=config,
        documents_per_hour=dict(sorted(hours.items())),
        bytes=pages * size,
        stories=stories,
        events=events,
        other_configs=tuple(sorted(other for (other,) in others)),
        server={"server": f"SQLite {sqlite3.sqlite_version}", "journal": str(mode)},
    )


_PRAGMAS = ("page_count", "page_size", "journal_mode")


def purge(sql: sqlite3.Connection, space: int, selection: Selection, *, dry_run: bool) -> int:
    """See ``Index.purge``; of one configuration."""
    if selection.is_all:
        (count,) = sql.execute(f"SELECT count(*) FROM records_{space}").fetchone()
        if not dry_run:
            for table in (
                "records",
                "postings",
                "expired",
                "stories",
                "members",
                "peaks",
                "grants",
                "frequencies",
                "learned",
            ):
                sql.execute(f"DELETE FROM {table}_{space}")
        return int(count)
    links: dict[bytes, bytes] = {}  # document key -> key of its original
    gone: set[bytes] = set()
    for key, packed in sql.execute(f"SELECT key, record FROM records_{space}"):
        if (record := intact(packed)) is not None:
            links[key] = record.original
            if selection.takes(record.source_hash, record.url_hash):
                gone.add(key)
    removed = [key for key, original in links.items() if key in gone or original in gone]
    if not dry_run:
        for key in removed:
            sql.execute(
                f"INSERT OR IGNORE INTO expired_{space} SELECT id, keys FROM records_{space} WHERE key = ?", (key,)
            )
            sql.execute(f"DELETE FROM records_{space} WHERE key = ?", (key,))
        _purge_members(sql, space, selection, gone)
        if selection.source_hash:
            forget_learned(sql, space, selection.source_hash)
    return len(removed)


def _purge_members(sql: sqlite3.Connection, space: int, selection: Selection, gone: set[bytes]) -> None:
    for story, key, packed in sql.execute(f"SELECT story, key, packed FROM members_{space}").fetchall():
        if key in gone or _takes_member(selection, key, packed):
            sql.execute(f"DELETE FROM members_{space} WHERE story = ? AND key = ?", (story, key))
    for story, packed in sql.execute(f"SELECT key, neighbours FROM stories_{space}").fetchall():
        if packed != (kept := kept_neighbours(packed, selection, gone)):
            sql.execute(f"UPDATE stories_{space} SET neighbours = ? WHERE key = ?", (kept, story))


def _takes_member(selection: Selection, key: bytes, packed: bytes) -> bool:
    try:
        return selection.takes_member(unpack_member(key, packed))
    except StoreError:
        return False  # damaged: it names nobody
