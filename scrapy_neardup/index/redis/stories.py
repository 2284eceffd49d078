"""Stories in Redis; every key expires.

``…:story:<id>`` HASH counters, version and members, until a window after the last member
``…:stories``    ZSET story -> the latest second of a member
``…:events``     ZSET story -> second of the newest source, of events that have not ended
``…:ended``      ZSET story and its packed sources -> second of the newest source, of events that have ended
``…:grants``     HASH token -> a grant that is not confirmed, until two windows after the newest: "<second by the
                 claimant's clock> <story, hexadecimal> <items> <sources> <changes, at the signal before> <note>"

The fields of a story are those of ``records/stories.py``: a counter that has never changed may have none, except
``joined``. The version is random bytes, and changes whenever the story changes. Each member that is kept has a field,
by its document key. A story that became a part of another one has the field ``moved``; then it no longer changes.

Whoever changes a story reads it, decides by ``rules/membership.py``, and swaps; see swap.py.
"""

from __future__ import annotations

import random
import re
import time
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from operator import attrgetter
from typing import cast

from redis.asyncio import Redis
from redis.exceptions import RedisError

from scrapy_neardup.document import Claim, EventSources, Granted, Join, Member, Story, UnconfirmedGrant
from scrapy_neardup.exceptions import StoreError
from scrapy_neardup.index.base import ENDED_SECONDS, MOST_TAKEN_OVER, DamageLog
from scrapy_neardup.index.horizon import ExpiredSpan
from scrapy_neardup.index.redis import lua
from scrapy_neardup.index.redis.layout import RedisLayout
from scrapy_neardup.index.redis.lua import Argument, Call
from scrapy_neardup.index.redis.swap import ConflictError, Expected, retried, swap, swap_call
from scrapy_neardup.records.documents import KEY_BYTES
from scrapy_neardup.records.members import read_members
from scrapy_neardup.records.stories import COUNTERS, StoryCounters, pack_extent, read_extent, read_sources
from scrapy_neardup.rules.membership import (
    MOST_FOLLOWED,
    MOST_GRANTS,
    begin_story,
    count_join,
    grant,
    may_unite,
    unite,
)

_UNLINKED_AT_ONCE = 1000
_FIELDS = (*COUNTERS, "version")
_VERSION_BYTES = 6
_GRANT = re.compile(rb"(\d{1,12}) ([0-9a-f]{16}) (\d{1,12} \d{1,12} \d{1,12}) (.*)", re.DOTALL)
_values_of = attrgetter(*(field.name for field in fields(StoryCounters)))
_DEFAULTS: tuple[object, ...] = _values_of(StoryCounters())


class RedisStories:
    """The stories of one namespace and configuration. Errors of redis-py are passed on."""

    def __init__(self, layout: RedisLayout, window: int, damage: DamageLog) -> None:
        self._layout = layout
        self._window = window
        self._damage = damage
        self._stories, self._events, self._ended, self._grants = layout.names("stories", "events", "ended", "grants")

    async def join(self, client: Redis, batch: Sequence[Join]) -> list[Story | BaseException]:
        """Return the story after each join, or an error. Each story is read once and written once, unless others do."""
        joined: dict[int, Story | BaseException] = {}
        waiting = {number: bytes.fromhex(join.story) for number, join in enumerate(batch)}
        try:
            await retried(lambda: self._join(client, batch, waiting, joined))
        except StoreError as error:
            joined |= dict.fromkeys(waiting, error)
        return [joined[number] for number in range(len(batch))]

    async def _join(
        self,
        client: Redis,
        batch: Sequence[Join],
        waiting: dict[int, bytes],
        joined: dict[int, Story | BaseException],
    ) -> None:
        """Move joins from ``waiting``, which has the keys of their stories, to ``joined``.

        Raise ConflictError if others have changed one of the stories meanwhile.
        """
        for _ in range(MOST_FOLLOWED):
            numbers_of: dict[bytes, list[int]] = {}
            for number, key in waiting.items():
                numbers_of.setdefault(key, []).append(number)
            joins_of = {key: [batch[number] for number in numbers] for key, numbers in numbers_of.items()}
            calls = [self._read_call(key, joins) for key, joins in joins_of.items()]
            after: dict[bytes, Sequence[Story | BaseException]] = {}
            swaps: dict[bytes, Call] = {}
            remembered: list[Call] = []
            for call, values, (key, joins) in zip(
                calls, await lua.run_all(client, calls), joins_of.items(), strict=True
            ):
                try:
                    story = self._read_joined(key, call, values)
                    if story.counters.moved:
                        waiting.update(dict.fromkeys(numbers_of[key], story.counters.moved))
                        remembered += self._remember_moved(story, joins)
                        continue
                    after[key], writes = self._count_joins(story, joins)
                except (StoreError, RedisError) as error:
                    after[key], writes = [error] * len(joins), []
                if writes:
                    swaps[key] = swap_call([self._expected(story)], writes)
            swapped = dict(zip(swaps, await lua.run_all(client, [*swaps.values(), *remembered]), strict=False))
            for key, stories in after.items():
                if (outcome := swapped.get(key, True)) is not None:
                    for number, answer in zip(numbers_of[key], stories, strict=True):
                        del waiting[number]
                        joined[number] = outcome if isinstance(outcome, BaseException) else answer
            if None in swapped.values():
                raise ConflictError
            if not waiting:
                return
        raise ConflictError

    def _read_call(self, key: bytes, joins: Sequence[Join]) -> Call:
        """Return the call that reads the counters of a story, and which of the joining documents are members."""
        asked = {member for join in joins for member in (join.member.id, join.registered_before) if member}
        return "HMGET", (self._layout.story(key),), (*_FIELDS, *map(bytes.fromhex, asked))

    def _read_joined(self, key: bytes, call: Call, values: object) -> _StoredStory:
        """Return the story that this call has read. Raise an error that is in place of its values."""
        if isinstance(values, BaseException):
            raise values
        found, asked = cast("list[bytes | None]", values), cast("Sequence[bytes]", call[2][len(_FIELDS) :])
        members = zip(asked, found[len(_FIELDS) :], strict=True)
        return self._stored(
            key, found[: len(_FIELDS)], {each: packed for each, packed in members if packed is not None}
        )

    def _count_joins(self, story: _StoredStory, joins: Sequence[Join]) -> tuple[list[Story], list[Call]]:
        """Return the story after each join, and the commands that write it: none if all are members already.

        Raise StoreError if the counters are damaged.
        """
        counters, known = story.counters, {key.hex() for key in story.members}
        joined, second, after, to_keep = counters.joined, 0, list[Story](), list[tuple[bytes, bytes]]()
        try:
            for join in joins:
                before = counters.joined
                kept = count_join(counters, join, known, story.key.hex())
                known.update(key.hex() for key, _ in kept)
                to_keep += kept
                second = join.member.seen_at if counters.joined > before else second
                after.append(counters.story(story.key))
        except (ArithmeticError, ValueError) as error:
            raise StoreError(
                f"story {story.key.hex()}: its counters are not those of this version ({error})"
            ) from error
        if counters.joined == joined:
            return after, []
        # A member dated far ahead does not keep the story for ever.
        return after, self._writes(story, self._window + min(self._window, counters.last - second), to_keep)

    def _remember_moved(self, story: _StoredStory, joins: Sequence[Join]) -> list[Call]:
        """Return the commands that remember where a story went, for as long as documents come."""
        newest = max(join.member.seen_at for join in joins)
        return [
            ("EXPIRE", (self._layout.story(story.key),), (2 * self._window,)),
            ("ZADD", (self._stories,), (max(story.counters.last, newest), story.key)),
        ]

    async def unite(self, client: Redis, story: str, other: Member) -> Story:
        """See ``Index.unite``. Raise ConflictError if others change one of the two stories meanwhile."""
        found = [await self._final(client, bytes.fromhex(each)) for each in (story, other.id)]
        stays, moves = sorted(found, key=lambda each: each.key)
        if stays.key == moves.key:  # the one that was read last has what the other one brought
            return found[1].counters.story(found[1].key)
        if not may_unite(stays.counters, moves.counters):
            return found[0].counters.story(found[0].key)
        known, begun = {*stays.members}, list[tuple[bytes, bytes]]()
        if not found[1].counters.joined:
            begun = begin_story(found[1].counters, other)
            found[1].members.update(begun)
        moving = read_members(moves.members.items())
        to_keep = unite((stays.key, moves.key), stays.counters, moves.counters, moving)
        members = [each for each in (*(begun if found[1] is stays else ()), *to_keep) if each[0] not in known]
        writes = self._writes(stays, 2 * self._window, members) + self._writes(moves, 2 * self._window)
        await swap(client, [self._expected(stays), self._expected(moves)], writes)
        return stays.counters.story(stays.key)

    async def final_stories(self, client: Redis, stories: Collection[str]) -> dict[str, str]:
        final: dict[str, str] = {}
        asked = {story: bytes.fromhex(story) for story in stories}
        for _ in range(MOST_FOLLOWED):
            calls: list[Call] = [("HGET", (self._layout.story(key),), ("moved",)) for key in asked.values()]
            moved = zip(asked, await lua.run_all(client, calls), strict=True)
            asked = {story: key for story, key in moved if isinstance(key, bytes) and len(key) == KEY_BYTES}
            final |= {story: key.hex() for story, key in asked.items()}
            if not asked:
                break
        return final

    async def _final(self, client: Redis, key: bytes) -> _StoredStory:
        """Return the story that a story became a part of, which may be itself, with all its members."""
        found = await self._whole(client, key)
        while found.counters.moved:
            found = await self._whole(client, found.counters.moved)
        return found

    async def _whole(self, client: Redis, key: bytes) -> _StoredStory:
        return self._read_whole(key, (await lua.run_or_raise(client, [self._whole_call(key)]))[0])

    def _whole_call(self, key: bytes) -> Call:
        return "HGETALL", (self._layout.story(key),), ()

    def _read_whole(self, key: bytes, answer: object) -> _StoredStory:
        found, members = cast("dict[bytes, bytes]", answer), _members(answer)
        return self._stored(key, [found.get(name.encode()) for name in _FIELDS], members)

    def _stored(
        self, key: bytes, values: Sequence[bytes | None], members: Mapping[bytes, bytes] | None = None
    ) -> _StoredStory:
        """Return a story from the values of its fields. Raise StoreError if they are damaged."""
        before = _typed(values[:-1])
        counters = self._damage.counters(key, before)
        return _StoredStory(key, values[-1] or b"", counters, before, counters.is_open, dict(members or {}))

    def _expected(self, story: _StoredStory) -> Expected:
        return ("HGET", (self._layout.story(story.key),), ("version",)), story.version

    def _writes(
        self, story: _StoredStory, seconds: int = 0, members: Collection[tuple[bytes, bytes]] = ()
    ) -> list[Call]:
        """Return the commands that write new members and what has changed of a story.

        It then lives for ``seconds``; with 0 it lives as long as before.
        """
        counters, name, two_windows = story.counters, self._layout.story(story.key), 2 * self._window
        stories, events = (self._stories,), (self._events,)
        writes: list[Call] = [("ZADD", stories, (counters.last, story.key)), ("EXPIRE", stories, (two_windows,))]
        if counters.is_open:
            newest = counters.newest_source
            writes += [("ZADD", events, (newest, story.key)), ("EXPIRE", events, (two_windows,))]
        elif story.was_open:
            writes.append(("ZREM", events, (story.key,)))
        changed: list[Argument] = [*new_version()]
        for counter, before, value in zip(COUNTERS, story.before, _values_of(counters), strict=True):
            if value != before:
                changed += counter, value
        for member in members:
            changed += member
        writes.append(("HSET", (name,), changed))
        return [*writes, ("EXPIRE", (name,), (seconds,))] if seconds else writes

    async def claim(self, client: Redis, claim: Claim) -> Granted | None:
        """See ``Index.claim``. Raise ConflictError if others change the story meanwhile."""
        key = bytes.fromhex(claim.story)
        name = self._layout.story(key)
        calls: list[Call] = [("HGET", (self._grants,), (claim.token,)), ("HLEN", (self._grants,), ())]
        granted, grants, values = await lua.run_or_raise(client, [*calls, ("HMGET", (name,), _FIELDS)])
        if granted:
            found = _GRANT.fullmatch(cast("bytes", granted))
            final = (await self.final_stories(client, [claim.story])).get(claim.story, claim.story)
            return Granted(await self.members(client, final), read_extent(found[3].decode() if found else ""))
        story = self._stored(key, cast("list[bytes | None]", values))
        counters, signalled = story.counters, read_extent(story.counters.signalled)
        if not counters.joined or counters.moved or not grant(counters, claim):
            return None
        writes: list[Call] = []
        if claim.level == "ended" and counters.sources:
            newest, ended = counters.newest_source, (self._ended,)
            writes += [
                ("ZADD", ended, (newest, key + counters.sources)),
                ("ZREMRANGEBYSCORE", ended, ("-inf", f"({newest - ENDED_SECONDS}")),
                ("EXPIRE", ended, (ENDED_SECONDS,)),
            ]
        if claim.token and cast("int", grants) < MOST_GRANTS:
            kept = f"{int(time.time())} {claim.story} {pack_extent(signalled)} {claim.note}"
            writes += [
                ("HSET", (self._grants,), (claim.token, kept)),
                ("EXPIRE", (self._grants,), (2 * self._window,)),
            ]
        writes += self._writes(story)
        await swap(client, [self._expected(story)], writes)
        return Granted(await self.members(client, claim.story), signalled)

    async def confirm(self, client: Redis, grants: Sequence[tuple[str, str]]) -> None:
        if grants:
            await lua.run_or_raise(client, [("HDEL", (self._grants,), [token for _, token in grants])])

    async def take_over(self, client: Redis, seconds: float) -> list[UnconfirmedGrant]:
        """See ``Index.take_over``. A grant that another process takes over meanwhile is left to it."""
        (answer,) = await lua.run_or_raise(client, [("HGETALL", (self._grants,), ())])
        now, due, damaged = int(time.time()), list[tuple[bytes, re.Match[bytes]]](), list[Argument]()
        for token, kept in cast("dict[bytes, bytes]", answer).items():
            if (found := _GRANT.fullmatch(kept)) is None:
                damaged.append(token)
            elif abs(now - int(found[1])) >= int(seconds) and len(due) < MOST_TAKEN_OVER:  # or its clock was ahead
                due.append((token, found))
        calls = [
            swap_call(
                [(("HGET", (self._grants,), (token,)), found[0])],
                [("HSET", (self._grants,), (token, b"%d %b" % (now, found[0][found.end(1) + 1 :])))],
            )
            for token, found in due
        ]
        calls += [("HDEL", (self._grants,), damaged)] if damaged else []
        taken_over = []
        for (token, found), was_taken in zip(due, await lua.run_or_raise(client, calls), strict=False):
            if was_taken is None:
                continue
            key, told, note = (part.decode("utf-8", "replace") for part in found.groups()[1:])
            key = (await self.final_stories(client, [key])).get(key, key)
            (counters,) = await self._counters_of(client, [bytes.fromhex(key)])
            is_gone = counters[0] is None
            story = None if is_gone else self._damage.readable_story(bytes.fromhex(key), _typed(counters))
            if story is None:  # it is gone or damaged
                await self.confirm(client, [(key, token.decode())])
            else:
                story = replace(story, signalled=read_extent(told))
                taken_over.append(UnconfirmedGrant(token.decode(), note, story, await self.members(client, key)))
        return taken_over

    async def open_events(self, client: Redis, quiet_since: int | None) -> list[Story]:
        newest = "+inf" if quiet_since is None else quiet_since
        keys = cast("list[bytes]", await client.zrangebyscore(self._events, "-inf", newest))
        stories = []
        for key, kept in zip(keys, await self._counters_of(client, keys), strict=True):
            if kept[0] is None:
                await client.zrem(self._events, key)  # its story has expired
            elif (story := self._damage.readable_story(key, _typed(kept))) is not None:
                stories.append(story)
        return sorted(stories, key=lambda story: story.id)

    async def _counters_of(self, client: Redis, keys: Sequence[bytes]) -> list[list[bytes | None]]:
        calls: list[Call] = [("HMGET", (self._layout.story(key),), COUNTERS) for key in keys]
        return cast("list[list[bytes | None]]", await lua.run_or_raise(client, calls))

    async def members(self, client: Redis, story: str) -> tuple[Member, ...]:
        (answer,) = await lua.run_or_raise(client, [self._whole_call(bytes.fromhex(story))])
        return read_members(_members(answer).items())

    async def ended_events(self, client: Redis, since: int) -> list[EventSources]:
        kept = cast("list[bytes]", await client.zrangebyscore(self._ended, since, "+inf"))
        newest = {each[:KEY_BYTES]: each[KEY_BYTES:] for each in kept}  # a story may have ended twice
        return [read_sources(sources) for sources in newest.values()]

    async def unlink_dead(self, client: Redis, span: ExpiredSpan) -> None:
        """Free stories whose last member has left the window."""
        found = client.zrangebyscore(self._stories, span.floor, f"({span.horizon}", start=0, num=_UNLINKED_AT_ONCE)
        if dead := cast("list[bytes]", await found):
            await client.unlink(*map(self._layout.story, dead))
            await client.zrem(self._stories, *dead)


@dataclass(slots=True)
class _StoredStory:
    """A story as it was read. ``counters`` are changed, ``before`` are not."""

    key: bytes
    version: bytes  # empty if there is no such story
    counters: StoryCounters
    before: list[object]
    was_open: bool
    members: dict[bytes, bytes]  # packed, by document key: those that were asked for


def new_version() -> tuple[str, bytes]:
    """Return the name and the next value of the field that changes with every swap of a story."""
    return "version", random.randbytes(_VERSION_BYTES)


def _members(answer: object) -> dict[bytes, bytes]:
    """Return the members among all fields of a story, packed, by document key: no counter has a name of that length."""
    return {field: value for field, value in cast("dict[bytes, bytes]", answer).items() if len(field) == KEY_BYTES}


def _typed(stored: Sequence[bytes | None]) -> list[object]:
    """Return stored counters in the types of their defaults."""
    pairs = zip(stored, _DEFAULTS, strict=True)
    return [default if value is None else _counter(value, default) for value, default in pairs]


def _counter(value: bytes, default: object) -> object:
    with suppress(ValueError):  # damaged: it stays bytes
        if isinstance(default, int):
            return int(value)
        if isinstance(default, str):
            return value.decode()
    return value
