"""The log of changes of stories, for those who ask what is new.

It has the changes in the order of their commits, and keeps ``most_changes`` of layout.py, or a few more. A change is
logged in the atomic step that makes it. So whoever reads on behind the last known change misses nothing.
"""

import re
import time
from collections.abc import Iterable
from typing import NamedTuple, cast

from scrapy_neardup.exceptions import InputError, StoreError
from scrapy_neardup.index.partition import Part, reads
from scrapy_neardup.index.store import LOGGED, Call, Client, Entry, answers
from scrapy_neardup.records.stored_stories import whole_story
from scrapy_neardup.records.stories import StoryChange, read_change, read_members
from scrapy_neardup.rules.membership import MOST_FOLLOWED
from scrapy_neardup.story import Member, Story

_CURSOR = re.compile(r"([0-9]{1,19}-[0-9]{1,19})@([0-9]{1,15})")  # the last known change, and the second of the answer
_BEGINNING = "0-0"

WholeStory = tuple[Story, tuple[Member, ...]]


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
    """Reads the log, and stories as they are now."""

    async def after(self, cursor: str | None, most: int) -> ChangesRead:
        """Return at most so many changes behind a cursor, the oldest first; without one from the first that is kept.

        Raise InputError if the cursor is none.
        """
        given = _CURSOR.fullmatch(cursor or f"{_BEGINNING}@{int(time.time())}")
        if given is None:
            raise InputError(f"{str(cursor)[:80]!r} is no cursor: give the `next` of an earlier answer, unchanged")
        return await self._after(given[1], int(given[2]), most, is_first=not cursor)

    @reads
    async def _after(self, client: Client, known: str, asked_at: int, most: int, *, is_first: bool) -> ChangesRead:
        log = self.layout.changes
        behind = ("+", "COUNT", most + 2)
        calls = [
            Call("XRANGE", log, (known, *behind)),
            Call("XREVRANGE", log, ("+", "-", "COUNT", 1)),
        ]
        found, newest = cast("list[list[Entry]]", await answers(client, calls))
        if known == _BEGINNING:
            (length,) = cast("list[int]", await answers(client, [Call("XLEN", log)]))
            is_late = time.time() - asked_at > 2 * self.policy.window
            is_gap = not is_first and (is_late or length >= self.layout.most_changes)
        elif is_gap := not (found and found[0][0].decode() == known):
            if not found:  # the store was emptied, and if there is anything new, its clock was set back
                (found,) = cast("list[list[Entry]]", await answers(client, [Call("XRANGE", log, ("-", *behind))]))
                if not newest:
                    known = _BEGINNING
        else:
            found = found[1:]
        read = found[:most]
        return ChangesRead(self._changes(read), _cursor(known, read[-1:]), is_gap, len(found) > most)

    @reads
    async def newest(self, client: Client, most: int) -> tuple[list[StoryChange], str]:
        """Return the newest changes, and the cursor behind them."""
        (found,) = await answers(client, [Call("XREVRANGE", self.layout.changes, ("+", "-", "COUNT", most))])
        entries = cast("list[Entry]", found)
        return self._changes(entries), _cursor(_BEGINNING, entries[:1])

    def _changes(self, entries: list[Entry]) -> list[StoryChange]:
        changes = [change for _, entry in entries if (change := read_change(entry.get(LOGGED, b"")))]
        if len(changes) < len(entries):
            self.partition.warn_damaged("a change of a story", "it is not told")
        return changes

    @reads
    async def stories(self, client: Client, keys: Iterable[bytes]) -> dict[bytes, WholeStory]:
        """Return stories with all members that are kept, or in their place the stories that they became a part of."""
        stories = dict[bytes, WholeStory]()
        moved = dict[bytes, bytes]()
        asked = dict.fromkeys(keys)
        for _ in range(MOST_FOLLOWED):
            calls = [Call("HGETALL", self.layout.story(key)) for key in asked]
            found = dict(zip(asked, await answers(client, calls), strict=True))
            asked = {}
            for key, answer in found.items():
                try:
                    story = whole_story(key, answer)
                except StoreError:
                    self.partition.warn_damaged("a story", "it is not told")
                    continue
                if story.counters.moved:
                    moved[key] = story.counters.moved
                    asked[story.counters.moved] = None
                elif story.counters.joined:
                    stories[key] = story.snapshot, read_members(story.members.items())
        # Of two stories the one with the lower key stays.
        for key in sorted(moved):
            if moved[key] in stories:
                stories[key] = stories[moved[key]]
        return stories


def _cursor(known: str, newest: list[Entry]) -> str:
    """Return the cursor behind the newest entry that was read, or behind the last known one."""
    for entry, _ in newest:
        known = entry.decode()
    return f"{known}@{int(time.time())}"
