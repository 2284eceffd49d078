"""Files and directories that only their owner can read: they hold what a crawl has seen."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path


def make_private_directory(path: Path) -> None:
    """Make a directory and those above it that are missing. Raise OSError if that is not possible."""
    for each in reversed((path, *path.parents)):
        if not each.is_dir():
            each.mkdir(mode=0o700, exist_ok=True)


def make_private_file(path: Path) -> None:
    """Make an empty file unless there is one. Raise OSError if that is not possible."""
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
