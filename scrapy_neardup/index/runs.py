"""Runs: crawls that register documents first and deliver them later.

A run shows that it lives by a heartbeat in the store, and by a locked file on its own machine. What a run registered
and did not deliver before it died counts for nothing.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import os
import secrets
import stat
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy_neardup.records.private_files import make_private_directory
from scrapy_neardup.similarity.verification import CandidateState

if TYPE_CHECKING:
    from filelock import FileLock

    from scrapy_neardup.index.base import Index

logger = logging.getLogger(__name__)

BEAT_SECONDS = 2.0
LATE_SECONDS = 6.0
"""Age of the last heartbeat from which on copies of a run's documents are no longer dropped."""

DEAD_SECONDS = 15.0
"""Age of the last heartbeat from which on a run is dead. It lives again with its next heartbeat."""

FORGOTTEN_SECONDS = 3600.0
"""Age of the last heartbeat from which on a store forgets a run."""

LARGEST_RUN = (1 << 31) - 1
_MOST_QUEUED = 1_000_000  # documents whose delivery the store does not know yet
_TOLD_TOGETHER = 64
_END_SECONDS = 4.0  # for which a store that fails is tried at the end
_PAUSE = 0.25
_SUFFIX = ".run"


def state_of_run(beat: float | None, now: float, started: float | None) -> CandidateState:
    """Return what the last heartbeat of a run says of its documents.

    ``started`` is the first heartbeat of the run that asks. A heartbeat from before that may be the last one of a run
    that was killed and started again. ``scripts/candidates.lua`` holds the same rule.
    """
    if beat is None or abs(now - beat) > DEAD_SECONDS:
        return "lost"
    return "late" if now - beat > LATE_SECONDS or (started is not None and beat < started) else "seen"


class RunLocks:
    """Knows at once which runs on this machine live.

    Each run locks a file in ``folder``, which all runs of one store share. The system unlocks the file when the process
    ends. If the folder cannot be used, or the file system knows no locks, heartbeats alone tell.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._own: FileLock | None = None

    def hold(self, run: int) -> None:
        """Hold the lock of this run until ``release`` or the end of the process."""
        from filelock import FileLock, SoftFileLock

        path = self._folder / f"{run}{_SUFFIX}"
        try:
            make_private_directory(self._folder)
            if not _is_own(self._folder):
                raise PermissionError(f"{self._folder} belongs to another user")
            for _ in range(10):
                lock = FileLock(path, mode=0o600)
                lock.acquire(timeout=1)
                if isinstance(lock, SoftFileLock):  # no lock of the system: it would outlive the process
                    lock.release()
                    return
                if path.exists():  # another run may have looked at the file just before it was locked, and removed it
                    self._own = lock
                    return
                lock.release()
        except (OSError, NotImplementedError) as error:  # the file system may know no locks
            logger.debug("Other runs on this machine see that this one lives by its heartbeat alone: %s", error)

    def survey(self) -> tuple[list[int], list[int]]:
        """Return the other runs that hold their lock, and those that died; the files of the dead are removed."""
        from filelock import FileLock, SoftFileLock, Timeout

        alive: list[int] = []
        dead: list[int] = []
        own = self._own and Path(self._own.lock_file)
        try:
            if not _is_own(self._folder):
                return [], []
            paths = [path for path in self._folder.glob(f"*{_SUFFIX}") if path != own and path.stem.isdecimal()]
        except OSError:
            return [], []
        for path in paths:
            lock = FileLock(path, mode=0o600)
            try:
                lock.acquire(blocking=False)
            except Timeout:
                if not isinstance(lock, SoftFileLock):
                    alive.append(int(path.stem))
                continue
            except (OSError, NotImplementedError):
                continue
            if isinstance(lock, SoftFileLock):
                lock.release()
                continue
            _remove(path, lock)
            dead.append(int(path.stem))
        return alive, dead

    def release(self) -> None:
        own, self._own = self._own, None
        if own is not None:
            _remove(Path(own.lock_file), own)


def _remove(path: Path, lock: FileLock) -> None:
    """Remove the file of a run and unlock it. Windows removes no file that is open."""
    try:
        path.unlink(missing_ok=True)
    except OSError:
        lock.release()
        with suppress(OSError):
            path.unlink(missing_ok=True)
    else:
        lock.release()


def shared_folder(store: str) -> Path:
    """Return where the runs of this user and machine that share a store leave their files."""
    user = str(os.getuid()) if hasattr(os, "getuid") else "user"
    name = hashlib.sha256(store.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return Path(tempfile.gettempdir()) / f"scrapy-neardup-{user}" / name


def _is_own(folder: Path) -> bool:
    return not hasattr(os, "getuid") or (stat.S_ISDIR(folder.lstat().st_mode) and folder.stat().st_uid == os.getuid())


class Run:
    """One crawl: its heartbeat, and what it has delivered.

    ``keep`` awaits a call of the index and returns None if the store fails. While ``is_away`` says that the store is
    lost, only the heartbeat tries it.
    """

    def __init__(
        self,
        index: Index,
        keep: Callable[[Awaitable[bool]], Awaitable[bool | None]],
        is_away: Callable[[], bool] = lambda: False,
    ) -> None:
        self._index = index
        self._keep = keep
        self._is_away = is_away
        self._locks = _locks_of(index)
        self._queue: list[str] = []
        self._withdrawn: list[str] = []
        # Copies that were dropped, by their match; those of the last window and of the one before.
        self._copies: dict[str, list[str]] = {}
        self._older_copies: dict[str, list[str]] = {}
        self._telling = asyncio.Lock()
        self._over = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []

    async def begin(self) -> None:
        """Register documents as those of this run from now on, and show that it lives."""
        self._index.run = secrets.randbelow(LARGEST_RUN) + 1
        if self._locks is not None:
            self._locks.hold(self._index.run)
        await self._beat()
        self._tasks = [asyncio.create_task(self._beat_on())]

    async def _beat_on(self) -> None:
        window = time.monotonic()
        while not self._over.is_set():
            with suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self._over.wait(), BEAT_SECONDS)
                return
            try:
                await self._beat()
                await self._tell_all()
            except Exception:
                logger.exception("A heartbeat of this crawl is missing; the next one follows")
            if time.monotonic() - window > self._index.policy.window:
                window = time.monotonic()
                self._older_copies, self._copies = self._copies, {}

    async def _beat(self) -> None:
        alive, dead = ([], []) if self._locks is None else self._locks.survey()
        await self._keep(_succeeded(self._index.beat(alive, dead)))

    def deliver_with(self, document: str, match: str) -> None:
        """Deliver or withdraw a document that is dropped as a copy together with its match."""
        self._copies.setdefault(match, []).append(document)

    def _copies_of(self, document: str) -> list[str]:
        return self._copies.pop(document, []) + self._older_copies.pop(document, [])

    def deliver(self, documents: Iterable[str]) -> None:
        """Note that documents are delivered. The store is told within ``BEAT_SECONDS``."""
        self._queue += documents
        del self._queue[:-_MOST_QUEUED]
        if len(self._queue) >= _TOLD_TOGETHER and self._tasks and not self._telling.locked():
            self._tasks[1:] = [asyncio.create_task(self.tell())]

    async def tell(self) -> None:
        """Tell the store what is delivered or taken back. If it fails, that is tried again with the next heartbeat."""
        if not self._is_away():
            await self._tell_all(lambda: not self._is_away())

    async def _tell_all(self, goes_on: Callable[[], bool] = lambda: True) -> None:
        async with self._telling:
            while self._withdrawn and goes_on():
                gone = self._withdrawn[:_TOLD_TOGETHER]
                if not await self._keep(_succeeded(self._index.withdraw(gone))):
                    break
                del self._withdrawn[: len(gone)]
            while self._queue and goes_on():
                documents = self._queue[:_TOLD_TOGETHER]
                if not await self._keep(_succeeded(self._index.deliver(documents))):
                    return
                del self._queue[: len(documents)]
                for each in documents:
                    self._queue += self._copies_of(each)

    async def withdraw(self, documents: Iterable[str]) -> None:
        """Remove documents that nobody will deliver, and the copies that were dropped because of them."""
        gone = list(documents)
        for each in gone:
            gone += self._copies_of(each)
        self._withdrawn += gone
        del self._withdrawn[:-_MOST_QUEUED]
        await self.tell()

    async def end(self) -> None:
        """Tell the store what is delivered, and that the run is over: the rest counts for nothing."""
        self._over.set()
        if self._tasks:
            _, late = await asyncio.wait(self._tasks, timeout=_END_SECONDS)
            for task in late:
                task.cancel()
        until = time.monotonic() + _END_SECONDS
        await self._tell_all()
        while (self._queue or self._withdrawn) and time.monotonic() < until:
            await asyncio.sleep(_PAUSE)
            await self._tell_all()
        if self._queue:
            untold = "The store cannot be told that %d documents are delivered: the next crawl gets their pages as new"
            logger.warning(untold, len(self._queue))
        await self._keep(_succeeded(self._index.end_run()))
        if self._locks is not None:
            self._locks.release()


def _locks_of(index: Index) -> RunLocks | None:
    try:
        folder = index.run_folder
    except OSError as error:  # such as no folder for temporary files
        logger.debug("Other runs on this machine see that this one lives by its heartbeat alone: %s", error)
        return None
    return None if folder is None else RunLocks(folder)


async def _succeeded(call: Awaitable[None]) -> bool:
    await call
    return True
