"""Runs in Redis: their heartbeats, and the records of documents that they deliver or withdraw.

``…:runs`` has for each run "<first heartbeat> <last heartbeat>", milliseconds by the clock of the server.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import cast

from redis.asyncio import Redis

from scrapy_neardup.index.redis import lua
from scrapy_neardup.index.redis.layout import RedisLayout
from scrapy_neardup.index.redis.lua import Argument, Call, script
from scrapy_neardup.index.redis.swap import ConflictError, Expected, swap, swap_call
from scrapy_neardup.index.runs import FORGOTTEN_SECONDS
from scrapy_neardup.records.documents import read_record

_BEATS = re.compile(rb"(\d{1,15}) (\d{1,15})")


def read_runs(answer: object) -> tuple[int, dict[bytes, bytes]]:
    """Return the server's time in milliseconds and all heartbeats, from the answer of ``runs.lua``."""
    (seconds, microseconds), flat = cast("list[list[bytes]]", answer)
    return int(seconds) * 1000 + int(microseconds) // 1000, dict(zip(flat[::2], flat[1::2], strict=True))


def heartbeats(kept: Mapping[bytes, bytes]) -> dict[bytes, tuple[int, int]]:
    """Return the first and the last heartbeat of each run, in milliseconds. Leave out what is damaged."""
    found = {number: _BEATS.fullmatch(value) for number, value in kept.items() if number.isdigit()}
    return {number: (int(each[1]), int(each[2])) for number, each in found.items() if each}


async def beat(
    client: Redis,
    layout: RedisLayout,
    seconds: int,
    run: int,
    alive: Collection[int],
    dead: Collection[int],
) -> None:
    """Note that runs live or are dead, and forget the old ones; ``run`` is 0 if only others live.

    All are forgotten after ``seconds``. Raise ConflictError if a run has changed meanwhile.
    """
    (name,) = layout.names("runs")
    now, kept = read_runs(*await lua.run_or_raise(client, [(script("runs"), (name,), ())]))
    beats = heartbeats(kept)
    of_run = str(run).encode()
    lives = {number for number in (of_run, *(str(each).encode() for each in alive)) if number in beats}
    gone = {
        number
        for number in kept.keys() - lives
        if number not in beats or now - beats[number][1] > 1000 * FORGOTTEN_SECONDS
    }
    expected: list[Expected] = [(("HGET", (name,), (number,)), kept[number]) for number in (*lives, *gone)]
    changed: dict[bytes, Argument] = {number: b"%d %d" % (beats[number][0], now) for number in lives}
    if run:
        changed.setdefault(of_run, f"{now} {now}")
    gone.update(str(each).encode() for each in dead)
    writes: list[Call] = [("HDEL", (name,), [*gone])] if gone else []
    writes += [("HSET", (name,), [part for each in changed.items() for part in each])] if changed else []
    await swap(client, expected, [*writes, ("EXPIRE", (name,), (seconds,))])


async def deliver(client: Redis, layout: RedisLayout, documents: Sequence[str]) -> None:
    """Note in their records that documents are delivered. Raise ConflictError if one has changed meanwhile."""
    keys = [bytes.fromhex(document) for document in documents]
    calls: list[Call] = [("HGET", (layout.records(key),), (key,)) for key in keys]
    swaps = []
    for key, read, packed in zip(keys, calls, await lua.run_or_raise(client, calls), strict=True):
        record = read_record(packed) if isinstance(packed, bytes) else None
        if record is not None and record.run:
            write: Call = "HSET", (layout.records(key),), (key, replace(record, run=0).pack())
            swaps.append(swap_call([(read, cast("bytes", packed))], [write]))
    if any(answer != 1 for answer in await lua.run_or_raise(client, swaps)):
        raise ConflictError


async def withdraw(client: Redis, layout: RedisLayout, documents: Sequence[str]) -> None:
    """Remove the records of documents that nobody will deliver."""
    keys = [bytes.fromhex(document) for document in documents]
    await lua.run_or_raise(client, [("HDEL", (layout.records(key),), (key,)) for key in keys])
