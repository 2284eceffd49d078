"""Summarise what a SQLite file holds of a namespace, and purge it.

Both read in a transaction that blocks nobody. A purge deletes in many small steps, between which others write.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence

from scrapy_neardup.index.base import Selection, StoreSummary
from scrapy_neardup.index.membership import remaining_neighbours
from scrapy_neardup.index.sqlite.file import SQLiteFile
from scrapy_neardup.index.sqlite.learned import forget_learned
from scrapy_neardup.index.sqlite.postings import SQLitePostings, number_of
from scrapy_neardup.index.sqlite.spaces import make_tables, tables_of
from scrapy_neardup.similarity.policy import HOUR

_AT_ONCE = 500  # rows removed in one transaction
_PRAGMAS = ("page_count", "page_size", "journal_mode")


def survey(sql: sqlite3.Connection, path: str, space: int, namespace: str, config: str) -> StoreSummary:
    # Numbers of document keys: see postings.py.
    hours = f"SELECT ((key >> 32) + {1 << 31}) / {HOUR}, count(*) FROM documents_{space} GROUP BY 1"
    events = f"SELECT count(*) FROM stories_{space} WHERE open_since IS NOT NULL"
    pages, size, mode = (sql.execute(f"PRAGMA {name}").fetchone()[0] for name in _PRAGMAS)
    others = sql.execute("SELECT config FROM spaces WHERE namespace = ? AND config <> ?", (namespace, config))
    return StoreSummary(
        location=path,
        namespace=namespace,
        config=config,
        documents_per_hour=dict(sql.execute(hours)),
        bytes=pages * size,
        stories=sql.execute(f"SELECT count(*) FROM stories_{space}").fetchone()[0],
        events=sql.execute(events).fetchone()[0],
        other_configs=tuple(sorted(str(other) for (other,) in others)),
        server={"server": f"SQLite {sqlite3.sqlite_version}", "journal": str(mode)},
    )


class Purge:
    """Removes a selection from one space."""

    def __init__(self, file: SQLiteFile, space: int, window: SQLitePostings, selection: Selection) -> None:
        self._file = file
        self._space = space
        self._window = window
        self._selection = selection

    def run(self, *, dry_run: bool) -> int:
        """See ``Index.purge``."""
        if not dry_run:
            with self._file.writing() as sql:
                make_tables(sql, self._space)  # the file may be of an older version with fewer tables
        with self._file.reading() as sql:
            if f"documents_{self._space}" not in tables_of(sql, self._space):
                return 0
            if self._selection.is_all:
                (count,) = sql.execute(f"SELECT count(*) FROM documents_{self._space}").fetchone()
                tables = tables_of(sql, self._space)
            else:
                selected, removed = self._documents(sql)
                members = [] if dry_run else list(self._members(sql, selected))
                stories = [] if dry_run else list(self._stories(sql, selected))
        if self._selection.is_all:
            if not dry_run:
                self._empty(tables)
            return int(count)
        if not dry_run:
            self._remove(f"DELETE FROM documents_{self._space} WHERE key = ?", [(number_of(key),) for key in removed])
            self._remove(f"DELETE FROM members_{self._space} WHERE story = ? AND key = ?", members)
            self._forget_neighbours(stories, selected)
        return len(removed)

    def _empty(self, tables: Sequence[str]) -> None:
        for table in tables:
            with self._file.writing() as sql:
                if table in tables_of(sql, self._space):
                    sql.execute(f"{'DROP TABLE' if table.startswith('postings_') else 'DELETE FROM'} {table}")

    def _documents(self, sql: sqlite3.Connection) -> tuple[set[bytes], list[bytes]]:
        """Return the selected documents, and a list that also has those which name one of them as their original."""
        links: dict[bytes, bytes] = {}  # document key -> key of its original
        selected: set[bytes] = set()
        for key, record in self._window.records(sql):
            links[key] = record.original
            if self._selection.takes(record.source_hash, record.url_hash):
                selected.add(key)
        return selected, [key for key, original in links.items() if key in selected or original in selected]

    def _members(self, sql: sqlite3.Connection, selected: set[bytes]) -> Iterator[tuple[object, object]]:
        for story, key, packed in sql.execute(f"SELECT story, key, packed FROM members_{self._space}"):
            if key in selected or self._selection.takes_member(key, packed):
                yield story, key

    def _stories(self, sql: sqlite3.Connection, selected: set[bytes]) -> Iterator[object]:
        """Yield the stories that name a selected neighbour."""
        for story, packed in sql.execute(f"SELECT key, neighbours FROM stories_{self._space}"):
            if isinstance(packed, bytes) and packed != remaining_neighbours(packed, self._selection, selected):
                yield story

    def _remove(self, statement: str, rows: Sequence[tuple[object, ...]]) -> None:
        for first in range(0, len(rows), _AT_ONCE):
            with self._file.writing() as sql:
                sql.executemany(statement, rows[first : first + _AT_ONCE])

    def _forget_neighbours(self, stories: Sequence[object], selected: set[bytes]) -> None:
        for first in range(0, max(1, len(stories)), _AT_ONCE):
            with self._file.writing() as sql:
                for story in stories[first : first + _AT_ONCE]:
                    query = f"SELECT neighbours FROM stories_{self._space} WHERE key = ?"
                    (packed,) = sql.execute(query, (story,)).fetchone() or (None,)
                    if isinstance(packed, bytes):
                        kept = remaining_neighbours(packed, self._selection, selected)
                        sql.execute(f"UPDATE stories_{self._space} SET neighbours = ? WHERE key = ?", (kept, story))
                if self._selection.source_hash:
                    forget_learned(sql, self._space, self._selection.source_hash)
