"""Stories in Redis, under the hash tag of the window they belong to; every key expires.

``…:story:<id>`` HASH counters and members, until a window after the last member
``…:stories``    ZSET story -> the latest second of a member
``…:events``     ZSET story -> second of the newest source, of events that have not ended
``…:peaks``      ZSET story -> most new sources within an hour, of events that have ended
``…:grants``     HASH token -> a grant that is not confirmed (see claim.lua), until two windows after the newest
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from scrapy_neardup.document import Claim, Extent, Granted, Join, Member, Story, UnconfirmedGrant
from scrapy_neardup.exceptions import StoreError
from scrapy_neardup.index.base import MOST_TAKEN_OVER, PEAKS_SECONDS
from scrapy_neardup.index.damage import DamageLog
from scrapy_neardup.index.horizon import ExpiredSpan
from scrapy_neardup.index.redis.lua import Call, script
from scrapy_neardup.index.redis.types import WrongTypes, is_wrong_type
from scrapy_neardup.records.documents import KEY_BYTES
from scrapy_neardup.records.members import owner_hash, pack_member, read_members
from scrapy_neardup.records.neighbours import pack_neighbour
from scrapy_neardup.records.stories import LEVEL_BITS, StoryCounters, read_extent

if TYPE_CHECKING:
    from redis.asyncio import Redis

_COUNTERS = (
    *("joined", "items", "copies", "levels", "last", "ids", "sources"),
    *("said", "changes", "told", "languages", "neighbours"),
)
_UNLINKED_AT_ONCE = 1000


class RedisStories:
    """The stories of one namespace and configuration. Methods raise what redis-py raises."""

    def __init__(self, prefix: str, window: int, types: WrongTypes) -> None:
        self._prefix = prefix
        self._types = types
        self._window = window
        self._damage = DamageLog(prefix)
        names = "stories", "events", "peaks", "grants"
        self._all, self._open, self._peaks, self._grants = (f"{prefix}:{name}" for name in names)

    async def join(self, client: Redis, batch: Sequence[Join]) -> list[Story | BaseException]:
        answers = await self._run(client, "join", [self._join_call(join) for join in batch])
        return [_story(join.story, answer) for join, answer in zip(batch, answers, strict=True)]

    async def claim(self, client: Redis, batch: Sequence[Claim]) -> list[Granted | BaseException | None]:
        answers = await self._run(client, "claim", [self._claim_call(claim) for claim in batch])
        return [_granted(answer) for answer in answers]

    async def _run(self, client: Redis, name: str, calls: Sequence[Call]) -> list[object]:
        return await self._types.run(client, [(script(name), *call) for call in calls])

    async def confirm(self, client: Redis, grants: Sequence[tuple[str, str]]) -> None:
        if grants:
            await client.hdel(self._grants, *(token for _, token in grants))

    async def take_over(self, client: Redis, seconds: float) -> list[UnconfirmedGrant]:
        arguments = [str(int(number)).encode() for number in (seconds, MOST_TAKEN_OVER, time.time())]
        (answer,) = await self._run(client, "untold", [((self._grants,), arguments)])
        if isinstance(answer, Exception):
            raise answer
        flat = cast("list[bytes]", answer)
        untold = []
        for token, grant in zip(flat[::2], flat[1::2], strict=True):
            key, items, sources, changes, note = grant.decode("utf-8", "replace").split(" ", 4)
            story = await self._story_now(client, key, Extent(int(items), int(sources), int(changes)))
            if story is None:
                await client.hdel(self._grants, cast("str", token))  # redis-py takes bytes too
            else:
                untold.append(UnconfirmedGrant(token.decode(), note, story, await self.members(client, key)))
        return untold

    async def _story_now(self, client: Redis, key: str, reported: Extent) -> Story | None:
        """Return a story as it is now, None if it is gone or damaged."""
        name = self._name(bytes.fromhex(key))
        kept = cast("list[bytes | None]", await client.hmget(name, list(_COUNTERS)))
        if kept[0] is None:
            return None
        story = _story(key, kept)
        if isinstance(story, BaseException):
            self._damage.warn_of_story()
            return None
        return replace(story, signalled=reported)

    async def open_events(self, client: Redis, quiet_since: int | None) -> list[Story]:
        newest = "+inf" if quiet_since is None else quiet_since
        keys = sorted(cast("list[bytes]", await client.zrangebyscore(self._open, "-inf", newest)))
        pipeline = client.pipeline(transaction=False)
        for key in keys:
            pipeline.hmget(self._name(key), list(_COUNTERS))
        answers = await pipeline.execute(raise_on_error=False)
        stories = []
        for key, answer in zip(keys, answers, strict=True):
            if isinstance(answer, Exception):
                if not is_wrong_type(answer):
                    raise answer
                await self._types.look_at(client, [self._name(key)])
            elif answer[0] is None:
                await client.zrem(self._open, key)  # its story has expired
            elif isinstance(story := _story(key.hex(), answer), BaseException):
                self._damage.warn_of_story()
            else:
                stories.append(story)
        return stories

    async def members(self, client: Redis, story: str) -> tuple[Member, ...]:
        return _members(cast("dict[bytes, bytes]", await client.hgetall(self._name(bytes.fromhex(story)))))

    async def peaks(self, client: Redis, since: int) -> dict[str, int]:
        kept = cast("list[tuple[bytes, float]]", await client.zrange(self._peaks, 0, -1, withscores=True))
        oldest = since.to_bytes(4, "big")
        if gone := [key for key, _ in kept if key < oldest]:
            await client.zrem(self._peaks, *gone)
        return {key.hex(): int(peak) for key, peak in kept if key >= oldest}

    async def unlink_dead(self, client: Redis, span: ExpiredSpan) -> None:
        """Free stories whose last member has left the window."""
        found = client.zrangebyscore(self._all, span.floor, f"({span.horizon}", start=0, num=_UNLINKED_AT_ONCE)
        dead = cast("list[bytes]", await found)
        if dead:
            await client.unlink(*map(self._name, dead))
            await client.zrem(self._all, *dead)

    def _name(self, key: bytes) -> str:
        return f"{self._prefix}:story:{key.hex()}"

    def _join_call(self, join: Join) -> Call:
        """Return keys and arguments of one call of ``join.lua``."""
        numbers = int(join.counted), int(join.member.status == "duplicate")
        return (self._name(bytes.fromhex(join.story)), self._all, self._open), (
            *_arguments(join.first),
            *_arguments(join.member),
            *map(_encode, numbers),
            *(join.figures_before, join.figures_after, join.figures),
            pack_neighbour(join.neighbour),
            bytes.fromhex(join.registered_before),
            _encode(self._window),
        )

    def _claim_call(self, claim: Claim) -> Call:
        """Return keys and arguments of one call of ``claim.lua``."""
        key = bytes.fromhex(claim.story)
        numbers = LEVEL_BITS.get(claim.level, 0), claim.last_source, *claim.extent, claim.peak
        rest = self._window, PEAKS_SECONDS, claim.token, claim.note, int(time.time())
        return (self._name(key), self._open, self._peaks, self._grants), (key, *map(_encode, (*numbers, *rest)))


def _encode(value: object) -> bytes:
    return str(value).encode()


def _arguments(member: Member) -> tuple[bytes, ...]:
    language = member.language.encode("utf-8", "replace")
    return bytes.fromhex(member.id), pack_member(member), owner_hash(member), language


def _story(story: str, answer: object) -> Story | BaseException:
    if isinstance(answer, BaseException):
        return answer
    joined, items, copies, levels, last, ids, sources, *more = cast("list[bytes]", answer)
    try:
        # Redis has no value for counters that the story did not need yet.
        said, changes, told, languages, neighbours = (value or b"" for value in more)
        counters = int(joined), int(items), int(copies), int(levels), int(last), ids, sources
        tally = StoryCounters(*counters, said, changes, told.decode(), languages.decode(), neighbours)
        return tally.story(bytes.fromhex(story))
    except StoreError as error:
        return error
    except (TypeError, ValueError) as error:
        return StoreError(f"story {story}: its counters are not those of this version ({error})")


def _granted(answer: object) -> Granted | BaseException | None:
    if answer is None or isinstance(answer, BaseException):
        return answer
    flat = cast("list[bytes]", answer)
    fields = dict(zip(flat[::2], flat[1::2], strict=True))
    return Granted(_members(fields), read_extent(fields.get(b"told", b"").decode("ascii", "replace")))


def _members(fields: dict[bytes, bytes]) -> tuple[Member, ...]:
    """Fields of 8 bytes are document keys; no counter has a name of that length."""
    return read_members((key, packed) for key, packed in fields.items() if len(key) == KEY_BYTES)
