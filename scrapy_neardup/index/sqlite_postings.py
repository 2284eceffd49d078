"""The window in SQLite: records, and the postings of their keys by which candidates are found.

Every method is part of a transaction its caller has begun.
"""

from __future__ import annotations

import sqlite3
import struct
from collections import Counter
from collections.abc import Sequence

from scrapy_neardup.document import Fingerprint
from scrapy_neardup.index.record import Record, intact, seconds_of
from scrapy_neardup.index.verification import IDENTITY_WEIGHT, MAX_CANDIDATES, NEWEST

_MOST_EXPIRED = 20_000  # records at once: an hour of a large crawl, or a tenth of a second

# Row numbers grow in the order of arrival and are never given twice: the newest postings of a key are the last ones.
SCHEMA = (
    """
    CREATE TABLE IF NOT EXISTS records_{space} (
        id INTEGER PRIMARY KEY AUTOINCREMENT, key BLOB NOT NULL UNIQUE,
        keys BLOB NOT NULL,  -- identity and band keys, to find this record's postings again
        record BLOB NOT NULL
    )
    """,
    """
    CREATE TABLE IF NOT EXISTS postings_{space} (
        band INTEGER NOT NULL, id INTEGER NOT NULL, PRIMARY KEY (band, id)
    ) WITHOUT ROWID
    """,
    # Records that are gone and whose postings are not yet.
    "CREATE TABLE IF NOT EXISTS expired_{space} (id INTEGER PRIMARY KEY, keys BLOB NOT NULL)",
)
TABLES = ("records", "postings", "expired")


class SQLitePostings:
    """Records and postings of one space."""

    def __init__(self, space: int, window: int) -> None:
        self._space = space
        self._window = window

    def is_registered(self, sql: sqlite3.Connection, key: bytes) -> bool:
        return sql.execute(f"SELECT 1 FROM records_{self._space} WHERE key = ?", (key,)).fetchone() is not None

    def packed(self, sql: sqlite3.Connection, key: bytes) -> bytes | None:
        row = sql.execute(f"SELECT record FROM records_{self._space} WHERE key = ?", (key,)).fetchone()
        return None if row is None else row[0]

    def record(self, sql: sqlite3.Connection, key: bytes) -> Record | None:
        packed = self.packed(sql, key)
        return None if packed is None else intact(packed)

    def replace(self, sql: sqlite3.Connection, key: bytes, packed: bytes) -> None:
        sql.execute(f"UPDATE records_{self._space} SET record = ? WHERE key = ?", (packed, key))

    def candidates(self, sql: sqlite3.Connection, fingerprint: Fingerprint, seen_at: int) -> list[tuple[bytes, bytes]]:
        """Keys and packed records of those in the window that share most, the oldest of equals first."""
        first = max(0, seen_at - self._window).to_bytes(4, "big")
        last = min(seen_at + self._window, (1 << 32) - 1).to_bytes(4, "big") + b"\xff" * 4
        # What is out of the window takes no one's place among the newest.
        query = (
            f"SELECT p.id, r.key FROM postings_{self._space} p JOIN records_{self._space} r ON r.id = p.id"
            f" WHERE p.band = ? AND r.key >= ? AND r.key <= ? ORDER BY p.id DESC LIMIT {NEWEST}"
        )
        weights: Counter[tuple[int, bytes]] = Counter()
        for keys, weight in ((fingerprint.identity_keys, IDENTITY_WEIGHT), (fingerprint.text_keys, 1)):
            for band in keys:
                for row in sql.execute(query, (band, first, last)):
                    weights[row] += weight
        likeliest = sorted(weights, key=lambda row: (-weights[row], row[1]))[:MAX_CANDIDATES]
        query = f"SELECT record FROM records_{self._space} WHERE id = ?"
        return [(key, sql.execute(query, (row_id,)).fetchone()[0]) for row_id, key in likeliest]

    def insert(self, sql: sqlite3.Connection, key: bytes, record: Record, keys: tuple[int, ...]) -> None:
        row_id = sql.execute(
            f"INSERT INTO records_{self._space} (key, keys, record) VALUES (?, ?, ?)",
            (key, struct.pack(f">{len(keys)}I", *keys), record.pack()),
        ).lastrowid
        sql.executemany(
            f"INSERT OR IGNORE INTO postings_{self._space} (band, id) VALUES (?, ?)", [(band, row_id) for band in keys]
        )

    def remove(self, sql: sqlite3.Connection, keys: Sequence[bytes]) -> None:
        """Remove records; their postings go later."""
        records, expired = f"records_{self._space}", f"expired_{self._space}"
        for key in keys:
            sql.execute(f"INSERT OR IGNORE INTO {expired} SELECT id, keys FROM {records} WHERE key = ?", (key,))
            sql.execute(f"DELETE FROM {records} WHERE key = ?", (key,))

    def last_second(self, sql: sqlite3.Connection) -> int | None:
        row = sql.execute(f"SELECT key FROM records_{self._space} ORDER BY id DESC LIMIT 1").fetchone()
        return None if row is None else seconds_of(row[0])

    def expire(self, sql: sqlite3.Connection, horizon: int, limit: int) -> None:
        """Remove the records seen before ``horizon``, and the postings of a few records that are gone."""
        records, expired = f"records_{self._space}", f"expired_{self._space}"
        over = [horizon.to_bytes(4, "big")]
        if sql.execute(f"SELECT 1 FROM {records} WHERE key < ? LIMIT 1", over).fetchone():
            most = f"SELECT key FROM {records} WHERE key < ? ORDER BY key LIMIT 1 OFFSET {_MOST_EXPIRED}"
            over = list(sql.execute(most, over).fetchone() or over)
            sql.execute(f"INSERT OR IGNORE INTO {expired} SELECT id, keys FROM {records} WHERE key < ?", over)
            sql.execute(f"DELETE FROM {records} WHERE key < ?", over)
        for row_id, packed in sql.execute(f"SELECT id, keys FROM {expired} ORDER BY id LIMIT {limit}").fetchall():
            keys = struct.unpack(f">{len(packed) // 4}I", packed[: len(packed) // 4 * 4])
            sql.executemany(
                f"DELETE FROM postings_{self._space} WHERE band = ? AND id = ?", [(band, row_id) for band in keys]
            )
            sql.execute(f"DELETE FROM {expired} WHERE id = ?", (row_id,))

    def records(self, sql: sqlite3.Connection, keys: tuple[int, ...] | None) -> sqlite3.Cursor:
        """Return keys and packed records of those that have one of the keys; of all if the keys are None."""
        query = f"SELECT key, record FROM records_{self._space}"
        if keys is not None:
            bands = ", ".join("?" * len(keys))
            query += f" WHERE id IN (SELECT id FROM postings_{self._space} WHERE band IN ({bands}))"
        return sql.execute(query, keys or ())
