"""A Redis as a store: commands travel together in pipelines, and a Lua script writes.

The last part of the module makes the client of a url.
"""

import asyncio
import hashlib
import logging
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any, cast

from redis import exceptions
from redis.asyncio import Redis
from redis.asyncio.client import Pipeline
from redis.asyncio.cluster import ClusterNode, RedisCluster
from redis.asyncio.connection import parse_url
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from scrapy_neardup.exceptions import StoreError, StoreUnavailable
from scrapy_neardup.index.store import Argument, Call, Client, Commit, Expected, Facts, R, Store, answers
from scrapy_neardup.settings.values import CLUSTER
from scrapy_neardup.text.display import without_password

logger = logging.getLogger(__name__)

CONNECTIONS = 3  # connections of a process: one for checks, one for stories, one for everything else

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
_DAMAGE = ("attempt to", "bad argument", "data string too short", "format requires", "not an integer")

# Errors of a server or connection; a RuntimeError is of a closed event loop.
_EXPLAINED = (exceptions.RedisError, exceptions.RedisClusterException, OSError, asyncio.TimeoutError, RuntimeError)
_AT_ONCE = 500

_COMMIT = resources.files("scrapy_neardup.index.redis").joinpath("commit.lua").read_text(encoding="utf-8")
_DIGEST = hashlib.sha1(_COMMIT.encode(), usedforsecurity=False).hexdigest()
_RUNS = "return { redis.call('TIME'), redis.call('HGETALL', KEYS[1]) }"


class RedisStore(Store):
    """``url``: see ``connect``. A bounded number of callers use the client at a time."""

    def __init__(self, url: str, timeout: float = 2.0) -> None:
        self.url = url
        self.location = without_password(url)
        self._timeout = timeout
        self._free = asyncio.Semaphore(CONNECTIONS)
        self.client: RedisClient | None = None

    async def open(self, key: str) -> None:
        if self.client is not None:
            return
        redis = connect(self.url, self._timeout)
        self.client = RedisClient(redis)
        # Send a command for a key, so that a node of a cluster fails now and not at each check.
        await self.ask(lambda client: answers(client, [Call("EXISTS", key)]))
        found = await self.ask(lambda client: server_facts(redis, key))
        if found.facts and found.warnings:  # a crawl needs no right to ask for facts
            logger.warning("The store may lose data: %s", found.warnings[0])

    async def close(self) -> None:
        client, self.client = self.client, None
        if client is not None:
            await client.redis.aclose()

    async def ask(self, step: Callable[[Client], Awaitable[R]], *, reads: bool = False) -> R:
        if self.client is None:
            raise StoreUnavailable(f"{self.location}: the store is closed")
        try:
            async with self._free:
                if not CLUSTER.fullmatch(self.url):
                    return await step(self.client)
                return await self._ask_cluster(self.client, step)
        except _EXPLAINED as error:  # any other error in a step is a bug, and no fault of the server
            raise self.explained(error) from error

    async def _ask_cluster(self, client: "RedisClient", step: Callable[[Client], Awaitable[R]]) -> R:
        """Ask, and if a node is lost, ask the other nodes who has its slots now and try again."""
        is_first = True
        while True:
            try:
                return await step(client)
            except (exceptions.ConnectionError, exceptions.ClusterDownError, exceptions.TimeoutError, OSError) as error:  # noqa: PERF203
                await client.redis.aclose()  # the next command reads the topology anew
                if not is_first or not isinstance(error, exceptions.ConnectionError):
                    raise
                is_first = False

    def explained(self, error: Exception) -> StoreError:
        """Return an error that names the server and what to do: StoreUnavailable if it may come back by itself."""
        if isinstance(error, StoreError):
            return error
        text = f"{type(error).__name__}: {error}"
        if isinstance(error, exceptions.AuthenticationError | exceptions.NoPermissionError):
            return StoreError(f"{self.location}: {error}; {_RIGHTS_MEND}")
        if isinstance(error, exceptions.MovedError) and "+cluster" not in self.url:
            return StoreError(
                f"{self.location}: the server is a node of a cluster: use redis+cluster:// in NEARDUP_STORE"
            )
        if any(words in str(error) for words in _DAMAGE):
            return StoreError(f"{self.location}: the data of a document or story is damaged: {error}")
        # The client of a cluster hides the answer of the first node behind its own error.
        details = f"{text} {error.__cause__ or ''} {error.__context__ or ''}"
        for words, mend in _MENDS.items():
            if words in details.lower():
                return StoreError(f"{self.location}: {text}; {mend}")
        if "no such file or directory" in details.lower() and "ssl_" in self.url:
            return StoreError(f"{self.location}: {text}; check the ssl_… files in NEARDUP_STORE")
        return StoreUnavailable(f"{self.location}: {text}")


@dataclass(eq=False)
class RedisClient(Client):
    """The client of redis-py, with the scripts of this package. All keys of a call are under one hash tag."""

    redis: Redis

    async def send(self, calls: Sequence[Call | Commit]) -> list[object]:
        # EVAL also loads the script on the node that runs it, and the user needs no right to load scripts.
        found: list[object] = [exceptions.NoScriptError()] * len(calls)
        for script in (("EVALSHA", _DIGEST), ("EVAL", _COMMIT)):
            if missing := [
                number for number, answer in enumerate(found) if isinstance(answer, exceptions.NoScriptError)
            ]:
                # A cluster's pipeline has no evalsha(), although all keys of a call are in one slot.
                pipeline: Pipeline = self.redis.pipeline(transaction=False)
                for number in missing:
                    pipeline.execute_command(*_command(calls[number], script))
                try:
                    answered = await pipeline.execute(raise_on_error=False)
                except (RuntimeError, ValueError) as error:  # of an event loop or a parser: the connection is broken
                    raise exceptions.ConnectionError(f"{type(error).__name__}: {error}") from error
                for number, answer in zip(missing, answered, strict=True):
                    found[number] = answer
        return [_read(call, answer) for call, answer in zip(calls, found, strict=True)]

    async def run_aside(self, function: Callable[[], R]) -> R:
        return await asyncio.to_thread(function)

    async def names(self, beginning: str) -> list[str]:
        escaped = "".join(f"\\{character}" if character in "\\*?[]" else character for character in beginning)
        return sorted(
            {
                cast("bytes", name).decode("utf-8", "replace")
                async for name in self.redis.scan_iter(match=f"{escaped}*", count=_AT_ONCE)
            }
        )

    async def fields(self, key: str) -> dict[bytes, bytes]:
        return {field: value async for field, value in self.redis.hscan_iter(key, count=_AT_ONCE)}

    async def facts(self, keys: Sequence[str]) -> Facts:
        found = await server_facts(self.redis, keys[0])
        # Fifty fields are measured of a hash: exact to about one per cent, without blocking the server.
        return found._replace(bytes=sum([await self.redis.memory_usage(key, samples=50) or 0 for key in keys]))


def _read(call: Call | Commit, answer: object) -> object:
    """Return an answer as ``Client.send`` says."""
    if isinstance(answer, exceptions.ResponseError) and "WRONGTYPE" in str(answer):
        key = "a key of the namespace"
        if isinstance(call, Call):
            key = call.key
        elif found := re.search(r"{neardup:\S+", str(answer)):
            key = found[0]
        return StoreError(f"{key} is of another type than scrapy-neardup needs: delete this key (DEL)")
    if isinstance(call, Call) and call.name == "RUNS" and not isinstance(answer, Exception):
        (seconds, microseconds), flat = cast("list[list[bytes]]", answer)
        return int(seconds) * 1000 + int(microseconds) // 1000, dict(zip(flat[::2], flat[1::2], strict=True))
    return answer


def _command(call: Call | Commit, script: tuple[str, str]) -> tuple[Argument, ...]:
    """Return a call as Redis takes it; ``script`` is how a commit is sent."""
    if isinstance(call, Call):
        return ("EVAL", _RUNS, 1, call.key) if call.name == "RUNS" else (call.name, call.key, *call.arguments)
    keys: dict[str, int] = {}
    arguments: list[Argument] = [len(call.expected)]  # of ``commit.lua``

    def add(each: Call) -> None:
        arguments.extend((each.name, keys.setdefault(each.key, len(keys) + 1), len(each.arguments), *each.arguments))

    for each, answer in call.expected:
        arguments.append(answer)
        add(each)
    new = call.postings
    if new is None:
        arguments.append(0)
    else:
        shards, added = zip(*new.added, strict=True) if new.added else ((), ())
        gone = [(shards.index(shard) + 1).to_bytes(2, "big") + each for shard, each in new.gone]
        arguments += (
            *(len(new.hashes), new.keys, new.weights, new.least, new.size, new.version),
            b"".join(shards),
            bytes([len(each) // new.size for each in added]),
            b"".join(added),
            b"".join(gone),
        )
        for name, bits, version, newest in new.hashes:
            arguments += (keys.setdefault(name, len(keys) + 1), bits, version, newest)
    for write in call.writes:
        add(write)
    return (*script, len(keys), *keys, *arguments)


async def server_facts(client: Redis, key: str) -> Facts:
    where: dict[str, Any] = {}
    if isinstance(client, RedisCluster):
        where["target_nodes"] = client.get_node_from_key(key)
    try:
        info = await client.info(**where)
    except exceptions.ResponseError:
        return Facts({}, ("this user may not call INFO, so it is not known how the server evicts keys",))
    version = info.get("valkey_version") or info.get("redis_version", "")
    limit = int(info.get("maxmemory", 0))
    policy = str(info.get("maxmemory_policy", "noeviction"))
    facts = {
        "server": f"{'Valkey' if 'valkey_version' in info else 'Redis'} {version}",
        "mode": str(info.get("redis_mode", info.get("server_mode", "standalone"))),
        "memory": f"{info.get('used_memory_human', '?')} of {info.get('maxmemory_human') if limit else 'no limit'}",
        "maxmemory-policy": policy,
        "evicted keys": str(info.get("evicted_keys", 0)),
        "append-only file": "on" if info.get("aof_enabled") else "off",
    }
    if not limit or policy == "noeviction":
        return Facts(facts)
    return Facts(
        facts,
        (
            f"maxmemory-policy is {policy} with a maxmemory of {info.get('maxmemory_human', limit)}: when memory runs"
            " out, the server removes parts of the window early. Then copies become originals, and events are raised"
            " again. Use noeviction, and give the server enough memory",
        ),
    )


async def refused_commands(client: Client, key: str) -> str:
    """Call each command that a crawl needs, for a key that the last one removes. Return what is refused."""
    calls: list[Call | Commit] = [
        Call("RUNS", key),
        Call("HSET", key, ("field", "value")),
        Call("EXPIRE", key, (60,)),
        *(Call(name, key, ("field",)) for name in ("HGET", "HEXISTS", "HMGET", "HDEL")),
        *(Call(name, key) for name in ("EXISTS", "TYPE", "TTL", "HGETALL", "HLEN")),
        Call("HSCAN", key, (0,)),
        Commit([Expected(Call("HGET", key, ("field",)))], []),
        Call("UNLINK", key),
        Call("XADD", key, ("*", "field", "value")),
        *(Call(name, key, ends) for name, ends in (("XLEN", ()), ("XRANGE", "-+"), ("XREVRANGE", "+-"))),
        Call("UNLINK", key),
    ]
    return "; ".join(dict.fromkeys(str(each) for each in await client.send(calls) if isinstance(each, Exception)))


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
        return Redis.from_url(
            url, retry=Retry(NoBackoff(), 1, supported_errors=(exceptions.ConnectionError,)), **options
        )
    scheme, login, hosts, rest = found.groups()
    first, *others = hosts.split(",")
    nodes = [parse_url(f"redis://{each}") for each in others]
    return RedisCluster.from_url(  # type: ignore[return-value]  # its commands are those of Redis
        f"{scheme}{login}{first}{rest}",
        startup_nodes=[ClusterNode(each["host"], each.get("port", 6379)) for each in nodes],
        require_full_coverage=False,  # a window lives in one slot
        retry=Retry(NoBackoff(), 0),  # ``RedisStore`` itself tries again, with the other nodes
        **options,
    )
