"""Stories in Redis; every key expires.

``…:story:<id>`` HASH counters and members (see story.lua), until a window after the last member
``…:stories``    ZSET story -> the latest second of a member
``…:events``     ZSET story -> second of the newest source, of events that have not ended
``…:ended``      ZSET story and its packed sources -> second of the newest source, of events that have ended
``…:grants``     HASH token -> a grant that is not confirmed (see claim.lua), until two windows after the newest
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import astuple, dataclass, replace
from typing import cast

from redis.asyncio import Redis

from scrapy_neardup.document import Claim, EventSources, Extent, Granted, Join, Member, Story, UnconfirmedGrant
from scrapy_neardup.exceptions import StoreError
from scrapy_neardup.index.base import ENDED_SECONDS, MOST_TAKEN_OVER, DamageLog
from scrapy_neardup.index.horizon import ExpiredSpan
from scrapy_neardup.index.membership import MOST_FOLLOWED, begin_story, may_unite, unite
from scrapy_neardup.index.redis.layout import RedisLayout
from scrapy_neardup.index.redis.lua import ScriptCall, WrongTypes, is_wrong_type, script
from scrapy_neardup.records.documents import KEY_BYTES
from scrapy_neardup.records.members import owner_hash, pack_member, pack_neighbour, read_members
from scrapy_neardup.records.stories import COUNTERS, LEVEL_BITS, StoryCounters, read_extent, read_sources

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
            if await self._take_in(client, stays, moves):
                return stays.counters.story(stays.key)
        raise StoreError(f"stories {story} and {other.id} change all the time")

    async def final_stories(self, client: Redis, stories: Collection[str]) -> dict[str, str]:
        final: dict[str, str] = {}
        asked = {story: bytes.fromhex(story) for story in stories}
        for _ in range(MOST_FOLLOWED):
            pipeline = client.pipeline(transaction=False)
            for key in asked.values():
                pipeline.hget(self._layout.story(key), "moved")
            answers = await pipeline.execute(raise_on_error=False)
            moved = zip(asked, cast("list[bytes | None]", answers), strict=True)
            asked = {story: key for story, key in moved if isinstance(key, bytes) and len(key) == KEY_BYTES}
            final |= {story: key.hex() for story, key in asked.items()}
            if not asked:
                break
        return final

    async def _take_in(self, client: Redis, stays: _StoredStory, moves: _StoredStory) -> bool:
        """Make one story a part of the other one. Return False if one of them has changed since it was read."""
        last, known = moves.counters.last, {key for key, _ in stays.members}
        more = unite((stays.key, moves.key), stays.counters, moves.counters, read_members(moves.members))
        members = [each for each in more if each[0] not in known]
        if not stays.version.strip():  # it is new
            members += stays.members
        newest = _encode(stays.counters.newest_source) if stays.counters.is_open else b""
        fields = [*zip(map(str.encode, COUNTERS), map(_packed, astuple(stays.counters)), strict=True), *members]
        arguments = (
            *(stays.key, stays.version.encode(), _encode(stays.counters.last), newest),
            *(moves.key, moves.version.encode(), _encode(last), _encode(self._window)),
            *(part for field in fields for part in field),
        )
        names = self._layout.story(stays.key), self._layout.story(moves.key), *self._layout.names("stories", "events")
        (answer,) = await self._types.run_or_raise(client, [(script("unite"), names, arguments)])
        return answer is not None

    async def _final(self, client: Redis, key: bytes) -> _StoredStory:
        """Return the story that a story became a part of, which may be itself."""
        found = await self._load(client, key)
        while found.counters.moved:
            found = await self._load(client, found.counters.moved)
        return found

    async def _load(self, client: Redis, key: bytes) -> _StoredStory:
        fields = cast("dict[bytes, bytes]", await client.hgetall(self._layout.story(key)))
        stored = [fields.get(name.encode()) for name in COUNTERS]
        counters = self._damage.counters(key, _typed(stored)) if fields else StoryCounters()
        version = b" ".join(fields.get(name, b"") for name in (b"joined", b"levels", b"told", b"moved"))
        members = [(each, packed) for each, packed in fields.items() if len(each) == KEY_BYTES]
        return _StoredStory(key, counters, members, version.decode("ascii", "replace"))

    async def claim(self, client: Redis, claim: Claim) -> Granted | None:
        key = bytes.fromhex(claim.story)
        numbers = LEVEL_BITS.get(claim.level, 0), claim.last_source, *claim.extent
        rest = self._window, ENDED_SECONDS, claim.token, claim.note, int(time.time())
        keys = self._layout.story(key), *self._layout.names("events", "ended", "grants")
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
        for _, token in grants:
            pipeline.hdel(*self._layout.names("grants"), token)
        await pipeline.execute()

    async def take_over(self, client: Redis, seconds: float) -> list[UnconfirmedGrant]:
        arguments = [str(int(number)).encode() for number in (seconds, MOST_TAKEN_OVER, time.time())]
        (answer,) = await self._types.run_or_raise(
            client, [(script("take_over"), self._layout.names("grants"), arguments)]
        )
        flat = cast("list[bytes]", answer)
        taken_over = []
        for token, grant in zip(flat[::2], flat[1::2], strict=True):
            key, items, sources, changes, note = grant.decode("utf-8", "replace").split(" ", 4)
            key = (await self.final_stories(client, [key])).get(key, key)
            name = self._layout.story(bytes.fromhex(key))
            kept = cast("list[bytes | None]", await client.hmget(name, list(COUNTERS)))
            story = None if kept[0] is None else self._damage.readable_story(bytes.fromhex(key), _typed(kept))
            if story is None:  # it is gone or damaged
                await self.confirm(client, [(key, token.decode())])
            else:
                story = replace(story, signalled=Extent(int(items), int(sources), int(changes)))
                taken_over.append(UnconfirmedGrant(token.decode(), note, story, await self.members(client, key)))
        return taken_over

    async def open_events(self, client: Redis, quiet_since: int | None) -> list[Story]:
        newest = "+inf" if quiet_since is None else quiet_since
        (events,) = self._layout.names("events")
        keys = cast("list[bytes]", await client.zrangebyscore(events, "-inf", newest))
        pipeline = client.pipeline(transaction=False)
        for key in keys:
            pipeline.hmget(self._layout.story(key), list(COUNTERS))
        stories = []
        for key, answer in zip(keys, await pipeline.execute(raise_on_error=False), strict=True):
            if isinstance(answer, Exception):
                if not is_wrong_type(answer):
                    raise answer
                await self._types.look_at(client, [self._layout.story(key)])
            elif answer[0] is None:
                await client.zrem(events, key)  # its story has expired
            elif (story := self._damage.readable_story(key, _typed(answer))) is not None:
                stories.append(story)
        return sorted(stories, key=lambda story: story.id)

    async def members(self, client: Redis, story: str) -> tuple[Member, ...]:
        return _members(cast("dict[bytes, bytes]", await client.hgetall(self._layout.story(bytes.fromhex(story)))))

    async def ended_events(self, client: Redis, since: int) -> list[EventSources]:
        (name,) = self._layout.names("ended")
        kept = cast("list[bytes]", await client.zrangebyscore(name, since, "+inf"))
        newest = {each[:KEY_BYTES]: each[KEY_BYTES:] for each in kept}  # a story may have ended twice
        return [read_sources(sources) for sources in newest.values()]

    async def unlink_dead(self, client: Redis, span: ExpiredSpan) -> None:
        """Free stories whose last member has left the window."""
        (name,) = self._layout.names("stories")
        found = client.zrangebyscore(name, span.floor, f"({span.horizon}", start=0, num=_UNLINKED_AT_ONCE)
        if dead := cast("list[bytes]", await found):
            await client.unlink(*map(self._layout.story, dead))
            await client.zrem(name, *dead)

    def _join_call(self, join: Join, key: bytes) -> ScriptCall:
        numbers = int(join.counted), int(join.member.status == "duplicate"), join.time
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
        return script("join"), (self._layout.story(key), *self._layout.names("stories", "events")), arguments

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
