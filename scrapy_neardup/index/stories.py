"""Stories, which ``joined_stories.py`` lets documents join.

A story has the fields "counts" (see ``records/stories.py``) and "version". Each member that is kept has a field, by its
document key. A story that became a part of another one says so in its counters, and then only its last second changes.

Whoever changes a story reads it, decides by ``rules/membership.py``, and swaps; see store.py.
"""

from collections.abc import Collection, Iterable
from typing import cast

from scrapy_neardup.evidence.news import told_by
from scrapy_neardup.exceptions import StoreError
from scrapy_neardup.index.partition import Part, reads, swaps
from scrapy_neardup.index.store import Argument, Call, Client, answers, swap
from scrapy_neardup.records.documents import KEY_BYTES
from scrapy_neardup.records.stored_stories import (
    StoredStory,
    pack_ledger,
    pack_told,
    whole_story,
)
from scrapy_neardup.records.stories import MUTED, StoryChange, StoryCounters, read_counters, read_members
from scrapy_neardup.rules.membership import MOST_FOLLOWED, MOST_UNITED, begin_story, unite
from scrapy_neardup.rules.news import united_told
from scrapy_neardup.story import Member, Story


class Stories(Part):
    """The stories of one namespace and configuration."""

    @swaps
    async def unite(self, client: Client, story: str, other: Member) -> Story:
        """Make one story of a story and of the story that begins with another document. Return the united story.

        The story with the lower id stays: it takes over members, counters, sources and levels of the other one. Joins
        and claims for the other one are then for the story that stays. Uniting again changes nothing. Raise
        StoreUnavailable if the store does not answer in time; then unite again.
        """
        found = [await self.final(client, bytes.fromhex(each)) for each in (story, other.id)]
        stays, moves = sorted(found, key=lambda each: each.key)
        if stays.key == moves.key:  # the one that was read last has what the other one brought
            return found[1].snapshot
        if len(stays.counters.united) + len(moves.counters.united) >= MOST_UNITED * KEY_BYTES:
            return found[0].snapshot
        known = {*stays.members}
        begun = list[tuple[bytes, bytes]]()
        if not found[1].counters.joined:
            first = found[1].key
            text = (await self.partition.texts(client, {first})).get(first)
            begun = begin_story(found[1].counters, found[1].ledger, other, text)
            if text is not None:
                found[1].told = told_by(text.title, text.text, other.language)
            found[1].members.update(begun)
        moving = read_members(moves.members.items())
        ledgers = stays.ledger, moves.ledger
        stays.told = united_told(stays.told, moves.told)
        states = max(each.changed for each in ledgers)
        to_keep = unite((stays.key, moves.key), stays.counters, moves.counters, ledgers, moving)
        members = [each for each in (*(begun if found[1] is stays else ()), *to_keep) if each[0] not in known]
        writes = self.writes(stays, 2 * self.policy.window, members) + self.writes(moves, 2 * self.policy.window)
        begun_changes = [StoryChange("joined", found[1].key, each) for each, _ in begun]
        united = StoryChange("united", moves.key, stays.key)
        writes += self.layout.log(*begun_changes, united, *new_states(stays, states))
        if moves.members:
            writes.append(Call("HDEL", self.layout.story(moves.key), [*moves.members]))
        await swap(client, {self.layout.story(each.key): each.version for each in (stays, moves)}, writes)
        return stays.snapshot

    @swaps
    async def mute(self, client: Client, story: str, *, muted: bool) -> Story | None:
        """Mute a story, or raise its events again. Return the story, or None if there is none with this id.

        The story stays muted for as long as it lives, also as a part of another story, which is then muted too.
        """
        found = await self.final(client, bytes.fromhex(story))
        counters = found.counters
        if not counters.joined:
            return None
        counters.levels = counters.levels | MUTED if muted else counters.levels & ~MUTED
        writes = [*self.writes(found), *self.layout.log(StoryChange("muted", found.key))]
        await swap(client, {self.layout.story(found.key): found.version}, writes)
        return found.snapshot

    @reads
    async def final_stories(self, client: Client, stories: Collection[str]) -> dict[str, str]:
        """Return for each of these stories that became a part of another one the id of the story it is a part of."""
        final: dict[str, str] = {}
        asked = {story: bytes.fromhex(story) for story in stories}
        for _ in range(MOST_FOLLOWED):
            found = zip(asked, await self.counters_of(client, asked.values()), strict=True)
            asked = {story: counters.moved for story, counters in found if counters and counters.moved}
            final |= {story: key.hex() for story, key in asked.items()}
            if not asked:
                break
        return final

    async def counters_of(self, client: Client, keys: Iterable[bytes]) -> list[StoryCounters | None]:
        """Return the counters of stories, None for each story that is damaged."""
        keys = list(keys)
        found = list[StoryCounters | None]()
        calls = [Call("HGET", self.layout.story(key), ("counts",)) for key in keys]
        for key, packed in zip(keys, await answers(client, calls), strict=True):
            try:
                found.append(read_counters(key, cast("bytes | None", packed)))
            except StoreError:  # noqa: PERF203
                self.partition.warn_damaged("a story", "its event is not reported")
                found.append(None)
        return found

    async def final(self, client: Client, key: bytes) -> StoredStory:
        """Return the story that a story became a part of, which may be itself, with all its members."""
        while True:
            (answer,) = await answers(client, [Call("HGETALL", self.layout.story(key))])
            found = whole_story(key, answer)
            if not found.counters.moved:
                return found
            key = found.counters.moved

    def writes(self, story: StoredStory, seconds: int = 0, members: Collection[tuple[bytes, bytes]] = ()) -> list[Call]:
        """Return the commands that write new members and what has changed of a story, except its version.

        It then lives for ``seconds``; with 0 it lives as long as before.
        """
        counters = story.counters
        name = self.layout.story(story.key)
        fields: list[Argument] = ["counts", counters.pack(), *(each for member in members for each in member)]
        if ledger := pack_ledger(story.ledger):
            fields += "ledger", ledger
        if story.told:
            fields += "told", pack_told(story.told)
        writes = [Call("HSET", name, fields)]
        if counters.is_open:
            writes.append(Call("HSET", self.layout.events, (story.key, b"")))
            writes.append(Call("EXPIRE", self.layout.events, (2 * self.policy.window,)))
        elif story.was_open:
            writes.append(Call("HDEL", self.layout.events, (story.key,)))
        story.was_open = counters.is_open
        return [*writes, Call("EXPIRE", name, (seconds,))] if seconds else writes


def new_states(story: StoredStory, before: int) -> list[StoryChange]:
    """Return the changes that tell the states of a ledger that had so many before."""
    ledger = story.ledger
    numbered = enumerate(ledger.states, ledger.changed - len(ledger.states))
    return [StoryChange("state", story.key, each.document, number) for number, each in numbered if number >= before]
