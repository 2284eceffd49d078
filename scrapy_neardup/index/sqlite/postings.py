"""The window in SQLite: records of documents, and postings (key -> documents) that find candidates.

Every method is part of a transaction that its caller has begun. A document key is kept as a number: its 8 bytes
read as a signed integer with the highest bit flipped, so that numbers are in the order of the keys.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from scrapy_neardup.index.damage import DamageLog
from scrapy_neardup.index.horizon import ExpiredSpan
from scrapy_neardup.index.spans import generation_seconds
from scrapy_neardup.records.documents import KEY_BYTES, Record, read_record
from scrapy_neardup.similarity.verification import IDENTITY_WEIGHT, MAX_CANDIDATES, MOST_POSTINGS

_MOST_EXPIRED = 20_000  # records removed at once: an hour of a large crawl, which takes a tenth of a second
_TURN = 1 << 63
_SECOND = 1 << 32  # the difference between the first numbers of two seconds in a row

SCHEMA = ("CREATE TABLE IF NOT EXISTS documents_{space} (key INTEGER PRIMARY KEY, record BLOB NOT NULL)",)
TABLES = ("documents",)

# Each generation has its own table. When it is over, the table is dropped, and no posting has to be looked for.
_GENERATION = (
    "CREATE TABLE {table} (band INTEGER NOT NULL, key INTEGER NOT NULL, PRIMARY KEY (band, key)) WITHOUT ROWID"
)


def number_of(key: bytes) -> int:
    return int.from_bytes(key, "big") - _TURN


def key_of(number: int) -> bytes:
    return (number + _TURN).to_bytes(KEY_BYTES, "big")


def number_at(second: int) -> int:
    """Return the first number of a second."""
    return max(0, min(second, _SECOND)) * _SECOND - _TURN


def _last_number(second: int) -> int:
    return number_at(second + 1) - 1


@dataclass(slots=True)
class FoundPostings:
    """The postings under the keys of a document."""

    candidates: list[int]  # the likeliest first
    crowded: dict[int, int] = field(default_factory=dict)  # keys with MOST_POSTINGS postings -> the oldest of these


class SQLitePostings:
    """Records and postings of one space."""

    def __init__(self, space: int, window: int, damage: DamageLog) -> None:
        self._documents = f"documents_{space}"
        self._window = window
        self._damage = damage
        self._seconds = generation_seconds(window)
        self._prefix = f"postings_{space}_{self._seconds}_"
        self._generations: set[int] = set()
        self._schema = -1

    def is_registered(self, sql: sqlite3.Connection, key: bytes) -> bool:
        return sql.execute(f"SELECT 1 FROM {self._documents} WHERE key = ?", (number_of(key),)).fetchone() is not None

    def packed(self, sql: sqlite3.Connection, key: bytes) -> object:
        row = sql.execute(f"SELECT record FROM {self._documents} WHERE key = ?", (number_of(key),)).fetchone()
        return None if row is None else row[0]

    def record(self, sql: sqlite3.Connection, key: bytes) -> Record | None:
        return self._record(sql, number_of(key))

    def replace(self, sql: sqlite3.Connection, key: bytes, packed: bytes) -> None:
        sql.execute(f"UPDATE {self._documents} SET record = ? WHERE key = ?", (packed, number_of(key)))

    def remove(self, sql: sqlite3.Connection, keys: Sequence[bytes]) -> None:
        """Remove records; a posting without its record is no candidate."""
        sql.executemany(f"DELETE FROM {self._documents} WHERE key = ?", [(number_of(key),) for key in keys])

    def _record(self, sql: sqlite3.Connection, number: int) -> Record | None:
        row = sql.execute(f"SELECT record FROM {self._documents} WHERE key = ?", (number,)).fetchone()
        return None if row is None else self.read(row[0])

    def read(self, packed: object) -> Record | None:
        """Return a record, None if it is damaged."""
        record = read_record(packed) if isinstance(packed, bytes) else None
        if record is None:
            self._damage.warn_of_record()
        return record

    def find(self, sql: sqlite3.Connection, keys: Sequence[int], identities: int, key: bytes) -> FoundPostings:
        """Look up keys of a document, of which the first are ``identities``. See ``Index`` for the rule."""
        number, second = number_of(key), int.from_bytes(key[:4], "big")
        first, last = number_at(second - self._window), _last_number(second + self._window)
        weight = {band: IDENTITY_WEIGHT if place < identities else 1 for place, band in reversed([*enumerate(keys)])}
        room = dict.fromkeys(weight, MOST_POSTINGS)
        weights: Counter[int] = Counter()
        crowded = {}
        oldest, newest = ((second + apart) // self._seconds for apart in (-self._window, self._window))
        for generation in sorted(self._known(sql).intersection(range(oldest, newest + 1)), reverse=True):
            posted: Counter[int] = Counter()
            for band, candidate in self._posted(sql, generation, [*weight]):
                posted[band] += 1
                if posted[band] >= MOST_POSTINGS and generation == second // self._seconds:
                    crowded[band] = candidate
                if room[band] and first <= candidate <= last:
                    room[band] -= 1
                    weights[candidate] += weight[band]
        likeliest = sorted(weights, key=lambda each: (-weights[each], each))[:MAX_CANDIDATES]
        return FoundPostings([each for each in likeliest if each != number], crowded)

    def _posted(self, sql: sqlite3.Connection, generation: int, bands: Sequence[int]) -> list[tuple[int, int]]:
        """Return the postings of some keys in a generation, of each the newest first."""
        query = f"SELECT band, key FROM {self._prefix}{generation} WHERE band IN ({', '.join('?' * len(bands))})"
        rows = sql.execute(query, bands).fetchall()
        whole = [row for row in rows if type(row[1]) is int]
        if len(whole) < len(rows):
            self._damage.warn_once("a posting", "it is no candidate")
        return sorted(whole, reverse=True)

    def _known(self, sql: sqlite3.Connection) -> set[int]:
        """Return the numbers of all generations. Other processes make and drop them too."""
        (schema,) = sql.execute("PRAGMA schema_version").fetchone()
        if schema != self._schema:
            tables = sql.execute(
                "SELECT name FROM sqlite_master WHERE type = 'table' AND substr(name, 1, ?) = ?",
                (len(self._prefix), self._prefix),
            )
            self._generations = {int(name.removeprefix(self._prefix)) for (name,) in tables}
            self._schema = schema
        return self._generations

    def candidates(self, sql: sqlite3.Connection, found: FoundPostings) -> Iterator[tuple[bytes, Record]]:
        """Yield keys and records of the candidates, the likeliest first. A posting may outlive its record."""
        for number in found.candidates:
            if (record := self._record(sql, number)) is not None:
                yield key_of(number), record

    def insert(
        self, sql: sqlite3.Connection, key: bytes, record: Record, keys: Iterable[int], found: FoundPostings
    ) -> None:
        number = number_of(key)
        sql.execute(f"INSERT INTO {self._documents} (key, record) VALUES (?, ?)", (number, record.pack()))
        generation = int.from_bytes(key[:4], "big") // self._seconds
        table = f"{self._prefix}{generation}"
        if generation not in self._known(sql):
            sql.execute(_GENERATION.format(table=table))
        crowded = found.crowded
        gone = [(band, oldest) for band, oldest in crowded.items() if oldest < number]
        if gone:
            sql.executemany(f"DELETE FROM {table} WHERE band = ? AND key = ?", gone)
        posted = [(band, number) for band in keys if band not in crowded or crowded[band] < number]
        sql.executemany(f"INSERT OR IGNORE INTO {table} (band, key) VALUES (?, ?)", posted)

    def expire(self, sql: sqlite3.Connection, span: ExpiredSpan) -> None:
        """Remove the records that have left the window, and the generations of postings."""
        first, last = number_at(span.floor), number_at(span.horizon)
        records = f"{self._documents} WHERE key >= ? AND key < ?"
        if sql.execute(f"SELECT 1 FROM {records} LIMIT 1", (first, last)).fetchone():
            most = f"SELECT key FROM {records} ORDER BY key LIMIT 1 OFFSET {_MOST_EXPIRED}"
            (last,) = sql.execute(most, (first, last)).fetchone() or (last,)
            sql.execute(f"DELETE FROM {records}", (first, last))
        for generation in [*self._known(sql)]:
            if -(-span.floor // self._seconds) <= generation < span.horizon // self._seconds:
                sql.execute(f"DROP TABLE {self._prefix}{generation}")

    def records(self, sql: sqlite3.Connection) -> Iterator[tuple[bytes, Record]]:
        """Yield keys and records of all documents."""
        for number, packed in sql.execute(f"SELECT key, record FROM {self._documents}"):
            if (record := self.read(packed)) is not None:
                yield key_of(number), record

    def packed_records(self, sql: sqlite3.Connection, keys: Sequence[int] | None) -> Iterator[tuple[bytes, bytes]]:
        """Yield keys and packed records of the documents that have one of the keys.

        Yield all documents if the keys are None, or if one has so many postings that older ones may be gone.
        """
        query = f"SELECT key, record FROM {self._documents}"
        numbers = None if keys is None else self._all_posted(sql, list(dict.fromkeys(keys)))
        each = (sql.execute(f"{query} WHERE key = ?", (number,)) for number in numbers or ())
        for cursor in each if numbers is not None else [sql.execute(query)]:
            for number, packed in cursor:
                if self.read(packed) is not None:
                    yield key_of(number), packed

    def _all_posted(self, sql: sqlite3.Connection, bands: list[int]) -> set[int] | None:
        """Return all documents that have one of the keys, None if some may be missing."""
        numbers = set()
        for generation in self._known(sql):
            posted: Counter[int] = Counter()
            for band, number in self._posted(sql, generation, bands):
                posted[band] += 1
                numbers.add(number)
            if posted and max(posted.values()) >= MOST_POSTINGS:
                return None
        return numbers
