"""Runs in SQLite: which of them are alive, and which documents they have not delivered.

Each method is part of a transaction that its caller has begun.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Collection, Sequence
from functools import cache

from scrapy_neardup.index.runs import FORGOTTEN_SECONDS, state_of_run
from scrapy_neardup.index.sqlite.postings import SQLitePostings
from scrapy_neardup.records.documents import IS_DROPPED, Record, mark_delivered
from scrapy_neardup.similarity.verification import CANDIDATE_STATES, MOST_LINKS, CandidateState

SCHEMA = (
    # Unix seconds by this machine's clock: the first heartbeat and the last one.
    """
    CREATE TABLE IF NOT EXISTS runs_{space} (run INTEGER PRIMARY KEY, started REAL NOT NULL, beat REAL NOT NULL)
    """,
)
TABLES = ("runs",)


class SQLiteRuns:
    """The runs of one space."""

    def __init__(self, space: int, window: SQLitePostings, clock: Callable[[], float] = time.time) -> None:
        self._table = f"runs_{space}"
        self._window = window
        self._clock = clock

    def beat(self, sql: sqlite3.Connection, run: int, alive: Collection[int], dead: Collection[int]) -> None:
        now = self._clock()
        if run:
            sql.execute(
                f"INSERT INTO {self._table} (run, started, beat) VALUES (?, ?, ?)"
                " ON CONFLICT (run) DO UPDATE SET beat = excluded.beat",
                (run, now, now),
            )
        sql.executemany(f"UPDATE {self._table} SET beat = ? WHERE run = ?", [(now, each) for each in alive])
        for each in dead:
            self.end(sql, each)
        sql.execute(f"DELETE FROM {self._table} WHERE beat < ?", (now - FORGOTTEN_SECONDS,))

    def end(self, sql: sqlite3.Connection, run: int) -> None:
        sql.execute(f"DELETE FROM {self._table} WHERE run = ?", (run,))

    def deliver(self, sql: sqlite3.Connection, keys: Sequence[bytes]) -> None:
        for key in keys:
            packed = self._window.packed(sql, key)
            if isinstance(packed, bytes) and (changed := mark_delivered(packed)) is not None:
                self._window.replace(sql, key, changed)

    def state_reader(self, sql: sqlite3.Connection, own: int) -> Callable[[Record], CandidateState]:
        """Return a function that decides, within this transaction, whether a document counts as seen for a run."""

        @cache
        def beats() -> dict[int, tuple[float, float]]:
            rows = sql.execute(f"SELECT run, started, beat FROM {self._table}")
            return {run: (started, beat) for run, started, beat in rows}

        def state(record: Record, links: int = MOST_LINKS) -> CandidateState:
            if not record.run:
                return "seen"
            run = record.run & ~IS_DROPPED
            found: CandidateState = "seen"
            if run != own:
                started, _ = beats().get(own, (None, None))
                _, beat = beats().get(run, (None, None))
                found = state_of_run(beat, self._clock(), started)
            if found == "lost" or run == record.run:
                return found
            match = self._window.record(sql, record.candidate) if links else None
            return "lost" if match is None else max(found, state(match, links - 1), key=CANDIDATE_STATES.index)

        return state
