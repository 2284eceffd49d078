"""Stories as they were read from the store, and changed since, until they are written."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import cast

from scrapy_neardup.exceptions import StoreError
from scrapy_neardup.records.documents import KEY_BYTES
from scrapy_neardup.records.ledgers import read_ledger, read_told
from scrapy_neardup.records.stories import StoryCounters, read_counters
from scrapy_neardup.story import Ledger, Story

FIELDS = "counts", "version", "ledger", "told"
"""The fields of a story in the store, besides its members."""


@dataclass(slots=True)
class StoredStory:
    """A story as it was read, and changed since."""

    key: bytes
    version: bytes  # empty if there is no such story
    counters: StoryCounters
    was_open: bool
    members: dict[bytes, bytes]  # packed, by document key: those that were asked for
    ledger: Ledger
    told: list[int]  # see ``evidence/news.py``; empty if nobody knows what the story has told
    asked: set[bytes] = field(default_factory=set)

    @property
    def snapshot(self) -> Story:
        """Return the story as it is now."""
        return self.counters.story(self.key, replace(self.ledger))


def _stored(key: bytes, values: Sequence[bytes | None], members: dict[bytes, bytes]) -> StoredStory:
    """Return a story from the values of its fields. Raise StoreError if they are damaged."""
    counters = read_counters(key, values[0])
    return StoredStory(
        key, values[1] or b"", counters, counters.is_open, members, read_ledger(values[2]), read_told(values[3])
    )


def asked_story(key: bytes, members: Collection[bytes], answer: object) -> StoredStory | Exception:
    """Return a story with those of these members that it has. Return the error if it cannot be used."""
    if isinstance(answer, Exception):
        return answer
    values = cast("list[bytes | None]", answer)
    pairs = zip(members, values[len(FIELDS) :], strict=True)
    try:
        story = _stored(key, values[: len(FIELDS)], {each: packed for each, packed in pairs if packed})
    except StoreError as error:
        return error
    story.asked.update(members)
    return story


def whole_story(key: bytes, answer: object) -> StoredStory:
    """Return a story with all its members, from all its fields. Raise StoreError if they are damaged."""
    fields = cast("dict[bytes, bytes]", answer)
    return _stored(key, [fields.get(name.encode()) for name in FIELDS], members_of(fields))


def members_of(fields: Mapping[bytes, bytes]) -> dict[bytes, bytes]:
    """Return the members among the fields of a story, by document key: only they have names of that length."""
    return {name: value for name, value in fields.items() if len(name) == KEY_BYTES}
