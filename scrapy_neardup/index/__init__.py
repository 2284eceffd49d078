"""The index of the window, which finds the match of a fingerprint, and the stores that keep it (store.py)."""

from __future__ import annotations

import re

from scrapy_neardup.exceptions import SettingsError
from scrapy_neardup.index.index import Index
from scrapy_neardup.index.store import Breaker, Store
from scrapy_neardup.records.documents import VERSION as DOCUMENT_VERSION
from scrapy_neardup.records.stories import VERSION as MEMBER_VERSION
from scrapy_neardup.rules.decision import Judge
from scrapy_neardup.rules.policy import Policy, Scope
from scrapy_neardup.wording import without_password

__all__ = ["RECORD_VERSIONS", "Breaker", "Index", "Judge", "Policy", "Scope", "check_url", "index_from_url", "is_redis"]

RECORD_VERSIONS = DOCUMENT_VERSION, MEMBER_VERSION
"""Increase one of these versions with every change to the data that a store keeps.

A store does not read windows of other versions.
"""

ALLOWED_STORES = (
    "a store is memory://, sqlite:///path, redis://host:port/db, rediss://host:port/db, unix:///path or "
    "redis+cluster://host:port,host:port"
)
ALLOWED_FILES = "a file is sqlite:///relative/file or sqlite:////absolute/file"


def is_redis(url: str) -> bool:
    """Return whether a url names a Redis: one server or a cluster."""
    return url.startswith(("redis://", "rediss://", "redis+", "rediss+", "unix://"))


def check_url(url: str) -> None:
    """Raise ValueError if the url names no store. The message says what is allowed, and has no password."""
    scheme, separator, rest = url.partition("://")
    if not separator or not (url == "memory://" or scheme == "sqlite" or is_redis(url)):
        raise ValueError(ALLOWED_STORES)
    if scheme == "sqlite" and not re.fullmatch(r"/.*[^/]", rest):
        raise ValueError(ALLOWED_FILES)
    if is_redis(url):
        from scrapy_neardup.index.redis.connection import check_redis

        check_redis(url)


def index_from_url(url: str, *, namespace: str, config: str, judge: Judge, timeout: float = 2.0) -> Index:
    """Return the store that a url names, not opened yet. Raise SettingsError if the url names none."""
    try:
        check_url(url)
    except ValueError as error:
        raise SettingsError("NEARDUP_STORE", without_password(url), str(error)) from None
    scheme, _, rest = url.partition("://")
    store: Store
    if scheme == "memory":
        from scrapy_neardup.index.memory import MemoryStore

        store = MemoryStore()
    elif scheme == "sqlite":
        from scrapy_neardup.index.sqlite import SQLiteStore

        # ``sqlite:///relative/file`` and ``sqlite:////absolute/file``, as SQLAlchemy reads them.
        store = SQLiteStore(rest[1:], timeout)
    else:
        from scrapy_neardup.index.redis.store import RedisStore

        store = RedisStore(url, timeout)
    return Index(store, namespace, config, judge)
