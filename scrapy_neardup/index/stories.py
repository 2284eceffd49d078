"""Stories, their events, and events on their way; every key expires.

``…:story:<id>`` HASH counters, version and members, until a window after the last member
``…:stories``    HASH story -> the latest second of a member
``…:events``     HASH story -> nothing, of events that have not ended
``…:ended``      HASH story -> its packed sources, of events that have ended
``…:outbox``     HASH token -> a claim that was granted, until all its receivers have the event, or for a window
``…:began``      HASH "first": when the first crawl began, until a window after the start of the last one

A story has the fields "counts" (see ``records/stories.py``) and "version". Each member that is kept has a field, by its
document key. A story that became a part of another one says so in its counters, and then only its last second changes.

Whoever changes a story reads it, decides by ``records/membership.py``, and swaps; see store.py.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import cast

from scrapy_neardup.document import LAST_SECOND
from scrapy_neardup.exceptions import StoreError
from scrapy_neardup.index.layout import Steps, reads, swaps
from scrapy_neardup.index.runs import Heartbeats
from scrapy_neardup.index.store import (
    Argument,
    Call,
    Client,
    Commit,
    ConflictError,
    Expected,
    answers,
    new_version,
    swap,
)
from scrapy_neardup.records.documents import WITHDRAWN
from scrapy_neardup.records.membership import MOST_FOLLOWED, begin_story, count_join, grant, may_unite, unite
from scrapy_neardup.records.stored_stories import (
    FIELDS,
    StoredStories,
    StoredStory,
    asked_story,
    followed,
    members_of,
    missing_stories,
    whole_story,
)
from scrapy_neardup.records.stories import (
    MUTED,
    StoryChange,
    StoryCounters,
    pack_claim,
    read_claim,
    read_counters,
    read_extent,
    read_members,
    read_sources,
)
from scrapy_neardup.rules.policy import HOUR
from scrapy_neardup.story import CRAWL, Claim, EventSources, Join, Member, Story

ENDED_SECONDS = 8 * 24 * HOUR
"""How long the sources of events that have ended are kept, before the newest source of the last of them."""

MOST_TAKEN_OVER = 64
"""How many events of dead crawls one process takes over at a time. The rest follow a minute later."""

MOST_WAITING = 10_000
"""How many events on their way are kept. Further ones cannot be taken over."""

_NOBODY = WITHDRAWN  # no crawl has this number
_UNLINKED_AT_ONCE = 1000  # stories that are looked at, or removed, while checks wait


@dataclass(frozen=True, slots=True)
class Granted:
    """A claim that is granted, with the story that it is for."""

    claim: Claim  # with the extent that was signalled before
    story: Story  # as it is now
    members: tuple[Member, ...]  # in the order they joined


class Stories(Steps):
    """The stories of one namespace and configuration, and their events.

    A document joins its story when it is checked, see ``Index.check``. A level of an event is granted to one claim, and
    to that claim as often as it asks.
    """

    run: int = 0
    """Number of the crawl that makes claims, 0 if it sends no heartbeats."""

    async def read(self, client: Client, stories: StoredStories, joins: Sequence[Join]) -> None:
        """Read the stories that documents join, and the stories that those became a part of, into ``stories``."""
        for _ in range(MOST_FOLLOWED):
            if not (missing := missing_stories(stories, joins)):
                break
            calls = [Call("HMGET", self.layout.story(key), (*FIELDS, *each)) for key, each in missing.items()]
            for (key, members), values in zip(missing.items(), await client.send(calls), strict=True):
                stories[key] = asked_story(key, members, values)

    def join(self, stories: StoredStories, join: Join) -> tuple[Story, list[Expected], list[Call]]:
        """Return the story after a join, and how it is written: nothing if the document is a member already.

        ``stories`` are changed as if that had been done. Raise StoreError or an error of the store if the story
        cannot be used.
        """
        *moved, key = followed(stories, join)
        story = stories.get(key, ConflictError("the story is a part of too many others"))
        if isinstance(story, Exception):
            raise story
        writes = [call for each in moved for call in self._remember_moved(stories[each], join)]
        counters, before = story.counters, story.counters.joined
        expected = [Expected(Call("HGET", self.layout.story(key), ("version",)), story.version)]
        to_keep = count_join(counters, join, {each.hex() for each in story.members}, key.hex())
        after = counters.story(key)
        if counters.joined == before:
            return after, [], writes
        # A member dated far ahead does not keep the story for ever.
        seconds = self.policy.window + min(self.policy.window, counters.last - join.member.seen_at)
        writes += self._writes(story, seconds, to_keep)
        new = dict.fromkeys((*dict(to_keep), bytes.fromhex(join.member.id)))
        writes += self.layout.log(*(StoryChange("joined", key, each) for each in new))
        story.members.update(to_keep)
        story.version = new_version()
        writes.append(Call("HSET", self.layout.story(key), ("version", story.version)))
        return after, expected, writes

    def _remember_moved(self, moved: StoredStory | Exception, join: Join) -> list[Call]:
        """Return the commands that remember where a story went, for as long as documents come."""
        assert isinstance(moved, StoredStory)
        moved.counters.last = max(moved.counters.last, join.member.seen_at)
        return self._writes(moved, 2 * self.policy.window)

    @swaps
    async def unite(self, client: Client, story: str, other: Member) -> Story:
        """Make one story of a story and of the story that begins with another document. Return the united story.

        The story with the lower id stays: it takes over members, counters, sources and levels of the other one. Joins
        and claims for the other one are then for the story that stays. Uniting again changes nothing. Raise
        StoreUnavailable if the store does not answer in time; then unite again.
        """
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
        writes = self._writes(stays, 2 * self.policy.window, members) + self._writes(moves, 2 * self.policy.window)
        begun_changes = [StoryChange("joined", found[1].key, each) for each, _ in begun]
        writes += self.layout.log(*begun_changes, StoryChange("united", moves.key, stays.key))
        if moves.members:
            writes.append(Call("HDEL", self.layout.story(moves.key), [*moves.members]))
        await swap(client, {self.layout.story(each.key): each.version for each in (stays, moves)}, writes)
        return stays.counters.story(stays.key)

    @swaps
    async def began(self, client: Client, second: int) -> int:
        """Note that a crawl began at this second. Return when the first one began, if that is within a window."""
        key, first = self.layout.name("began"), b"first"
        (kept,) = await answers(client, [Call("HGET", key, (first,))])
        began = min(second, int(cast("bytes", kept or b"%d" % second)))
        await answers(client, [Call("HSET", key, (first, began)), Call("EXPIRE", key, (self.policy.window,))])
        return began

    @swaps
    async def mute(self, client: Client, story: str, *, muted: bool) -> Story | None:
        """Mute a story, or raise its events again. Return the story, or None if there is none with this id.

        The story stays muted for as long as it lives, also as a part of another story, which is then muted too.
        """
        found = await self._final(client, bytes.fromhex(story))
        counters = found.counters
        if not counters.joined:
            return None
        counters.levels = counters.levels | MUTED if muted else counters.levels & ~MUTED
        writes = [*self._writes(found), *self.layout.log(StoryChange("muted", found.key))]
        await swap(client, {self.layout.story(found.key): found.version}, writes)
        return counters.story(found.key)

    @reads
    async def final_stories(self, client: Client, stories: Collection[str]) -> dict[str, str]:
        """Return for each of these stories that became a part of another one the id of the story it is a part of."""
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
            (answer,) = await answers(client, [self._read_whole(key)])
            found = whole_story(key, answer)
            if not found.counters.moved:
                return found
            key = found.counters.moved

    def _read_whole(self, key: bytes) -> Call:
        return Call("HGETALL", self.layout.story(key))

    def _writes(
        self, story: StoredStory, seconds: int = 0, members: Collection[tuple[bytes, bytes]] = ()
    ) -> list[Call]:
        """Return the commands that write new members and what has changed of a story, except its version.

        It then lives for ``seconds``; with 0 it lives as long as before.
        """
        counters, name, two_windows = story.counters, self.layout.story(story.key), 2 * self.policy.window
        fields: list[Argument] = ["counts", counters.pack(), *(each for member in members for each in member)]
        writes = [
            Call("HSET", self.layout.stories, (story.key, counters.last)),
            Call("EXPIRE", self.layout.stories, (two_windows,)),
            Call("HSET", name, fields),
        ]
        if counters.is_open:
            writes.append(Call("HSET", self.layout.events, (story.key, b"")))
            writes.append(Call("EXPIRE", self.layout.events, (two_windows,)))
        elif story.was_open:
            writes.append(Call("HDEL", self.layout.events, (story.key,)))
        story.was_open = counters.is_open
        return [*writes, Call("EXPIRE", name, (seconds,))] if seconds else writes

    @swaps
    async def claim(self, client: Client, claim: Claim) -> Granted | None:
        """Return the grant if the level or update is granted to the claim, else None.

        In the same atomic step the claim is kept as an event on its way. Then it is granted again whenever it asks.
        Raise StoreUnavailable if the store does not answer in time; then ask again with the same token.
        """
        key, outbox = bytes.fromhex(claim.story), self.layout.outbox
        calls = [
            Call("RUNS", self.layout.runs),
            Call("HGET", outbox, (claim.token,)),
            Call("HLEN", outbox),
            Call("HGETALL", self.layout.ended),
            self._read_whole(key),
        ]
        clock, granted, waiting, ended, whole = await answers(client, calls)
        if granted:
            _, claim = read_claim(claim.token.encode(), cast("bytes", granted))
            return _granted(claim, await self._final(client, bytes.fromhex(claim.story)))
        story = whole_story(key, whole)
        counters = story.counters
        claim = replace(claim, signalled=read_extent(counters.signalled), run=self.run)
        if not counters.joined or counters.moved or not grant(counters, claim):
            return None
        change = StoryChange(claim.level, key, bytes.fromhex(claim.item) if claim.item else bytes(8), claim.time)
        writes = [*self._writes(story), *self.layout.log(change)]
        if claim.level == "ended" and counters.sources:
            oldest = counters.newest_source - ENDED_SECONDS
            old = [each for each, sources in _by_newest(ended) if sources[-1][0] < oldest]
            writes += [Call("HDEL", self.layout.ended, old)] if old else []
            writes.append(Call("HSET", self.layout.ended, (key, counters.sources)))
            writes.append(Call("EXPIRE", self.layout.ended, (ENDED_SECONDS,)))
        if claim.token and cast("int", waiting) < MOST_WAITING:
            writes.append(Call("HSET", outbox, (claim.token, pack_claim(_second(clock), claim))))
            writes.append(Call("EXPIRE", outbox, (2 * self.policy.window,)))
        await swap(client, {self.layout.story(key): story.version}, writes)
        return _granted(claim, story)

    @swaps
    async def confirm(self, client: Client, tokens: Sequence[str | bytes]) -> None:
        """Forget the events on their way with these tokens: all their receivers have them."""
        await self._forget(client, tokens)

    async def _forget(self, client: Client, tokens: Sequence[str | bytes]) -> None:
        if tokens:
            await answers(client, [Call("HDEL", self.layout.outbox, tokens)])

    @swaps
    async def hand_on(self, client: Client, token: str, receivers: Collection[bytes], *, keep: bool) -> None:
        """Note which receivers have not got an event yet. Unless the caller keeps it, others may take it over."""
        read = Call("HGET", self.layout.outbox, (token,))
        (packed,) = await answers(client, [read])
        if packed:
            second, claim = read_claim(token.encode(), cast("bytes", packed))
            left = replace(claim, receivers=tuple(receivers), run=self.run if keep else _NOBODY)
            write = Call("HSET", self.layout.outbox, (token, pack_claim(second, left)))
            await answers(client, [Commit([Expected(read, cast("bytes", packed))], [write])])

    @swaps
    async def take_over(
        self,
        client: Client,
        seconds: float,
        receivers: Collection[bytes] = (CRAWL,),
        in_hand: Container[str] = (),
    ) -> list[Granted]:
        """Return events on their way to these receivers that no living crawl has in hand. The caller sends them.

        No other caller gets them while the crawl of this one lives. If it is none, others get them after ``seconds``.
        ``in_hand`` has the tokens of the caller's own events. At most ``MOST_TAKEN_OVER`` are returned.
        """
        clock, rows = await answers(client, [Call("RUNS", self.layout.runs), Call("HGETALL", self.layout.outbox)])
        beats, now = Heartbeats(self.run), _second(clock)
        beats.note(clock)
        taken_over, gone = list[Granted](), list[bytes]()
        for token, packed in cast("dict[bytes, bytes]", rows).items():
            second, claim = self._read_waiting(token, packed, now)
            if claim is None:
                gone.append(token)
                continue
            is_wanted = claim.token not in in_hand and not frozenset(receivers).isdisjoint(claim.receivers)
            if not is_wanted or not _is_free(claim, beats, abs(now - second) >= int(seconds)):
                continue
            if (story := await self._story_of(client, claim)) is None:
                gone.append(token)
                continue
            claim = replace(claim, run=self.run)
            held = Call("HSET", self.layout.outbox, (token, pack_claim(second if self.run else now, claim)))
            expected = Expected(Call("HGET", self.layout.outbox, (token,)), packed)
            if await answers(client, [Commit([expected], [held])]) == [1]:  # else another process was faster
                taken_over.append(_granted(claim, story))
            if len(taken_over) == MOST_TAKEN_OVER:
                break
        await self._forget(client, gone)
        return taken_over

    def _read_waiting(self, token: bytes, packed: bytes, now: int) -> tuple[int, Claim | None]:
        """Return when an event on its way was claimed, and its claim: None if it is damaged, or too old."""
        try:
            second, claim = read_claim(token, packed)
        except StoreError:
            self.warn_damaged("an event on its way", "it is not sent")
            return 0, None
        return second, claim if now - second <= self.policy.window else None

    async def _story_of(self, client: Client, claim: Claim) -> StoredStory | None:
        """Return the story of an event, None if it has left the window or is damaged."""
        try:
            story = await self._final(client, bytes.fromhex(claim.story))
        except StoreError:
            self.warn_damaged("the story of an event on its way", "it is not sent")
            return None
        return story if story.counters.joined else None

    @reads
    async def open_events(self, client: Client, quiet_since: int | None = None) -> list[Story]:
        """Return the stories with a raised level that have not ended, in order of their ids.

        With ``quiet_since``, return only the stories without a new source since then.
        """
        (answer,) = await answers(client, [Call("HGETALL", self.layout.events)])
        keys = sorted(cast("dict[bytes, bytes]", answer))
        found = zip(keys, await self._counters_of(client, keys), strict=True)
        # A story that has expired has no counters.
        stories = [(counters, counters.story(key)) for key, counters in found if counters and counters.joined]
        latest = LAST_SECOND if quiet_since is None else quiet_since
        return [story for counters, story in stories if counters.newest_source <= latest]

    async def count(self, client: Client) -> int:
        """Count the stories without those that became a part of another one."""
        counters = await self._counters_of(client, await client.fields(self.layout.stories))
        return sum(each is None or not each.moved for each in counters)

    async def _counters_of(self, client: Client, keys: Iterable[bytes]) -> list[StoryCounters | None]:
        """Return the counters of stories, None for each story that is damaged."""
        keys = list(keys)
        found = list[StoryCounters | None]()
        calls = [Call("HGET", self.layout.story(key), ("counts",)) for key in keys]
        for key, packed in zip(keys, await answers(client, calls), strict=True):
            try:
                found.append(read_counters(key, cast("bytes | None", packed)))
            except StoreError:  # noqa: PERF203
                self.warn_damaged("a story", "its event is not reported")
                found.append(None)
        return found

    @reads
    async def members(self, client: Client, story: str) -> tuple[Member, ...]:
        """Return the members of a story that are kept, in the order they joined. A story that is gone has none."""
        (answer,) = await answers(client, [self._read_whole(bytes.fromhex(story))])
        return read_members(members_of(cast("dict[bytes, bytes]", answer)).items())

    @reads
    async def ended_events(self, client: Client, since: int) -> list[EventSources]:
        """Return the sources of each event that has ended and whose newest source came at ``since`` or later.

        They are kept for ``ENDED_SECONDS``.
        """
        (answer,) = await answers(client, [Call("HGETALL", self.layout.ended)])
        return [sources for _, sources in _by_newest(answer) if sources[-1][0] >= since]

    @swaps
    async def unlink_dead(
        self, client: Client, names: Sequence[str], first: int, end: int, part: Argument
    ) -> Argument | None:
        """Remove these keys, and those stories of a part that are dead. The first part is 0. Return the next one.

        Stories are dead if their last member is of the seconds from ``first`` to before ``end``; earlier ones if they
        have expired.
        """
        unlinks = [Call("UNLINK", name) for name in names]
        scan = Call("HSCAN", self.layout.stories, (part, "COUNT", _UNLINKED_AT_ONCE))
        (answer, *_) = await answers(client, [scan, *unlinks])
        next_part, found = cast("tuple[Argument, dict[bytes, bytes]]", answer)
        over = {key: int(second) for key, second in found.items() if second.isdigit() and int(second) < end}
        earlier = [key for key, second in over.items() if second < first]
        exist = await answers(client, [Call("HEXISTS", self.layout.story(key), ("counts",)) for key in earlier])
        living = {key for key, exists in zip(earlier, exist, strict=True) if exists}
        dead = [key for key in over if key not in living]
        if dead:
            await answers(client, forget_stories(self.layout.prefix, dead[:_UNLINKED_AT_ONCE]))
        return (next_part or None) if len(dead) <= _UNLINKED_AT_ONCE else part


def _granted(claim: Claim, story: StoredStory) -> Granted:
    return Granted(claim, story.counters.story(story.key), read_members(story.members.items()))


def _second(clock: object) -> int:
    """Return the second by the clock of the store, from an answer to RUNS."""
    return cast("tuple[int, object]", clock)[0] // 1000


def _is_free(claim: Claim, beats: Heartbeats, is_old: bool) -> bool:
    """Decide whether no other crawl that lives has an event in hand. Without heartbeats its age tells."""
    return claim.run == beats.own or not beats.is_alive(claim.run) if claim.run else is_old


def forget_stories(prefix: str, stories: Sequence[bytes]) -> list[Call]:
    """Return the calls that remove stories. ``prefix`` is that of all keys of their configuration."""
    return [
        *(Call("UNLINK", f"{prefix}:story:{key.hex()}") for key in stories),
        *(Call("HDEL", f"{prefix}:{kind}", stories) for kind in ("stories", "events")),
    ]


def _by_newest(ended: object) -> list[tuple[bytes, EventSources]]:
    """Return the sources of events that have ended, by story, in the order of their newest source."""
    fields = cast("dict[bytes, bytes]", ended)
    found = [(key, sources) for key, packed in fields.items() if (sources := read_sources(packed))]
    return sorted(found, key=lambda each: (each[1][-1][0], each[0]))
