"""Summarise what a SQLite file holds of a namespace, and purge it.

Both read in a transaction that blocks nobody. A purge deletes in many small steps, between which others write.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from scrapy_neardup.document import EVERYWHERE
from scrapy_neardup.index.base import Selection, StoreSummary, names_any_document, remaining_neighbours
from scrapy_neardup.index.sqlite.file import SQLiteFile, tables_of
from scrapy_neardup.index.sqlite.window import SQLiteWindow
from scrapy_neardup.rules.policy import HOUR

_AT_ONCE = 500  # rows removed in one transaction
T = TypeVar("T")
_PRAGMAS = ("page_count", "page_size", "journal_mode")


def survey(sql: sqlite3.Connection, path: str, space: int, namespace: str, config: str) -> StoreSummary:
    # Numbers of document keys: see window.py.
    hours = f"SELECT ((key >> 32) + {1 << 31}) / {HOUR}, count(*) FROM documents_{space} GROUP BY 1"
    events = f"SELECT count(*) FROM stories_{space} WHERE open_since IS NOT NULL"
    pages, size, mode = (sql.execute(f"PRAGMA {name}").fetchone()[0] for name in _PRAGMAS)
    others = sql.execute("SELECT config FROM spaces WHERE namespace = ? AND config <> ?", (namespace, config))
    counts = dict(sql.execute(hours))
    named = sql.execute("SELECT DISTINCT namespace FROM spaces WHERE namespace <> ? ORDER BY 1", (namespace,))
    return StoreSummary(
        location=path,
        namespace=namespace,
        config=config,
        documents_per_hour=counts,
        bytes=pages * size,
        stories=sql.execute(f"SELECT count(*) FROM stories_{space} WHERE moved = x''").fetchone()[0],
        events=sql.execute(events).fetchone()[0],
        other_configs=tuple(sorted(str(other) for (other,) in others)),
        server={"server": f"SQLite {sqlite3.sqlite_version}", "journal": str(mode)},
        namespaces=() if counts else tuple(str(name) for (name,) in named),
    )


class Purge:
    """Removes a selection from one space."""

    def __init__(self, file: SQLiteFile, space: int, window: SQLiteWindow, selection: Selection) -> None:
        self._file = file
        self._space = space
        self._window = window
        self._selection = selection

    def run(self, *, dry_run: bool) -> int:
        """See ``Index.purge``."""
        if self._selection.is_all:
            return self._empty(dry_run)
        with self._file.reading() as sql:
            selected, removed, sources = self._documents(sql)
            members = list(self._members(sql, selected))
            stories = list(self._stories(sql, selected))
        if not dry_run:
            self._in_steps(removed, self._window.remove)
            delete = f"DELETE FROM members_{self._space} WHERE story = ? AND key = ?"
            self._in_steps(members, lambda sql, rows: sql.executemany(delete, rows))
            self._in_steps(stories, lambda sql, keys: self._forget_neighbours(sql, keys, selected))
            with self._file.writing() as sql:
                self._forget_grants(sql, set(removed))
            if self._selection.source:
                self._in_steps(list(sources), self._forget_learned)
        return len(removed)

    def _empty(self, dry_run: bool) -> int:
        with self._file.reading() as sql:
            (count,) = sql.execute(f"SELECT count(*) FROM documents_{self._space}").fetchone()
            tables = [] if dry_run else tables_of(sql, self._space)
        for table in tables:
            with self._file.writing() as sql:
                if table in tables_of(sql, self._space):
                    sql.execute(f"{'DROP TABLE' if table.startswith('postings_') else 'DELETE FROM'} {table}")
        return int(count)

    def _documents(self, sql: sqlite3.Connection) -> tuple[set[bytes], list[bytes], set[bytes]]:
        """Return the selected documents, a list of these and all copies of them, and the hashes of their sources."""
        links: dict[bytes, bytes] = {}  # document key -> key of its original
        selected, sources = set[bytes](), {self._selection.source_hash}
        for key, record in self._window.records(sql):
            links[key] = record.original
            if self._selection.takes(record):
                selected.add(key)
                sources.add(record.source_hash)
        removed = [key for key, original in links.items() if key in selected or original in selected]
        return selected, removed, sources

    def _members(self, sql: sqlite3.Connection, selected: set[bytes]) -> Iterator[tuple[object, object]]:
        for story, key, packed in sql.execute(f"SELECT story, key, packed FROM members_{self._space}"):
            if key in selected or self._selection.takes_member(key, packed):
                yield story, key

    def _stories(self, sql: sqlite3.Connection, selected: set[bytes]) -> Iterator[object]:
        """Yield the stories that name a selected neighbour."""
        for story, packed in sql.execute(f"SELECT key, neighbours FROM stories_{self._space}"):
            if isinstance(packed, bytes) and packed != remaining_neighbours(packed, self._selection, selected):
                yield story

    def _in_steps(self, rows: Sequence[T], step: Callable[[sqlite3.Connection, Sequence[T]], object]) -> None:
        for first in range(0, len(rows), _AT_ONCE):
            with self._file.writing() as sql:
                step(sql, rows[first : first + _AT_ONCE])

    def _forget_neighbours(self, sql: sqlite3.Connection, stories: Sequence[object], selected: set[bytes]) -> None:
        for story in stories:
            query = f"SELECT neighbours FROM stories_{self._space} WHERE key = ?"
            (packed,) = sql.execute(query, (story,)).fetchone() or (None,)
            if isinstance(packed, bytes):
                kept = remaining_neighbours(packed, self._selection, selected)
                sql.execute(f"UPDATE stories_{self._space} SET neighbours = ? WHERE key = ?", (kept, story))

    def _forget_grants(self, sql: sqlite3.Connection, gone: set[bytes]) -> None:
        """Forget the events of removed documents that wait to be passed on."""
        grants = sql.execute(f"SELECT token, story, note FROM grants_{self._space}").fetchall()
        tokens = [
            (token,)
            for token, story, note in grants
            if isinstance(story, bytes) and names_any_document(f"{story.hex()} {note}", gone)
        ]
        sql.executemany(f"DELETE FROM grants_{self._space} WHERE token = ?", tokens)

    def _forget_learned(self, sql: sqlite3.Connection, sources: Sequence[bytes]) -> None:
        """Forget the boilerplate of these sources, also their entries in the boilerplate of all sources."""
        # An entry of EVERYWHERE has the source after the 4 bytes of the line.
        delete = f"DELETE FROM learned_{self._space} WHERE source = ? OR (source = ? AND substr(entry, 5, 4) = ?)"
        sql.executemany(delete, [(source, EVERYWHERE, source) for source in sources])
