"""The index of the window, which finds the match of a fingerprint, and the stores that keep it (store.py)."""

from scrapy_neardup.exceptions import SettingsError
from scrapy_neardup.index.index import Index
from scrapy_neardup.index.store import Breaker, Store
from scrapy_neardup.records.documents import VERSION as DOCUMENT_VERSION
from scrapy_neardup.records.stories import VERSION as MEMBER_VERSION
from scrapy_neardup.rules.decision import Judge
from scrapy_neardup.rules.policy import Policy
from scrapy_neardup.settings.store_urls import check_url
from scrapy_neardup.text.display import without_password

__all__ = ["RECORD_VERSIONS", "Breaker", "Index", "Judge", "Policy", "index_from_url"]

# Increase one of these versions with every change to the data that a store keeps.
#
# A store does not read windows of other versions.
RECORD_VERSIONS = DOCUMENT_VERSION, MEMBER_VERSION


def index_from_url(url: str, *, namespace: str, config: str, judge: Judge, timeout: float = 2.0) -> Index:
    """Return the index that a url names, not opened yet. Raise SettingsError if the url names none."""
    try:
        check_url(url)
    except ValueError as error:
        raise SettingsError("NEARDUP_STORE", without_password(url), str(error)) from None
    scheme, _, rest = url.partition("://")
    store: Store
    if scheme in ("memory", "sqlite"):
        from scrapy_neardup.index.sqlite import SQLiteStore

        # ``sqlite:///relative/file`` and ``sqlite:////absolute/file``, as SQLAlchemy reads them.
        store = SQLiteStore(rest[1:], timeout)
    else:
        from scrapy_neardup.index.redis.store import RedisStore

        store = RedisStore(url, timeout)
    return Index(store, namespace, config, judge)
