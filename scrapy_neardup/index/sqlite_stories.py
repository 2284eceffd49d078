"""Stories in SQLite: tables beside those of the window, in the same transactions."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import astuple

from scrapy_neardup.document import Claim, Extent, Granted, Join, Member, Story
from scrapy_neardup.index.membership import Tally, join_tally, read_members

SCHEMA = (
    """
    CREATE TABLE IF NOT EXISTS stories_{space} (
        key BLOB PRIMARY KEY, joined INTEGER NOT NULL, items INTEGER NOT NULL, copies INTEGER NOT NULL,
        levels INTEGER NOT NULL, last INTEGER NOT NULL, ids BLOB NOT NULL, sources BLOB NOT NULL,
        open_since INTEGER,  -- second of the newest source of an event that has not ended
        said BLOB NOT NULL DEFAULT x'', changes BLOB NOT NULL DEFAULT x'',
        told TEXT NOT NULL DEFAULT '', languages TEXT NOT NULL DEFAULT '', neighbours BLOB NOT NULL DEFAULT x''
    ) WITHOUT ROWID
    """,
    "CREATE INDEX IF NOT EXISTS stories_last_{space} ON stories_{space} (last)",
    """
    CREATE INDEX IF NOT EXISTS stories_open_{space} ON stories_{space} (open_since) WHERE open_since IS NOT NULL
    """,
    """
    CREATE TABLE IF NOT EXISTS members_{space} (
        story BLOB NOT NULL, key BLOB NOT NULL, packed BLOB NOT NULL, PRIMARY KEY (story, key)
    ) WITHOUT ROWID
    """,
    "CREATE TABLE IF NOT EXISTS peaks_{space} (story BLOB PRIMARY KEY, peak INTEGER NOT NULL) WITHOUT ROWID",
)
TABLES = ("stories", "members", "peaks")
_TALLY = "joined, items, copies, levels, last, ids, sources, said, changes, told, languages, neighbours"


class SQLiteStories:
    """The stories of one space. Each method is part of a transaction its caller has begun."""

    def __init__(self, space: int) -> None:
        self._space = space

    def join(self, sql: sqlite3.Connection, join: Join) -> Story:
        key = bytes.fromhex(join.story)
        tally = self._tally(sql, key) or Tally()
        known = sql.execute(
            f"SELECT 1 FROM members_{self._space} WHERE story = ? AND key = ?", (key, bytes.fromhex(join.member.id))
        ).fetchone()
        before = tally.joined
        logged = join_tally(tally, join, known is not None)
        if tally.joined > before:
            self._save(sql, key, tally)
        sql.executemany(
            f"INSERT INTO members_{self._space} (story, key, packed) VALUES (?, ?, ?)",
            [(key, member, packed) for member, packed in logged],
        )
        return tally.story(key)

    def claim(self, sql: sqlite3.Connection, claim: Claim) -> Granted | None:
        key = bytes.fromhex(claim.story)
        tally = self._tally(sql, key)
        told = Extent() if tally is None else tally.signalled
        if tally is None or not tally.grants(claim):
            return None
        self._save(sql, key, tally)
        if claim.level == "ended" and claim.peak:
            sql.execute(f"INSERT OR REPLACE INTO peaks_{self._space} VALUES (?, ?)", (key, claim.peak))
        return Granted(self.members(sql, claim.story), told)

    def open_events(self, sql: sqlite3.Connection, quiet_since: int | None) -> list[Story]:
        rows = sql.execute(
            f"SELECT key, {_TALLY} FROM stories_{self._space}"
            " WHERE open_since IS NOT NULL AND open_since <= ? ORDER BY key",
            (1 << 32 if quiet_since is None else quiet_since,),
        )
        return [Tally(*counters).story(key) for key, *counters in rows]

    def members(self, sql: sqlite3.Connection, story: str) -> tuple[Member, ...]:
        rows = sql.execute(f"SELECT key, packed FROM members_{self._space} WHERE story = ?", (bytes.fromhex(story),))
        return read_members(rows)

    def peaks(self, sql: sqlite3.Connection, since: int) -> dict[str, int]:
        sql.execute(f"DELETE FROM peaks_{self._space} WHERE story < ?", (since.to_bytes(4, "big"),))
        return {story.hex(): peak for story, peak in sql.execute(f"SELECT story, peak FROM peaks_{self._space}")}

    def expire(self, sql: sqlite3.Connection, horizon: int, limit: int) -> None:
        """Remove a few stories whose last member was seen before ``horizon``."""
        expired = sql.execute(
            f"SELECT key FROM stories_{self._space} WHERE last < ? ORDER BY last LIMIT ?", (horizon, limit)
        ).fetchall()
        for key in expired:
            sql.execute(f"DELETE FROM members_{self._space} WHERE story = ?", key)
            sql.execute(f"DELETE FROM stories_{self._space} WHERE key = ?", key)

    def _tally(self, sql: sqlite3.Connection, key: bytes) -> Tally | None:
        row: Sequence[object] | None = sql.execute(
            f"SELECT {_TALLY} FROM stories_{self._space} WHERE key = ?", (key,)
        ).fetchone()
        return None if row is None else Tally(*row)  # type: ignore[arg-type]  # as the schema declares them

    def _save(self, sql: sqlite3.Connection, key: bytes, tally: Tally) -> None:
        sql.execute(
            f"INSERT OR REPLACE INTO stories_{self._space} (key, {_TALLY}, open_since) VALUES ({', '.join('?' * 14)})",
            (key, *astuple(tally), tally.last_source if tally.is_open else None),
        )
