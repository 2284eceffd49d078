"""Stories in Redis, under the hash tag of the shard they belong to; every key expires.

``…:story:<id>`` HASH counters and members (see story.lua), until a window after the last member
``…:stories``    ZSET story -> the latest second of a member
``…:events``     ZSET story -> second of the newest source, of events that have not ended
``…:peaks``      ZSET story -> most new sources within an hour, of events that have ended
``…:grants``     HASH token -> a grant that is not confirmed (see claim.lua), until two windows after the newest
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Collection, Sequence
from contextlib import suppress
from dataclasses import astuple, dataclass, replace
from typing import cast

from redis.asyncio import Redis

from scrapy_neardup.document import Claim, Extent, Granted, Join, Member, Story, UnconfirmedGrant
from scrapy_neardup.exceptions import StoreError
from scrapy_neardup.index.base import MOST_TAKEN_OVER, PEAKS_SECONDS, DamageLog
from scrapy_neardup.index.horizon import ExpiredSpan
from scrapy_neardup.index.membership import MOST_FOLLOWED, begin_story, may_unite, unite
from scrapy_neardup.index.redis.layout import RedisLayout
from scrapy_neardup.index.redis.lua import ScriptCall, WrongTypes, is_wrong_type, script
from scrapy_neardup.records.documents import KEY_BYTES
from scrapy_neardup.records.members import owner_hash, pack_member, pack_neighbour, read_members
from scrapy_neardup.records.packing import split
from scrapy_neardup.records.stories import COUNTERS, LEVEL_BITS, StoryCounters, read_extent

_UNLINKED_AT_ONCE = 1000
_ATTEMPTS = 32  # to unite two stories that others change at the same time
_PAUSE = 0.002  # seconds, at most, before the second attempt; further pauses are longer


class RedisStories:
    """The stories of one namespace and configuration. Errors of redis-py are passed on."""

    def __init__(self, layout: RedisLayout, window: int, types: WrongTypes, damage: DamageLog) -> None:
        self._layout = layout
        self._window = window
        self._types = types
        self._damage = damage

    async def join(self, client: Redis, batch: Sequence[Join]) -> list[Story | BaseException]:
        stories = [bytes.fromhex(join.story) for join in batch]
        joined: list[Story | BaseException] = [StoreError("a story moves all the time")] * len(batch)
        left = list(range(len(batch)))
        for _ in range(MOST_FOLLOWED):
            answers = await self._types.run(client, [self._join_call(batch[each], stories[each]) for each in left])
            moved = []
            for each, answer in zip(left, answers, strict=True):
                counters = self._read(stories[each], answer)
                if isinstance(counters, StoryCounters) and counters.moved:
                    moved.append(each)
                    await self._finish_move(client, stories[each], counters)
                    stories[each] = counters.moved
                else:
                    joined[each] = _story(stories[each], counters)
            if not (left := moved):
                break
        return joined

    async def unite(self, client: Redis, story: str, other: Member) -> Story:
        """See ``Index.unite``. If somebody changes one of the two stories meanwhile, read them again."""
        for attempt in range(_ATTEMPTS):
            await _pause(attempt)
            found = [await self._final(client, bytes.fromhex(each)) for each in (story, other.id)]
            stays, moves = sorted(found, key=lambda each: each.key)
            if stays.key == moves.key:  # the one that was read last has what the other one brought
                return found[1].counters.story(found[1].key)
            if not may_unite(stays.counters, moves.counters):
                return found[0].counters.story(found[0].key)
            if not found[1].counters.joined:
                found[1].members = begin_story(found[1].counters, other)
                if len(self._layout.prefixes) > 1:  # keep it first: this process may die before the two are one
                    await self._write(client, found[1], found[1].members)
                    continue
            if await self._take_in(client, stays, moves):
                return stays.counters.story(stays.key)
        raise StoreError(f"stories {story} and {other.id} change all the time")

    async def final_stories(self, client: Redis, stories: Collection[str]) -> dict[str, str]:
        final: dict[str, str] = {}
        asked = {story: bytes.fromhex(story) for story in stories}
        for _ in range(MOST_FOLLOWED):
            pipeline = client.pipeline(transaction=False)
            for key in asked.values():
                pipeline.hget(self._name(key), "moved")
            answers = await pipeline.execute(raise_on_error=False)
            moved = zip(asked, cast("list[bytes | None]", answers), strict=True)
            asked = {story: key for story, key in moved if isinstance(key, bytes) and len(key) == KEY_BYTES}
            final |= {story: key.hex() for story, key in asked.items()}
            if not asked:
                break
        return final

    async def _take_in(self, client: Redis, stays: _StoredStory, moves: _StoredStory) -> bool:
        """Make one story a part of the other one. Return False if one of them has changed since it was read."""
        prefix, other_prefix = map(self._layout.prefix_of_story, (stays.key, moves.key))
        last, members = _encode(moves.counters.last), read_members(moves.members)
        known = {key for key, _ in stays.members}
        more = unite((stays.key, moves.key), stays.counters, moves.counters, members)
        added = [each for each in more if each[0] not in known]
        added += [] if stays.version.strip() else stays.members
        if moves.is_marked:
            return await self._write(client, stays, added)
        if prefix == other_prefix:
            return await self._write(client, stays, added, moves)
        keys = self._name(moves.key), f"{other_prefix}:stories", f"{other_prefix}:events"
        arguments = moves.key, moves.version.encode(), last, _encode(self._window), stays.key
        (answer,) = await self._types.run_or_raise(client, [(script("move"), keys, arguments)])
        return answer is not None and await self._write(client, stays, added)

    async def _write(
        self,
        client: Redis,
        stays: _StoredStory,
        added: Sequence[tuple[bytes, bytes]],
        moves: _StoredStory | None = None,
    ) -> bool:
        """Write a story that stays, and mark the one that moves if it is in the same shard.

        Return False if one of them has changed since it was read.
        """
        prefix = self._layout.prefix_of_story(stays.key)
        names = [self._name(stays.key), f"{prefix}:stories", f"{prefix}:events"]
        marked = moves or stays
        if moves is not None:
            names.append(self._name(moves.key))
        newest = _encode(stays.counters.newest_source) if stays.counters.is_open else b""
        fields = [*zip(map(str.encode, COUNTERS), map(_packed, astuple(stays.counters)), strict=True), *added]
        call = (
            *(stays.key, stays.version.encode(), _encode(stays.counters.last), newest, _encode(self._window)),
            *(marked.key, marked.version.encode(), _encode(marked.counters.last)),
            *(part for field in fields for part in field),
        )
        return (await self._types.run_or_raise(client, [(script("unite"), names, call)]))[0] is not None

    async def _finish_move(self, client: Redis, key: bytes, counters: StoryCounters) -> None:
        """Take in a story of another shard, if the process that marked it died before it did so."""
        if len(self._layout.prefixes) > 1:
            united = await cast("Awaitable[bytes | None]", client.hget(self._name(counters.moved), "united"))
            if key not in split(united or b"", KEY_BYTES):
                await self._final(client, key)

    async def _final(self, client: Redis, key: bytes) -> _StoredStory:
        """Return the story that a story became a part of, which may be itself.

        If a process died between the steps by which stories of two shards become one, take the last step.
        """
        for attempt in range(_ATTEMPTS):
            await _pause(attempt)
            passed, found = [], await self._load(client, key)
            while found.counters.moved:
                passed.append(found)
                found = await self._load(client, found.counters.moved)
            united = split(found.counters.united, KEY_BYTES)
            left = [each for each in passed if each.key not in united]
            if not left or not found.counters.joined or len(self._layout.prefixes) == 1:
                break
            left[-1].is_marked = True
            await self._take_in(client, found, left[-1])
        return found

    async def _load(self, client: Redis, key: bytes) -> _StoredStory:
        fields = cast("dict[bytes, bytes]", await client.hgetall(self._name(key)))
        stored = [fields.get(name.encode()) for name in COUNTERS]
        counters = self._damage.counters(key, _typed(stored)) if fields else StoryCounters()
        version = b" ".join(fields.get(name, b"") for name in (b"joined", b"levels", b"told", b"moved"))
        members = [(each, packed) for each, packed in fields.items() if len(each) == KEY_BYTES]
        return _StoredStory(key, counters, members, version.decode("ascii", "replace"))

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
        if moved := fields.get(b"moved"):
            fields |= dict((await self._final(client, moved)).members)
        return Granted(_members(fields), read_extent(fields.get(b"told", b"").decode("ascii", "replace")))

    async def confirm(self, client: Redis, grants: Sequence[tuple[str, str]]) -> None:
        pipeline = client.pipeline(transaction=False)
        for _, token in grants:  # the story may have become a part of one in another shard since
            for prefix in self._layout.prefixes:
                pipeline.hdel(f"{prefix}:grants", token)
        await pipeline.execute()

    async def take_over(self, client: Redis, seconds: float) -> list[UnconfirmedGrant]:
        arguments = [str(int(number)).encode() for number in (seconds, MOST_TAKEN_OVER, time.time())]
        calls = [(script("take_over"), (f"{prefix}:grants",), arguments) for prefix in self._layout.prefixes]
        taken_over = []
        for flat in cast("list[list[bytes]]", await self._types.run_or_raise(client, calls)):
            for token, grant in zip(flat[::2], flat[1::2], strict=True):
                key, items, sources, changes, note = grant.decode("utf-8", "replace").split(" ", 4)
                key = (await self.final_stories(client, [key])).get(key, key)
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

    def _join_call(self, join: Join, key: bytes) -> ScriptCall:
        prefix = self._layout.prefix_of_story(key)
        numbers = int(join.counted), int(join.member.status == "duplicate")
        arguments = (
            key,
            *_arguments(join.first)[1:],
            *_arguments(join.member),
            *map(_encode, numbers),
            *(join.figures_before, join.figures_after, join.figures),
            pack_neighbour(join.neighbour),
            bytes.fromhex(join.registered_before),
            _encode(self._window),
        )
        return script("join"), (self._name(key), f"{prefix}:stories", f"{prefix}:events"), arguments

    def _read(self, key: bytes, answer: object) -> StoryCounters | BaseException:
        if isinstance(answer, BaseException):
            return answer
        try:
            return self._damage.counters(key, _typed(cast("list[bytes | int | None]", answer)))
        except StoreError as error:
            return error


@dataclass(slots=True)
class _StoredStory:
    """A story as it was read."""

    key: bytes
    counters: StoryCounters
    members: list[tuple[bytes, bytes]]  # packed, by document key
    version: str  # see unite.lua
    is_marked: bool = False  # as a part of another story


def _story(key: bytes, counters: StoryCounters | BaseException) -> Story | BaseException:
    if isinstance(counters, BaseException):
        return counters
    try:
        return counters.story(key)
    except StoreError as error:
        return error


async def _pause(attempt: int) -> None:
    """Wait before another attempt, each process for another time: else they would stop each other again."""
    if attempt:
        await asyncio.sleep(random.uniform(0, _PAUSE * attempt))


def _packed(value: object) -> bytes:
    return value if isinstance(value, bytes) else _encode(value)


_DEFAULTS = astuple(StoryCounters())


def _typed(stored: Sequence[bytes | int | None]) -> list[object]:
    """Return stored counters in the types of their defaults.

    Redis may have no field for a counter that never changed.
    """
    pairs = zip(stored, _DEFAULTS, strict=True)
    return [default if value is None else _counter(value, default) for value, default in pairs]


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
