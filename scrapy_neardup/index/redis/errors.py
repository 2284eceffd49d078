"""Explain errors of redis-py so that a user can fix their cause."""

from __future__ import annotations

from scrapy_neardup.exceptions import StoreError, StoreUnavailable
from scrapy_neardup.index.redis.connection import without_password

_TLS_MENDS = (
    "the server's certificate is not trusted: add ?ssl_ca_certs=/path/ca.pem to NEARDUP_STORE, or check its name"
)
_RIGHTS_MEND = "check user and password in NEARDUP_STORE, and the user's ACL"
_MENDS = {
    "the user executing the script can't": _RIGHTS_MEND,
    "certificate verify failed": _TLS_MENDS,
    "hostname mismatch": _TLS_MENDS,
    "db index is out of range": "name a database the server has, as in redis://host:6379/0",
    "cluster mode is not enabled": "the server is no node of a cluster: use redis:// in NEARDUP_STORE",
    "unknown command 'evalsha'": "the server runs no Lua scripts: use Redis 6.2 or later, or Valkey",
}

_DAMAGE = ("WRONGTYPE", "attempt to", "bad argument", "data string too short", "not an integer")
"""Words in errors about damaged data: the store works, and only some documents are affected."""


def explain_error(url: str, error: Exception) -> StoreError:
    """Return an error that names the server and what to do: StoreUnavailable if it may come back by itself."""
    from redis import exceptions

    location, text = without_password(url), f"{type(error).__name__}: {error}"
    if isinstance(error, exceptions.AuthenticationError | exceptions.NoPermissionError):
        return StoreError(f"{location}: {error}; {_RIGHTS_MEND}")
    if isinstance(error, exceptions.MovedError) and "+cluster" not in url:
        return StoreError(f"{location}: the server is a node of a cluster: use redis+cluster:// in NEARDUP_STORE")
    if any(words in str(error) for words in _DAMAGE):
        return StoreError(f"{location}: the data of a document or story is damaged: {error}")
    # The client of a cluster hides the answer of the first node behind its own error.
    details = f"{text} {error.__cause__ or ''} {error.__context__ or ''}"
    for words, mend in _MENDS.items():
        if words in details.lower():
            return StoreError(f"{location}: {text}; {mend}")
    if "no such file or directory" in details.lower() and "ssl_" in url:
        return StoreError(f"{location}: {text}; check the ssl_… files in NEARDUP_STORE")
    return StoreUnavailable(f"{location}: {text}")
