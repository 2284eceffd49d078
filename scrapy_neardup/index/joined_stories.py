"""How documents join stories in the step that registers them.

Whoever changes a story reads it, decides by ``rules/membership.py``, and writes it if nobody else has changed it
meanwhile.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from scrapy_neardup.exceptions import StoreError, StoreUnavailable
from scrapy_neardup.index.partition import Part, Partition
from scrapy_neardup.index.store import Call, Client, ConflictError, Expected, new_version
from scrapy_neardup.index.stories import Stories, new_states
from scrapy_neardup.records.documents import NO_TEXT, Record
from scrapy_neardup.records.stored_stories import FIELDS, StoredStory, asked_story
from scrapy_neardup.records.stories import StoryChange, read_members
from scrapy_neardup.records.texts import StoredText
from scrapy_neardup.rules.membership import MOST_FOLLOWED, count_join
from scrapy_neardup.rules.news import with_news
from scrapy_neardup.story import Join, Story


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
        begun = (self._records.get(key) for key in {bytes.fromhex(each.story) for each in joins} if self._is_new(key))
        wanted = {each.text_at for each in begun if each} - self._texts.keys()
        self._texts |= await self.partition.texts(client, wanted)

    def forget(self) -> None:
        """Forget all stories, because others have changed one."""
        self._read.clear()

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

    def _is_new(self, key: bytes) -> bool:
        story = self._read.get(key)
        return isinstance(story, StoredStory) and not story.counters.joined

    def join(self, join: Join) -> tuple[Story | StoreError, list[Expected], list[Call]]:
        """Return the story after a join, and how it is written: nothing if the document is a member already.

        In place of a story that cannot be used return the error. Raise StoreUnavailable if the store is lost.
        """
        try:
            return self._join(join)
        except Exception as error:
            explained = self.partition.store.explained(error)
            if isinstance(explained, StoreUnavailable):
                raise explained from error
            return explained, [], []

    def _join(self, join: Join) -> tuple[Story, list[Expected], list[Call]]:
        *moved, key = self._followed(join)
        story = self._read.get(key, ConflictError("the story is a part of too many others"))
        if isinstance(story, Exception):
            raise story
        writes = list[Call]()
        for united in map(self._read.get, moved):  # remember where the story went, for as long as documents come
            assert isinstance(united, StoredStory)
            united.counters.last = max(united.counters.last, join.member.seen_at)
            writes += self._stories.writes(united, 2 * self.policy.window)
        counters = story.counters
        before = counters.joined
        states = story.ledger.changed
        expected = [Expected(Call("HGET", self.layout.story(key), ("version",)), story.version)]
        first_text = text_of(bytes.fromhex(join.story), self._records, self._texts)
        join = with_news(story.told, story.ledger, counters, join, first_text)
        known = {each.hex() for each in story.members}
        to_keep = count_join(counters, story.ledger, join, known, first_text, key.hex())
        own = bytes.fromhex(join.member.id)
        if counters.joined == before:
            earlier = read_members([(own, story.members[own])] if own in story.members else [])
            return replace(story.snapshot, news=earlier[0].news if earlier else ()), [], writes
        # A member dated far ahead does not keep the story for ever.
        seconds = self.policy.window + min(self.policy.window, counters.last - join.member.seen_at)
        writes += self._stories.writes(story, seconds, to_keep)
        new = dict.fromkeys((*dict(to_keep), own))
        writes += self.layout.log(*(StoryChange("joined", key, each) for each in new), *new_states(story, states))
        story.members.update(to_keep)
        story.version = new_version()
        writes.append(Call("HSET", self.layout.story(key), ("version", story.version)))
        return replace(story.snapshot, news=join.member.news), expected, writes


def text_of(key: bytes, records: Mapping[bytes, Record | None], texts: Mapping[bytes, StoredText]) -> StoredText | None:
    """Return the text of a document, if it is known: under its own key, or the key of the document that holds it."""
    record = records.get(key)
    return texts.get(key) or texts.get(record.text_at if record else NO_TEXT)
