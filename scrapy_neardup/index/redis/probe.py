"""Try a Redis as a crawl would use it: does it answer, how fast, which commands may the user call, what is its time."""

from __future__ import annotations

import secrets
import time
from typing import TYPE_CHECKING, Any, NamedTuple

from redis.asyncio.cluster import RedisCluster
from redis.exceptions import NoPermissionError, NoScriptError, ResponseError

from scrapy_neardup.index.redis.connection import connect, explain_error
from scrapy_neardup.index.redis.store import server_facts
from scrapy_neardup.index.store import Facts

if TYPE_CHECKING:
    from redis.asyncio import Redis

_PINGS = 20
_SECONDS = 60  # until keys expire that a probe could not remove
_UNKNOWN_SCRIPT = "0" * 40

FOR_PEOPLE = frozenset({"scan", "memory|usage", "info"})
"""Commands that crawls do not need, only ``scrapy neardup watch``, ``explain`` and ``purge``."""


class Probe(NamedTuple):
    """What was found. ``seconds`` is the median time for one answer."""

    seconds: float
    clock_ahead: float  # seconds by which the clock of the server is ahead of ours
    missing_rights: tuple[str, ...]  # as ``ACL SETUSER`` names them, without the plus sign
    server: Facts


async def probe(url: str, prefix: str, timeout: float) -> Probe:
    """Try the server of a store, with keys that begin with ``prefix``. Raise StoreError if it cannot be used.

    The prefix is that of the window, so that in a cluster the node of the window is tried. The window stays as it is: a
    few other keys are written, and removed.
    """
    client = connect(url, timeout, connections=1)
    key = f"{prefix}:probe:{secrets.token_hex(4)}"
    try:
        seconds = sorted([await _seconds_of_ping(client) for _ in range(_PINGS)])[_PINGS // 2]
        missing = await _missing_rights(client, key)
        ahead = 0.0 if "time" in missing else await _clock_ahead(client)
        server = await server_facts(client, key)
    except Exception as error:
        raise explain_error(url, error) from error
    finally:
        await client.aclose()
    return Probe(seconds, ahead, missing, server)


def commands(key: str) -> dict[str, tuple[Any, ...]]:
    """Return each command that the package calls, with harmless arguments, by the name of its right.

    The last one removes all that the others made.
    """
    hashes = f"{key}:hash"
    return {
        "ping": ("PING",),
        "time": ("TIME",),
        "eval": ("EVAL", "return 1", 1, hashes),
        "evalsha": ("EVALSHA", _UNKNOWN_SCRIPT, 1, hashes),
        "exists": ("EXISTS", hashes),
        "type": ("TYPE", hashes),
        "hset": ("HSET", hashes, "field", "value"),
        "hexists": ("HEXISTS", hashes, "field"),
        "hget": ("HGET", hashes, "field"),
        "hmget": ("HMGET", hashes, "field"),
        "hgetall": ("HGETALL", hashes),
        "hlen": ("HLEN", hashes),
        "hscan": ("HSCAN", hashes, 0),
        "hdel": ("HDEL", hashes, "other"),
        "scan": ("SCAN", 0, "MATCH", key, "COUNT", 1),
        "memory|usage": ("MEMORY USAGE", hashes),
        "info": ("INFO", "server"),
        "expire": ("EXPIRE", hashes, _SECONDS),
        "ttl": ("TTL", hashes),
        "unlink": ("UNLINK", hashes),
    }


async def _missing_rights(client: Redis, key: str) -> tuple[str, ...]:
    missing = []
    for name, command in commands(key).items():
        where: dict[str, Any] = {}
        if isinstance(client, RedisCluster) and name in ("ping", "time", "scan", "info"):  # they name no key
            where["target_nodes"] = client.get_node_from_key(key)
        try:
            await client.execute_command(*command, **where)  # type: ignore[no-untyped-call]
        except NoPermissionError:
            missing.append(name)
        except NoScriptError:
            pass
        except ResponseError as error:
            # Redis 6.2 says NOPERM for keys in words of its own.
            if "permission" not in str(error).lower():
                raise
            missing.append(name)
    return tuple(missing)


async def _seconds_of_ping(client: Redis) -> float:
    start = time.perf_counter()
    await client.ping()
    return time.perf_counter() - start


async def _clock_ahead(client: Redis) -> float:
    start = time.time()
    answer: Any = await client.time()
    seconds, microseconds = next(iter(answer.values())) if isinstance(answer, dict) else answer
    return float(seconds) + float(microseconds) / 1e6 - (start + time.time()) / 2
