"""The log of changes of stories, for those who ask what is new.

``…:changes`` STREAM of packed changes in the order of their commits, ``MOST_CHANGES`` or a few more, until two windows
after the newest

A change is logged in the atomic step that makes it. So whoever reads on behind the last known change misses nothing.
"""

from __future__ import annotations

import re
import time
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import cast

from scrapy_neardup.document import Member, Story
from scrapy_neardup.exceptions import InputError, StoreError
from scrapy_neardup.index.layout import MOST_CHANGES, Steps, reads
from scrapy_neardup.index.store import LOGGED, Call, Client, answers
from scrapy_neardup.index.stories import whole_story
from scrapy_neardup.records.changes import StoryChange, read_change
from scrapy_neardup.records.stories import read_members
from scrapy_neardup.rules.membership import MOST_FOLLOWED

_CURSOR = re.compile(r"(\d{1,19}-\d{1,19})@(\d{1,15})")
_BEGINNING = "0-0"

LoggedEntries = list[tuple[bytes, dict[bytes, bytes]]]


@dataclass(frozen=True, slots=True)
class ChangesRead:
    """Changes behind a cursor, and the cursor behind them.

    ``is_gap`` is True if changes may have been forgotten before they were read: the log was too long, the asker came
    too late, or the store was emptied.
    """

    changes: list[StoryChange]
    next: str
    is_gap: bool = False
    has_more: bool = False


@dataclass(slots=True)
class StoriesRead:
    """Stories with their members, and the stories that these became a part of."""

    stories: dict[bytes, tuple[Story, tuple[Member, ...]]] = field(default_factory=dict)
    moved: dict[bytes, bytes] = field(default_factory=dict)

    def of(self, key: bytes) -> tuple[Story, tuple[Member, ...]] | None:
        """Return the story that a story became a part of, which may be itself. Return None if it is gone."""
        while key in self.moved:
            key = self.moved[key]
        return self.stories.get(key)


class Changes(Steps):
    """Reads the log, and stories as they are now."""

    @reads
    async def after(self, client: Client, cursor: str | None, most: int) -> ChangesRead:
        """Return at most so many changes behind a cursor, the oldest first; without one from the first that is kept.

        Raise InputError if the cursor is none.
        """
        if cursor is not None and not _CURSOR.fullmatch(cursor):
            raise InputError(f"{cursor[:80]!r} is no cursor: give the `next` of an earlier answer, unchanged")
        known, _, asked_at = (cursor or f"{_BEGINNING}@{int(time.time())}").partition("@")
        log, behind = self.layout.changes, ("+", "COUNT", most + 2)
        calls = [
            Call("XRANGE", log, (known, *behind)),
            Call("XREVRANGE", log, ("+", "-", "COUNT", 1)),
            Call("XLEN", log),
        ]
        found, newest, length = cast("tuple[LoggedEntries, LoggedEntries, int]", await answers(client, calls))
        if known == _BEGINNING:
            is_late = time.time() - int(asked_at) > 2 * self.policy.window
            is_gap = cursor is not None and (is_late or length >= MOST_CHANGES)
        elif found and found[0][0].decode() == known:
            found, is_gap = found[1:], False
        else:
            is_gap = True
            if not found and newest:  # the store was emptied, and its clock was set back
                (found,) = cast("list[LoggedEntries]", await answers(client, [Call("XRANGE", log, ("-", *behind))]))
            known = known if newest else _BEGINNING
        read = found[:most]
        last = read[-1][0] if read else known.encode()
        changes = [change for _, entry in read if (change := read_change(entry.get(LOGGED, b"")))]
        if len(changes) < len(read):
            self.warn_damaged("a change of a story", "it is not told")
        return ChangesRead(changes, _cursor(last), is_gap, len(found) > most)

    @reads
    async def end(self, client: Client) -> str:
        """Return the cursor behind the newest change."""
        (found,) = await answers(client, [Call("XREVRANGE", self.layout.changes, ("+", "-", "COUNT", 1))])
        return _cursor(*[number for number, _ in cast("LoggedEntries", found)])

    @reads
    async def newest(self, client: Client, most: int) -> list[StoryChange]:
        """Return the newest changes."""
        (found,) = await answers(client, [Call("XREVRANGE", self.layout.changes, ("+", "-", "COUNT", most))])
        entries = cast("LoggedEntries", found)
        return [change for _, entry in entries if (change := read_change(entry.get(LOGGED, b"")))]

    @reads
    async def stories(self, client: Client, keys: Collection[bytes]) -> StoriesRead:
        """Return stories with all members that are kept."""
        read = StoriesRead()
        for _ in range(MOST_FOLLOWED):
            asked = list(dict.fromkeys(keys))
            calls = [Call("HGETALL", self.layout.story(key)) for key in asked]
            keys = []
            for key, answer in zip(asked, await answers(client, calls), strict=True):
                try:
                    story = whole_story(key, answer)
                except StoreError:
                    self.warn_damaged("a story", "it is not told")
                    continue
                if story.counters.moved:
                    read.moved[key] = story.counters.moved
                    keys.append(story.counters.moved)
                elif story.counters.joined:
                    read.stories[key] = story.counters.story(key), read_members(story.members.items())
        return read


def _cursor(last: bytes = _BEGINNING.encode()) -> str:
    """Return the cursor behind a change. It has the time at which it was given."""
    return f"{last.decode()}@{int(time.time())}"
