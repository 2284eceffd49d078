"""Write what a crawl finds: JSON lines in any storage of Scrapy, events to receivers, counts to the store."""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import json
import logging
import os
import re
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import datetime, timezone
from pathlib import Path, PureWindowsPath
from typing import IO, TYPE_CHECKING, Any
from urllib.parse import urlsplit

from itemadapter import ItemAdapter
from scrapy import Spider
from scrapy.crawler import Crawler
from scrapy.extensions.feedexport import FeedStorageProtocol, FileFeedStorage
from scrapy.settings import BaseSettings
from scrapy.utils.defer import ensure_awaitable
from scrapy.utils.misc import build_from_crawler, load_object
from scrapy.utils.serialize import ScrapyJSONEncoder

from scrapy_neardup.crawl.file_locations import in_data_dir
from scrapy_neardup.document import MOST_CHARACTERS, Document, Verdict, counted_names
from scrapy_neardup.exceptions import SettingsError, StoreError
from scrapy_neardup.index import Index
from scrapy_neardup.settings import DEFAULT_DROPPED_FEED, NearDupSettings
from scrapy_neardup.wording import without_password

if TYPE_CHECKING:  # most crawls have no receiver
    from scrapy_neardup.stories.outbox import Outbox
    from scrapy_neardup.stories.receivers import Receiver

logger = logging.getLogger(__name__)

_APPENDING = ("", "file", "ftp", "ftps")
_PLAIN = (".jsonl", ".jl", ".ndjson", ".json")
_PACKING_LEVEL = 1  # of gzip: 30 us a document, and a quarter of its bytes
_PLACEHOLDER = re.compile(r"%\((\w+)\)[-+ #0]*\d*(?:\.\d+)?[diouxXeEfFgGcrsa]")  # any other % is text
_PAUSE = 2.0  # seconds between two writes of the counts of one process

KEPT_DAYS = 30
"""After how many days without a new line the files of a daily feed are removed."""


class JsonLinesFeed:
    """A file of JSON lines, opened with the first line and stored when the spider closes.

    When ``put`` returns, the line is on the disk if the file is local. So a local file is complete even if the crawl is
    killed. Other users of the machine cannot read it if this class made it. With ``packed`` the file is a gzip file.
    With ``is_daily`` the uri is a path with ``%(day)s``, and each line goes to the file of its day (UTC). Crawls of the
    same day append to the file, also at the same time. Whoever opens a file removes the files of the folder that are
    over ``KEPT_DAYS`` days old. ``lines`` says in the log what the lines are, in the plural. ``clock`` gives Unix
    seconds.

    Raise SettingsError, which names ``setting``, if nothing can be stored under the uri.
    """

    def __init__(
        self,
        crawler: Crawler,
        setting: str,
        uri: str,
        lines: str,
        *,
        packed: bool = False,
        is_daily: bool = False,
        clock: Callable[[], float] = time.time,
    ) -> None:
        assert crawler.spider is not None
        self._crawler, self._spider = crawler, crawler.spider
        self._setting, self._uri, self._lines = setting, uri, lines
        self._is_packed, self._is_daily, self._clock = packed, is_daily, clock
        self._has_begun = self._has_failed = False
        self._file: IO[bytes] | None = None
        self._gzip: gzip.GzipFile | None = None
        self._take_place(self._now())

    def _take_place(self, now: datetime) -> None:
        """Find out where the lines of this time go."""
        storage = storage_class(self._crawler.settings, self._setting, self._uri)
        filled_in = _filled_in(self._setting, self._uri, self._spider, now)
        options = {"format": "jsonlines", **({"overwrite": False} if _scheme(self._uri) in _APPENDING else {})}
        try:
            self._storage: FeedStorageProtocol = build_from_crawler(
                storage, self._crawler, filled_in, feed_options=options
            )
        except Exception as error:  # a library is missing, or the uri is incomplete
            raise _wrong_uri(self._setting, filled_in, "no feed can be stored there", error) from error
        self.shown_uri = without_password(filled_in)
        self._day = now.date()

    def _now(self) -> datetime:
        return datetime.fromtimestamp(self._clock(), timezone.utc)

    @property
    def path(self) -> str:
        """Return the path of a local file, "" if it is none."""
        return self._storage.path if isinstance(self._storage, FileFeedStorage) else ""

    def put(self, row: Mapping[str, Any]) -> bool:
        """Write a line. A value that JSON cannot hold is written as a text. If it fails, log why and return False.

        The first line and the first failure are logged.
        """
        try:
            file = self._opened()
            file.write(_line(row))
            file.flush()
        except Exception as error:
            if not self._has_failed:
                logger.error("%s: %s cannot be written: %s", self._setting, self._lines, _without_login(error))
            self._has_failed = True
            return False
        if not self._has_begun:
            logger.info("%s: %s are written to %s", self._setting, self._lines, self.shown_uri)
        self._has_begun = True
        return True

    async def close(self) -> None:
        """Store the lines. If that fails, log an error."""
        if self._file is None:
            return
        file, self._file = self._file, None
        try:
            if self._gzip is not None:
                self._gzip.close()  # leaves the file itself open
            await ensure_awaitable(self._storage.store(file))
        except Exception as error:
            logger.error("%s cannot be stored: %s", self._setting, _without_login(error))

    def _opened(self) -> IO[bytes] | gzip.GzipFile:
        if self._is_daily and (now := self._now()).date() != self._day:
            if self._file is not None:
                self._file.close()  # a local file is stored when it is closed
                self._file = None
            self._take_place(now)
        if self._file is None:
            if self._is_daily:
                self._remove_old_files()
            mask = os.umask(0o077)
            try:
                self._file = self._storage.open(self._spider)
            finally:
                os.umask(mask)
            if self._is_packed:
                self._gzip = gzip.GzipFile("", "wb", _PACKING_LEVEL, self._file)
        return self._gzip or self._file

    def _remove_old_files(self) -> None:
        for path in Path(self.path).parent.glob("*-????-??-??.jsonl"):
            with suppress(OSError):  # somebody else removes it too
                if path.stat().st_mtime < self._clock() - KEPT_DAYS * 24 * 3600:
                    path.unlink()


def _without_login(error: Exception) -> str:
    """Return the message of an error, without user and password of a url in it."""
    return re.sub(r"//[^/\s]*@", "//***@", f"{type(error).__name__}: {error}")


def storage_class(settings: BaseSettings, setting: str, uri: str) -> Any:
    """Return the class of the storage of a feed. Raise SettingsError if there is none for the scheme of its uri."""
    storages = {scheme: path for scheme, path in settings.getwithbase("FEED_STORAGES").items() if path}
    scheme = _scheme(uri)
    if scheme not in storages:
        known = ", ".join(f"{each}:" for each in sorted(storages) if each)
        allowed = f"give a path, or a uri that begins with one of {known}"
        raise _wrong_uri(setting, uri, f"no feed can be stored there; {allowed}")
    try:
        return load_object(storages[scheme])
    except Exception as error:
        raise _wrong_uri(setting, uri, f"FEED_STORAGES[{scheme!r}] cannot be loaded", error) from error


def _wrong_uri(setting: str, uri: str, problem: str, error: Exception | None = None) -> SettingsError:
    reason = "" if error is None else f": {type(error).__name__}: {error}"
    return SettingsError(setting, without_password(uri), problem + reason)


def _scheme(uri: str) -> str:
    """Return the scheme as Scrapy's feed exports read it: empty for a path, also for a Windows path with its drive."""
    return "" if PureWindowsPath(uri).drive else urlsplit(uri).scheme


def _filled_in(setting: str, uri: str, spider: Spider, now: datetime) -> str:
    """Return the uri with ``%(time)s``, ``%(name)s`` and other attributes of the spider filled in."""
    moment = now.replace(microsecond=0).isoformat().replace(":", "-")
    given = {"time": moment, "batch_time": moment, "batch_id": 1, "day": moment[:10]}

    def value(placeholder: re.Match[str]) -> str:
        name = placeholder[1]
        try:
            return placeholder[0] % {name: given[name] if name in given else getattr(spider, name)}
        except (AttributeError, TypeError, ValueError) as error:
            allowed = "use %(name)s, %(time)s or another attribute of the spider"
            raise _wrong_uri(setting, uri, f"{placeholder[0]} cannot be filled in: {error}; {allowed}") from error

    return _PLACEHOLDER.sub(value, uri)


def _line(row: Mapping[str, Any]) -> bytes:
    """Return one line of JSON, whatever the row holds."""
    try:
        text = json.dumps(dict(row), default=_plain, ensure_ascii=False)
    except Exception:  # a key is not a text, or a value holds itself
        text = json.dumps({str(name): str(value) for name, value in row.items()}, ensure_ascii=False)
    # Only a lone surrogate cannot be encoded. Its escape is the same in JSON as in Python.
    return f"{text}\n".encode("utf-8", "backslashreplace")


def _plain(value: object) -> Any:
    """Return what Scrapy writes for a value that JSON cannot hold, or else a text."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    for form in (ScrapyJSONEncoder().default, str):
        with suppress(Exception):
            return form(value)
    return object.__repr__(value)


def dropped_items(crawler: Crawler, settings: NearDupSettings) -> JsonLinesFeed | None:
    """Return the feed of a crawl that drops items; None if the crawl drops nothing, or the user wants no feed.

    Raise SettingsError if nothing can be stored under the uri of the feed, as the two functions below do.
    """
    uri = settings.dropped_feed
    if uri is None or settings.action != "drop" or settings.dry_run:
        return None
    is_daily = uri == DEFAULT_DROPPED_FEED
    uri = in_data_dir(settings, uri) if is_daily else uri
    return JsonLinesFeed(crawler, "NEARDUP_DROPPED_FEED", uri, "dropped items", is_daily=is_daily)


def dropped_row(adapter: ItemAdapter, tags: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of an item as Scrapy's feeds export them, and its tags, even if the item cannot take them."""
    return {**{name: _serialized(adapter, name) for name in adapter}, **tags}


def final_stories_feed(crawler: Crawler, settings: NearDupSettings) -> JsonLinesFeed:
    """Return the list of the stories that became a part of another one.

    Items that were exported before have the id of the earlier story.
    """
    uri = in_data_dir(settings, "neardup-stories/%(name)s-%(day)s.jsonl")
    return JsonLinesFeed(crawler, "neardup-stories", uri, "stories that became one", is_daily=True)


def record_feed(crawler: Crawler, settings: NearDupSettings) -> JsonLinesFeed | None:
    """Return the feed of judged documents, None if nothing is to be recorded."""
    if settings.record is None:
        return None
    is_packed = not settings.record.lower().endswith(_PLAIN)
    feed = JsonLinesFeed(crawler, "NEARDUP_RECORD", settings.record, "judged documents", packed=is_packed)
    if os.path.isfile(feed.path) and os.path.getsize(feed.path):
        logger.warning(
            "NEARDUP_RECORD: %s has documents of an earlier crawl, and those of this crawl are added to them. For"
            " one crawl alone, remove the file first, or put %%(time)s into its name",
            feed.shown_uri,
        )
    return feed


def recorded_row(document: Document, canonical: str, *, url_is_own: bool) -> dict[str, Any]:
    """Return a document as input of ``scrapy neardup replay``.

    ``canonical`` and ``url_is_own`` are those that ``NearDupDetector.document`` got.
    """
    row = {
        "id": document.id,
        "url": document.url,
        "title": document.title,
        "time": datetime.fromtimestamp(document.seen_at, timezone.utc).isoformat(),
        "language": document.language,
        "text": document.text[:MOST_CHARACTERS],
    }
    if canonical not in ("", document.url):
        row["canonical"] = canonical
    return row if url_is_own else {**row, "url_is_own": False}


def _serialized(adapter: ItemAdapter, name: str) -> Any:
    value = adapter[name]
    serializer = adapter.get_field_meta(name).get("serializer")
    try:
        return serializer(value) if callable(serializer) else value
    except Exception:  # write the value as it is rather than lose the row
        return value


class EventSinks:
    """The sinks that the settings name. An event that cannot be passed on does not stop the crawl.

    A dry run writes its feed of events, but sends no event to anybody. Receivers get only the levels that
    ``NEARDUP_EVENTS_LEVELS`` names, the feed gets all.

    Raise SettingsError if nothing can be stored under the uri of the feed. The methods raise nothing.
    """

    def __init__(self, crawler: Crawler, settings: NearDupSettings) -> None:
        self._levels, feed = settings.events_levels, settings.events_feed
        self._feed = JsonLinesFeed(crawler, "NEARDUP_EVENTS_FEED", feed, "events") if feed is not None else None
        self._receivers: list[tuple[Receiver, Outbox]] = []
        if settings.receivers and not settings.dry_run:
            from scrapy_neardup.stories.outbox import Outbox
            from scrapy_neardup.stories.receivers import receivers_of

            for receiver in receivers_of(*settings.receivers):
                # A file that no crawl with another address shares. The address is hashed, because it has secrets.
                address = hashlib.sha256(receiver.address.encode("utf-8", "surrogatepass")).hexdigest()[:8]
                path = in_data_dir(settings, f"neardup-events/{receiver.name.replace(' ', '-')}-{address}.sqlite")
                self._receivers.append((receiver, Outbox(receiver.name, Path(path), receiver.deliver)))

    async def open(self) -> None:
        for _, outbox in self._receivers:
            await outbox.open()

    def put(self, report: Mapping[str, Any]) -> bool:
        """Pass on an event. Return whether the feed has it, True if there is no feed."""
        for _, outbox in self._receivers if report["level"] in self._levels else ():
            outbox.put(report)
        return self._feed is None or self._feed.put(report)

    async def close(self) -> None:
        await asyncio.gather(*(outbox.close() for _, outbox in self._receivers))
        for receiver, _ in self._receivers:
            await receiver.close()
        if self._feed is not None:
            await self._feed.close()


class VerdictCounter:
    """Adds what it counts to the store, at most every two seconds. If the store is away, counts are lost."""

    def __init__(self, index: Index, is_away: Callable[[], bool]) -> None:
        self._index = index
        self._is_away = is_away
        self._counts: Counter[str] = Counter()
        self._waiting: asyncio.Task[None] | None = None

    def add(self, verdict: Verdict) -> None:
        names = counted_names(verdict)
        if verdict.would_drop:
            names.append("would_drop")
        self.count(names)

    def count(self, names: list[str]) -> None:
        self._counts.update(names)
        if self._waiting is None or self._waiting.done():
            self._waiting = asyncio.create_task(self._write_later())

    async def close(self) -> None:
        """Write the last counts."""
        if self._waiting is not None:
            self._waiting.cancel()
            await asyncio.wait([self._waiting])
        await self._write()

    async def _write_later(self) -> None:
        await asyncio.sleep(_PAUSE)
        await self._write()

    async def _write(self) -> None:
        counts, self._counts = self._counts, Counter()
        if not counts or self._is_away():
            return
        with suppress(StoreError):  # the checks themselves report a store that is away
            await self._index.count_verdicts(int(time.time()) // 60, counts)
