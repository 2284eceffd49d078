"""Events on their way: who may raise a level of a story, and who sends the event to which receivers.

An event is on its way to a receiver from the step that grants its claim until this receiver has it. If the crawl that
has it in hand dies, another one with this receiver takes it over.
"""

import struct
from collections import Counter
from collections.abc import Collection, Container, Iterable
from dataclasses import dataclass, replace
from typing import cast

from scrapy_neardup.document import HOUR
from scrapy_neardup.exceptions import StoreError
from scrapy_neardup.index.layout import Part, Partition, reads, swaps
from scrapy_neardup.index.runs import Heartbeats
from scrapy_neardup.index.store import Call, Client, Commit, Expected, answers, swap
from scrapy_neardup.index.stories import Stories
from scrapy_neardup.records.stored_stories import FIELDS, StoredStory, asked_story, whole_story
from scrapy_neardup.records.stories import (
    RECEIVER_BYTES,
    StoryChange,
    language_of_owner,
    pack_claim,
    read_claim,
    read_extent,
    read_members,
    read_sources,
)
from scrapy_neardup.rules.membership import grant
from scrapy_neardup.story import CRAWL, Claim, EventSources, Member, Story

# How long the sources of events that have ended are kept, before the newest source of the last of them.
ENDED_SECONDS = 8 * 24 * HOUR

# How many owners are kept of each language. More would not change how many sources make an event.
MOST_OWNERS = 100

# How many events of dead crawls one process takes over at a time. The rest follow a minute later.
MOST_TAKEN_OVER = 64

# How many events on their way are kept, counted for each receiver. Further ones cannot be taken over.
MOST_WAITING = 10_000

# An event on its way to one receiver: the token of the event's claim, and the key of the receiver.
OutboxEntry = tuple[str, bytes]

_SECONDS = struct.Struct(">2I")


@dataclass(frozen=True, slots=True)
class Granted:
    """A claim that is granted, with the story that it is for."""

    claim: Claim  # with the extent that was signalled before
    story: Story  # as it is now
    members: tuple[Member, ...]  # in the order they joined


class Events(Part):
    """The events of the stories of one namespace and configuration.

    A level of an event is granted to one claim, and to that claim as often as it asks.
    """

    def __init__(self, partition: Partition, stories: Stories) -> None:
        super().__init__(partition)
        self._stories = stories

    @swaps
    async def claim(self, client: Client, claim: Claim) -> Granted | None:
        """Return the grant if the level or update is granted to the claim, else None.

        In the same atomic step the claim is kept as an event on its way. Then it is granted again whenever it asks.
        Raise StoreUnavailable if the store does not answer in time; then ask again with the same token.
        """
        key = bytes.fromhex(claim.story)
        outbox = self.layout.outbox
        calls = [
            Call("RUNS", self.layout.runs),
            Call("HGET", outbox, (_field((claim.token, claim.receivers[0])),)),
            Call("HLEN", outbox),
            Call("HGETALL", self.layout.ended),
            Call("HGETALL", self.layout.story(key)),
        ]
        clock, granted, waiting, ended, whole = await answers(client, calls)
        if granted:  # before, but the answer was lost
            _, granted_claim = read_claim(claim.token.encode(), cast("bytes", granted))
            granted_claim = replace(granted_claim, receivers=claim.receivers)
            return _granted(granted_claim, await self._stories.final(client, bytes.fromhex(granted_claim.story)))
        story = whole_story(key, whole)
        counters = story.counters
        claim = replace(claim, signalled=read_extent(counters.signalled), run=self.partition.run)
        if not counters.joined or counters.moved or not grant(counters, claim):
            return None
        change = StoryChange(claim.level, key, bytes.fromhex(claim.item or "00" * 8), claim.time)
        writes = [*self._stories.writes(story), *self.layout.log(change)]
        if claim.level == "ended" and counters.sources:
            oldest = counters.newest_source - ENDED_SECONDS
            old = [each for each, sources in _by_newest(ended) if sources[-1][0] < oldest]
            writes += [
                *(Call("HDEL", self.layout.ended, (each,)) for each in old),
                Call("HSET", self.layout.ended, (key, counters.sources)),
                Call("EXPIRE", self.layout.ended, (ENDED_SECONDS,)),
            ]
        if claim.token and cast("int", waiting) < MOST_WAITING:
            packed = pack_claim(Heartbeats.of(0, clock).now // 1000, claim)
            writes += [
                *(Call("HSET", outbox, (_field((claim.token, key)), packed)) for key in claim.receivers),
                Call("EXPIRE", outbox, (2 * self.policy.window,)),
            ]
        await swap(client, {self.layout.story(key): story.version}, writes)
        return _granted(claim, story)

    @swaps
    async def confirm(self, client: Client, entries: Iterable[OutboxEntry]) -> None:
        """Forget these events on their way: their receivers have them, or will never take them."""
        await answers(client, [Call("HDEL", self.layout.outbox, [*map(_field, entries)])])

    @swaps
    async def take_over(
        self,
        client: Client,
        seconds: float,
        receivers: Collection[bytes] = (CRAWL,),
        in_hand: Container[OutboxEntry] = (),
    ) -> list[Granted]:
        """Return events on their way to these receivers that no living crawl has in hand. The caller sends them.

        No other caller gets them while the crawl of this one lives. If it is none, others get them after ``seconds``.
        ``in_hand`` has the caller's own events. At most ``MOST_TAKEN_OVER`` are returned, for all these receivers.
        """
        clock, rows = await answers(client, [Call("RUNS", self.layout.runs), Call("HGETALL", self.layout.outbox)])
        beats = Heartbeats.of(self.partition.run, clock)
        now = beats.now // 1000
        taken_over = list[Granted]()
        gone = list[bytes]()
        for field, packed in cast("dict[bytes, bytes]", rows).items():
            second, claim = self._read_waiting(field, packed, now)
            if claim is None:
                gone.append(field)
                continue
            (receiver,) = claim.receivers
            is_wanted = receiver in receivers and (claim.token, receiver) not in in_hand
            if not is_wanted or not _is_free(claim, beats, is_old=abs(now - second) >= int(seconds)):
                continue
            if (story := await self._story_of(client, claim)) is None:
                gone.append(field)
                continue
            claim = replace(claim, run=self.partition.run)
            held = Call("HSET", self.layout.outbox, (field, pack_claim(second if self.partition.run else now, claim)))
            expected = Expected(Call("HGET", self.layout.outbox, (field,)), packed)
            if await answers(client, [Commit([expected], [held])]) == [1]:  # else another process was faster
                taken_over.append(_granted(claim, story))
            if len(taken_over) == MOST_TAKEN_OVER:
                break
        await answers(client, [Call("HDEL", self.layout.outbox, (field,)) for field in gone])
        return taken_over

    def _read_waiting(self, field: bytes, packed: bytes, now: int) -> tuple[int, Claim | None]:
        """Return when an event on its way was claimed, and its claim: None if it is damaged, or too old."""
        try:
            second, claim = read_claim(field[:-RECEIVER_BYTES], packed)
        except StoreError:
            self.partition.warn_damaged("an event on its way", "it is not sent")
            return 0, None
        claim = replace(claim, receivers=(field[-RECEIVER_BYTES:],))
        return second, claim if now - second <= self.policy.window else None

    async def _story_of(self, client: Client, claim: Claim) -> StoredStory | None:
        """Return the story of an event, None if it has left the window or is damaged."""
        try:
            story = await self._stories.final(client, bytes.fromhex(claim.story))
        except StoreError:
            self.partition.warn_damaged("the story of an event on its way", "it is not sent")
            return None
        return story if story.counters.joined else None

    @reads
    async def running(self, client: Client) -> list[Story]:
        """Return the stories with a raised level that have not ended, in order of their ids."""
        return [each.snapshot for each in await self._running(client) if each.counters.joined]

    @swaps
    async def quiet(self, client: Client, since: int) -> list[Story]:
        """Return the running events without a new source since then. Forget those whose stories have expired."""
        running = await self._running(client)
        if gone := [each.key for each in running if not each.counters.joined]:
            await answers(client, [Call("HDEL", self.layout.events, gone)])
        return [each.snapshot for each in running if each.counters.joined and each.counters.newest_source <= since]

    async def _running(self, client: Client) -> list[StoredStory]:
        """Return the stories of events that have not ended. One that has expired has no counters."""
        (answer,) = await answers(client, [Call("HGETALL", self.layout.events)])
        keys = sorted(cast("dict[bytes, bytes]", answer))
        found = await answers(client, [Call("HMGET", self.layout.story(key), FIELDS) for key in keys])
        stories = [asked_story(key, (), answer) for key, answer in zip(keys, found, strict=True)]
        if any(isinstance(each, StoreError) for each in stories):
            self.partition.warn_damaged("a story", "its event is not reported")
        return [each for each in stories if isinstance(each, StoredStory)]

    @reads
    async def ended(self, client: Client, since: int) -> list[EventSources]:
        """Return the sources of each event that has ended and whose newest source came at ``since`` or later.

        They are kept for ``ENDED_SECONDS``.
        """
        (answer,) = await answers(client, [Call("HGETALL", self.layout.ended)])
        return [sources for _, sources in _by_newest(answer) if sources[-1][0] >= since]

    @swaps
    async def note_owners(self, client: Client, seen: Collection[bytes], now: int) -> dict[bytes, tuple[int, int]]:
        """Note who prints in which language now, in Unix seconds. Return when each did first and last.

        Owners are given as ``owner_in`` packs them. They are forgotten ``ENDED_SECONDS`` after they printed last. Of
        each language ``MOST_OWNERS`` are kept.
        """
        (stored,) = cast("list[dict[bytes, bytes]]", await answers(client, [Call("HGETALL", self.layout.owners)]))
        known = {key: _SECONDS.unpack(packed) for key, packed in stored.items() if len(packed) == _SECONDS.size}
        known = {key: seconds for key, seconds in known.items() if seconds[1] >= now - ENDED_SECONDS}
        counts = Counter(map(language_of_owner, known))
        written = list[bytes]()
        for key in sorted(seen):
            language = language_of_owner(key)
            if key in known or counts[language] < MOST_OWNERS:
                counts[language] += key not in known
                first, last = known.get(key, (now, now))
                known[key] = min(first, now), max(last, now)
                written += [key, _SECONDS.pack(*known[key])]
        writes = [Call("HDEL", self.layout.owners, (key,)) for key in stored if key not in known]
        if written:
            writes.append(Call("HSET", self.layout.owners, written))
        if writes:
            await answers(client, [*writes, Call("EXPIRE", self.layout.owners, (ENDED_SECONDS,))])
        return known


def _field(entry: OutboxEntry) -> bytes:
    """Return the name of the field that the outbox has for an event on its way."""
    token, receiver = entry
    return token.encode() + receiver


def _granted(claim: Claim, story: StoredStory) -> Granted:
    return Granted(claim, story.snapshot, read_members(story.members.items()))


def _is_free(claim: Claim, beats: Heartbeats, *, is_old: bool) -> bool:
    """Decide whether no other crawl that lives has an event in hand. Without heartbeats its age tells."""
    if not claim.run:
        return is_old
    return claim.run == beats.own or not beats.is_alive(claim.run)


def _by_newest(ended: object) -> list[tuple[bytes, EventSources]]:
    """Return the sources of events that have ended, by story, in the order of their newest source."""
    with_sources = [
        (key, sources) for key, packed in cast("dict[bytes, bytes]", ended).items() if (sources := read_sources(packed))
    ]
    return sorted(with_sources, key=lambda each: (each[1][-1][0], each[0]))
