"""The window in SQLite: records of documents, postings (key -> documents) that find candidates, and runs.

Every method is part of a transaction that its caller has begun. A document key is kept as a number: its 8 bytes
read as a signed integer with the highest bit flipped, so that numbers are in the order of the keys.
"""

from __future__ import annotations

import itertools
import sqlite3
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from scrapy_neardup.index.base import DamageLog
from scrapy_neardup.index.horizon import ExpiredSpan, generation_seconds
from scrapy_neardup.index.runs import FORGOTTEN_SECONDS, Runs
from scrapy_neardup.index.sqlite.file import GENERATION
from scrapy_neardup.records.documents import KEY_BYTES, Record, read_record, seconds_of, with_next_key
from scrapy_neardup.rules.decision import LEAST_WEIGHT, MAX_CANDIDATES, MOST_POSTINGS

_MOST_EXPIRED = 20_000  # records removed at once: an hour of a large crawl, which takes a tenth of a second
_TURN = 1 << 63
_SECOND = 1 << 32  # the difference between the first numbers of two seconds in a row


def number_of(key: bytes) -> int:
    return int.from_bytes(key, "big") - _TURN


def key_of(number: int) -> bytes:
    return (number + _TURN).to_bytes(KEY_BYTES, "big")


def number_at(second: int) -> int:
    """Return the first number of a second."""
    return max(0, min(second, _SECOND)) * _SECOND - _TURN


@dataclass(slots=True)
class FoundPostings:
    """The postings under the keys of a document."""

    candidates: list[bytes]  # document keys, the likeliest first
    crowded: dict[int, int] = field(default_factory=dict)  # keys with MOST_POSTINGS postings -> the oldest of these


class SQLiteWindow:
    """Records, postings and runs of one space. ``clock`` is that of heartbeats."""

    def __init__(self, space: int, window: int, damage: DamageLog, clock: Callable[[], float] = time.time) -> None:
        self._documents = f"documents_{space}"
        self._runs = f"runs_{space}"
        self._clock = clock
        self._window = window
        self._damage = damage
        self._seconds = generation_seconds(window)
        self._prefix = f"postings_{space}_{self._seconds}_"
        self._generations: set[int] = set()
        self._schema = -1

    def place(self, sql: sqlite3.Connection, new: Record) -> tuple[Record, Record | None]:
        """Return the new record, and the stored one if the document was checked before.

        If another document has its key, the new record gets the next key that is free.
        """
        query = f"SELECT record FROM {self._documents} WHERE key = ?"
        while (row := sql.execute(query, (number_of(new.original),)).fetchone()) is not None:
            known = self._readable(row[0])
            if known is not None and (known.text_hash, known.url_hash) == (new.text_hash, new.url_hash):
                return new, known
            new = with_next_key(new)
        return new, None

    def record(self, sql: sqlite3.Connection, key: bytes) -> Record | None:
        """Return the record of a document, None if it is gone or damaged. A posting may outlive its record."""
        return next((record for _, record in self.records(sql, [key])), None)

    def records(self, sql: sqlite3.Connection, keys: Sequence[bytes] | None = None) -> Iterator[tuple[bytes, Record]]:
        """Yield keys and records of all documents, or of those with these keys. Leave out what is damaged."""
        chosen = "" if keys is None else f" WHERE key IN ({', '.join('?' * len(keys))})"
        query = f"SELECT key, record FROM {self._documents}{chosen}"
        for number, packed in sql.execute(query, [number_of(key) for key in keys or ()]):
            if (record := self._readable(packed)) is not None:
                yield key_of(number), record

    def _readable(self, packed: object) -> Record | None:
        record = read_record(packed) if isinstance(packed, bytes) else None
        if record is None:
            self._damage.warn_once("a record")
        return record

    def remove(self, sql: sqlite3.Connection, keys: Iterable[bytes]) -> None:
        """Remove records; a posting without its record is no candidate."""
        sql.executemany(f"DELETE FROM {self._documents} WHERE key = ?", [(number_of(key),) for key in keys])

    def find(self, sql: sqlite3.Connection, keys: Sequence[int], weights: Sequence[int], key: bytes) -> FoundPostings:
        """Look up the keys of a document, with the weight of each key. See ``Index`` for the rule."""
        second = seconds_of(key)
        first, last = number_at(second - self._window), number_at(second + self._window + 1) - 1
        weight = dict(zip(reversed(keys), reversed(weights), strict=True))
        room = dict.fromkeys(weight, MOST_POSTINGS)
        found: Counter[int] = Counter()
        crowded = {}
        oldest, newest = ((second + apart) // self._seconds for apart in (-self._window, self._window))
        for generation in sorted(self._generations.intersection(range(oldest, newest + 1)), reverse=True):
            posted: Counter[int] = Counter()
            for lookup_key, candidate in self._posted(sql, generation, [*weight]):
                posted[lookup_key] += 1
                if posted[lookup_key] >= MOST_POSTINGS and generation == second // self._seconds:
                    crowded[lookup_key] = candidate
                if room[lookup_key] and first <= candidate <= last:
                    room[lookup_key] -= 1
                    found[candidate] += weight[lookup_key]
        enough = [each for each, weight in found.items() if weight >= LEAST_WEIGHT]
        likeliest = sorted(enough, key=lambda each: (-found[each], each))[:MAX_CANDIDATES]
        return FoundPostings([key_of(each) for each in likeliest if each != number_of(key)], crowded)

    def _posted(self, sql: sqlite3.Connection, generation: int, keys: Sequence[int]) -> list[tuple[int, int]]:
        """Return look-up keys and documents of the postings in a generation. For each key the newest comes first."""
        query = f"SELECT band, key FROM {self._prefix}{generation} WHERE band IN ({', '.join('?' * len(keys))})"
        rows = sql.execute(query, keys).fetchall()
        asked = set(keys)
        whole = [row for row in rows if row[0] in asked and type(row[1]) is int]
        if len(whole) < len(rows):
            self._damage.warn_once("a posting")
        return sorted(whole, reverse=True)

    def find_generations(self, sql: sqlite3.Connection) -> None:
        """Find the numbers of all generations, first in a transaction: other processes make and drop them too."""
        (schema,) = sql.execute("PRAGMA schema_version").fetchone()
        if schema != self._schema:
            tables = sql.execute(
                "SELECT name FROM sqlite_master WHERE type = 'table' AND substr(name, 1, ?) = ?",
                (len(self._prefix), self._prefix),
            )
            self._generations = {int(name.removeprefix(self._prefix)) for (name,) in tables}
            self._schema = schema

    def insert(
        self, sql: sqlite3.Connection, key: bytes, record: Record, keys: Iterable[int], found: FoundPostings
    ) -> None:
        number = number_of(key)
        sql.execute(f"INSERT INTO {self._documents} (key, record) VALUES (?, ?)", (number, record.pack()))
        generation = seconds_of(key) // self._seconds
        table = f"{self._prefix}{generation}"
        if generation not in self._generations:
            sql.execute(GENERATION.format(table=table))
            self._generations.add(generation)
            self._schema = -1  # find them again in the next transaction: this one may be rolled back
        crowded = found.crowded
        gone = [(each, oldest) for each, oldest in crowded.items() if oldest < number]
        sql.executemany(f"DELETE FROM {table} WHERE band = ? AND key = ?", gone)
        posted = [each for each in keys if each not in crowded or crowded[each] < number]
        # One statement, because the interpreter's lock is given up and taken again around every step of SQLite.
        rows = ", ".join(["(?, ?)"] * len(posted))
        if posted:
            both = itertools.chain.from_iterable((each, number) for each in posted)
            sql.execute(f"INSERT OR IGNORE INTO {table} (band, key) VALUES {rows}", tuple(both))

    def expire(self, sql: sqlite3.Connection, span: ExpiredSpan) -> None:
        """Remove the records that have left the window, and the generations of postings."""
        first, last = number_at(span.floor), number_at(span.horizon)
        records = f"{self._documents} WHERE key >= ? AND key < ?"
        if sql.execute(f"SELECT 1 FROM {records} LIMIT 1", (first, last)).fetchone():
            most = f"SELECT key FROM {records} ORDER BY key LIMIT 1 OFFSET {_MOST_EXPIRED}"
            (last,) = sql.execute(most, (first, last)).fetchone() or (last,)
            sql.execute(f"DELETE FROM {records}", (first, last))
        for generation in self._generations.intersection(
            range(-(-span.floor // self._seconds), span.horizon // self._seconds)
        ):
            sql.execute(f"DROP TABLE {self._prefix}{generation}")
            self._generations.remove(generation)
            self._schema = -1

    # Runs

    def beat(self, sql: sqlite3.Connection, run: int, alive: Collection[int], dead: Collection[int]) -> None:
        now = self._clock()
        if run:
            sql.execute(
                f"INSERT INTO {self._runs} (run, started, beat) VALUES (?, ?, ?)"
                " ON CONFLICT (run) DO UPDATE SET beat = excluded.beat",
                (run, now, now),
            )
        sql.executemany(f"UPDATE {self._runs} SET beat = ? WHERE run = ?", [(now, each) for each in alive])
        for each in dead:
            self.end_run(sql, each)
        sql.execute(f"DELETE FROM {self._runs} WHERE beat < ?", (now - FORGOTTEN_SECONDS,))

    def end_run(self, sql: sqlite3.Connection, run: int) -> None:
        sql.execute(f"DELETE FROM {self._runs} WHERE run = ?", (run,))

    def deliver(self, sql: sqlite3.Connection, keys: Sequence[bytes]) -> None:
        for key in keys:
            record = self.record(sql, key)
            if record is not None and record.run:
                delivered = replace(record, run=0).pack(), number_of(key)
                sql.execute(f"UPDATE {self._documents} SET record = ? WHERE key = ?", delivered)

    def runs(self, sql: sqlite3.Connection, own: int) -> Runs:
        """Return the heartbeats of all runs."""
        rows = sql.execute(f"SELECT run, started, beat FROM {self._runs}")
        return Runs(own, self._clock(), {run: (started, beat) for run, started, beat in rows})
