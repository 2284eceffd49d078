"""The base of the middlewares and pipelines of one crawler.

What they share, where the crawl keeps its files (the window, dropped items), and how items are read and tagged.
"""

import asyncio
import logging
import os
import re
import traceback
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary, finalize

from scrapy import signals
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.utils.asyncio import is_asyncio_available
from scrapy.utils.conf import closest_scrapy_cfg

from scrapy_neardup.content.processes import ExtractionProcesses, worker_options
from scrapy_neardup.crawl.item_context import ItemContexts
from scrapy_neardup.document import TAGS, Verdict
from scrapy_neardup.exceptions import SettingsError
from scrapy_neardup.settings import NearDupSettings
from scrapy_neardup.settings.values import load_callable
from scrapy_neardup.text.display import one_line

if TYPE_CHECKING:
    from itemadapter import ItemAdapter

logger = logging.getLogger(__name__)

MOST_IN_BACKLOG = 32  # pages that wait for extraction, and items for verdicts. They keep all busy

_SQLITE = "sqlite:///"


class SharedState:
    # The first component of a crawl makes it. That is the downloader middleware, so a worker process starts while
    # Scrapy loads further middlewares, and the pipeline the detector.
    def __init__(self, crawler: Crawler, settings: NearDupSettings) -> None:
        self.settings = settings
        self.item_classes = tuple(map(load_item_class, settings.item_classes))
        self.contexts = ItemContexts()
        self.extraction = ExtractionProcesses(worker_options(settings, sketches=True), settings.extract_workers)
        if settings.extractor is not None:
            self.extraction.start()
        crawler.signals.connect(self.extraction.close, signals.spider_closed)
        finalize(crawler, self.extraction.close)  # a crawl that fails before it opens sends no signal
        self._backlog = 0  # pages and items that wait, see ``in_backlog``
        self.has_room = asyncio.Event()
        self.has_room.set()
        self.counts = Counter[str]()  # the stats that are counted up, by their names without ``neardup/``
        self.logged_faults: set[tuple[object, ...]] = set()  # their types and places

    @contextmanager
    def in_backlog(self) -> Iterator[None]:
        """Count a page that waits for extraction or is extracted, or an item that waits for its verdict.

        Scrapy keeps ``CONCURRENT_ITEMS`` tasks for each response that it has passed to the spider. Thousands of small
        responses would take 700 MB, and each full garbage collection would visit all their tasks. A response that is
        held back still counts as one of ``CONCURRENT_REQUESTS``, so no further page is requested meanwhile. Responses
        wait for nothing but extractions and verdicts, because these are certain to end.
        """
        self._backlog += 1
        if self._backlog >= MOST_IN_BACKLOG:
            self.has_room.clear()
        try:
            yield
        finally:
            self._backlog -= 1
            if self._backlog < MOST_IN_BACKLOG:
                self.has_room.set()


# The state of each crawler, None if the plugin does nothing in it.
states: WeakKeyDictionary[Crawler, SharedState | None] = WeakKeyDictionary()


class Component:
    """A middleware or pipeline. Raise NotConfigured if the plugin or asyncio is turned off."""

    def __init__(self, crawler: Crawler) -> None:
        if crawler not in states:
            state = None
            settings = NearDupSettings.from_mapping(crawler.settings)
            if settings.enabled and is_asyncio_available():
                state = SharedState(crawler, locate_files(settings, crawler.settings))
            elif settings.enabled:
                logger.error(
                    "No item is checked: scrapy-neardup needs asyncio. Leave TWISTED_REACTOR at its default, "
                    "'twisted.internet.asyncioreactor.AsyncioSelectorReactor'"
                )
            states[crawler] = state
        if (shared := states[crawler]) is None:
            raise NotConfigured
        assert crawler.stats is not None
        self._stats = crawler.stats
        self.crawler = crawler
        self.shared = shared
        self.settings = shared.settings

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> "Component":
        return cls(crawler)

    def is_judged(self, item: object) -> bool:
        """Decide whether an item is one of ``NEARDUP_ITEM_CLASSES``. An empty list selects every item."""
        from itemadapter import is_item  # as in ``adapter_of``

        return is_item(item) and isinstance(item, self.shared.item_classes or object)

    def log_fault(self, error: Exception, subject: str) -> None:
        """Log an error of this package's own code if it is the first of its kind. No item is lost because of it.

        ``subject`` is what failed, such as the url of an item.
        """
        self.count("errors")
        places = [
            (frame.filename, frame.lineno)
            for frame in traceback.extract_tb(error.__traceback__)
            if frame.filename.startswith(str(Path(__file__).parents[1]))  # of this package
        ]
        kind = (type(error), *places[-1:])
        if kind not in self.shared.logged_faults:
            self.shared.logged_faults.add(kind)
            logger.error(
                "%s: a bug in scrapy-neardup caused an error; the item is kept. Further errors of this kind are only"
                " counted, in the stat neardup/errors",
                one_line(subject, 200),
                exc_info=error,
            )

    def count(self, name: str) -> None:
        self.shared.counts[name] += 1
        self._stats.inc_value(f"neardup/{name}")

    def set_stat(self, name: str, value: float) -> None:
        self._stats.set_value(f"neardup/{name}", value)


def load_item_class(name: str | type) -> type:
    """Return a class of ``NEARDUP_ITEM_CLASSES``, which is a class or an import path. Raise SettingsError otherwise."""
    allowed = "an item class or its import path"
    loaded = load_callable("NEARDUP_ITEM_CLASSES", name, allowed) if isinstance(name, str) else name
    if not isinstance(loaded, type):
        raise SettingsError("NEARDUP_ITEM_CLASSES", name, f"must be {allowed}")
    return loaded


def adapter_of(item: object) -> "ItemAdapter":
    # Not above: the package loads pydantic if that is installed, which takes as long as all of Scrapy's middlewares.
    from itemadapter import ItemAdapter

    return ItemAdapter(item)


def tags_of(verdict: Verdict) -> dict[str, Any]:
    """Return the tags. One that does not apply is None: a CSV feed takes its columns from the first item."""
    return {
        **{tag: getattr(verdict, tag.removeprefix("neardup_")) for tag in TAGS},
        "neardup_original": verdict.original_url or verdict.original,
        "neardup_match": verdict.match_url or verdict.match,
        "neardup_changes": "; ".join(verdict.changes) or None,
        "neardup_news": "\n".join(verdict.news) or None,
    }


def locate_files(settings: NearDupSettings, scrapy_settings: Mapping[Any, Any]) -> NearDupSettings:
    """Return the settings with an absolute data directory.

    It is ``.scrapy``, where Scrapy itself keeps data, unless the settings name another one. If the url of the store is
    a relative SQLite path, make it a path in that directory. This makes no file or directory, and never raises.
    """
    closest = closest_scrapy_cfg()
    folder = Path(closest).parent / ".scrapy"
    # scrapyd runs many projects in one working directory, which may belong to another project.
    if not closest or scrapy_settings.get("PROJECT"):
        project = str(scrapy_settings.get("PROJECT") or scrapy_settings.get("BOT_NAME") or "scrapybot")
        # A name has at most 255 bytes, and a character up to four.
        folder /= re.sub(r"[^\w.-]", "_", project).lstrip(".")[:60] or "_"
    if settings.data_dir:
        folder = Path(os.path.expanduser(settings.data_dir))
    store = settings.store
    if store.startswith(_SQLITE):
        store = f"{_SQLITE}{folder.absolute() / store.removeprefix(_SQLITE)}"
    return replace(settings, data_dir=str(folder.absolute()), store=store)


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
