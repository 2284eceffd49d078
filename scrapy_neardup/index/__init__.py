"""Fingerprint -> Match: the stores, all of one contract."""

from __future__ import annotations

from pathlib import Path

from scrapy_neardup.exceptions import SettingsError
from scrapy_neardup.index.base import Index, Policy, Scope, StoreSummary
from scrapy_neardup.index.breaker import Breaker

__all__ = ["Breaker", "Index", "Policy", "Scope", "StoreSummary", "index_from_url"]

REDIS_SCHEMES = ("redis", "rediss", "unix")
ALLOWED_STORES = "a store is memory://, sqlite:///path, redis://host:port/db, rediss://… or unix:///path"


def index_from_url(url: str, *, namespace: str, config: str, policy: Policy, timeout: float = 2.0) -> Index:
    """The store a url names; nothing is opened yet. Raises SettingsError on a url no store answers to."""
    scheme, separator, rest = url.partition("://")
    if not separator:
        raise SettingsError("NEARDUP_STORE", url, ALLOWED_STORES)
    if scheme in ("memory", "sqlite"):
        from scrapy_neardup.index.sqlite import MEMORY, SQLiteIndex

        return SQLiteIndex(
            MEMORY if scheme == "memory" else _path(url, rest), namespace, config, policy, timeout=timeout
        )
    if scheme in REDIS_SCHEMES:
        from scrapy_neardup.index.redis import RedisIndex

        return RedisIndex(url, namespace, config, policy, timeout=timeout)
    raise SettingsError("NEARDUP_STORE", url, ALLOWED_STORES)


def _path(url: str, rest: str) -> Path:
    """``sqlite:///relative/file`` and ``sqlite:////absolute/file``, as SQLAlchemy reads them."""
    host, slash, path = rest.partition("/")
    if host or not slash or not path:
        raise SettingsError("NEARDUP_STORE", url, "sqlite:///relative/file or sqlite:////absolute/file")
    return Path(path)
