"""Files and directories that only their owner can read: they hold what a crawl has seen.

Also files that a process locks to show others that it lives. The system unlocks the file when the process ends.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from filelock import FileLock


def make_private_directory(path: Path) -> None:
    """Make a directory and those above it that are missing. Raise OSError if that is not possible."""
    for each in reversed((path, *path.parents)):
        if not each.is_dir():
            each.mkdir(mode=0o700, exist_ok=True)


def make_private_file(path: Path) -> None:
    """Make an empty file unless there is one. Raise OSError if that is not possible."""
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))


def lock_file(path: Path, timeout: float = 0.0) -> FileLock | None:
    """Lock a file. Raise filelock.Timeout if another process holds it, and OSError if that is not possible.

    Return None if the file system has no locks of the system: any other lock would outlive the process.
    """
    from filelock import FileLock, SoftFileLock, Timeout

    lock = FileLock(path, mode=0o600, thread_local=False)
    try:
        lock.acquire(timeout=timeout)
    except Timeout:
        if not isinstance(lock, SoftFileLock):
            raise
    if not isinstance(lock, SoftFileLock):
        return lock
    lock.release()
    return None


def unlock_file(path: Path, lock: FileLock) -> None:
    """Remove a locked file and unlock it.

    The file is removed first: afterwards it may be the one that another process has just locked. Windows removes no
    file that is open: there the own one is unlocked before, and that of another process stays.
    """
    if os.name == "nt":
        lock.release()
    with suppress(OSError):
        path.unlink(missing_ok=True)
    lock.release()  # does nothing the second time


def is_locked(path: Path) -> bool | None:
    """Decide whether the process that locked a file lives. If it died, remove the file. None: it cannot be told."""
    from filelock import Timeout

    try:
        if (lock := lock_file(path)) is None:
            return None
    except Timeout:
        return True
    except (OSError, NotImplementedError):
        return None
    unlock_file(path, lock)
    return False
