"""Events on their way to another server: none is lost while the server is away, and the crawl does not wait.

Each event is a file until it is delivered. Several processes share the folder.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import random
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from scrapy_neardup.document import LEVELS
from scrapy_neardup.records.private_files import is_locked, lock_file, make_private_directory, unlock_file

logger = logging.getLogger(__name__)

MOST_EVENTS = 10_000
MOST_BYTES = 100_000_000
LARGEST_EVENT = 10_000_000  # bytes; a file that is larger is no event
_LONGEST_NAME = 120  # characters
_WRITING = 60.0  # seconds in which the file of an event is written
_ASIDE = (".json.refused", ".json.unreadable")
_FIELDS = ("id", "time", "level", "story", "headline")


class NotAnEvent(ValueError):
    """A file of the outbox does not hold a report."""


class OutboxFiles:
    """The file ``<name>.json`` waits for any process; ``<name>.json.refused`` and ``.unreadable`` are set aside.

    A process that sends an event holds a lock on ``<name>.json.lock``. The system releases the lock when the process
    dies, so that another one can send the event at once.
    """

    def __init__(self, folder: Path, most_events: int = MOST_EVENTS, most_bytes: int = MOST_BYTES) -> None:
        self.folder = folder
        self.most_events, self.most_bytes = most_events, most_bytes

    def open(self) -> list[str]:
        """Make the folder, and return the names of all events that wait, the oldest first.

        Raise OSError if that is not possible. Remove the locks that dead processes left of events that are gone.
        """
        make_private_directory(self.folder.absolute())
        for path in self.folder.glob("*.json.lock"):
            if not path.with_suffix("").exists():
                is_locked(path)
        # A folder or a device of that name is nobody's event.
        return sorted(path.name for path in self.folder.glob("*.json") if path.is_file())

    def write(self, report: Mapping[str, Any]) -> list[str]:
        """Keep an event. Return the names of those that are removed because there are too many.

        Raise OSError if the file cannot be written.
        """
        path = self.folder / name_of(report)
        # A process that dies here has not confirmed the event, and leaves a part of a file that is set aside.
        unfinished = self.folder / f"{path.name}.unreadable"
        with open(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.write(encode(report))
        unfinished.replace(path)
        return self._trim()

    @asynccontextmanager
    async def held(self, name: str) -> AsyncIterator[bool]:
        """Hold an event while it is sent. Yield False if another process holds it.

        If files cannot be locked here, several processes may send the event.
        """
        from filelock import Timeout

        path = self.folder / f"{name}.lock"
        try:
            lock = await asyncio.to_thread(lock_file, path)
        except Timeout:
            yield False
            return
        except (OSError, NotImplementedError):
            lock = None
        if lock is None:
            with suppress(OSError):
                path.unlink()
        try:
            yield True
        finally:
            if lock is not None:
                await asyncio.to_thread(unlock_file, path, lock)

    def read(self, name: str) -> dict[str, Any]:
        """Return an event. Raise FileNotFoundError if it is gone, and NotAnEvent if the file has no event."""
        path = self.folder / name
        try:
            if path.stat().st_size > LARGEST_EVENT:
                raise NotAnEvent(f"it is larger than {LARGEST_EVENT:,} bytes")
            report = json.loads(path.read_bytes())
        except FileNotFoundError:
            raise
        except (OSError, ValueError, RecursionError) as error:
            raise NotAnEvent(str(error)) from error
        if not isinstance(report, dict) or not all(isinstance(report.get(each), str) for each in _FIELDS):
            raise NotAnEvent(f"it is no JSON object with {', '.join(_FIELDS)}")
        return report

    def remove(self, name: str) -> None:
        with suppress(OSError):
            (self.folder / name).unlink()

    def set_aside(self, name: str, ending: str) -> Path:
        """Give an event an ending with which it no longer waits. Return its path."""
        path = self.folder / f"{name}{ending}"
        with suppress(OSError):
            (self.folder / name).replace(path)
        return path

    def remove_named(self, is_named: Callable[[str], bool], *, dry_run: bool = False) -> int:
        """Remove the events in which ``is_named`` is True of a text, also those that are set aside.

        A process that is about to send such an event finds that it is gone. Return how many there are. With ``dry_run``
        only count them. Raise OSError if an event cannot be read or removed.
        """
        if not self.folder.is_dir():
            return 0
        found = [path for path in self._sizes() if _holds(path, is_named)]
        for path in () if dry_run else found:
            path.unlink(missing_ok=True)
        return len(found)

    def _trim(self) -> list[str]:
        """If there are too many events, remove the oldest, first those that are set aside. Return their names."""
        sizes, removed = self._sizes(), list[str]()
        count, size = len(sizes), sum(sizes.values())
        for path in sorted(sizes, key=lambda each: (not each.name.endswith(_ASIDE), each.name)):
            if count <= self.most_events and size <= self.most_bytes:
                break
            if _may_be_unfinished(path):
                continue
            path.unlink(missing_ok=True)
            removed.append(path.name)
            count, size = count - 1, size - sizes[path]
        return removed

    def _sizes(self) -> dict[Path, int]:
        sizes = {}
        for path in self.folder.iterdir():
            with suppress(OSError):  # another process has sent it meanwhile
                if path.name.endswith((".json", *_ASIDE)) and path.is_file():
                    sizes[path] = path.stat().st_size
        return sizes


def _may_be_unfinished(path: Path) -> bool:
    """Decide whether another process may be writing an event into this file."""
    if not path.name.endswith(".unreadable"):
        return False
    try:
        return time.time() - path.stat().st_mtime < _WRITING
    except OSError:  # it has written it meanwhile
        return True


def _holds(path: Path, is_named: Callable[[str], bool]) -> bool:
    """Decide whether ``is_named`` is True of a text in an event. A file that is no JSON is searched word by word."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:  # another process has sent it meanwhile
        return False
    try:
        return any(map(is_named, _texts(json.loads(data))))
    except (ValueError, RecursionError):
        return any(map(is_named, re.findall(r"[^\s\"'<>]+", data.decode("utf-8", "replace"))))


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _texts(each)


def encode(report: Mapping[str, Any]) -> bytes:
    """Return the JSON of a report. A lone surrogate, which UTF-8 cannot hold, is written as its escape."""
    return json.dumps(report, ensure_ascii=False).encode("utf-8", "backslashreplace")


def name_of(report: Mapping[str, Any]) -> str:
    """Return a file name. Names sort by time, and then by level. No two events share one."""
    name = f"{report['time']}-{LEVELS.index(report['level'])}-{report['id']}"
    return re.sub(r"[^\w.-]", "_", name, flags=re.ASCII)[:_LONGEST_NAME] + ".json"


Deliver = Callable[[dict[str, Any]], Awaitable[None]]
"""Sends one report. Raises Refused if the report must not be sent again, and another error if it may be sent later."""

# Seconds from a failure to the next try: the first pause, which doubles each time, and the longest.
PAUSES = 1.0, 60.0
MOST_IN_MEMORY = 1000  # events that could not be written to disk
_AWAY = 3  # if this many events fail in a row, the receiver is thought to be away
_LOOK = 60.0  # seconds between two looks for events of other processes
_CLOSING = 5.0  # seconds


class Refused(OSError):
    """The receiver will never take this event."""


class Outbox:
    """Delivers reports in a task of its own. Each report is a file in ``folder`` until the receiver has it.

    All processes that have the folder open send the events that wait there, each event at a time in one of them.

    Events that fail go to the end of the queue. They are tried again with the next event, or after a pause that grows
    until one gets through. If several events fail in a row, the receiver is thought to be away: then one event is tried
    after each pause, and new events wait. A report may arrive twice: receivers recognise it by its ``id``.
    """

    def __init__(
        self,
        name: str,
        folder: Path,
        deliver: Deliver,
        *,
        pauses: tuple[float, float] = PAUSES,
        most_events: int = MOST_EVENTS,
        most_bytes: int = MOST_BYTES,
    ) -> None:
        self._name = name
        self._files = OutboxFiles(folder, most_events, most_bytes)
        self._deliver = deliver
        self._first_pause, self._longest_pause = pauses
        # The events by name, in the order in which they are sent: the report if it could not be written to disk.
        self._waiting: dict[str, dict[str, Any] | None] = {}
        self._in_a_row = 0  # failures since the last success
        self._look_at = 0.0  # when to look for events of other processes
        self._is_closing = False
        self._wake = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._logged = set[str]()  # kinds of messages that are not repeated
        self._finished_files = set[str]()  # sent or refused, but the file cannot be removed
        self._aside = 0

    async def open(self) -> None:
        """Look for events that others left, and start."""
        await self._look()
        self._task = asyncio.create_task(self._run())

    async def _look(self) -> None:
        self._look_at = asyncio.get_running_loop().time() + _LOOK
        try:
            names = await asyncio.to_thread(self._files.open)
        except OSError as error:
            self._log_no_room(error)
            return
        self._logged.discard("no room")
        self._waiting.update(dict.fromkeys(name for name in names if name not in self._finished_files))

    def _log_no_room(self, error: OSError) -> None:
        self._log_once(
            "no room",
            f"Events for the {self._name} cannot be stored in {self._files.folder}: "
            f"they wait in memory and are lost if this process ends: {error}",
        )

    def put(self, report: Mapping[str, Any]) -> None:
        """Take an event; return at once."""
        name = name_of(report)
        try:
            removed = self._files.write(report)
            self._waiting[name] = None
            if removed:
                files = self._files
                self._log_once(
                    "full",
                    f"The outbox of the {self._name} in {files.folder} is full (at most {files.most_events} events, "
                    f"{files.most_bytes} bytes): the oldest events are removed",
                )
        except OSError as error:
            self._log_no_room(error)
            self._waiting[name] = dict(report)
            in_memory = [name for name, kept in self._waiting.items() if kept is not None]
            removed = in_memory[:-MOST_IN_MEMORY]
        for each in removed:
            self._waiting.pop(each, None)
        self._wake.set()

    async def close(self) -> None:
        """Try each waiting event once more, for some seconds in all. Then leave the rest to the next process."""
        if self._task is None:
            return
        self._is_closing = True
        self._wake.set()
        await asyncio.wait({self._task}, timeout=_CLOSING)
        self._task.cancel()
        (error,) = await asyncio.gather(self._task, return_exceptions=True)
        if isinstance(error, Exception):  # a bug of ours: the files stay for the next process
            logger.error("The outbox of the %s stopped", self._name, exc_info=error)
        self._task = None
        if self._aside > 1:
            logger.error("%d events for the %s are set aside in %s", self._aside, self._name, self._files.folder)
        if self._waiting:
            logger.warning("Events that wait for the %s: %d, in %s", self._name, len(self._waiting), self._files.folder)

    async def _run(self) -> None:
        """Send the events that wait: again when there is a new one, and after each pause."""
        loop, pause = asyncio.get_running_loop(), self._first_pause
        while not self._is_closing:
            if await self._send_all() or not self._waiting:
                pause = self._first_pause
            # Not all at the same moment: many crawls may wait for one receiver.
            until = loop.time() + (min(pause, _LOOK) * random.uniform(0.5, 1) if self._waiting else _LOOK)
            pause = min(self._longest_pause, 2 * pause)
            while not self._is_closing and loop.time() < until:
                with suppress(asyncio.TimeoutError):
                    await asyncio.wait_for(self._wake.wait(), until - loop.time())
                self._wake.clear()
                if self._in_a_row < _AWAY:
                    break
            self._in_a_row = min(self._in_a_row, _AWAY - 1)
            if loop.time() >= self._look_at:
                await self._look()
        self._in_a_row = 0
        await self._send_all()

    async def _send_all(self) -> bool:
        """Send the events that wait, until the receiver is thought to be away. Return whether it answered at all."""
        has_answered = False
        for name in list(self._waiting):
            if self._in_a_row >= _AWAY:
                break
            if name in self._waiting:  # else it was removed meanwhile, because the outbox is full
                has_answered |= await self._send(name)
        return has_answered

    async def _send(self, name: str) -> bool:
        """Send one event. Return whether the receiver answered that it takes or refuses it."""
        try:
            async with self._files.held(name) as is_ours:
                if not is_ours:
                    return False
                if (report := self._waiting[name]) is None:
                    report = await asyncio.to_thread(self._files.read, name)
                await self._deliver(report)
                self._files.remove(name)
        except FileNotFoundError:  # another process has sent it, or somebody cleaned up
            self._waiting.pop(name, None)
            return False
        except NotAnEvent as error:
            path = self._files.set_aside(name, ".unreadable")
            self._log_aside(f"{path}, in the outbox of the {self._name}, holds no event and is left out: {error}")
            self._finish(name)
            return False
        except Refused as error:
            path = self._files.set_aside(name, ".refused")
            self._log_aside(
                f"The {self._name} refuses an event: {error}. It is set aside as {path}; rename it to "
                f"{name} to have it sent again"
            )
        except Exception as error:
            self._log_once(
                "away",
                f"The {self._name} takes no events; they wait in {self._files.folder} and are tried again. "
                f"{type(error).__name__}: {error}",
                logging.WARNING,
            )
            self._in_a_row += 1
            if name in self._waiting:  # else it was removed while it was sent, because the outbox is full
                self._waiting[name] = self._waiting.pop(name)  # at the end of the queue
            return False
        self._finish(name)
        self._in_a_row = 0
        if not self._waiting:
            self._logged.discard("away")
        return True

    def _finish(self, name: str) -> None:
        """Forget an event that is sent or set aside. If its file stays, this process does not send it again."""
        self._waiting.pop(name, None)
        if os.path.lexists(path := self._files.folder / name):
            self._log_once(
                "stays",
                f"{path}, in the outbox of the {self._name}, cannot be removed: other processes send the event again",
                logging.WARNING,
            )
            self._finished_files.add(name)

    def _log_aside(self, message: str) -> None:
        """Log the first event that is set aside. The number of all is logged at the end."""
        self._aside += 1
        self._log_once("aside", message)

    def _log_once(self, kind: str, message: str, level: int = logging.ERROR) -> None:
        if kind not in self._logged:
            logger.log(level, "%s", message)
        self._logged.add(kind)
