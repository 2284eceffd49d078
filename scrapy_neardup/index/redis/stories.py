"""Stories in Redis, under the hash tag of the shard they belong to; every key expires.

``…:story:<id>`` HASH counters and members (see story.lua), until a window after the last member
``…:stories``    ZSET story -> the latest second of a member
``…:events``     ZSET story -> second of the newest source, of events that have not ended
``…:peaks``      ZSET story -> most new sources within an hour, of events that have ended
``…:grants``     HASH token -> a grant that is not confirmed (see claim.lua), until two windows after the newest
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import astuple, replace
from typing import cast

from redis.asyncio import Redis

from scrapy_neardup.document import Claim, Extent, Granted, Join, Member, Story, UnconfirmedGrant
from scrapy_neardup.exceptions import StoreError
from scrapy_neardup.index.base import MOST_TAKEN_OVER, PEAKS_SECONDS, DamageLog
from scrapy_neardup.index.horizon import ExpiredSpan
from scrapy_neardup.index.redis.layout import RedisLayout
from scrapy_neardup.index.redis.lua import ScriptCall, WrongTypes, is_wrong_type, script
from scrapy_neardup.records.documents import KEY_BYTES
from scrapy_neardup.records.members import owner_hash, pack_member, pack_neighbour, read_members
from scrapy_neardup.records.stories import COUNTERS, LEVEL_BITS, StoryCounters, read_extent

_UNLINKED_AT_ONCE = 1000


class RedisStories:
    """The stories of one namespace and configuration. Errors of redis-py are passed on."""

    def __init__(self, layout: RedisLayout, window: int, types: WrongTypes, damage: DamageLog) -> None:
        self._layout = layout
        self._window = window
        self._types = types
        self._damage = damage

    async def join(self, client: Redis, batch: Sequence[Join]) -> list[Story | BaseException]:
        answers = await self._types.run(client, [self._join_call(join) for join in batch])
        return [self._read(join.story, answer) for join, answer in zip(batch, answers, strict=True)]

    async def claim(self, client: Redis, claim: Claim) -> Granted | None:
        key = bytes.fromhex(claim.story)
        prefix = self._layout.prefix_of_story(key)
        numbers = LEVEL_BITS.get(claim.level, 0), claim.last_source, *claim.extent, claim.peak
        rest = self._window, PEAKS_SECONDS, claim.token, claim.note, int(time.time())
        keys = self._name(key), f"{prefix}:events", f"{prefix}:peaks", f"{prefix}:grants"
        call = script("claim"), keys, (key, *map(_encode, (*numbers, *rest)))
        (answer,) = await self._types.run_or_raise(client, [call])
        flat = cast("list[bytes] | None", answer)
        if flat is None:
            return None
        fields = dict(zip(flat[::2], flat[1::2], strict=True))
        return Granted(_members(fields), read_extent(fields.get(b"told", b"").decode("ascii", "replace")))

    async def confirm(self, client: Redis, grants: Sequence[tuple[str, str]]) -> None:
        pipeline = client.pipeline(transaction=False)
        for story, token in grants:
            pipeline.hdel(f"{self._layout.prefix_of_story(bytes.fromhex(story))}:grants", token)
        await pipeline.execute()

    async def take_over(self, client: Redis, seconds: float) -> list[UnconfirmedGrant]:
        arguments = [str(int(number)).encode() for number in (seconds, MOST_TAKEN_OVER, time.time())]
        calls = [(script("take_over"), (f"{prefix}:grants",), arguments) for prefix in self._layout.prefixes]
        taken_over = []
        for flat in cast("list[list[bytes]]", await self._types.run_or_raise(client, calls)):
            for token, grant in zip(flat[::2], flat[1::2], strict=True):
                key, items, sources, changes, note = grant.decode("utf-8", "replace").split(" ", 4)
                kept = cast("list[bytes | None]", await client.hmget(self._name(bytes.fromhex(key)), list(COUNTERS)))
                story = None if kept[0] is None else self._damage.readable_story(bytes.fromhex(key), _typed(kept))
                if story is None:  # it is gone or damaged
                    await self.confirm(client, [(key, token.decode())])
                else:
                    story = replace(story, signalled=Extent(int(items), int(sources), int(changes)))
                    taken_over.append(UnconfirmedGrant(token.decode(), note, story, await self.members(client, key)))
        return taken_over

    async def open_events(self, client: Redis, quiet_since: int | None) -> list[Story]:
        newest = "+inf" if quiet_since is None else quiet_since
        keys_of_prefix = {
            prefix: cast("list[bytes]", await client.zrangebyscore(f"{prefix}:events", "-inf", newest))
            for prefix in self._layout.prefixes
        }
        pipeline = client.pipeline(transaction=False)
        keys = [(prefix, key) for prefix, own in keys_of_prefix.items() for key in own]
        for _, key in keys:
            pipeline.hmget(self._name(key), list(COUNTERS))
        stories = []
        for (prefix, key), answer in zip(keys, await pipeline.execute(raise_on_error=False), strict=True):
            if isinstance(answer, Exception):
                if not is_wrong_type(answer):
                    raise answer
                await self._types.look_at(client, [self._name(key)])
            elif answer[0] is None:
                await client.zrem(f"{prefix}:events", key)  # its story has expired
            elif (story := self._damage.readable_story(key, _typed(answer))) is not None:
                stories.append(story)
        return sorted(stories, key=lambda story: story.id)

    async def members(self, client: Redis, story: str) -> tuple[Member, ...]:
        return _members(cast("dict[bytes, bytes]", await client.hgetall(self._name(bytes.fromhex(story)))))

    async def peaks(self, client: Redis, since: int) -> dict[str, int]:
        oldest = since.to_bytes(4, "big")
        peaks: dict[str, int] = {}
        for name in (f"{prefix}:peaks" for prefix in self._layout.prefixes):
            kept = cast("list[tuple[bytes, float]]", await client.zrange(name, 0, -1, withscores=True))
            if gone := [key for key, _ in kept if key < oldest]:
                await client.zrem(name, *gone)
            peaks |= {key.hex(): int(peak) for key, peak in kept if key >= oldest}
        return peaks

    async def unlink_dead(self, client: Redis, span: ExpiredSpan) -> None:
        """Free stories whose last member has left the window."""
        for name in (f"{prefix}:stories" for prefix in self._layout.prefixes):
            found = client.zrangebyscore(name, span.floor, f"({span.horizon}", start=0, num=_UNLINKED_AT_ONCE)
            if dead := cast("list[bytes]", await found):
                await client.unlink(*map(self._name, dead))
                await client.zrem(name, *dead)

    def _name(self, key: bytes) -> str:
        return f"{self._layout.prefix_of_story(key)}:story:{key.hex()}"

    def _join_call(self, join: Join) -> ScriptCall:
        key = bytes.fromhex(join.story)
        prefix = self._layout.prefix_of_story(key)
        numbers = int(join.counted), int(join.member.status == "duplicate")
        arguments = (
            *_arguments(join.first),
            *_arguments(join.member),
            *map(_encode, numbers),
            *(join.figures_before, join.figures_after, join.figures),
            pack_neighbour(join.neighbour),
            bytes.fromhex(join.registered_before),
            _encode(self._window),
        )
        return script("join"), (self._name(key), f"{prefix}:stories", f"{prefix}:events"), arguments

    def _read(self, story: str, answer: object) -> Story | BaseException:
        if isinstance(answer, BaseException):
            return answer
        key = bytes.fromhex(story)
        try:
            return self._damage.counters(key, _typed(cast("list[bytes | int | None]", answer))).story(key)
        except StoreError as error:
            return error


_DEFAULTS = astuple(StoryCounters())


def _typed(stored: Sequence[bytes | int | None]) -> list[object]:
    """Return stored counters in the types of their defaults. Redis has no byte string that a story never needed."""
    values = (b"" if value is None else value for value in stored)
    return list(map(_counter, values, _DEFAULTS))


def _counter(value: bytes | int, default: object) -> object:
    with suppress(ValueError):  # damaged: it stays bytes
        if isinstance(default, int):
            return int(value)
        if isinstance(default, str) and isinstance(value, bytes):
            return value.decode()
    return value


def _encode(value: object) -> bytes:
    return str(value).encode()


def _arguments(member: Member) -> tuple[bytes, ...]:
    language = member.language.encode("utf-8", "replace")
    return bytes.fromhex(member.id), pack_member(member), owner_hash(member), language


def _members(fields: dict[bytes, bytes]) -> tuple[Member, ...]:
    """Fields of 8 bytes are document keys; no counter has a name of that length."""
    return read_members((key, packed) for key, packed in fields.items() if len(key) == KEY_BYTES)
