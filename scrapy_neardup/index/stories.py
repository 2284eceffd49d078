"""Stories, how documents join them in the step that registers these documents, and the log of their changes.

A story has the fields "counts" (see ``records/stories.py``) and "version". Each member that is kept has a field, by its
document key. A story that became a part of another one says so in its counters, and then only its last second changes.

Whoever changes a story reads it, decides by ``rules/membership.py``, and writes it if nobody else has changed it
meanwhile; see store.py.

The log has the changes in the order of their commits, and keeps ``most_changes`` of layout.py, or a few more. A change
is logged in the atomic step that makes it. So whoever reads on behind the last known change misses nothing.
"""

import re
import struct
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple, cast

from scrapy_neardup.evidence.news import told_by
from scrapy_neardup.exceptions import InputError, StoreError, StoreUnavailable
from scrapy_neardup.index.layout import Part, Partition, reads, swaps
from scrapy_neardup.index.store import (
    LOGGED,
    Argument,
    Call,
    Client,
    ConflictError,
    Expected,
    LogEntry,
    answers,
    new_version,
    swap,
)
from scrapy_neardup.records.documents import KEY_BYTES, NO_TEXT, Record, StoredText
from scrapy_neardup.records.stored_stories import FIELDS, StoredStory, asked_story, pack_ledger, pack_told, whole_story
from scrapy_neardup.records.stories import MUTED, StoryChange, StoryCounters, read_change, read_counters, read_members
from scrapy_neardup.rules.membership import MOST_FOLLOWED, MOST_UNITED, begin_story, count_join, unite
from scrapy_neardup.rules.news import united_told, with_news
from scrapy_neardup.story import Join, Member, Story

WholeStory = tuple[Story, tuple[Member, ...]]


class Stories(Part):
    @swaps
    async def unite(self, client: Client, story: str, other: Member) -> Story:
        """Make one story of a story and of the story that begins with another document. Return the united story.

        The story with the lower id stays: it takes over members, counters, sources and levels of the other one. Joins
        and claims for the other one are then for the story that stays. Uniting again changes nothing. Raise
        StoreUnavailable if the store does not answer in time; then unite again.
        """
        stored, stored_other = [await self.final(client, bytes.fromhex(each)) for each in (story, other.id)]
        stays, moves = sorted((stored, stored_other), key=lambda each: each.key)
        if stays.key == moves.key:  # the one that was read last has what the other one brought
            return stored_other.snapshot
        if len(stays.counters.united) + len(moves.counters.united) >= MOST_UNITED * KEY_BYTES:
            return stored.snapshot
        kept_before = {*stays.members}
        begun = list[tuple[bytes, bytes]]()  # the other story's first document, packed, if nobody has joined it yet
        if not stored_other.counters.joined:
            first = stored_other.key
            text = (await self.partition.texts(client, {first})).get(first)
            begun = begin_story(stored_other.counters, stored_other.ledger, other, text)
            if text is not None:
                stored_other.told = told_by(text.title, text.text, other.language)
            stored_other.members.update(begun)
        ledgers = stays.ledger, moves.ledger
        stays.told = united_told(stays.told, moves.told)
        states_before = max(each.changed for each in ledgers)
        members = read_members(moves.members.items())
        to_keep = unite((stays.key, moves.key), stays.counters, moves.counters, ledgers, members)
        if stored_other is stays:
            to_keep = [*begun, *to_keep]
        new_members = [(key, packed) for key, packed in to_keep if key not in kept_before]
        writes = self.writes(stays, 2 * self.policy.window, new_members) + self.writes(moves, 2 * self.policy.window)
        writes += self.layout.log(
            *(StoryChange("joined", stored_other.key, key) for key, _ in begun),
            StoryChange("united", moves.key, stays.key),
            *new_states(stays, states_before),
        )
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
        await swap(
            client,
            {self.layout.story(found.key): found.version},
            [*self.writes(found), *self.layout.log(StoryChange("muted", found.key))],
        )
        return found.snapshot

    @reads
    async def final_stories(self, client: Client, stories: Collection[str]) -> dict[str, str]:
        """Return for each of these stories that became a part of another one the id of the story it is a part of."""
        final = await self.final_keys(client, map(bytes.fromhex, stories))
        return {story.hex(): key.hex() for story, key in final.items() if story != key}

    @reads
    async def whole(self, client: Client, keys: Iterable[bytes]) -> dict[bytes, WholeStory]:
        """Return stories with all members that are kept, or in their place the stories that they became a part of."""
        found = dict[bytes, WholeStory]()
        final = await self.final_keys(client, keys)
        calls = {key: Call("HGETALL", self.layout.story(key)) for key in final.values()}
        for key, answer in zip(calls, await answers(client, [*calls.values()]), strict=True):
            try:
                story = whole_story(key, answer)
            except StoreError:
                self.partition.warn_damaged("a story", "it is not told")
                continue
            if story.counters.joined:
                found[key] = story.snapshot, read_members(story.members.items())
        return {key: found[each] for key, each in final.items() if each in found}

    async def final_keys(self, client: Client, stories: Iterable[bytes]) -> dict[bytes, bytes]:
        """Return for each of these stories the key of the story that it became a part of, which may be itself."""
        final = {key: key for key in stories}
        moved = final
        for _ in range(MOST_FOLLOWED):
            found = zip(moved, await self.counters_of(client, moved.values()), strict=True)
            moved = {story: counters.moved for story, counters in found if counters and counters.moved}
            if not moved:
                break
            final |= moved
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
            writes += [
                Call("HSET", self.layout.events, (story.key, b"")),
                Call("EXPIRE", self.layout.events, (2 * self.policy.window,)),
            ]
        elif story.was_open:
            writes.append(Call("HDEL", self.layout.events, (story.key,)))
        story.was_open = counters.is_open
        if seconds:
            writes.append(Call("EXPIRE", name, (seconds,)))
        return writes


def new_states(story: StoredStory, before: int) -> list[StoryChange]:
    """Return the changes that tell the states of a ledger that had so many before."""
    ledger = story.ledger
    numbered = enumerate(ledger.states, ledger.changed - len(ledger.states))
    return [StoryChange("state", story.key, each.document, number) for number, each in numbered if number >= before]


class JoinedStories(Part):
    """The stories that the documents of one batch join, as they were read and changed since.

    ``records`` and ``texts`` are those that the batch knows; see ``text_of``.
    """

    def __init__(
        self, partition: Partition, records: Mapping[bytes, Record | None], texts: dict[bytes, StoredText]
    ) -> None:
        super().__init__(partition)
        self._stories = Stories(partition)
        self._records = records
        self._texts = texts
        self._read: dict[bytes, StoredStory | Exception] = {}  # in place of one that cannot be used its error

    async def read(self, client: Client, joins: Sequence[Join]) -> None:
        """Read the stories that documents join, and the stories that those became a part of.

        Also read the texts of documents that others join as the first ones: the ledgers of their stories need them.
        """
        for _ in range(MOST_FOLLOWED):
            if not (missing := self._missing(joins)):
                break
            calls = [Call("HMGET", self.layout.story(key), (*FIELDS, *each)) for key, each in missing.items()]
            for (key, members), values in zip(missing.items(), await client.send(calls), strict=True):
                self._read[key] = asked_story(key, members, values)
        begun = [
            self._records.get(key)
            for key in {bytes.fromhex(each.story) for each in joins}
            if isinstance(story := self._read.get(key), StoredStory) and not story.counters.joined
        ]
        self._texts |= await self.partition.texts(client, {each.text_at for each in begun if each} - self._texts.keys())

    def _missing(self, joins: Sequence[Join]) -> dict[bytes, set[bytes]]:
        """Return the stories that are not read yet, or not with all members that joins ask for, with these members."""
        missing: dict[bytes, set[bytes]] = {}
        for join in joins:
            key = self._followed(join)[-1]
            members = {bytes.fromhex(each) for each in (join.member.id, join.earlier_of_page) if each}
            story = self._read.get(key)
            if story is None or (isinstance(story, StoredStory) and not members <= story.asked):
                missing.setdefault(key, set()).update(members)
        return missing

    def _followed(self, join: Join) -> list[bytes]:
        """Return the key of the story that a document joins, and of those that it became a part of, as far as known."""
        keys = [bytes.fromhex(join.story)]
        while isinstance(story := self._read.get(keys[-1]), StoredStory) and story.counters.moved:
            keys.append(story.counters.moved)
        return keys

    def join(self, join: Join) -> tuple[Story | StoreError, list[Expected], list[Call]]:
        """Return the story after a join, and how it is written: nothing if the document is a member already.

        In place of a story that cannot be used return the error. Raise StoreUnavailable if the store is lost.
        """
        try:
            return self._join(join)
        except StoreUnavailable:
            raise
        except (StoreError, struct.error) as error:  # damaged counters may be too large to be packed
            return self.partition.store.explained(error), [], []

    def _join(self, join: Join) -> tuple[Story, list[Expected], list[Call]]:
        *moved, key = self._followed(join)
        story = self._read.get(key, ConflictError("the story is a part of too many others"))
        if isinstance(story, Exception):
            raise self.partition.store.explained(story)
        writes = list[Call]()
        for each in moved:  # remember where the story went, for as long as documents come
            united = cast("StoredStory", self._read[each])
            united.counters.last = max(united.counters.last, join.member.seen_at)
            writes += self._stories.writes(united, 2 * self.policy.window)
        counters = story.counters
        joined_before = counters.joined
        states_before = story.ledger.changed
        expected = [Expected(Call("HGET", self.layout.story(key), ("version",)), story.version)]
        first_text = text_of(bytes.fromhex(join.story), self._records, self._texts)
        join = with_news(story.told, story.ledger, counters, join, first_text)
        known = {each.hex() for each in story.members}
        to_keep = count_join(counters, story.ledger, join, known, first_text, key.hex())
        own = bytes.fromhex(join.member.id)
        if counters.joined == joined_before:  # it is a member already: tell its news of that time
            earlier = read_members([(own, story.members[own])] if own in story.members else [])
            return replace(story.snapshot, news=earlier[0].news if earlier else ()), [], writes
        # A member dated far ahead does not keep the story for ever.
        seconds = self.policy.window + min(self.policy.window, counters.last - join.member.seen_at)
        writes += self._stories.writes(story, seconds, to_keep)
        new = dict.fromkeys((*dict(to_keep), own))
        writes += self.layout.log(
            *(StoryChange("joined", key, each) for each in new), *new_states(story, states_before)
        )
        story.members.update(to_keep)
        story.version = new_version()
        writes.append(Call("HSET", self.layout.story(key), ("version", story.version)))
        return replace(story.snapshot, news=join.member.news), expected, writes


def text_of(key: bytes, records: Mapping[bytes, Record | None], texts: Mapping[bytes, StoredText]) -> StoredText | None:
    """Return the text of a document, if it is known: under its own key, or the key of the document that holds it."""
    record = records.get(key)
    return texts.get(key) or texts.get(record.text_at if record else NO_TEXT)


_BEGINNING = "0-0"


class ChangesRead(NamedTuple):
    """Changes behind a cursor, and the cursor behind them.

    ``is_gap`` is True if changes may have been forgotten before they were read: the log was too long, the asker came
    too late, or the store was emptied.
    """

    changes: list[StoryChange]
    next: str
    is_gap: bool
    has_more: bool


class Changes(Part):
    @reads
    async def after(self, client: Client, cursor: str | None, most: int) -> ChangesRead:
        """Return at most so many changes behind a cursor, the oldest first; without one from the first that is kept.

        Raise InputError if the cursor is none.
        """
        # The id of the last known change, and the second of the answer that had it.
        parts = re.fullmatch(
            "([0-9]{1,19}-[0-9]{1,19})@([0-9]{1,15})",
            f"{_BEGINNING}@{int(time.time())}" if cursor is None else cursor,
        )
        if parts is None:
            raise InputError(f"{str(cursor)[:80]!r} is no cursor: give the `next` of an earlier answer, unchanged")
        known = parts[1]
        log = self.layout.changes
        to_newest = ("+", "COUNT", most + 2)  # the known change, those that are asked for, and one more
        calls = [
            Call("XRANGE", log, (known, *to_newest)),
            Call("XREVRANGE", log, ("+", "-", "COUNT", 1)),
            Call("XLEN", log),
        ]
        entries, newest, length = cast("tuple[list[LogEntry], list[LogEntry], int]", await answers(client, calls))
        if known == _BEGINNING:
            is_late = time.time() - int(parts[2]) > 2 * self.policy.window
            is_gap = bool(cursor) and (is_late or length >= self.layout.most_changes)
        elif entries and entries[0][0].decode() == known:  # the last known change is still there
            is_gap = False
            entries = entries[1:]
        else:
            is_gap = True
            if not entries:  # the store was emptied, and if there is anything new, its clock was set back
                (entries,) = cast(
                    "list[list[LogEntry]]", await answers(client, [Call("XRANGE", log, ("-", *to_newest))])
                )
                if not newest:
                    known = _BEGINNING
        read = entries[:most]
        return ChangesRead(self._changes(read), _cursor(known, read[-1:]), is_gap, len(entries) > most)

    @reads
    async def newest(self, client: Client, most: int) -> tuple[list[StoryChange], str]:
        """Return the newest changes, and the cursor behind them."""
        calls = [Call("XREVRANGE", self.layout.changes, ("+", "-", "COUNT", most))]
        (entries,) = cast("list[list[LogEntry]]", await answers(client, calls))
        return self._changes(entries), _cursor(_BEGINNING, entries[:1])

    def _changes(self, entries: list[LogEntry]) -> list[StoryChange]:
        changes = [change for _, entry in entries if (change := read_change(entry.get(LOGGED, b"")))]
        if len(changes) < len(entries):
            self.partition.warn_damaged("a change of a story", "it is not told")
        return changes


def _cursor(known: str, newest: list[LogEntry]) -> str:
    """Return the cursor behind the newest entry, or behind the last known one if ``newest`` is empty."""
    for entry_id, _ in newest:  # one at most
        known = entry_id.decode()
    return f"{known}@{int(time.time())}"
