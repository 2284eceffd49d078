"""Summarise what a Redis holds of a namespace, and purge it. For people: both read every key of the namespace."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from scrapy_neardup.document import EVERYWHERE
from scrapy_neardup.index.base import Selection, StoreSummary
from scrapy_neardup.index.membership import remaining_neighbours
from scrapy_neardup.index.redis.connection import without_password
from scrapy_neardup.index.redis.layout import read_name
from scrapy_neardup.index.redis.lua import script
from scrapy_neardup.index.redis.types import WrongTypes
from scrapy_neardup.records.documents import read_record, seconds_of
from scrapy_neardup.similarity.policy import HOUR

if TYPE_CHECKING:
    from redis.asyncio import Redis

AT_ONCE = 500
_SAMPLES = 50  # fields measured of a hash: exact to about one per cent, without blocking the server


async def survey(client: Redis, url: str, namespace: str, config: str) -> StoreSummary:
    """Return what the store holds of a configuration. Raise what redis-py raises."""
    prefix = f"{{neardup:{namespace}:{config}}}:"
    hours: Counter[int] = Counter()
    others: set[str] = set()
    own: list[str] = []
    used = 0
    async for name in names_of(client, namespace):
        if not name.startswith(prefix):
            if not _is_of_all_shards(name):
                others.add(_configuration(name))
            continue
        used += await client.memory_usage(name, samples=_SAMPLES) or 0
        own.append(name)
    wrong = await WrongTypes().look_at(client, own)
    for name in own:
        if name.startswith(f"{prefix}records:") and not any(line.startswith(f"{name} ") for line in wrong):
            hours.update(await _documents_per_hour(client, name))
    facts, warnings = await _server(client, prefix)
    return StoreSummary(
        location=without_password(url),
        namespace=namespace,
        config=config,
        documents_per_hour=dict(sorted(hours.items())),
        bytes=used,
        stories=await _size_of(client, prefix + "stories", wrong),
        events=await _size_of(client, prefix + "events", wrong),
        other_configs=tuple(sorted(others - {_configuration(prefix)})),
        server=facts,
        warnings=(*warnings, *wrong),
    )


async def _size_of(client: Redis, name: str, wrong: Sequence[str]) -> int:
    return 0 if any(line.startswith(f"{name} ") for line in wrong) else int(await client.zcard(name))


async def _documents_per_hour(client: Redis, name: str) -> dict[int, int]:
    """Count the documents of a slice. Only a slice of several hours has to be read."""
    number, times = read_name(name)
    if times == 1:
        return {number: int(await client.hlen(name))}
    keys = [key async for key, _ in client.hscan_iter(name, count=AT_ONCE)]
    return Counter(seconds_of(key) // HOUR for key in keys)


async def survey_shards(client: Redis, url: str, namespace: str, config: str, shards: Sequence[str]) -> StoreSummary:
    """Return what the store holds of a configuration with these shards. Raise what redis-py raises."""
    parts = [await survey(client, url, namespace, each) for each in shards]
    # A document has a record in each shard that has one of its keys.
    names: dict[str, set[bytes]] = {}  # by slice
    async for name in names_of(client, namespace):
        head, kind, number = name.partition(":records:")
        is_ours = head in {f"{{neardup:{namespace}:{each}}}" for each in shards}
        if kind and is_ours and not await WrongTypes().look_at(client, [name]):
            names.setdefault(number, set()).update(cast("list[bytes]", await client.hkeys(name)))
    documents = Counter(seconds_of(key) // HOUR for keys in names.values() for key in keys)
    return replace(
        parts[0],
        config=config,
        documents_per_hour=dict(sorted(documents.items())),
        bytes=sum(part.bytes or 0 for part in parts),
        stories=sum(part.stories for part in parts),
        events=sum(part.events for part in parts),
        server={"shards": str(len(shards)), **parts[0].server},
        warnings=tuple(dict.fromkeys(warning for part in parts for warning in part.warnings)),
    )


async def purge(client: Redis, namespace: str, selection: Selection, *, dry_run: bool) -> int:
    """See ``Index.purge``. Raise what redis-py raises."""
    selected = {key async for _, key, record in _records(client, namespace) if selection.takes(*record[:2])}
    removed = set()  # with its configuration: several shards have the same document
    async for name, key, (_, _, original) in _records(client, namespace):
        if key in selected or original in selected:
            removed.add((_configuration(name), key))
            if not dry_run and not selection.is_all:
                await client.hdel(name, key)
    if dry_run:
        return len(removed)
    if not selection.is_all:
        await _purge_members(client, namespace, selection, selected)
        await _purge_learned(client, namespace, selection.source_hash)
        return len(removed)
    async for name in names_of(client, namespace):
        await client.unlink(name)
    return len(removed)


async def records_of(client: Redis, namespace: str, config: str) -> list[tuple[bytes, bytes]]:
    """Return document keys and packed records of a configuration, which is ``<config>`` or ``<config>/<shards>``."""
    found: dict[bytes, bytes] = {}  # several shards have a document
    async for name in names_of(client, namespace):
        if _configuration(name) == config and ":records:" in name:
            found.update([each async for each in client.hscan_iter(name, count=AT_ONCE)])
    return list(found.items())


async def _purge_members(client: Redis, namespace: str, selection: Selection, selected: set[bytes]) -> None:
    async for name in names_of(client, namespace):
        if ":story:" not in name:
            continue
        async for key, packed in client.hscan_iter(name, count=AT_ONCE):
            if key in selected or selection.takes_member(key, packed):
                await client.hdel(name, key)
            elif key == b"neighbours" and (kept := remaining_neighbours(packed, selection, selected)) != packed:
                await script("forget").run(client, [((name,), (packed, kept))])


async def _purge_learned(client: Redis, namespace: str, source: bytes) -> None:
    """Forget the boilerplate of a source, also its entries in the boilerplate of all sources."""
    if not source:
        return
    async for name in names_of(client, namespace):
        if ":learned:" not in name:
            continue
        if name.endswith(f":{source.hex()}"):
            await client.unlink(name)
        elif name.endswith(f":{EVERYWHERE.hex()}"):
            for entry in cast("list[bytes]", await client.lrange(name, 0, -1)):
                if entry[4:8] == source:
                    await client.lrem(name, 0, cast("str", entry))  # redis-py takes bytes too


async def _records(client: Redis, namespace: str) -> AsyncIterator[tuple[str, bytes, tuple[bytes, bytes, bytes]]]:
    """Yield the key of the hash, the document key, and the hash of the source, that of the url, and the original."""
    async for name in names_of(client, namespace):
        if ":records:" not in name:
            continue
        async for key, packed in client.hscan_iter(name, count=AT_ONCE):
            record = read_record(packed)
            nothing = (b"", b"", b"")
            yield name, key, (record.source_hash, record.url_hash, record.original) if record else nothing


async def names_of(client: Redis, namespace: str) -> AsyncIterator[str]:
    """Yield the keys of a namespace, of every configuration."""
    escaped = "".join(f"\\{character}" if character in "\\*?[]" else character for character in namespace)
    async for name in client.scan_iter(match=f"{{neardup:{escaped}:*", count=AT_ONCE):
        yield cast("bytes", name).decode()


def _is_of_all_shards(name: str) -> bool:
    """Return whether all shards of a configuration share the key."""
    return name.endswith(":frequencies") or ":learned:" in name


def _configuration(name: str) -> str:
    """Return the configuration of a key, ``<config>``, or ``<config>/<shards>`` if it is in a shard."""
    return name.partition("}")[0].rpartition(":")[2].partition(".")[0]


async def _server(client: Redis, key: str) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return facts about the server that holds a key, and warnings about its settings."""
    from redis.asyncio.cluster import RedisCluster
    from redis.exceptions import NoPermissionError

    where: dict[str, Any] = {}
    if isinstance(client, RedisCluster):
        where["target_nodes"] = client.get_node_from_key(key)
    try:
        info = await client.info(**where)
    except NoPermissionError:
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
        f"maxmemory-policy is {policy} with a maxmemory of {info.get('maxmemory_human', limit)}: under pressure the "
        "server drops whole hours of the window early, and their duplicates are taken for originals. Use noeviction, "
        "and enough memory",
    )
