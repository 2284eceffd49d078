"""Write JSON lines wherever a Scrapy feed can be stored: reports of events, and dropped items."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from datetime import datetime, timezone
from io import BytesIO
from pathlib import PureWindowsPath
from typing import IO, TYPE_CHECKING, Any
from urllib.parse import urlsplit

from scrapy.exporters import JsonLinesItemExporter
from scrapy.utils.misc import build_from_crawler, load_object
from scrapy.utils.serialize import ScrapyJSONEncoder

from scrapy_neardup.exceptions import SettingsError
from scrapy_neardup.index.redis.connection import without_password

if TYPE_CHECKING:
    from scrapy import Spider
    from scrapy.crawler import Crawler
    from scrapy.extensions.feedexport import FeedStorageProtocol
    from scrapy.settings import BaseSettings

_APPENDING = ("", "file", "ftp", "ftps")
_PLACEHOLDER = re.compile(r"%\((\w+)\)[-+ #0]*\d*(?:\.\d+)?[diouxXeEfFgGcrsa]")  # any other % is text


class JsonLinesFeed:
    """A file of JSON lines, opened with the first line and stored when the spider closes.

    Each line of a local file is on the disk when ``put`` returns, so it is complete even if the crawl is killed. Other
    users of the machine cannot read a file that is made here.

    Raise SettingsError, which names ``setting``, if nothing can be stored under the uri.
    """

    def __init__(self, crawler: Crawler, setting: str, uri: str) -> None:
        assert crawler.spider is not None
        self._spider = crawler.spider
        storage = _storage_class(crawler.settings, setting, uri)
        self.uri = _filled_in(setting, uri, self._spider)
        scheme = _scheme(uri)
        options = {"format": "jsonlines", **({"overwrite": False} if scheme in _APPENDING else {})}
        try:
            self._storage: FeedStorageProtocol = build_from_crawler(storage, crawler, self.uri, feed_options=options)
        except Exception as error:  # a library is missing, or the uri is incomplete
            raise _wrong_uri(setting, self.uri, "no feed can be stored there", error) from error
        self._file: IO[bytes] | None = None

    def put(self, row: Mapping[str, Any]) -> None:
        """Write a line. A value that JSON cannot hold is written as a text. Raise what the storage raises."""
        line = _line(row)
        if self._file is None:
            mask = os.umask(0o077)
            try:
                self._file = self._storage.open(self._spider)
            finally:
                os.umask(mask)
        self._file.write(line)
        self._file.flush()

    async def close(self) -> None:
        """Store the lines. Raise what the storage raises."""
        if self._file is None:
            return
        file, self._file = self._file, None
        stored = self._storage.store(file)
        if stored is not None:
            from scrapy.utils.defer import maybe_deferred_to_future

            await maybe_deferred_to_future(stored)


def check_feed_uri(settings: BaseSettings, setting: str, uri: str) -> None:
    """Raise SettingsError if there is no storage for the scheme of a feed's uri."""
    _storage_class(settings, setting, uri)


def _storage_class(settings: BaseSettings, setting: str, uri: str) -> Any:
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


def _filled_in(setting: str, uri: str, spider: Spider) -> str:
    """Return the uri with ``%(time)s``, ``%(name)s`` and other attributes of the spider filled in."""
    now = datetime.now(timezone.utc).replace(microsecond=0).isoformat().replace(":", "-")
    given = {"time": now, "batch_time": now, "batch_id": 1}

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
    for encoding in ("utf-8", None):  # None writes ASCII with escapes, also for a lone surrogate
        try:
            return _exported(row, encoding)
        except Exception:  # noqa: PERF203 (a serializer of the user's own may raise anything)
            continue
    return _exported({str(name): _as_text(value) for name, value in dict(row).items()}, None)


def _exported(row: Mapping[str, Any], encoding: str | None) -> bytes:
    buffer = BytesIO()
    JsonLinesItemExporter(buffer, encoding=encoding, default=_default).export_item(row)
    return buffer.getvalue()


def _default(value: object) -> object:
    try:
        return ScrapyJSONEncoder().default(value)
    except Exception:
        return _as_text(value)


def _as_text(value: object) -> str:
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    try:
        return str(value)
    except Exception:
        return object.__repr__(value)
