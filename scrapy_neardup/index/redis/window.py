"""The window in Redis: find the candidates of documents, decide in Python, and register the documents.

A check takes three or four requests: postings; records of candidates; the story that the document joins, if it was not
guessed; and the commit. Without candidates it takes two. Keys: layout.py. Only records count: a posting whose record is
gone is no candidate.
"""

from __future__ import annotations

import asyncio
import random
import secrets
from collections.abc import Callable, Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from itertools import groupby
from typing import cast

from redis.asyncio import Redis
from redis.exceptions import RedisError

from scrapy_neardup.contracts import Judge, Judged
from scrapy_neardup.document import LONG_TEXT, Document, Fingerprint, Match, Story, with_id
from scrapy_neardup.exceptions import StoreError, StoreUnavailable
from scrapy_neardup.index.base import Checked, DamageLog, Question
from scrapy_neardup.index.redis import lua
from scrapy_neardup.index.redis.layout import RedisLayout
from scrapy_neardup.index.redis.lua import Call, script
from scrapy_neardup.index.redis.postings import Generation, Keys, bits_of_new_generation, find_candidates, read_bits
from scrapy_neardup.index.redis.runs import heartbeats, read_runs
from scrapy_neardup.index.redis.stories import RedisStories, Stories, is_version
from scrapy_neardup.index.redis.swap import Expected, Posting, swap_call
from scrapy_neardup.index.runs import Runs
from scrapy_neardup.records.documents import Record, new_record, read_record, seconds_of, with_next_key
from scrapy_neardup.rules.decision import LEAST_WEIGHT, MOST_LINKS, decide, decide_again, weights_of
from scrapy_neardup.rules.policy import Policy
from scrapy_neardup.rules.scoring import CandidateState

_ATTEMPTS = 1000  # to register a document while others register documents with the same keys
_PAUSE, _LONGEST_PAUSE = 0.002, 0.1  # seconds
_STORY_ATTEMPTS = 10  # to join stories that others change, before everything is read again
_MOST_GUESSED = 4  # documents of a batch
_MOST_REMEMBERED = 1 << 14  # documents whose stories are remembered


@dataclass(slots=True, eq=False)
class _New:
    """A document that is checked."""

    document: Document
    judge: Judge | None
    record: Record
    keys: Keys
    least_dropped: float
    generations: list[Generation] = field(default_factory=list)  # those in the window, the newest first
    own: Generation = field(init=False)  # in which it is posted
    known: Record | _New | None = None  # its stored record, or an earlier one of this batch, if it was checked before
    candidates: list[bytes] = field(default_factory=list)
    version: bytes = b""  # that its own generation gets
    match: Match | None = None
    judged: Judged | None = None
    story: Story | StoreError | None = None
    packed: bytes = b""  # the record to register, nothing if the document was checked before

    @property
    def key(self) -> bytes:
        return self.record.original

    @property
    def answer(self) -> Checked:
        return Checked(self.key.hex(), self.match, self.judged, self.story)

    def look_at(self, generations: list[Generation]) -> None:
        """Begin an attempt, with the generations in the window."""
        second = seconds_of(self.key)
        self.known, self.generations, self.packed, self.story = None, generations, b"", None
        self.own = next(each for each in generations if 0 <= second - each.start < each.seconds)

    def is_the_same(self, other: Record) -> bool:
        return (self.record.text_hash, self.record.url_hash) == (other.text_hash, other.url_hash)


class RedisWindow:
    """Records and postings of one namespace and configuration. Errors of redis-py are passed on."""

    def __init__(
        self,
        layout: RedisLayout,
        policy: Policy,
        stories: RedisStories,
        damage: DamageLog,
        explain: Callable[[Exception], StoreError],
    ) -> None:
        self._layout = layout
        self._explain = explain
        self._policy = policy
        self._stories = stories
        self._damage = damage
        self._bits: dict[int, int] = {}  # by generation: how many bits name a shard
        self._story_of = dict[bytes, bytes]()  # the stories of documents, to guess which one the next document joins

    async def check(self, client: Redis, batch: Sequence[Question], run: int) -> list[Checked | BaseException]:
        """Find candidates, decide and commit. Do it again for documents with which others interfered.

        Documents that come together are decided one after the other, as if each had been registered before the next.
        """
        news = [self._new(*question, run) for question in batch]
        answers: dict[_New, Checked | BaseException] = {}
        size, failed = len(news), 0  # attempts in a row without an answer
        for attempt in range(_ATTEMPTS):
            if failed:  # each process waits for another time: else they would stop each other again
                await asyncio.sleep(random.uniform(0, min(_LONGEST_PAUSE, _PAUSE * failed)))
            group = [new for new in news if new not in answers][:size]
            found = await self._try(client, group, run, again=attempt > 0)
            answers |= found
            if len(answers) == len(news):
                break
            # The fewer documents, the less time others have to interfere.
            size = max(1, len(group) // 2) if len(found) < len(group) else 2 * size
            failed = 0 if found else failed + 1
        late = StoreUnavailable("others change the window all the time")
        return [answers.get(new, late) for new in news]

    def _new(self, fingerprint: Fingerprint, document: Document, judge: Judge | None, run: int) -> _New:
        keys = Keys(fingerprint.identity_keys + fingerprint.text_keys, weights_of(fingerprint))
        least_dropped = self._policy.least_dropped_share(document.source)
        return _New(document, judge, new_record(fingerprint, document, run), keys, least_dropped)

    async def _try(
        self, client: Redis, news: Sequence[_New], run: int, *, again: bool
    ) -> dict[_New, Checked | BaseException]:
        """Return the answers of the documents that need no further attempt."""
        batch = _Batch(news, self._policy, run, self._damage)
        await self._read_postings(client, batch, news, again=again)
        await self._place(client, batch, news)
        for new in news:
            if new.known is None:
                batch.vote(new)
        await self._read_candidates(client, batch, news)
        for new in news:
            batch.decide(new)
            if new.judge is not None:
                document = with_id(new.document, new.key.hex())
                is_slow = new.match is not None and len(document.text) >= LONG_TEXT
                judged = asyncio.to_thread(new.judge, document, new.match) if is_slow else None
                new.judged = await judged if judged else new.judge(document, new.match)
        results, left = dict[_New, object](), list(news)
        for _ in range(_STORY_ATTEMPTS):
            joins = [each.judged.join for each in left if each.judged is not None and each.judged.join is not None]
            await self._stories.read(client, batch.stories, joins)
            calls = {new: call for new in left if (call := self._commit(batch, new)) is not None}
            results.update(zip(calls, await lua.run_all(client, list(calls.values())), strict=True))
            if not (left := [new for new in calls if is_version(results[new])]):
                break
            batch.stories.clear()  # others changed them, and what was decided of these documents is still right
        answers: dict[_New, Checked | BaseException] = {}
        for new in news:
            result = results.get(new, 1)
            first = answers.get(new.known) if isinstance(new.known, _New) else new.answer
            if isinstance(result, BaseException):
                answers[new] = result
            # If the same record is there, an answer was lost on its way.
            elif first is not None and (result == 1 or (new.packed and result == new.packed)):
                answers[new] = first if isinstance(first, BaseException) else new.answer
        return answers

    async def _read_postings(self, client: Redis, batch: _Batch, news: Sequence[_New], *, again: bool) -> None:
        """Read what is stored under the documents' own keys, and the postings of their look-up keys.

        In the first attempt a generation of which nothing is known counts as empty: if it is not, the commit fails.
        """
        for new in news:
            new.look_at(self._layout.generations(seconds_of(new.key)))
        if again or any(new.own.number not in self._bits for new in news):
            await self._read_bits(client, [generation for new in news for generation in new.generations])
        records = self._records_of({new.key for new in news})
        asked = [(new, each) for new in news for each in new.generations if each.number in self._bits]
        calls = [*records, *(self._postings_of(*each) for each in asked)]
        answers = await lua.run_or_raise(client, calls)
        batch.note(records, answers)
        for (new, generation), answer in zip(asked, answers[len(records) :], strict=True):
            bits, version, *values = cast("list[bytes | None]", answer)
            if read_bits(bits) == generation.bits:
                generation.version = version or b""
                generation.read(new.keys, values)
        for new in news:
            if new.own.number not in self._bits:
                self._bits[new.own.number] = await self._choose_bits(client, new)
            new.own.bits = self._bits[new.own.number]

    async def _read_bits(self, client: Redis, generations: Sequence[Generation]) -> None:
        """Read how many bits name a shard in each generation, and its version in case the bits are damaged."""
        numbers = list({generation.number for generation in generations})
        calls: list[Call] = [("HMGET", [self._layout.bands(number)], [b"bits", b"version"]) for number in numbers]
        found = dict(zip(numbers, await lua.run_or_raise(client, calls), strict=True))
        for generation in generations:
            bits, version = cast("list[bytes | None]", found[generation.number])
            generation.version = version or b""
            self._bits.pop(generation.number, None)
            if number := read_bits(bits):
                self._bits[generation.number] = number

    def _postings_of(self, new: _New, generation: Generation) -> Call:
        generation.bits = self._bits[generation.number]
        shards = new.keys.shards(generation.bits)
        return "HMGET", [self._layout.bands(generation.number)], [b"bits", b"version", *shards]

    def _records_of(self, keys: AbstractSet[bytes]) -> list[Call]:
        """Return the calls that read what is stored under these keys."""
        groups = groupby(sorted(keys), lambda key: seconds_of(key) // self._layout.slice_seconds)
        by_slice = [[*group] for _, group in groups]
        return [("HMGET", [self._layout.records(group[0])], group) for group in by_slice]

    async def _choose_bits(self, client: Redis, new: _New) -> int:
        """Choose the bits of a generation that has no postings yet."""
        names = self._layout.slices(seconds_of(new.key))
        lengths = cast("list[int]", await lua.run_or_raise(client, [("HLEN", [name], []) for name in names]))
        slices = new.own.seconds / self._layout.slice_seconds
        return bits_of_new_generation(lengths, slices * len(new.keys.weights))

    async def _place(self, client: Redis, batch: _Batch, news: Sequence[_New]) -> None:
        """Find the documents that were checked before. If another document has a key, take the next key."""
        is_settled = False
        while not is_settled:
            is_settled = True
            await self._read_packed(client, batch, {new.key for new in news})
            taken: dict[bytes, _New] = {}
            for new in news:
                packed, first = batch.packed[new.key], taken.get(new.key)
                stored = read_record(packed) if packed is not None else None
                if packed is None and first is None:
                    taken[new.key] = new
                elif first and new.is_the_same(first.record):
                    new.known = first
                elif stored and new.is_the_same(stored):
                    new.known = stored
                else:
                    if first is None and stored is None:
                        self._damage.warn_once("a record")
                    new.record, is_settled = with_next_key(new.record), False

    async def _read_candidates(self, client: Redis, batch: _Batch, news: Sequence[_New]) -> None:
        """Read the records of all candidates, and those that dropped documents among them link to, and the runs."""
        wanted = {key for new in news for key in new.candidates}
        wanted |= {new.known.candidate for new in news if isinstance(new.known, Record)}
        if wanted:
            reads_runs: Call = script("runs"), self._layout.names("runs"), ()
            calls = self._records_of(wanted - batch.packed.keys())
            guesses = self._guess_stories(news)
            guessed = [self._stories.read_call(*each) for each in guesses.items()]
            runs, *answers = await lua.run_all(client, [reads_runs, *calls, *guessed])
            for (story, members), answer in zip(guesses.items(), answers[len(calls) :], strict=True):
                batch.stories[story] = self._stories.stored(story, members, answer)
            lua.raise_error([runs, *answers[: len(calls)]])
            milliseconds, kept = read_runs(runs)
            batch.runs.now = milliseconds / 1000
            batch.runs.beats = {int(number): (a / 1000, b / 1000) for number, (a, b) in heartbeats(kept).items()}
            batch.note(calls, answers)
        for _ in range(MOST_LINKS + 1):
            await self._read_packed(client, batch, wanted := wanted - batch.records.keys())
            for key in wanted:
                packed = batch.packed[key]
                batch.records[key] = record = read_record(packed) if packed is not None else None
                if record is not None:
                    self._story_of[key] = record.story
                elif packed is not None:
                    self._damage.warn_once("a record")
            links = {record.candidate for key in wanted if (record := batch.records[key]) and record.is_dropped}
            if not (wanted := links - batch.records.keys()):
                break

    def _guess_stories(self, news: Sequence[_New]) -> dict[bytes, set[bytes]]:
        """Return the stories that documents will probably join, each with these documents.

        To guess saves a request. If many documents share the requests, that is not worth what it costs to guess wrong.
        """
        guesses: dict[bytes, set[bytes]] = {}
        for new in news if len(news) <= _MOST_GUESSED else ():
            for likeliest in new.candidates[:1]:
                guesses.setdefault(self._story_of.get(likeliest, likeliest), set()).add(new.key)
        return guesses

    async def _read_packed(self, client: Redis, batch: _Batch, keys: AbstractSet[bytes]) -> None:
        """Read what is stored under these keys, unless it was read before."""
        if calls := self._records_of(keys - batch.packed.keys()):
            batch.note(calls, await lua.run_or_raise(client, calls))

    def _commit(self, batch: _Batch, new: _New) -> Call | None:
        """Return the call that registers a document and writes the story that it joins, None if nothing is new."""
        expected, writes, posting = list[Expected](), list[Call](), None
        if new.judged and new.judged.join:
            try:
                new.story, expected, writes = self._stories.join(batch.stories, new.judged.join)
            except (StoreError, RedisError) as error:
                new.story = self._explain(error)
                if isinstance(new.story, StoreUnavailable):
                    raise new.story from error
        if (record := batch.decided.get(new.key)) is not None and new.known is None:
            new.packed = record.pack()
            own = (self._layout.records(new.key),)
            ends = self._layout.end_of_slice(seconds_of(new.key)), new.own.start + new.own.seconds
            slice_lives, bands_live = (end + self._policy.window - seconds_of(new.key) for end in ends)
            registered: Expected = ("HGET", own, (new.key,)), b""
            if record.candidate != new.key:
                match: Call = "HEXISTS", (self._layout.records(record.candidate),), (record.candidate,)
                expected = [registered, (match, b"1"), *expected]
            else:
                expected = [registered, *expected]
            posting = self._posting(new)
            if len(self._story_of) > _MOST_REMEMBERED:
                self._story_of.clear()
            self._story_of[new.key] = record.story
            writes = [
                ("EXPIRE", (self._layout.bands(new.own.number),), (bands_live,)),
                *writes,
                ("HSET", own, (new.key, new.packed)),
                ("EXPIRE", own, (slice_lives,)),
            ]
        return swap_call(expected, writes, posting) if writes else None

    def _posting(self, new: _New) -> Posting:
        own, keys = new.own, new.keys
        generations = sorted(new.generations, key=lambda each: each is own)
        return Posting(
            (keys.packed, keys.packed_weights, LEAST_WEIGHT, own.posting_bytes, new.version, *own.added(keys, new.key)),
            [(self._layout.bands(each.number), each.bits, each.version, each.newest()) for each in generations],
        )


class _Batch:
    """What was read for documents that are decided one after the other, and what was decided so far."""

    def __init__(self, news: Sequence[_New], policy: Policy, run: int, damage: DamageLog) -> None:
        self._policy = policy
        self._damage = damage
        self.runs = Runs(run)
        self.packed: dict[bytes, bytes | None] = {}  # stored records, None where there is none
        self.records: dict[bytes, Record | None] = {}  # those of candidates, also those of this batch
        self.decided: dict[bytes, Record] = {}
        self.stories: Stories = {}
        self._shared = set[int]()  # look-up keys of several documents
        self._posted: dict[int, list[tuple[int, bytes]]] = {}  # generations and postings by shared key
        self._versions: dict[int, bytes] = {}  # of the generations with documents of this batch
        met = set[int]()
        for new in news:
            self._shared |= met & new.keys.numbers.keys()
            met |= new.keys.numbers.keys()

    def note(self, calls: Sequence[Call], answers: Iterable[object]) -> None:
        """Note what is stored under some keys; ``calls`` have asked for it."""
        for (_, _, keys), packed in zip(calls, answers, strict=False):
            self.packed.update(zip(cast("list[bytes]", keys), cast("list[bytes | None]", packed), strict=True))

    def vote(self, new: _New) -> None:
        """Find the candidates of a document, and post it for those that come after it."""
        if self._versions:
            self._add_posted(new)
        new.candidates = find_candidates(new.keys, new.generations, new.key, self._policy.window)
        own, new.version = new.own, secrets.token_bytes(8)
        self._versions[own.number] = new.version
        posted = own.number, own.posting_of(new.key)
        for key in new.keys.numbers.keys() & self._shared:
            self._posted.setdefault(key, []).append(posted)

    def _add_posted(self, new: _New) -> None:
        """Add the postings of this batch to those that were read for a document."""
        generations = {generation.number: generation for generation in new.generations}
        for number in generations.keys() & self._versions.keys():
            generations[number].version = self._versions[number]
        for key in new.keys.numbers.keys() & self._posted.keys():
            for number, posting in self._posted[key]:
                if number in generations:
                    generations[number].add(new.keys.numbers[key], posting)

    def decide(self, new: _New) -> None:
        """Find the match of a document, and the record to register unless the document was checked before."""
        if new.known is not None:
            known = new.known if isinstance(new.known, Record) else self.decided[new.key]
            old = self.records.get(known.candidate)
            new.match = decide_again(new.key, known, old, self._policy, self._state(old)) if old else None
            return
        found = [(key, old, self._state(old)) for key in new.candidates if (old := self.records[key])]
        decision = decide(new.record, found, self._policy, new.least_dropped)
        if decision.is_any_damaged:
            self._damage.warn_once("a record")
        new.match = decision.match
        self.records[new.key] = self.decided[new.key] = decision.record

    def _state(self, record: Record) -> CandidateState:
        return self.runs.state(record, self.records.get)
