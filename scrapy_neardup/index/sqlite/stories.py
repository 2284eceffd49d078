"""Stories in SQLite: tables beside those of the window, in the same transactions."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import astuple, replace

from scrapy_neardup.document import Claim, EventSources, Granted, Join, Member, Story, UnconfirmedGrant
from scrapy_neardup.exceptions import StoreError
from scrapy_neardup.index.base import ENDED_SECONDS, MOST_TAKEN_OVER, DamageLog
from scrapy_neardup.index.horizon import ExpiredSpan
from scrapy_neardup.records.documents import seconds_of
from scrapy_neardup.records.members import read_members
from scrapy_neardup.records.stories import COUNTERS, MUTED, StoryCounters, pack_extent, read_extent, read_sources
from scrapy_neardup.rules.membership import (
    MOST_FOLLOWED,
    MOST_GRANTS,
    begin_story,
    grant,
    join_story,
    may_unite,
    unite,
)

_COUNTERS = ", ".join(COUNTERS)


class SQLiteStories:
    """The stories of one space. Each method is part of a transaction its caller has begun."""

    def __init__(self, space: int, damage: DamageLog) -> None:
        self._space = space
        self._damage = damage

    def join(self, sql: sqlite3.Connection, join: Join) -> Story:
        key, counters = self._final(sql, join.story, bytes.fromhex(join.member.id))
        rows = sql.execute(
            f"SELECT key FROM members_{self._space} WHERE story = ? AND key IN (?, ?)",
            (key, bytes.fromhex(join.member.id), bytes.fromhex(join.registered_before)),
        )
        before = counters.joined
        story, to_keep = join_story(counters, key, join, {member.hex() for (member,) in rows})
        if counters.joined > before:
            self._save(sql, key, counters)
        self._keep(sql, key, to_keep)
        return story

    def unite(self, sql: sqlite3.Connection, story: str, other: Member) -> Story:
        found = [self._final(sql, story), self._final(sql, other.id)]
        (key, stays), (key_moves, moves) = sorted(found, key=lambda each: each[0])
        if key == key_moves or not may_unite(stays, moves):
            return next(counters.story(each) for each, counters in found)
        other_key, of_other = found[1]
        if not of_other.joined:
            self._keep(sql, other_key, begin_story(of_other, other))
        self._keep(sql, key, unite((key, key_moves), stays, moves, self.members(sql, key_moves.hex())))
        self._save(sql, key, stays)
        self._save(sql, key_moves, moves)
        sql.execute(f"DELETE FROM members_{self._space} WHERE story = ?", (key_moves,))
        return stays.story(key)

    def mute(self, sql: sqlite3.Connection, story: str, *, muted: bool) -> Story | None:
        key, counters = self._final(sql, story)
        if not counters.joined:
            return None
        counters.levels = counters.levels | MUTED if muted else counters.levels & ~MUTED
        self._save(sql, key, counters)
        return counters.story(key)

    def final_stories(self, sql: sqlite3.Connection, stories: Collection[str]) -> dict[str, str]:
        final = {story: self._final_key(sql, bytes.fromhex(story)).hex() for story in stories}
        return {story: other for story, other in final.items() if story != other}

    def _final_key(self, sql: sqlite3.Connection, key: bytes) -> bytes:
        """Return the key of the story that a story became a part of, its own key if its counters are damaged."""
        with suppress(StoreError):
            return self._final(sql, key.hex())[0]
        return key

    def _final(self, sql: sqlite3.Connection, story: str, newest: bytes = b"") -> tuple[bytes, StoryCounters]:
        """Return the key and the counters of the story that a story became a part of, which may be itself.

        A story that moved is remembered for as long as ``newest``, the key of a document that is about to join.
        """
        key = bytes.fromhex(story)
        for _ in range(MOST_FOLLOWED):
            counters = self._counters(sql, key) or StoryCounters()
            if not counters.moved:
                break
            if newest and seconds_of(newest) > counters.last:
                counters.last = seconds_of(newest)
                self._save(sql, key, counters)
            key = counters.moved
        return key, counters

    def _keep(self, sql: sqlite3.Connection, key: bytes, members: Sequence[tuple[bytes, bytes]]) -> None:
        sql.executemany(
            f"INSERT OR IGNORE INTO members_{self._space} (story, key, packed) VALUES (?, ?, ?)",
            [(key, member, packed) for member, packed in members],
        )

    def claim(self, sql: sqlite3.Connection, claim: Claim) -> Granted | None:
        told = sql.execute(f"SELECT told FROM grants_{self._space} WHERE token = ?", (claim.token,)).fetchone()
        if told is not None:
            return Granted(self._final_members(sql, claim.story), read_extent(str(told[0])))
        key = bytes.fromhex(claim.story)
        if (counters := self._counters(sql, key)) is None or counters.moved:
            return None
        signalled = read_extent(counters.signalled)
        if not grant(counters, claim):
            return None
        self._save(sql, key, counters)
        if claim.level == "ended" and counters.sources:
            newest, ended = counters.newest_source, f"ended_{self._space}"
            sql.execute(f"INSERT OR REPLACE INTO {ended} VALUES (?, ?, ?)", (key, newest, counters.sources))
            sql.execute(f"DELETE FROM {ended} WHERE newest < ?", (newest - ENDED_SECONDS,))
        if claim.token:
            sql.execute(
                f"INSERT INTO grants_{self._space} SELECT ?, ?, ?, ?, ?"
                f" WHERE (SELECT count(*) FROM grants_{self._space}) < ?",
                (claim.token, key, time.time(), pack_extent(signalled), claim.note, MOST_GRANTS),
            )
        return Granted(self.members(sql, claim.story), signalled)

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
        taken_over = []
        for token, key, told, note in rows:
            is_whole = self._are_bytes("a grant", key) and all(isinstance(each, str) for each in (token, told, note))
            key = self._final_key(sql, key) if is_whole else key
            row = sql.execute(f"SELECT {_COUNTERS} FROM stories_{self._space} WHERE key = ?", (key,)).fetchone()
            if not is_whole or row is None or (story := self._damage.readable_story(key, row)) is None:
                self.confirm(sql, [("", token)])
                continue
            sql.execute(f"UPDATE grants_{self._space} SET granted_at = ? WHERE token = ?", (now, token))
            story = replace(story, signalled=read_extent(told))
            taken_over.append(UnconfirmedGrant(token, note, story, self.members(sql, story.id)))
        return taken_over

    def open_events(self, sql: sqlite3.Connection, quiet_since: int | None) -> list[Story]:
        rows = sql.execute(
            f"SELECT key, {_COUNTERS} FROM stories_{self._space}"
            " WHERE open_since IS NOT NULL AND open_since <= ? ORDER BY key",
            (1 << 32 if quiet_since is None else quiet_since,),
        )
        return [story for key, *row in rows if (story := self._damage.readable_story(key, row)) is not None]

    def _final_members(self, sql: sqlite3.Connection, story: str) -> tuple[Member, ...]:
        return self.members(sql, self._final_key(sql, bytes.fromhex(story)).hex())

    def members(self, sql: sqlite3.Connection, story: str) -> tuple[Member, ...]:
        rows = sql.execute(f"SELECT key, packed FROM members_{self._space} WHERE story = ?", (bytes.fromhex(story),))
        return read_members((key, packed) for key, packed in rows if self._are_bytes("a member", key, packed))

    def ended_events(self, sql: sqlite3.Connection, since: int) -> list[EventSources]:
        rows = sql.execute(f"SELECT sources FROM ended_{self._space} WHERE newest >= ?", (since,))
        return [read_sources(sources) for (sources,) in rows if self._are_bytes("an ended event", sources)]

    def expire(self, sql: sqlite3.Connection, span: ExpiredSpan, limit: int) -> None:
        """Remove a few stories whose last member has left the window."""
        expired = sql.execute(
            f"SELECT key FROM stories_{self._space} WHERE last >= ? AND last < ? ORDER BY last LIMIT ?",
            (span.floor, span.horizon, limit),
        ).fetchall()
        for key in expired:
            sql.execute(f"DELETE FROM members_{self._space} WHERE story = ?", key)
            sql.execute(f"DELETE FROM stories_{self._space} WHERE key = ?", key)

    def _are_bytes(self, what: str, *values: object) -> bool:
        are_bytes = all(isinstance(value, bytes) for value in values)
        if not are_bytes:
            self._damage.warn_once(what)
        return are_bytes

    def _counters(self, sql: sqlite3.Connection, key: bytes) -> StoryCounters | None:
        """Return the counters of a story, None if there is no such story. Raise StoreError if they are damaged."""
        row = sql.execute(f"SELECT {_COUNTERS} FROM stories_{self._space} WHERE key = ?", (key,)).fetchone()
        return None if row is None else self._damage.counters(key, row)

    def _save(self, sql: sqlite3.Connection, key: bytes, counters: StoryCounters) -> None:
        row = key, *astuple(counters), counters.newest_source if counters.is_open else None
        places = ", ".join("?" * len(row))
        sql.execute(
            f"INSERT OR REPLACE INTO stories_{self._space} (key, {_COUNTERS}, open_since) VALUES ({places})", row
        )
