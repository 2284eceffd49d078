"""Decide where a crawl keeps its files: the window, the feed of dropped items, events not yet delivered."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

from scrapy.utils.conf import closest_scrapy_cfg

from scrapy_neardup.settings import DEFAULT_DROPPED_FEED, NearDupSettings
from scrapy_neardup.text.display import without_password

logger = logging.getLogger(__name__)

_SQLITE = "sqlite:///"
_LONGEST_NAME = 60  # characters, of up to four bytes each


def locate_files(settings: NearDupSettings, scrapy_settings: Mapping[Any, Any]) -> NearDupSettings:
    """Return the settings with an absolute data directory.

    It is ``.scrapy``, where Scrapy itself keeps data, unless the settings name another one. If the url of the store is
    a relative SQLite path, make it a path in that directory. This makes no file or directory, and never raises.
    """
    closest = closest_scrapy_cfg()
    folder = Path(closest).parent / ".scrapy" if closest else Path(".scrapy")
    # scrapyd runs many projects in one working directory, which may belong to another project.
    if not closest or scrapy_settings.get("PROJECT"):
        project = str(scrapy_settings.get("PROJECT") or scrapy_settings.get("BOT_NAME") or "scrapybot")
        folder /= re.sub(r"[^\w.-]", "_", project).lstrip(".")[:_LONGEST_NAME] or "_"
    if settings.data_dir:
        folder = Path(os.path.expanduser(settings.data_dir))
    store = settings.store
    if store.startswith(_SQLITE):
        store = f"{_SQLITE}{folder.absolute() / store.removeprefix(_SQLITE)}"
    return replace(settings, data_dir=str(folder.absolute()), store=store)


def in_data_dir(settings: NearDupSettings, path: str) -> str:
    """Return the path of a file in the data directory.

    ``settings`` come from ``locate_files``. An absolute path stays as it is.
    """
    return str(Path(settings.data_dir or "", path))


def log_window_location(settings: NearDupSettings) -> None:
    """Log where the window of a crawl is. ``settings`` come from ``locate_files``."""
    hours = f"{settings.window / 3600:g} hours"
    if settings.store.startswith("memory:"):
        logger.info("The window of the last %s is kept in memory: it is lost when this process ends", hours)
    else:
        logger.info("The window of the last %s is in %s", hours, without_password(settings.store.removeprefix(_SQLITE)))
    drops = settings.action == "drop" and settings.dropped_feed == DEFAULT_DROPPED_FEED
    is_window = settings.store.startswith(f"{_SQLITE}{settings.data_dir}")
    needs_files = is_window or drops or settings.receivers
    if needs_files and not can_be_written(Path(in_data_dir(settings, ""))):
        logger.error("No file can be made in %s: set NEARDUP_DATA_DIR to a writable directory", settings.data_dir)


def can_be_written(folder: Path) -> bool:
    """Decide whether files can be made in a directory, by making one. The directory may not exist yet.

    Access bits would not tell: root has all rights, also where the kernel or a file system takes no files.
    """
    try:
        nearest = next(each for each in (folder.absolute(), *folder.absolute().parents) if each.exists())
        TemporaryFile(dir=nearest).close()
    except OSError:  # also if a parent may not be searched, or the name is too long
        return False
    return True
