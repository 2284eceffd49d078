"""Stories in SQLite: tables beside those of the window, in the same transactions."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Sequence
from dataclasses import astuple, replace

from scrapy_neardup.document import Claim, Extent, Granted, Join, Member, Story, UnconfirmedGrant
from scrapy_neardup.exceptions import StoreError
from scrapy_neardup.index.base import MOST_TAKEN_OVER
from scrapy_neardup.index.damage import DamageLog
from scrapy_neardup.index.horizon import ExpiredSpan
from scrapy_neardup.index.membership import count_join, grant
from scrapy_neardup.records.documents import KEY_BYTES
from scrapy_neardup.records.members import read_members
from scrapy_neardup.records.stories import StoryCounters, pack_extent, read_extent

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
    """
    CREATE TABLE IF NOT EXISTS grants_{space} (
        token TEXT PRIMARY KEY, story BLOB NOT NULL, granted_at REAL NOT NULL,  -- Unix seconds by this machine's clock
        told TEXT NOT NULL, note TEXT NOT NULL
    ) WITHOUT ROWID
    """,
)
TABLES = ("stories", "members", "peaks", "grants")
_TALLY = "joined, items, copies, levels, last, ids, sources, said, changes, told, languages, neighbours"


class SQLiteStories:
    """The stories of one space. Each method is part of a transaction its caller has begun."""

    def __init__(self, space: int, damage: DamageLog) -> None:
        self._space = space
        self._damage = damage

    def join(self, sql: sqlite3.Connection, join: Join) -> Story:
        key = bytes.fromhex(join.story)
        tally = self._tally(sql, key) or StoryCounters()
        rows = sql.execute(
            f"SELECT key FROM members_{self._space} WHERE story = ? AND key IN (?, ?)",
            (key, bytes.fromhex(join.member.id), bytes.fromhex(join.registered_before)),
        )
        before = tally.joined
        logged = count_join(tally, join, {member.hex() for (member,) in rows})
        if tally.joined > before:
            self._save(sql, key, tally)
        sql.executemany(
            f"INSERT INTO members_{self._space} (story, key, packed) VALUES (?, ?, ?)",
            [(key, member, packed) for member, packed in logged],
        )
        return tally.story(key)

    def claim(self, sql: sqlite3.Connection, claim: Claim) -> Granted | None:
        if (before := self._extent_before(sql, claim.token)) is not None:
            return Granted(self.members(sql, claim.story), before)
        key = bytes.fromhex(claim.story)
        tally = self._tally(sql, key)
        reported = Extent() if tally is None else tally.signalled_extent
        if tally is None or not grant(tally, claim):
            return None
        self._save(sql, key, tally)
        if claim.level == "ended" and claim.peak:
            sql.execute(f"INSERT OR REPLACE INTO peaks_{self._space} VALUES (?, ?)", (key, claim.peak))
        if claim.token:
            row = claim.token, key, time.time(), pack_extent(reported), claim.note
            sql.execute(f"INSERT INTO grants_{self._space} VALUES (?, ?, ?, ?, ?)", row)
        return Granted(self.members(sql, claim.story), reported)

    def confirm(self, sql: sqlite3.Connection, grants: Sequence[tuple[str, str]]) -> None:
        sql.executemany(f"DELETE FROM grants_{self._space} WHERE token = ?", [(token,) for _, token in grants])

    def take_over(self, sql: sqlite3.Connection, seconds: float) -> list[UnconfirmedGrant]:
        # Grants of the future count as old too: the clock was set back.
        now = time.time()
        rows = sql.execute(
            f"SELECT token, story, told, note FROM grants_{self._space} WHERE abs(? - granted_at) >= ?"
            " ORDER BY granted_at LIMIT ?",
            (now, seconds, MOST_TAKEN_OVER),
        ).fetchall()
        untold = []
        for token, key, told, note in rows:
            if not (self._are_bytes("a grant", key) and all(isinstance(each, str) for each in (token, told, note))):
                sql.execute(f"DELETE FROM grants_{self._space} WHERE token = ?", (token,))
                continue
            if (story := self._story(sql, key)) is None:
                self.confirm(sql, [(key.hex(), token)])
                continue
            sql.execute(f"UPDATE grants_{self._space} SET granted_at = ? WHERE token = ?", (now, token))
            story = replace(story, signalled=read_extent(told))
            untold.append(UnconfirmedGrant(token, note, story, self.members(sql, story.id)))
        return untold

    def open_events(self, sql: sqlite3.Connection, quiet_since: int | None) -> list[Story]:
        rows = sql.execute(
            f"SELECT key, {_TALLY} FROM stories_{self._space}"
            " WHERE open_since IS NOT NULL AND open_since <= ? ORDER BY key",
            (1 << 32 if quiet_since is None else quiet_since,),
        )
        return [story for key, *counters in rows if (story := self._readable(key, counters)) is not None]

    def members(self, sql: sqlite3.Connection, story: str) -> tuple[Member, ...]:
        rows = sql.execute(f"SELECT key, packed FROM members_{self._space} WHERE story = ?", (bytes.fromhex(story),))
        return read_members((key, packed) for key, packed in rows if self._are_bytes("a member", key, packed))

    def peaks(self, sql: sqlite3.Connection, since: int) -> dict[str, int]:
        sql.execute(f"DELETE FROM peaks_{self._space} WHERE story < ?", (since.to_bytes(4, "big"),))
        rows = sql.execute(f"SELECT story, peak FROM peaks_{self._space} WHERE typeof(peak) = 'integer'")
        return {story.hex(): peak for story, peak in rows if self._are_bytes("a peak", story)}

    def expire(self, sql: sqlite3.Connection, span: ExpiredSpan, limit: int) -> None:
        """Remove a few stories whose last member has left the window."""
        expired = sql.execute(
            f"SELECT key FROM stories_{self._space} WHERE last >= ? AND last < ? ORDER BY last LIMIT ?",
            (span.floor, span.horizon, limit),
        ).fetchall()
        for key in expired:
            sql.execute(f"DELETE FROM members_{self._space} WHERE story = ?", key)
            sql.execute(f"DELETE FROM stories_{self._space} WHERE key = ?", key)

    def _extent_before(self, sql: sqlite3.Connection, token: str) -> Extent | None:
        """Return the extent that was reported before a claim with this token was granted, None if none was."""
        row = sql.execute(f"SELECT told FROM grants_{self._space} WHERE token = ?", (token,)).fetchone()
        return read_extent(str(row[0])) if row else None

    def _story(self, sql: sqlite3.Connection, key: bytes) -> Story | None:
        """Return a story, None if it is gone or damaged."""
        row = sql.execute(f"SELECT {_TALLY} FROM stories_{self._space} WHERE key = ?", (key,)).fetchone()
        return None if row is None else self._readable(key, row)

    def _readable(self, key: object, counters: Sequence[object]) -> Story | None:
        """Return the story with these counters, None if they are damaged."""
        try:
            if isinstance(key, bytes) and len(key) == KEY_BYTES:
                return _tally(key, counters).story(key)
        except StoreError:
            pass
        self._damage.warn_of_story()
        return None

    def _are_bytes(self, what: str, *values: object) -> bool:
        are_bytes = all(isinstance(value, bytes) for value in values)
        if not are_bytes:
            self._damage.warn_once(what, "it is left out")
        return are_bytes

    def _tally(self, sql: sqlite3.Connection, key: bytes) -> StoryCounters | None:
        """Raise StoreError if the story is damaged."""
        row: Sequence[object] | None = sql.execute(
            f"SELECT {_TALLY} FROM stories_{self._space} WHERE key = ?", (key,)
        ).fetchone()
        return None if row is None else _tally(key, row)

    def _save(self, sql: sqlite3.Connection, key: bytes, tally: StoryCounters) -> None:
        sql.execute(
            f"INSERT OR REPLACE INTO stories_{self._space} (key, {_TALLY}, open_since) VALUES ({', '.join('?' * 14)})",
            (key, *astuple(tally), tally.newest_source if tally.is_open else None),
        )


def _tally(key: bytes, counters: Sequence[object]) -> StoryCounters:
    """Raise StoreError on counters of other types than the schema declares."""
    if [*map(type, counters)] != [*map(type, astuple(StoryCounters()))]:
        raise StoreError(f"story {key.hex()}: its counters are not those of this version")
    return StoryCounters(*counters)  # type: ignore[arg-type]  # checked above
