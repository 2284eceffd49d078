"""Make the client of a url: for one server, or for a cluster.

Also explain errors of redis-py so that a user can fix their cause.
"""

from typing import Any

from redis import exceptions
from redis.asyncio import Redis
from redis.asyncio.cluster import ClusterNode, RedisCluster
from redis.asyncio.connection import parse_url
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from scrapy_neardup.exceptions import StoreError, StoreUnavailable
from scrapy_neardup.settings.store_urls import CLUSTER
from scrapy_neardup.text.display import without_password

CONNECTIONS = 3  # connections of a process: one for checks, one for stories, one for everything else

_PORT = 6379
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

# Words in errors about damaged data: the store works, and only some documents are affected.
_DAMAGE = ("attempt to", "bad argument", "data string too short", "not an integer")


def is_cluster(url: str) -> bool:
    return CLUSTER.fullmatch(url) is not None


def connect(url: str, timeout: float) -> Redis:
    """Return a client that connects with its first command, and waits at most ``timeout`` seconds for each answer.

    Use it in one event loop, with at most ``CONNECTIONS`` commands or pipelines under way.
    """
    options: dict[str, Any] = {
        "socket_timeout": timeout,
        "socket_connect_timeout": timeout,
        "protocol": 2,
        "max_connections": CONNECTIONS,
    }
    found = CLUSTER.fullmatch(url)
    if found is None:
        # Retry once: the server may have closed an idle connection. A check that is sent twice counts once.
        once_more = Retry(NoBackoff(), 1, supported_errors=(exceptions.ConnectionError,))
        return Redis.from_url(url, retry=once_more, **options)
    scheme, login, hosts, rest = found.groups()
    first, *others = hosts.split(",")
    nodes = [parse_url(f"redis://{each}") for each in others]
    return RedisCluster.from_url(  # type: ignore[return-value]  # its commands are those of Redis
        f"{scheme}{login}{first}{rest}",
        startup_nodes=[ClusterNode(each["host"], each.get("port", _PORT)) for each in nodes],
        require_full_coverage=False,  # a window lives in one slot
        retry=Retry(NoBackoff(), 0),  # ``RedisStore`` itself tries again, with the other nodes
        **options,
    )


def explain_error(url: str, error: Exception) -> StoreError:
    """Return an error that names the server and what to do: StoreUnavailable if it may come back by itself."""
    location = without_password(url)
    text = f"{type(error).__name__}: {error}"
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
