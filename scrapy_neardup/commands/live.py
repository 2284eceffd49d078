"""Options and detector of the commands that open the live window."""

from __future__ import annotations

import argparse
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy_neardup.exceptions import StoreError

if TYPE_CHECKING:
    from scrapy_neardup.detector import NearDupDetector


def add_store_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--store", metavar="URL", help="default: NEARDUP_STORE of the project")
    parser.add_argument("--namespace", metavar="NAME", help="default: NEARDUP_NAMESPACE of the project")


@asynccontextmanager
async def live_detector(options: argparse.Namespace, values: dict[str, Any]) -> AsyncIterator[NearDupDetector]:
    """Open a detector on the window of the options, or else of the settings. Raise StoreError if there is none."""
    from scrapy_neardup.crawl.file_locations import locate_files
    from scrapy_neardup.detector import NearDupDetector
    from scrapy_neardup.settings import NearDupSettings

    given = {"NEARDUP_STORE": options.store, "NEARDUP_NAMESPACE": options.namespace}
    settings = NearDupSettings.from_mapping({**values, **{name: each for name, each in given.items() if each}})
    # A path on the command line is relative to the current directory, one in the settings to the data directory.
    if not options.store:
        settings = locate_files(settings, values)
    if (path := _missing_file(settings.store)) is not None:  # opening it would make an empty one
        raise StoreError(f"{path}: there is no such file; the first crawl makes it")
    detector = NearDupDetector(settings)
    await detector.open()
    try:
        yield detector
    finally:
        await detector.close()


def _missing_file(store: str) -> Path | None:
    scheme, _, path = store.partition(":///")
    return Path(path) if scheme == "sqlite" and not Path(path).exists() else None
