"""Summarise what a Redis holds of a namespace, and purge it. For people: both read every key of the namespace."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Sequence
from typing import Any, cast

from redis.asyncio import Redis
from redis.asyncio.cluster import RedisCluster
from redis.exceptions import ResponseError

from scrapy_neardup.document import EVERYWHERE, without_password
from scrapy_neardup.index.base import Selection, StoreSummary, names_any_document, remaining_neighbours
from scrapy_neardup.index.redis import lua
from scrapy_neardup.index.redis.layout import RedisLayout, hours_of_slice
from scrapy_neardup.index.redis.stories import new_version
from scrapy_neardup.index.redis.swap import swap_call
from scrapy_neardup.records.documents import Record, read_record, seconds_of
from scrapy_neardup.rules.policy import HOUR

AT_ONCE = 500
_SAMPLES = 50  # fields measured of a hash: exact to about one per cent, without blocking the server


async def survey(client: Redis, url: str, layout: RedisLayout) -> StoreSummary:
    """Return a summary of one configuration. Errors of redis-py are passed on."""
    own: list[str] = []
    others: set[str] = set()
    async for name in names_of(client, layout.namespace):
        if name.startswith(f"{layout.prefix}:"):
            own.append(name)
        else:
            others.add(_configuration(name))
    wrong = await lua.wrong_types(client, own)
    whole = [name for name in own if name not in wrong]

    facts, warnings = await server_facts(client, layout.prefix)
    hours = await _documents_per_hour(client, whole)
    return StoreSummary(
        location=without_password(url),
        namespace=layout.namespace,
        config=layout.config,
        documents_per_hour=hours,
        bytes=sum([await client.memory_usage(name, samples=_SAMPLES) or 0 for name in own]),
        stories=sum([await _count_stories(client, name) for name in whole if name.endswith("}:stories")]),
        events=sum([int(await client.zcard(name)) for name in whole if name.endswith("}:events")]),
        other_configs=tuple(sorted(others)),
        server=facts,
        warnings=(*warnings, *wrong.values()),
        namespaces=() if hours else await _namespaces(client, layout.namespace),
    )


async def _count_stories(client: Redis, name: str) -> int:
    """Count the stories without those that became a part of another one."""
    prefix, count = name.removesuffix(":stories"), 0
    keys = cast("list[bytes]", await client.zrange(name, 0, -1))
    for first in range(0, len(keys), AT_ONCE):
        pipeline = client.pipeline(transaction=False)
        for key in keys[first : first + AT_ONCE]:
            pipeline.hget(f"{prefix}:story:{key.hex()}", "moved")
        count += sum(
            not moved or isinstance(moved, Exception) for moved in await pipeline.execute(raise_on_error=False)
        )
    return count


async def _namespaces(client: Redis, own: str) -> tuple[str, ...]:
    """Return the other namespaces of the server."""
    found = set()
    async for name in client.scan_iter(match="{neardup:*}:records:*", count=AT_ONCE):
        found.add(cast("bytes", name).decode("utf-8", "replace").partition(":")[2].partition(":")[0])
    return tuple(sorted(found - {own}))


async def _documents_per_hour(client: Redis, names: Sequence[str]) -> dict[int, int]:
    """Count documents by hour. Read their keys only if a slice has several hours."""
    counts: Counter[int] = Counter()
    for name in (name for name in names if "}:records:" in name):
        hours = hours_of_slice(name)
        if len(hours) == 1:
            counts[hours[0]] = int(await client.hlen(name))
        else:  # a scan may return a key twice
            counts.update(
                seconds_of(key) // HOUR for key in {key async for key, _ in client.hscan_iter(name, count=AT_ONCE)}
            )
    return dict(sorted(counts.items()))


async def purge(client: Redis, namespace: str, selection: Selection, *, dry_run: bool) -> int:
    """See ``Index.purge``. Errors of redis-py are passed on."""
    selected, sources = set[bytes](), {selection.source_hash}
    async for _, key, record in _records(client, namespace):
        if selection.takes(record) if record else selection.is_all:
            selected.add(key)
            sources |= {record.source_hash} if record else set()
    removed = set()  # documents with their configuration; a scan may return one twice
    async for name, key, record in _records(client, namespace):
        if key in selected or (record and record.original in selected):
            removed.add((_configuration(name), key))
            if not dry_run and not selection.is_all:
                await client.hdel(name, key)
    if not dry_run:
        gone = {key for _, key in removed}
        async for name in names_of(client, namespace):
            if selection.is_all:
                await client.unlink(name)
            elif name.endswith("}:grants"):
                await _purge_grants(client, name, gone)
            elif ":story:" in name:
                await _purge_members(client, name, selection, selected)
            elif ":learned" in name and selection.source:
                await _purge_learned(client, name, sources)
    return len(removed)


async def records_of(client: Redis, layout: RedisLayout) -> list[tuple[bytes, Record]]:
    """Return document keys and records of a configuration. Leave out those that are damaged."""
    found = {  # a scan may return a document twice
        key: record
        async for name, key, record in _records(client, layout.namespace)
        if record and name.startswith(f"{layout.prefix}:")
    }
    return list(found.items())


async def _purge_members(client: Redis, story: str, selection: Selection, selected: set[bytes]) -> None:
    async for key, packed in client.hscan_iter(story, count=AT_ONCE):
        if key in selected or selection.takes_member(key, packed):
            await client.hdel(story, key)
        elif key == b"neighbours" and (kept := remaining_neighbours(packed, selection, selected)) != packed:
            read = "HGET", (story,), ("neighbours",)
            await lua.run_all(
                client, [swap_call([(read, packed)], [("HSET", (story,), ("neighbours", kept, *new_version()))])]
            )


async def _purge_grants(client: Redis, name: str, gone: set[bytes]) -> None:
    """Forget the events of removed documents that wait to be passed on.

    A process that takes an event over while this runs still sends it. docs/howto/purge.md says: stop crawls first.
    """
    async for token, grant in client.hscan_iter(name, count=AT_ONCE):
        if names_any_document(grant.decode("utf-8", "replace"), gone):
            await client.hdel(name, token)


async def _purge_learned(client: Redis, name: str, sources: set[bytes]) -> None:
    """Forget the boilerplate of these sources, also their entries in the boilerplate of all sources."""
    if name.endswith(tuple(f":{source.hex()}" for source in sources)):
        await client.unlink(name)
    elif name.endswith(f":{EVERYWHERE.hex()}"):
        for entry in cast("list[bytes]", await client.lrange(name, 0, -1)):
            if entry[4:8] in sources:
                await client.lrem(name, 0, cast("str", entry))  # redis-py takes bytes too


async def _records(client: Redis, namespace: str) -> AsyncIterator[tuple[str, bytes, Record | None]]:
    """Yield the key of the hash, the document key and the record, None if it is damaged."""
    async for name in names_of(client, namespace):
        if ":records:" in name:
            async for key, packed in client.hscan_iter(name, count=AT_ONCE):
                yield name, key, read_record(packed)


async def names_of(client: Redis, namespace: str) -> AsyncIterator[str]:
    """Yield the keys of a namespace, of every configuration."""
    escaped = "".join(f"\\{character}" if character in "\\*?[]" else character for character in namespace)
    async for name in client.scan_iter(match=f"{{neardup:{escaped}:*", count=AT_ONCE):
        yield cast("bytes", name).decode()


def _configuration(name: str) -> str:
    """Return the configuration of a key."""
    return name.partition("}")[0].rpartition(":")[2]


async def server_facts(client: Redis, key: str) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return facts about the server that holds a key, and warnings about its settings."""
    where: dict[str, Any] = {}
    if isinstance(client, RedisCluster):
        where["target_nodes"] = client.get_node_from_key(key)
    try:
        info = await client.info(**where)
    except ResponseError:
        return {}, ("this user may not call INFO, so it is not known how the server evicts keys",)
    name = "Valkey" if "valkey_version" in info else "Redis"
    version = info.get("valkey_version") or info.get("redis_version", "")
    limit, policy = int(info.get("maxmemory", 0)), str(info.get("maxmemory_policy", "noeviction"))
    facts = {
        "server": f"{name} {version}",
        "mode": str(info.get("redis_mode", info.get("server_mode", "standalone"))),
        "memory": f"{info.get('used_memory_human', '?')} of {info.get('maxmemory_human') if limit else 'no limit'}",
        "maxmemory-policy": policy,
        "evicted keys": str(info.get("evicted_keys", 0)),
        "append-only file": "on" if info.get("aof_enabled") else "off",
    }
    if not limit or policy == "noeviction":
        return facts, ()
    return facts, (
        f"maxmemory-policy is {policy} with a maxmemory of {info.get('maxmemory_human', limit)}: when memory runs out,"
        " the server removes parts of the window early. Then copies become originals, and events are raised again. Use "
        "noeviction, and give the server enough memory",
    )
