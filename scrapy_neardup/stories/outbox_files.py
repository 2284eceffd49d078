"""The files of an outbox: one for each event until it is delivered. Several processes share the folder."""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy_neardup.records.private_files import is_locked, lock_file, make_private_directory, unlock_file

if TYPE_CHECKING:
    from filelock import FileLock

MOST_EVENTS = 10_000
MOST_BYTES = 100_000_000
LARGEST_EVENT = 10_000_000  # bytes; a file that is larger is no event
_LONGEST_NAME = 120  # characters
_OWNED = re.compile(r"(.+\.json)\.([0-9a-f]{8})")
_FIELDS = ("id", "time", "level", "story", "headline")


class NotAnEvent(ValueError):
    """A file of the outbox does not hold a report."""


class OutboxFiles:
    """The file ``<name>.json`` waits for any process, and ``<name>.json.<owner>`` belongs to one process.

    A process holds a lock on ``<owner>.lock`` while it lives. The system releases the lock when the process dies, so
    that its events pass to another one at once. ``<name>.json.refused`` and ``<name>.json.unreadable`` are set aside.
    """

    def __init__(self, folder: Path, most_events: int = MOST_EVENTS, most_bytes: int = MOST_BYTES) -> None:
        self.folder = folder
        self.most_events, self.most_bytes = most_events, most_bytes
        self._owner = secrets.token_hex(4)
        self._lock: FileLock | None = None

    def open(self) -> None:
        """Make the folder, and show that this process lives. Raise OSError if that is not possible."""
        make_private_directory(self.folder.absolute())
        self._lock = lock_file(self._lock_of(self._owner))

    def close(self) -> None:
        if self._lock is not None:
            unlock_file(self._lock_of(self._owner), self._lock)

    def adopt(self) -> list[str]:
        """Take over the events that wait for any process, and return their names, the oldest first."""
        names, alive = [], {self._owner: True}
        for path in sorted(self.folder.iterdir()):
            owned = _OWNED.fullmatch(path.name)
            if owned and owned[2] not in alive:
                alive[owned[2]] = is_locked(self._lock_of(owned[2])) is not False
            is_free = not alive[owned[2]] if owned else path.suffix == ".json"
            name = owned[1] if owned else path.name
            # One of several processes wins. A folder or a device of that name is nobody's event.
            with contextlib.suppress(OSError):
                if is_free and path.is_file():
                    path.rename(self._owned(name))
                    names.append(name)
        return names

    def write(self, report: Mapping[str, Any]) -> list[str]:
        """Keep an event. Return the names of those that are removed because there are too many.

        Raise OSError if the file cannot be written.
        """
        path = self._owned(name_of(report))
        # A process that dies here has not confirmed the event, and leaves a part of a file that is set aside.
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.write(encode(report))
        return self._trim()

    def read(self, name: str) -> dict[str, Any]:
        """Return an event. Raise FileNotFoundError if it is gone, and NotAnEvent if the file has no event."""
        path = self._owned(name)
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
        with contextlib.suppress(OSError):
            self._owned(name).unlink()

    def release(self, name: str, aside: str = "") -> Path:
        """Leave an event to the next process. With an ending in ``aside`` nobody takes it for an event that waits."""
        path = self.folder / f"{name}{aside}"
        with contextlib.suppress(OSError):
            self._owned(name).replace(path)
        return path

    def remove_named(self, is_named: Callable[[str], bool], *, dry_run: bool = False) -> int:
        """Remove the events in which ``is_named`` is True of a text, also those that are set aside or in other hands.

        A process that is about to send such an event finds that it is gone. An event that a living process is writing
        meanwhile stays. Return how many there are. With ``dry_run`` only count them. Raise OSError if an event cannot
        be read or removed.
        """
        if not self.folder.is_dir():
            return 0
        found = [path for path in self._sizes() if _holds(path, is_named)]
        for path in () if dry_run else found:
            path.unlink(missing_ok=True)
        return len(found)

    def _trim(self) -> list[str]:
        """If there are too many events, remove the oldest, first those that are set aside. Return their names.

        Events in the hands of another process stay.
        """
        sizes, removed = self._sizes(), list[str]()
        count, size = len(sizes), sum(sizes.values())
        for path in sorted(sizes, key=lambda each: (not _is_aside(each), each.name)):
            if count <= self.most_events and size <= self.most_bytes:
                break
            owned = _OWNED.fullmatch(path.name)
            if owned is None or owned[2] == self._owner:
                path.unlink(missing_ok=True)
                removed.append(owned[1] if owned else path.name)
                count, size = count - 1, size - sizes[path]
        return removed

    def _sizes(self) -> dict[Path, int]:
        sizes = {}
        for path in self.folder.iterdir():
            is_event = path.suffix == ".json" or _OWNED.fullmatch(path.name) or _is_aside(path)
            with contextlib.suppress(OSError):  # another process took it meanwhile
                if is_event and path.is_file():
                    sizes[path] = path.stat().st_size
        return sizes

    def _owned(self, name: str) -> Path:
        return self.folder / f"{name}.{self._owner}"

    def _lock_of(self, owner: str) -> Path:
        return self.folder / f"{owner}.lock"


def _holds(path: Path, is_named: Callable[[str], bool]) -> bool:
    """Decide whether ``is_named`` is True of a text in an event. A file that is no JSON is searched word by word."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:  # another process took it meanwhile, and then it has another name
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
    """Return a file name. Names sort by time, and no two events share one."""
    return re.sub(r"[^\w.-]", "_", f"{report['time']}-{report['id']}", flags=re.ASCII)[:_LONGEST_NAME] + ".json"


def _is_aside(path: Path) -> bool:
    return path.name.endswith((".json.refused", ".json.unreadable"))
