"""Stories, their events, and grants of events; every key expires.

``…:story:<id>`` HASH counters, version and members, until a window after the last member
``…:stories``    ZSET story -> the latest second of a member
``…:events``     ZSET story -> second of the newest source, of events that have not ended
``…:ended``      ZSET story and its packed sources -> second of the newest source, of events that have ended
``…:grants``     HASH token -> a grant that is not confirmed, until two windows after the newest

A story has the fields "counts" (see ``records/stories.py``) and "version", random bytes that change whenever the
story changes. Each member that is kept has a field, by its document key. A story that became a part of another one
says so in its counters, and no longer changes.

Whoever changes a story reads it, decides by ``rules/membership.py``, and swaps; see store.py.
"""

from __future__ import annotations

import random
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import cast

from scrapy_neardup.contracts import Granted
from scrapy_neardup.document import Claim, EventSources, Join, Member, Story
from scrapy_neardup.exceptions import StoreError
from scrapy_neardup.index.layout import Layout
from scrapy_neardup.index.store import Argument, Call, Client, Commit, ConflictError, Expected, run, swap
from scrapy_neardup.records.documents import KEY_BYTES
from scrapy_neardup.records.stories import (
    MUTED,
    DamageLog,
    StoryCounters,
    pack_grant,
    read_counters,
    read_extent,
    read_grant,
    read_members,
    read_sources,
)
from scrapy_neardup.rules.membership import (
    MOST_FOLLOWED,
    MOST_GRANTS,
    begin_story,
    count_join,
    grant,
    may_unite,
    unite,
)
from scrapy_neardup.rules.policy import HOUR

ENDED_SECONDS = 8 * 24 * HOUR
"""How long the sources of events that have ended are kept, before the newest source of the last of them."""

MOST_TAKEN_OVER = 64
"""How many events of dead processes one process takes over at a time. The rest follow a minute later."""

_UNLINKED_AT_ONCE = 1000
_FIELDS = "counts", "version"
_VERSION_BYTES = 6


class Stories:
    """The stories of one namespace and configuration. Errors of the store are passed on."""

    def __init__(self, layout: Layout, window: int, damage: DamageLog) -> None:
        self._layout = layout
        self._window = window
        self._damage = damage
        self._stories, self._events, self._ended, self._grants = map(
            layout.name, ("stories", "events", "ended", "grants")
        )

    async def read(self, client: Client, stories: StoredStories, joins: Sequence[Join]) -> None:
        """Read the stories that documents join, and the stories that those became a part of, into ``stories``."""
        for _ in range(MOST_FOLLOWED):
            missing: dict[bytes, set[bytes]] = {}
            for join in joins:
                key, members = _followed(stories, join)[-1], _members_asked(join)
                story = stories.get(key)
                if story is None or (isinstance(story, StoredStory) and not members <= story.asked):
                    missing.setdefault(key, set()).update(members)
            if not missing:
                break
            calls = [Call("HMGET", self._layout.story(key), (*_FIELDS, *each)) for key, each in missing.items()]
            for (key, members), values in zip(missing.items(), await client.run(calls), strict=True):
                stories[key] = _asked(key, members, values)

    def join(self, stories: StoredStories, join: Join) -> tuple[Story, list[Expected], list[Call]]:
        """Return the story after a join, and how it is written: nothing if the document is a member already.

        ``stories`` are changed as if that had been done. Raise StoreError or an error of the store if the story
        cannot be used.
        """
        *moved, key = _followed(stories, join)
        story = stories.get(key, ConflictError("the story is a part of too many others"))
        if isinstance(story, Exception):
            raise story
        remembered = [call for each in moved for call in self._remember_moved(each, join)]
        counters, before, expected = story.counters, story.counters.joined, [self._expected(story)]
        to_keep = count_join(counters, join, {each.hex() for each in story.members}, key.hex())
        after = counters.story(key)
        if counters.joined == before:
            return after, [], remembered
        # A member dated far ahead does not keep the story for ever.
        seconds = self._window + min(self._window, counters.last - join.member.seen_at)
        writes = self._writes(story, seconds, to_keep)
        story.members.update(to_keep)
        return after, expected, remembered + writes

    def _remember_moved(self, key: bytes, join: Join) -> list[Call]:
        """Return the commands that remember where a story went, for as long as documents come."""
        return [
            Call("EXPIRE", self._layout.story(key), (2 * self._window,)),
            Call("ZADD", self._stories, ("GT", join.member.seen_at, key)),
        ]

    async def unite(self, client: Client, story: str, other: Member) -> Story:
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
        expected = [self._expected(stays), self._expected(moves)]
        writes = self._writes(stays, 2 * self._window, members) + self._writes(moves, 2 * self._window)
        if moves.members:
            writes.append(Call("HDEL", self._layout.story(moves.key), [*moves.members]))
        await swap(client, expected, writes)
        return stays.counters.story(stays.key)

    async def mute(self, client: Client, story: str, *, muted: bool) -> Story | None:
        """See ``Index.mute``. Raise ConflictError if others change the story meanwhile."""
        found = await self._final(client, bytes.fromhex(story))
        counters = found.counters
        if not counters.joined:
            return None
        counters.levels = counters.levels | MUTED if muted else counters.levels & ~MUTED
        await swap(client, [self._expected(found)], self._writes(found))
        return counters.story(found.key)

    async def final_stories(self, client: Client, stories: Collection[str]) -> dict[str, str]:
        final: dict[str, str] = {}
        asked = {story: bytes.fromhex(story) for story in stories}
        for _ in range(MOST_FOLLOWED):
            found = zip(asked, await self._counters_of(client, asked.values()), strict=True)
            asked = {story: counters.moved for story, counters in found if counters and counters.moved}
            final |= {story: key.hex() for story, key in asked.items()}
            if not asked:
                break
        return final

    async def _final(self, client: Client, key: bytes) -> StoredStory:
        """Return the story that a story became a part of, which may be itself, with all its members."""
        while True:
            (answer,) = await run(client, [self._read_whole(key)])
            found = _whole(key, answer)
            if not found.counters.moved:
                return found
            key = found.counters.moved

    def _read_whole(self, key: bytes) -> Call:
        return Call("HGETALL", self._layout.story(key))

    def _expected(self, story: StoredStory) -> Expected:
        return Expected(Call("HGET", self._layout.story(story.key), ("version",)), story.version)

    def _writes(
        self, story: StoredStory, seconds: int = 0, members: Collection[tuple[bytes, bytes]] = ()
    ) -> list[Call]:
        """Return the commands that write new members and what has changed of a story.

        It then lives for ``seconds``; with 0 it lives as long as before.
        """
        counters, name, two_windows = story.counters, self._layout.story(story.key), 2 * self._window
        writes = [
            Call("ZADD", self._stories, (counters.last, story.key)),
            Call("EXPIRE", self._stories, (two_windows,)),
        ]
        if counters.is_open:
            writes.append(Call("ZADD", self._events, (counters.newest_source, story.key)))
            writes.append(Call("EXPIRE", self._events, (two_windows,)))
        elif story.was_open:
            writes.append(Call("ZREM", self._events, (story.key,)))
        version = new_version()
        story.was_open, (_, story.version) = counters.is_open, version
        fields: list[Argument] = ["counts", counters.pack(), *version]
        for member in members:
            fields += member
        writes.append(Call("HSET", name, fields))
        return [*writes, Call("EXPIRE", name, (seconds,))] if seconds else writes

    async def claim(self, client: Client, claim: Claim) -> Granted | None:
        """See ``Index.claim``. Raise ConflictError if others change the story meanwhile."""
        key = bytes.fromhex(claim.story)
        calls = [Call("HGET", self._grants, (claim.token,)), Call("HLEN", self._grants), self._read_whole(key)]
        granted, grants, whole = await run(client, calls)
        if granted:
            _, claim = read_grant(claim.token.encode(), cast("bytes", granted))
            return _granted(claim, await self._final(client, bytes.fromhex(claim.story)))
        story = _whole(key, whole)
        counters, claim = story.counters, replace(claim, signalled=read_extent(story.counters.signalled))
        if not counters.joined or counters.moved or not grant(counters, claim):
            return None
        writes: list[Call] = []
        if claim.level == "ended" and counters.sources:
            newest = counters.newest_source
            writes += [
                Call("ZADD", self._ended, (newest, story.key + counters.sources)),
                Call("ZREMRANGEBYSCORE", self._ended, ("-inf", f"({newest - ENDED_SECONDS}")),
                Call("EXPIRE", self._ended, (ENDED_SECONDS,)),
            ]
        if claim.token and cast("int", grants) < MOST_GRANTS:
            writes.append(Call("HSET", self._grants, (claim.token, pack_grant(int(time.time()), claim))))
            writes.append(Call("EXPIRE", self._grants, (2 * self._window,)))
        expected = [self._expected(story)]
        await swap(client, expected, writes + self._writes(story))
        return _granted(claim, story)

    async def confirm(self, client: Client, tokens: Sequence[str | bytes]) -> None:
        if tokens:
            await run(client, [Call("HDEL", self._grants, tokens)])

    async def take_over(self, client: Client, seconds: float) -> list[Granted]:
        """See ``Index.take_over``. A grant that another process takes over meanwhile is left to it."""
        (answer,) = await run(client, [Call("HGETALL", self._grants)])
        now, taken_over = int(time.time()), list[Granted]()
        for token, packed in cast("dict[bytes, bytes]", answer).items():
            try:
                second, claim = read_grant(token, packed)
                if abs(now - second) < int(seconds):  # also if it was a clock ahead that granted it
                    continue
                story = await self._final(client, bytes.fromhex(claim.story))
            except StoreError:
                self._damage.warn_once("a grant")
                await self.confirm(client, [token])
                continue
            if not story.counters.joined:  # it has left the window
                await self.confirm(client, [token])
                continue
            expected = Expected(Call("HGET", self._grants, (token,)), packed)
            renewed = Call("HSET", self._grants, (token, pack_grant(now, claim)))
            if await run(client, [Commit([expected], [renewed])]) == [1]:
                taken_over.append(_granted(claim, story))
            if len(taken_over) == MOST_TAKEN_OVER:
                break
        return taken_over

    async def open_events(self, client: Client, quiet_since: int | None) -> list[Story]:
        newest = "+inf" if quiet_since is None else quiet_since
        keys = await self._between(client, self._events, "-inf", newest)
        found = zip(keys, await self._counters_of(client, keys), strict=True)
        # A story that has expired has no counters.
        stories = [counters.story(key) for key, counters in found if counters and counters.joined]
        return sorted(stories, key=lambda story: story.id)

    async def count(self, client: Client) -> int:
        """Count the stories without those that became a part of another one."""
        keys = await self._between(client, self._stories, "-inf", "+inf")
        return sum(counters is None or not counters.moved for counters in await self._counters_of(client, keys))

    async def _counters_of(self, client: Client, keys: Iterable[bytes]) -> list[StoryCounters | None]:
        """Return the counters of stories, None for each story that is damaged."""
        keys = list(keys)
        found = list[StoryCounters | None]()
        calls = [Call("HGET", self._layout.story(key), ("counts",)) for key in keys]
        for key, packed in zip(keys, await run(client, calls), strict=True):
            try:
                found.append(read_counters(key, cast("bytes | None", packed)))
            except StoreError:  # noqa: PERF203
                self._damage.warn_once("a story")
                found.append(None)
        return found

    async def members(self, client: Client, story: str) -> tuple[Member, ...]:
        (answer,) = await run(client, [Call("HGETALL", self._layout.story(bytes.fromhex(story)))])
        return read_members(_members(cast("dict[bytes, bytes]", answer)).items())

    async def ended_events(self, client: Client, since: int) -> list[EventSources]:
        kept = await self._between(client, self._ended, since, "+inf")
        newest = {each[:KEY_BYTES]: each[KEY_BYTES:] for each in kept}  # a story may have ended twice
        return [read_sources(sources) for sources in newest.values()]

    async def unlink_dead(self, names: Sequence[str], first: int, end: int, client: Client) -> None:
        """Remove these keys, and the stories whose last member is of the seconds from ``first`` to before ``end``."""
        await run(client, [Call("UNLINK", name) for name in names])
        limits = "LIMIT", 0, _UNLINKED_AT_ONCE
        if dead := await self._between(client, self._stories, first, f"({end}", *limits):
            await run(client, forget_stories(self._layout.prefix, dead))

    async def _between(self, client: Client, key: str, low: Argument, high: Argument, *limits: Argument) -> list[bytes]:
        """Return the members of a sorted set between two scores."""
        return cast("list[bytes]", (await run(client, [Call("ZRANGEBYSCORE", key, (low, high, *limits))]))[0])


@dataclass(slots=True)
class StoredStory:
    """A story as it was read, and changed since."""

    key: bytes
    version: bytes  # empty if there is no such story
    counters: StoryCounters
    was_open: bool
    members: dict[bytes, bytes]  # packed, by document key: those that were asked for
    asked: set[bytes] = field(default_factory=set)


def _stored(key: bytes, values: Sequence[bytes | None], members: dict[bytes, bytes]) -> StoredStory:
    """Return a story from the values of its fields. Raise StoreError if they are damaged."""
    counters = read_counters(key, values[0])
    return StoredStory(key, values[1] or b"", counters, counters.is_open, members)


def _asked(key: bytes, members: Collection[bytes], answer: object) -> StoredStory | Exception:
    """Return a story with those of these members that it has. Return the error if it cannot be used."""
    if isinstance(answer, Exception):
        return answer
    values = cast("list[bytes | None]", answer)
    pairs = zip(members, values[len(_FIELDS) :], strict=True)
    try:
        story = _stored(key, values[: len(_FIELDS)], {each: packed for each, packed in pairs if packed})
    except StoreError as error:
        return error
    story.asked.update(members)
    return story


def _whole(key: bytes, answer: object) -> StoredStory:
    """Return a story with all its members, from all its fields. Raise StoreError if they are damaged."""
    fields = cast("dict[bytes, bytes]", answer)
    return _stored(key, [fields.get(name.encode()) for name in _FIELDS], _members(fields))


def _granted(claim: Claim, story: StoredStory) -> Granted:
    return Granted(claim, story.counters.story(story.key), read_members(story.members.items()))


def forget_stories(prefix: str, stories: Sequence[bytes]) -> list[Call]:
    """Return the calls that remove stories. ``prefix`` is that of all keys of their configuration."""
    return [
        *(Call("UNLINK", f"{prefix}:story:{key.hex()}") for key in stories),
        *(Call("ZREM", f"{prefix}:{kind}", stories) for kind in ("stories", "events")),
    ]


def new_version() -> tuple[str, bytes]:
    """Return the name and the next value of the field that changes with every swap of a story."""
    return "version", random.randbytes(_VERSION_BYTES)


def is_version(answer: object) -> bool:
    """Return whether the answer of a script is the version of a story that others changed, nothing if it is gone."""
    return isinstance(answer, bytes) and len(answer) <= _VERSION_BYTES


StoredStories = dict[bytes, "StoredStory | Exception"]
"""Stories as they were read and changed since, by key; in place of one that cannot be used its error."""


def _members_asked(join: Join) -> set[bytes]:
    return {bytes.fromhex(each) for each in (join.member.id, join.earlier_of_page) if each}


def _followed(stories: StoredStories, join: Join) -> list[bytes]:
    """Return the key of the story that a document joins, and of those that it became a part of, as far as known."""
    keys = [bytes.fromhex(join.story)]
    while isinstance(story := stories.get(keys[-1]), StoredStory) and story.counters.moved:
        keys.append(story.counters.moved)
    return keys


def _members(fields: Mapping[bytes, bytes]) -> dict[bytes, bytes]:
    """Return the members among the fields of a story, by document key: only they have names of that length."""
    return {name: value for name, value in fields.items() if len(name) == KEY_BYTES}
