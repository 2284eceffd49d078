"""Events on their way to another server: none is lost while the server is away, and the crawl does not wait.

They wait in a SQLite file, which several processes share.
"""

from __future__ import annotations

import asyncio
import json
import logging
import random
import sqlite3
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from scrapy_neardup.document import LEVELS
from scrapy_neardup.index.sqlite import make_private_directory, make_private_file

logger = logging.getLogger(__name__)

MOST_EVENTS = 10_000
# Seconds from a failure to the next try: the first pause, which doubles each time, and the longest.
PAUSES = 1.0, 60.0
HELD_SECONDS = 15.0
"""How long a process that sends an event keeps others from sending it. A receiver has 10 s to answer."""

_BUSY_SECONDS = 1.0  # to wait for another process that writes the file
_AWAY = 3  # if this many events fail in a row, the receiver is thought to be away
_LOOK = 60.0  # seconds between two looks for events of other processes
_CLOSING = 5.0  # seconds
_TABLE = (
    "CREATE TABLE IF NOT EXISTS events (name TEXT PRIMARY KEY, report TEXT NOT NULL, refused TEXT,"
    " tries INTEGER NOT NULL DEFAULT 0, held_until REAL NOT NULL DEFAULT 0)"
)

Deliver = Callable[[dict[str, Any]], Awaitable[None]]
"""Sends one report. Raises Refused if the report must not be sent again, and another error if it may be sent later."""


class Refused(OSError):
    """The receiver will never take this event."""


def open_events(path: Path | str) -> sqlite3.Connection:
    """Open the file of an outbox, and make it if it is missing. Raise sqlite3.Error or OSError if that fails."""
    if isinstance(path, Path):
        make_private_directory(path.absolute().parent)
        make_private_file(path)
    sql = sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None)
    try:
        sql.execute(_TABLE)
    except sqlite3.Error:
        sql.close()
        raise
    return sql


def count_events(path: Path) -> tuple[int, int]:
    """Return how many events of an outbox wait for the receiver, and how many it has refused."""
    with closing(open_events(path)) as sql:
        waiting, refused = sql.execute("SELECT count(*) - count(refused), count(refused) FROM events").fetchone()
        return waiting, refused


def remove_events(path: Path, is_named: Callable[[str], bool], *, dry_run: bool = False) -> int:
    """Remove the events in which ``is_named`` is True of a text, and return how many there are.

    With ``dry_run`` only count them. A process that is about to send such an event finds that it is gone.
    """
    with closing(open_events(path)) as sql:
        rows = sql.execute("SELECT name, report FROM events").fetchall()
        found = [(name,) for name, report in rows if any(map(is_named, _texts(json.loads(report))))]
        if not dry_run:
            sql.executemany("DELETE FROM events WHERE name = ?", found)
        return len(found)


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _texts(each)


class Outbox:
    """Delivers reports in a task of its own. Each report is in the file ``path`` until the receiver has it.

    All processes that have the file open send the events that wait there, each event at a time in one of them.

    Events that fail are tried again with the next event, after the others, or after a pause that grows until one gets
    through. If several events fail in a row, the receiver is thought to be away: then one event is tried after each
    pause, and new events wait. A report may arrive twice: receivers recognise it by its ``id``.
    """

    def __init__(
        self,
        name: str,
        path: Path,
        deliver: Deliver,
        *,
        pauses: tuple[float, float] = PAUSES,
        most_events: int = MOST_EVENTS,
    ) -> None:
        self._name = name
        self._path = path
        self._deliver = deliver
        self._first_pause, self._longest_pause = pauses
        self._most_events = most_events
        self._sql: sqlite3.Connection | None = None
        self._in_a_row = 0  # failures since the last success
        self._refused = 0
        self._is_closing = False
        self._wake = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._logged = set[str]()  # kinds of messages that are not repeated

    async def open(self) -> None:
        """Begin to send the events that wait, also those that others left."""
        self._open_file()
        self._task = asyncio.create_task(self._run())

    def _open_file(self) -> None:
        try:
            self._sql = open_events(self._path)
        except (OSError, sqlite3.Error) as error:
            self._keep_in_memory(error)

    def _keep_in_memory(self, error: Exception) -> None:
        self._log_once(
            "no room",
            f"Events for the {self._name} cannot be stored in {self._path}: "
            f"they wait in memory and are lost if this process ends: {error}",
        )
        if self._sql is not None:
            self._sql.close()
        self._sql = open_events(":memory:")

    def put(self, report: Mapping[str, Any]) -> None:
        """Take an event; return at once. After ``close`` it waits for the next process."""
        if self._sql is None:
            self._open_file()
        name = f"{report['time']}-{LEVELS.index(report['level'])}-{report['id']}"  # sorts by time, and then by level
        row = name, json.dumps(report)
        try:
            self._write(row)
        except sqlite3.Error as error:
            self._keep_in_memory(error)
            self._write(row)
        self._wake.set()

    def _write(self, row: tuple[str, str]) -> None:
        self._execute("INSERT OR REPLACE INTO events (name, report) VALUES (?, ?)", *row)
        oldest = (
            "SELECT name FROM events ORDER BY refused IS NULL, name LIMIT max(0, (SELECT count(*) FROM events) - ?)"
        )
        if self._execute(f"DELETE FROM events WHERE name IN ({oldest})", self._most_events).rowcount:
            self._log_once(
                "full",
                f"The outbox of the {self._name} in {self._path} is full (at most {self._most_events} events): "
                "the oldest events are removed",
            )

    def _execute(self, statement: str, *values: object) -> sqlite3.Cursor:
        assert self._sql is not None
        return self._sql.execute(statement, values)

    def _waiting(self) -> list[str]:
        """Return the names of the events that wait, those that failed at the end."""
        rows = self._execute("SELECT name FROM events WHERE refused IS NULL ORDER BY tries, name")
        return [name for (name,) in rows]

    async def close(self) -> None:
        """Try each waiting event once more, for some seconds in all. Then leave the rest to the next process."""
        if self._task is None:
            return
        self._is_closing = True
        self._wake.set()
        await asyncio.wait({self._task}, timeout=_CLOSING)
        self._task.cancel()
        (error,) = await asyncio.gather(self._task, return_exceptions=True)
        if isinstance(error, Exception):  # a bug of ours: what is in the file stays for the next process
            logger.error("The outbox of the %s stopped", self._name, exc_info=error)
        self._task = None
        if self._refused > 1:
            logger.error("The %s refused %d events; they are set aside in %s", self._name, self._refused, self._path)
        assert self._sql is not None
        with closing(self._sql), suppress(sqlite3.Error):
            if waiting := len(self._waiting()):
                logger.warning("Events that wait for the %s: %d, in %s", self._name, waiting, self._path)
        self._sql = None

    async def _run(self) -> None:
        while True:
            try:
                return await self._send_until_closing()
            except sqlite3.Error as error:  # noqa: PERF203  such as a full disk
                self._keep_in_memory(error)

    async def _send_until_closing(self) -> None:
        """Send the events that wait: again when there is a new one, and after each pause."""
        loop, pause = asyncio.get_running_loop(), self._first_pause
        while not self._is_closing:
            has_answered = await self._send_all()
            waits = bool(self._waiting())
            if has_answered or not waits:
                pause = self._first_pause
            # Not all at the same moment: many crawls may wait for one receiver.
            until = loop.time() + (min(pause, _LOOK) * random.uniform(0.5, 1) if waits else _LOOK)
            pause = min(self._longest_pause, 2 * pause)
            while not self._is_closing and loop.time() < until:
                with suppress(asyncio.TimeoutError):
                    await asyncio.wait_for(self._wake.wait(), until - loop.time())
                self._wake.clear()
                if self._in_a_row < _AWAY:
                    break
            self._in_a_row = min(self._in_a_row, _AWAY - 1)
        self._in_a_row = 0
        await self._send_all()

    async def _send_all(self) -> bool:
        """Send the events that wait, until the receiver is thought to be away. Return whether it answered at all."""
        has_answered = False
        for name in self._waiting():
            if self._in_a_row >= _AWAY:
                break
            has_answered |= await self._send(name)
        return has_answered

    async def _send(self, name: str) -> bool:
        """Send one event. Return whether the receiver answered that it takes or refuses it."""
        row = self._execute("SELECT report FROM events WHERE name = ?", name).fetchone()
        now, until = time.time(), time.time() + HELD_SECONDS
        hold = "UPDATE events SET held_until = ?, tries = tries + 1 WHERE name = ? AND NOT held_until BETWEEN ? AND ?"
        if not self._execute(hold, until, name, now, until).rowcount:
            return False  # another process sends it or has sent it, or it was removed
        try:
            await self._deliver(json.loads(row[0]))
        except Refused as error:
            self._refused += 1
            self._execute("UPDATE events SET refused = ? WHERE name = ?", str(error), name)
            self._log_once("refused", f"The {self._name} refuses an event: {error}. It is set aside in {self._path}")
        except Exception as error:
            self._log_once(
                "away",
                f"The {self._name} takes no events; they wait in {self._path} and are tried again. "
                f"{type(error).__name__}: {error}",
                logging.WARNING,
            )
            self._in_a_row += 1
            return False
        else:
            self._execute("DELETE FROM events WHERE name = ?", name)
        finally:
            self._execute("UPDATE events SET held_until = 0 WHERE name = ?", name)
        self._in_a_row = 0
        if not self._waiting():
            self._logged.discard("away")
        return True

    def _log_once(self, kind: str, message: str, level: int = logging.ERROR) -> None:
        if kind not in self._logged:
            self._logged.add(kind)
            logger.log(level, "%s", message)
