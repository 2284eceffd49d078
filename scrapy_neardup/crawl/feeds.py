"""Write what a crawl finds as JSON lines in any storage of Scrapy."""

import gzip
import json
import logging
import os
import re
import time
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime, timezone
from pathlib import Path, PureWindowsPath
from typing import IO, TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit

from scrapy.crawler import Crawler
from scrapy.extensions.feedexport import FeedStorageProtocol, FileFeedStorage
from scrapy.settings import BaseSettings
from scrapy.utils.defer import ensure_awaitable
from scrapy.utils.misc import build_from_crawler, load_object

from scrapy_neardup.document import MOST_CHARACTERS, Document
from scrapy_neardup.exceptions import SettingsError, explain_failure
from scrapy_neardup.settings import DEFAULT_DROPPED_FEED, NearDupSettings
from scrapy_neardup.text.display import without_password

if TYPE_CHECKING:
    from itemadapter import ItemAdapter

logger = logging.getLogger(__name__)

KEPT_DAYS = 30  # without a new line, after which the files of a daily feed are removed


def feeds_of(crawler: Crawler, settings: NearDupSettings) -> "dict[str, JsonLinesFeed]":
    """Return the feeds of a crawl, by the ends of the names of their settings.

    Raise SettingsError if nothing can be stored under one of the uris.
    """
    uris = settings.feeds()
    if settings.action != "drop":
        uris.pop("NEARDUP_DROPPED_FEED", None)
    feeds = {}
    for setting, uri in uris.items():
        is_daily = uri == DEFAULT_DROPPED_FEED
        if is_daily:
            uri = os.path.join((settings.data_dir or "").replace("%", "%%"), uri)
        feeds[setting] = JsonLinesFeed(crawler, setting, uri, is_daily=is_daily)
    return feeds


class JsonLinesFeed:
    """A file of JSON lines, opened with the first line and stored when the spider closes.

    When ``put`` returns, the line is on the disk if the file is local. So a local file is complete even if the crawl is
    killed. Other users of the machine cannot read it if this class made it. That of ``NEARDUP_RECORD`` is a gzip
    file, unless its name says otherwise. With ``is_daily`` the uri is a path with ``%(day)s``, the day (UTC) on which
    the crawl begins. Crawls of a day append to one file, also at the same time. Whoever opens it removes the files of
    the folder that are over ``KEPT_DAYS`` days old.

    Raise SettingsError, which names ``setting``, if nothing can be stored under the uri.
    """

    def __init__(
        self,
        crawler: Crawler,
        setting: str,
        uri: str,
        *,
        is_daily: bool = False,
    ) -> None:
        self._crawler = crawler
        self._setting = setting
        self._is_packed = setting == "NEARDUP_RECORD" and not uri.lower().endswith(
            (".jsonl", ".jl", ".ndjson", ".json")
        )
        self._is_daily = is_daily
        self._has_failed = False
        self._file: IO[bytes] | None = None
        self._gzip: gzip.GzipFile | None = None
        storage = storage_class(crawler.settings, setting, uri)
        options: dict[str, Any] = {"format": "jsonlines"}
        if _scheme(uri) in ("", "file", "ftp", "ftps"):  # these can append
            options["overwrite"] = False
        moment = datetime.now(timezone.utc).replace(microsecond=0).isoformat().replace(":", "-")
        values = {"time": moment, "batch_time": moment, "batch_id": 1, "day": moment[:10]}
        named = set(re.findall(r"%\((\w+)\)", uri.replace("%%", "")))  # {"name", "time"} for "%(name)s-%(time)s.jsonl"
        try:
            filled_uri = uri % {**{name: getattr(crawler.spider, name) for name in named - values.keys()}, **values}
            self._storage: FeedStorageProtocol = build_from_crawler(storage, crawler, filled_uri, feed_options=options)
        except Exception as error:  # also if a library is missing
            raise SettingsError(
                setting,
                without_password(uri),
                "no feed can be stored there; use %(name)s, %(time)s or another attribute of the spider, and %% for %:"
                f" {explain_failure(error)}",
            ) from error
        self._shown_uri = without_password(filled_uri)

    def put(self, row: Mapping[str, Any]) -> bool:
        """Write a line. A value that JSON cannot hold is written as a text. If it fails, log why and return False.

        The first failure is logged, and where the lines are written.
        """
        try:
            # Only a lone surrogate cannot be encoded. Its escape is the same in JSON as in Python.
            line = json.dumps(dict(row), default=_json_value, ensure_ascii=False).encode("utf-8", "backslashreplace")
            file = self._opened()
            file.write(line + b"\n")
            file.flush()
        except Exception as error:
            if not self._has_failed:
                logger.error("%s: a line cannot be written: %s", self._setting, _without_login(error))
            self._has_failed = True
            return False
        return True

    async def close(self) -> None:
        """Store the file. A file of events is made also if there were none, because readers are given its name."""
        if self._file is None and not (
            self._setting == "NEARDUP_EVENTS_FEED" and isinstance(self._storage, FileFeedStorage)
        ):
            return
        try:
            self._opened()
            if self._gzip is not None:
                self._gzip.close()  # leaves the file itself open
            file = cast("IO[bytes]", self._file)
            self._file = None
            await ensure_awaitable(self._storage.store(file))
        except Exception as error:
            logger.error("%s cannot be stored: %s", self._setting, _without_login(error))

    def _opened(self) -> IO[bytes] | gzip.GzipFile:
        if self._file is None:
            if self._is_daily and isinstance(self._storage, FileFeedStorage):
                for path in Path(self._storage.path).parent.glob("*-????-??-??.jsonl"):
                    with suppress(OSError):  # somebody else removes it too
                        if path.stat().st_mtime < time.time() - KEPT_DAYS * 86_400:
                            path.unlink()
            assert self._crawler.spider is not None
            mask = os.umask(0o077)
            try:
                self._file = self._storage.open(self._crawler.spider)
            finally:
                os.umask(mask)
            logger.info("%s: lines are written to %s", self._setting, self._shown_uri)
            if self._is_packed:
                # 30 us a document, and a quarter of its bytes.
                self._gzip = gzip.GzipFile("", "wb", compresslevel=1, fileobj=self._file)
        return self._gzip or self._file


def _without_login(error: Exception) -> str:
    return re.sub(r"//[^/\s]*@", "//***@", explain_failure(error))


def overwritten_feed(settings: BaseSettings) -> str:
    """Return the path of a local feed with items that this crawl replaces, as -O does; "" if there is none."""
    for uri, options in settings.getdict("FEEDS").items():
        path = Path(str(uri).removeprefix("file://"))
        if options.get("overwrite") and path.is_file() and path.stat().st_size:
            return str(path)
    return ""


def storage_class(settings: BaseSettings, setting: str, uri: str) -> Any:
    """Return the class of the storage of a feed.

    Raise SettingsError if there is none for the scheme of its uri, or if the name promises another format.
    """
    other_format = re.search(r"\.(?:csv|xml|parquet|xlsx|gz|bz2|xz|zst)$", uri, re.IGNORECASE)
    is_packed_record = setting == "NEARDUP_RECORD" and uri.lower().endswith(".gz")
    if other_format and not is_packed_record:
        raise SettingsError(setting, without_password(uri), "the feed is JSON lines; let its name end in .jsonl")
    storages = {scheme: path for scheme, path in settings.getwithbase("FEED_STORAGES").items() if path}
    scheme = _scheme(uri)
    if scheme not in storages:
        known = ", ".join(f"{each}:" for each in sorted(storages) if each)
        raise SettingsError(
            setting,
            without_password(uri),
            f"no feed can be stored there; give a path, or a uri that begins with one of {known}",
        )
    try:
        return load_object(storages[scheme])
    except Exception as error:
        raise SettingsError(
            setting, without_password(uri), f"FEED_STORAGES[{scheme!r}] cannot be loaded: {explain_failure(error)}"
        ) from error


def _scheme(uri: str) -> str:
    """Return the scheme as Scrapy's feed exports read it: empty for a path, also for a Windows path with its drive."""
    return "" if PureWindowsPath(uri).drive else urlsplit(uri.partition("//")[0]).scheme


def _json_value(value: object) -> Any:
    """Return what Scrapy writes for a value that JSON cannot hold, or else a text."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    from scrapy.utils.serialize import ScrapyJSONEncoder  # loads itemadapter, see ``adapter_of``

    try:
        return ScrapyJSONEncoder().default(value)
    except TypeError:
        return str(value)


def dropped_row(adapter: "ItemAdapter", tags: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of an item as Scrapy's feeds export them, and its tags, even if the item cannot take them."""
    return {**{name: _serialized(adapter, name) for name in adapter}, **tags}


def _serialized(adapter: "ItemAdapter", name: str) -> Any:
    with suppress(Exception):  # write the value as it is rather than lose the row
        return adapter.get_field_meta(name).get("serializer", lambda value: value)(adapter[name])
    return adapter[name]


def recorded_row(document: Document, canonical: str, *, url_is_own: bool) -> dict[str, Any]:
    """Return a document as input of ``scrapy neardup replay``.

    ``canonical`` and ``url_is_own`` are those that ``NearDupDetector.document`` got.
    """
    if_known = {
        "section": document.section,
        "publisher": document.publisher,
        "canonical": "" if canonical == document.url else canonical,
    }
    row: dict[str, Any] = {
        "id": document.id,
        "url": document.url,
        "title": document.title,
        "time": datetime.fromtimestamp(document.seen_at, timezone.utc).isoformat(),
        "language": document.language,
        "text": document.text[:MOST_CHARACTERS],
        **{name: value for name, value in if_known.items() if value},
    }
    if not url_is_own:
        row["url_is_own"] = False
    return row
