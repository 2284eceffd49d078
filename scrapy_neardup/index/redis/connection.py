"""Make the client of a url: for one server, or for a cluster.

Also explain errors of redis-py so that a user can fix their cause.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import parse_qsl, unquote

from scrapy_neardup.exceptions import StoreError, StoreUnavailable
from scrapy_neardup.wording import without_password

if TYPE_CHECKING:
    from redis.asyncio import Redis

_SCHEMES = "redis", "rediss", "unix", "redis+cluster", "rediss+cluster"

CONNECTIONS = 3
"""Connections of a process: one for checks, one for stories, one for everything else."""

_PORT = 6379
_CREDENTIALS = ("username", "password")
_TLS = ("ssl_ca_certs", "ssl_certfile", "ssl_keyfile", "ssl_cert_reqs", "ssl_check_hostname")
_SERVER = "redis://user:password@host:6379/0, rediss://… with TLS, or unix:///path?db=0"
_CLUSTER = "redis+cluster://user:password@host:6379,host:6379"
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


@dataclass(frozen=True, slots=True)
class Address:
    """The parts of a store's url."""

    is_cluster: bool
    nodes: tuple[tuple[str, int], ...] = ()  # none for a unix socket
    options: dict[str, Any] = field(default_factory=dict, repr=False)  # as redis-py takes them, with the password

    @classmethod
    def read(cls, url: str) -> Address:
        """Read a url. Raise ValueError if it is wrong. The message says what is allowed, and has no password."""
        scheme, _, rest = url.partition("://")
        if scheme not in _SCHEMES:
            raise ValueError(f"must begin with one of {', '.join(f'{each}://' for each in _SCHEMES)}")
        is_cluster, tls = scheme.endswith("+cluster"), scheme.startswith("rediss")
        rest, _, query = rest.partition("?") if "@" not in rest.partition("?")[2] else _split_query(rest)
        credentials, _, rest = rest.rpartition("@")
        options = _options(query, tls=tls, unix=scheme == "unix")
        # Without a colon it is a user, as redis-py and redis-cli read it.
        for name, quoted in zip(_CREDENTIALS, credentials.partition(":")[::2], strict=True):
            options[name] = unquote(quoted) or options.get(name) or None
        if scheme == "unix":
            if not rest.startswith("/"):
                raise ValueError("the path of a unix socket must be absolute, as in unix:///var/run/redis.sock?db=0")
            options.update(db=_database(options.get("db", "0")), unix_socket_path=unquote(rest))
            return cls(is_cluster, options=options)
        hosts, _, path = rest.partition("/")
        nodes = tuple(_node(host, _CLUSTER if is_cluster else _SERVER) for host in hosts.split(","))
        if len(nodes) > 1 and not is_cluster:
            raise ValueError(f"several hosts must be nodes of a cluster: {_CLUSTER}")
        options["db"] = _database(options.get("db") or path)
        if is_cluster and options.pop("db"):
            raise ValueError("a cluster has only the database 0")
        return cls(is_cluster, nodes, options)

    def client(self, timeout: float, connections: int = CONNECTIONS) -> Redis:
        """Return a client that connects with its first command, and waits at most ``timeout`` seconds for each answer.

        Use it in one event loop, with at most ``connections`` commands or pipelines under way.
        """
        from redis.asyncio import Redis
        from redis.asyncio.cluster import ClusterNode, RedisCluster
        from redis.asyncio.retry import Retry
        from redis.backoff import NoBackoff
        from redis.exceptions import ConnectionError as LostConnection

        # Retry once: the server may have closed an idle connection. A check that is sent twice counts once.
        once_more = Retry(NoBackoff(), 1, supported_errors=(LostConnection,))
        plain: dict[str, Any] = {"socket_timeout": timeout, "socket_connect_timeout": timeout, "protocol": 2}
        plain.update(self.options, max_connections=connections)
        if self.is_cluster:
            cluster = RedisCluster(
                startup_nodes=[ClusterNode(*node) for node in self.nodes],
                require_full_coverage=False,  # a window lives in one slot
                retry=Retry(NoBackoff(), 0),  # ``RedisStore`` itself tries again, with the other nodes
                **plain,
            )
            return cast("Redis", cluster)
        for host, port in self.nodes:
            plain.update(host=host, port=port)
        return Redis(**plain, retry=once_more)


def connect(url: str, timeout: float) -> Redis:
    """Return a client for one caller at a time. Raise ValueError if the url does not name a Redis."""
    return Address.read(url).client(timeout, connections=1)


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


def _split_query(rest: str) -> tuple[str, str, str]:
    """Split a url with an @ after a question mark.

    Either the question mark is part of the password, or the @ is part of the options.
    """
    head, _, query = rest.partition("?")
    if re.fullmatch(r"(?:[a-z_]+=[^&]*&)*[a-z_]+=[^&]*", query):
        return head, "?", query
    before, _, after = rest.rpartition("@")
    host, mark, query = after.partition("?")
    return f"{before}@{host}", mark, query


def _options(query: str, *, tls: bool, unix: bool) -> dict[str, Any]:
    allowed = {"db", "client_name", *_CREDENTIALS, *(_TLS if tls else ())}
    options: dict[str, Any] = dict(parse_qsl(query, keep_blank_values=True))
    for name in options:
        if name in _TLS and name not in allowed:
            raise ValueError(f"{name} is an option of {'redis' if unix else 'rediss'}…:// urls with TLS: rediss://")
        if name not in allowed:
            raise ValueError(f"{name} is not an option of this kind of url; allowed are {', '.join(sorted(allowed))}")
    if options.get("ssl_cert_reqs", "required") not in ("none", "optional", "required"):
        raise ValueError(f"ssl_cert_reqs is none, optional or required, not {options['ssl_cert_reqs']!r}")
    if tls:
        options["ssl"] = True
    if "ssl_check_hostname" in options:
        options["ssl_check_hostname"] = options["ssl_check_hostname"].lower() in ("1", "true", "yes")
    elif options.get("ssl_cert_reqs") == "none":
        options["ssl_check_hostname"] = False
    return options


def _node(text: str, form: str) -> tuple[str, int]:
    found = re.fullmatch(r"(\[[0-9A-Fa-f:.]+\]|[^:/@\s\[\]]+)(?::(\d{1,5}))?", text)
    if not found or not 0 < int(found[2] or _PORT) < 1 << 16:
        raise ValueError(f"{text!r} is not a host with a port, as in {form}")
    return found[1].strip("[]"), int(found[2] or _PORT)


def _database(text: str) -> int:
    text = text.strip("/") or "0"
    if not text.isdecimal():
        raise ValueError(f"{text!r} is not the number of a database, as in redis://host:6379/0")
    return int(text)
