"""Make the client of a url: for one server, or for a cluster.

Also explain errors of redis-py so that a user can fix their cause.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import parse_qsl

from scrapy_neardup.exceptions import StoreError, StoreUnavailable
from scrapy_neardup.wording import without_password

if TYPE_CHECKING:
    from redis.asyncio import Redis

CONNECTIONS = 3
"""Connections of a process: one for checks, one for stories, one for everything else."""

_HOST = r"(?:\[[0-9A-Fa-f:.]+\]|[^\s:/?#@\[\],]+)(?::\d{1,5})?"
_LOGIN, _OPTIONS = r"(?:[^\s/?#]*@)?", r"(?:\?[^\s#@]*)?"
_SERVER = re.compile(rf"(?:rediss?://{_LOGIN}{_HOST}(?:/\d*)?|unix://{_LOGIN}/[^\s?#@]+){_OPTIONS}")
_CLUSTER = re.compile(rf"(rediss?)\+cluster(://{_LOGIN})({_HOST}(?:,{_HOST})*)(/?0?{_OPTIONS})")
_ALLOWED = (
    "must be redis://user:password@host:6379/0, rediss://… with TLS, unix:///path?db=0, or for a cluster"
    " redis+cluster://user:password@host:6379,host:6379. In a password write / ? # and @ as %2F %3F %23 and %40"
)
_PORT = 6379
_LARGEST_PORT = 65_535
_LONG_PORT = re.compile(r":(\d{5})(?![^,/?])")
_PLAIN = {"db", "client_name", "username", "password"}
_TLS = {"ssl_ca_certs", "ssl_certfile", "ssl_keyfile", "ssl_cert_reqs", "ssl_check_hostname"}
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

_DAMAGE = ("attempt to", "bad argument", "data string too short", "not an integer")
"""Words in errors about damaged data: the store works, and only some documents are affected."""


def check_redis(url: str) -> None:
    """Raise ValueError if the url names no Redis. The message says what is allowed, and has no part of a password."""
    has_form = _SERVER.fullmatch(url) or _CLUSTER.fullmatch(url)
    if not has_form or any(int(port) > _LARGEST_PORT for port in _LONG_PORT.findall(url)):
        raise ValueError(_ALLOWED)
    options = dict(parse_qsl(url.partition("?")[2], keep_blank_values=True))
    allowed = _PLAIN | _TLS if url.startswith("rediss") else _PLAIN
    for name in options.keys() - allowed:
        known = f"allowed are {', '.join(sorted(allowed))}; ssl options need rediss:// or rediss+cluster://"
        raise ValueError(f"{name} is not an option of this kind of url; {known}")
    if not options.get("db", "0").isdecimal():
        raise ValueError("db is not the number of a database")


def is_cluster(url: str) -> bool:
    return _CLUSTER.fullmatch(url) is not None


def connect(url: str, timeout: float, connections: int = CONNECTIONS) -> Redis:
    """Return a client that connects with its first command, and waits at most ``timeout`` seconds for each answer.

    Use it in one event loop, with at most ``connections`` commands or pipelines under way. Raise ValueError if the url
    does not name a Redis.
    """
    from redis.asyncio import Redis
    from redis.asyncio.cluster import ClusterNode, RedisCluster
    from redis.asyncio.connection import parse_url
    from redis.asyncio.retry import Retry
    from redis.backoff import NoBackoff
    from redis.exceptions import ConnectionError as LostConnection

    check_redis(url)
    options: dict[str, Any] = {"socket_timeout": timeout, "socket_connect_timeout": timeout, "protocol": 2}
    options["max_connections"] = connections
    found = _CLUSTER.fullmatch(url)
    if found is None:
        # Retry once: the server may have closed an idle connection. A check that is sent twice counts once.
        once_more = Retry(NoBackoff(), 1, supported_errors=(LostConnection,))
        return Redis.from_url(url, retry=once_more, **options)
    scheme, login, hosts, rest = found.groups()
    first, *others = hosts.split(",")
    nodes = [parse_url(f"redis://{each}") for each in others]
    cluster = RedisCluster.from_url(
        f"{scheme}{login}{first}{rest}",
        startup_nodes=[ClusterNode(each["host"], each.get("port", _PORT)) for each in nodes],
        require_full_coverage=False,  # a window lives in one slot
        retry=Retry(NoBackoff(), 0),  # ``RedisStore`` itself tries again, with the other nodes
        **options,
    )
    return cast("Redis", cluster)


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
