"""What the commands that open the live window share."""

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
    """The detector over the window of the options or else of the settings. Raises StoreError where there is none."""
    from scrapy_neardup.crawl.file_locations import locate_files
    from scrapy_neardup.detector import NearDupDetector
    from scrapy_neardup.settings import NearDupSettings

    given = {"NEARDUP_STORE": options.store, "NEARDUP_NAMESPACE": options.namespace}
    settings = NearDupSettings.from_mapping({**values, **{name: each for name, each in given.items() if each}})
    # A path that is typed is one of the shell's; that of the settings is one of the data directory.
    if not options.store:
        settings = locate_files(settings, values)
    if (path := _missing_file(settings.store)) is not None:  # to look is not to make one
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
