"""The shared store over several hash tags of a Redis Cluster, so that one window is served by several nodes.

Each shard has the keys of layout.py under its own hash tag,
``{neardup:<namespace>:<config>/<shards>.<shard>}``, and one more: ``…:pending``, HASH document key -> its keys, of
documents whose match is not decided yet. A story lives in one shard. The protocol: sharding.py.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, TypeVar, cast

from scrapy_neardup.document import Claim, Document, Fingerprint, Granted, Join, Match, Member, Story, UnconfirmedGrant
from scrapy_neardup.index.base import StoreSummary
from scrapy_neardup.index.batching import Batcher
from scrapy_neardup.index.redis.index import RedisIndex
from scrapy_neardup.index.redis.layout import RedisLayout, window_arguments
from scrapy_neardup.index.redis.lua import ScriptCall, script, window_script
from scrapy_neardup.index.redis.runs import RedisRuns
from scrapy_neardup.index.redis.sharding import (
    MOST_RETURNED,
    Candidate,
    Part,
    Question,
    candidates,
    known_answer,
    shard_of,
)
from scrapy_neardup.index.redis.stories import RedisStories
from scrapy_neardup.index.redis.survey import survey_shards
from scrapy_neardup.index.redis.types import WrongTypes
from scrapy_neardup.records.documents import read_record, seconds_of
from scrapy_neardup.similarity.policy import Policy
from scrapy_neardup.similarity.verification import (
    Choice,
    ScoredCandidate,
    best_of_another_story,
    choose_match,
    score_candidate,
)

if TYPE_CHECKING:
    from redis.asyncio import Redis

logger = logging.getLogger(__name__)

_BATCH = 64
R = TypeVar("R")


class Shard:
    """The keys of one shard, and the script calls that work on them."""

    def __init__(self, prefix: str, policy: Policy, shards: int, types: WrongTypes) -> None:
        self.prefix = prefix
        self.pending = f"{prefix}:pending"
        self.layout = RedisLayout(prefix, policy.window)
        self._probe_script = window_script("probe", policy, shards)
        self.stories = RedisStories(prefix, policy.window, types)

    def probe(self, question: Question, part: Part) -> ScriptCall:
        keys = *self.layout.keys(seconds_of(question.key)), self.pending.encode()
        of_document = window_arguments(
            question.key, question.record, part.keys, part.identities, question.least_dropped
        )
        return self._probe_script, keys, (*of_document, question.packed_keys, str(MOST_RETURNED).encode())

    def settle(self, key: bytes, record: bytes, state: bytes = b"") -> ScriptCall:
        """Return the call that decides a document. ``record`` is empty if the document matches nothing."""
        arguments = key, state or (b"matched" if record else b"first"), record
        return script("settle"), (self.pending, self.records(key)), arguments

    def records(self, key: bytes) -> str:
        return self.layout.records(seconds_of(key))


class ShardedRedisIndex(RedisIndex):
    """``url``: see connection.py. A single server works as well as a Cluster.

    The calls of all checks that wait together travel at the same time, in one pipeline a node.
    """

    pauses = 0.001, 0.02  # seconds between two looks at what is undecided: the first, and the longest

    def __init__(
        self,
        url: str,
        namespace: str,
        config: str,
        policy: Policy,
        *,
        shards: int,
        timeout: float = 2.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(url, namespace, config, policy, timeout=timeout)
        self._clock = clock
        self.stored_as = f"{config}/{shards}"
        self._configs = [f"{config}/{shards}.{number}" for number in range(shards)]
        self.shards = [Shard(f"{{neardup:{namespace}:{each}}}", policy, shards, self._types) for each in self._configs]
        self._runs = RedisRuns([shard.layout for shard in self.shards], self._types, 2 * policy.window)
        # Each call of a batch delays the decisions for which others wait.
        self._calls: Batcher[Sequence[ScriptCall], list[object]] = Batcher(self._run_calls, max(1, _BATCH // shards))
        self._decisions: Batcher[Sequence[ScriptCall], list[object]] = Batcher(self._run_calls, _BATCH)
        self._looks: Batcher[tuple[int, bytes], bytes | None] = Batcher(self._run_looks, _BATCH)
        self._story_joins: list[Batcher[Join, Story]] = [
            Batcher(partial(self._join_in, shard), _BATCH) for shard in self.shards
        ]
        self._story_claims: list[Batcher[Claim, Granted | None]] = [
            Batcher(partial(self._claim_in, shard), _BATCH) for shard in self.shards
        ]
        self._under_way: set[asyncio.Task[Match | None]] = set()
        # Decisions that this process knows before all shards do.
        self._checks: dict[bytes, asyncio.Task[Match | None]] = {}
        self._undecided: dict[bytes, asyncio.Future[bytes]] = {}

    async def close(self) -> None:
        while self._under_way:
            await asyncio.wait(self._under_way)
        await asyncio.gather(self._calls.join(), self._looks.join(), self._decisions.join())
        await asyncio.gather(*(each.join() for each in self._story_joins))
        await asyncio.gather(*(each.join() for each in self._story_claims))
        await super().close()

    async def _try(self, client: Redis) -> None:
        for shard in self.shards:
            await client.exists(shard.pending)

    # Checks

    async def check(self, fingerprint: Fingerprint, document: Document) -> Match | None:
        """Check, even if the caller is cancelled: others may wait for the decision."""
        least_dropped = self.policy.least_dropped_share(document.source)
        question = Question.of(fingerprint, document, len(self.shards), least_dropped, self.run)
        if (task := self._checks.get(question.key)) is None:
            task = self._checks[question.key] = asyncio.create_task(self._check(question))
            self._under_way.add(task)
            task.add_done_callback(self._under_way.discard)
        return await asyncio.shield(task)

    async def _check(self, question: Question) -> Match | None:
        decided: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._undecided[question.key] = decided
        # If a single server fails, there is nothing to settle, and it would be one more answer to wait for.
        undecided = [part.shard for part in question.parts] if self._address.kind == "cluster" else []
        packed = b""
        try:
            answers = await self._ask_shards(question)
            undecided = [shard for shard, answer in answers.items() if not answer[0]]
            if (known := known_answer(question, answers.values(), self.policy)) is not None:
                match, packed = known
                return match
            found = await self._found(
                question, candidates(question, answers, self.policy, len(self.shards), self._damage.warn_of_record)
            )
            if found.match is not None:
                packed = found.link(question.record, self.policy, question.least_dropped).pack()
        finally:
            decided.set_result(packed or question.record.pack())
            settled = self._settle(undecided, question.key, packed)
            settled.add_done_callback(lambda _: self._forget(question.key))
        await self._unlink_dead_of(question.second)
        return found.answer()

    async def _found(self, question: Question, scored: Sequence[tuple[ScoredCandidate, Candidate]]) -> Choice:
        """Choose the match, after the likelier candidates are decided."""
        best = await self._decide(question, [each for each in scored if each[0].state != "lost"])
        found = choose_match([each for each, _ in scored if each.state == "lost"])
        if best is None:
            return found
        # The story of an undecided candidate is not known.
        decided = (each for each, candidate in scored if candidate.is_decided and each.state != "lost")
        return Choice(best, best_of_another_story(decided, best), found.before)

    async def _ask_shards(self, question: Question) -> dict[int, Sequence[bytes]]:
        calls = [self.shards[part.shard].probe(question, part) for part in question.parts]
        answers = await self._calls.submit(calls)
        for answer in answers:
            if isinstance(answer, Exception):
                raise self._explained(answer)
        shards = (part.shard for part in question.parts)
        return dict(zip(shards, cast("list[Sequence[bytes]]", answers), strict=True))

    async def _decide(
        self, question: Question, found: Sequence[tuple[ScoredCandidate, Candidate]]
    ) -> ScoredCandidate | None:
        # Documents may wait for each other in a ring. They must not all give up at the same time.
        until = self._clock() + self.timeout * (1 + question.key[-1] / 1024)
        for scored, candidate in found:
            if candidate.is_decided:
                return scored
            record = read_record(await self._decision(candidate, until))
            if record is None or record.original == question.key:
                continue
            # The score may change with the decision: a document of the same topic may turn out not to begin a story.
            if (
                decided := score_candidate(candidate.key, question.record, record, self.policy, scored.state)
            ) is not None:
                return decided
        return None

    async def _decision(self, candidate: Candidate, until: float) -> bytes:
        """Return the record of a candidate once its match is decided; empty if that takes too long or it is gone."""
        own = self._undecided.get(candidate.key)
        if own is not None:
            await asyncio.wait([own], timeout=max(0.0, until - self._clock()))
            return own.result() if own.done() else b""
        pause, longest = self.pauses
        while True:  # look at least once, even if waiting for another candidate took all the time
            record = await self._looks.submit((min(candidate.shards), candidate.key))
            if record is not None:
                return record
            if self._clock() >= until:
                break
            await asyncio.sleep(pause)
            pause = min(2 * pause, longest)
        # The candidate's process died, or documents wait in a ring. Decide the candidate before others give up too.
        self._settle(sorted(candidate.shards), candidate.key, b"", b"first" if candidate.is_doubted else b"doubt")
        return b""

    def _settle(
        self, shards: Sequence[int], key: bytes, record: bytes, state: bytes = b""
    ) -> asyncio.Future[list[object]]:
        """Tell the shards a decision. Others may wait for it, but the verdict does not wait until they are told."""
        settled = self._decisions.put([self.shards[shard].settle(key, record, state) for shard in shards])
        settled.add_done_callback(_note_failure)
        return settled

    def _forget(self, key: bytes) -> None:
        del self._undecided[key], self._checks[key]

    async def _run_calls(self, batch: Sequence[Sequence[ScriptCall]]) -> list[list[object] | BaseException]:
        together = [call for calls in batch for call in calls]
        answers = iter(await self._ask(lambda client: self._types.run(client, together)) if together else ())
        return [[next(answers) for _ in calls] for calls in batch]

    async def _run_looks(self, batch: Sequence[tuple[int, bytes]]) -> list[bytes | BaseException | None]:
        async def look(client: Redis) -> list[object]:
            pipeline = client.pipeline(transaction=False)
            for number, key in batch:
                pipeline.hexists(self.shards[number].pending, key)  # first, because a settled document stays settled
                pipeline.hget(self.shards[number].records(key), key)
            return cast("list[object]", await pipeline.execute())

        answers = await self._ask(look)
        return [
            None if undecided else cast("bytes", record or b"")
            for undecided, record in zip(answers[::2], answers[1::2], strict=True)
        ]

    async def _unlink_dead_of(self, second: int) -> None:
        for shard in self.shards:
            if (dead := shard.layout.dead_after(second)) is not None:
                await self._free(shard.stories, dead[0], [dead[1]])

    @property
    def _prefixes(self) -> list[str]:
        return [shard.prefix for shard in self.shards]

    # Stories

    def _shard_of(self, story: str) -> int:
        return shard_of(int(story[8:], 16), len(self.shards))

    async def join(self, join: Join) -> Story:
        return await self._story_joins[self._shard_of(join.story)].submit(join)

    async def claim(self, claim: Claim) -> Granted | None:
        return await self._story_claims[self._shard_of(claim.story)].submit(claim)

    async def _join_in(self, shard: Shard, batch: Sequence[Join]) -> list[Story | BaseException]:
        return self._each_explained(await self._ask(lambda client: shard.stories.join(client, batch)))

    async def _claim_in(self, shard: Shard, batch: Sequence[Claim]) -> list[Granted | BaseException | None]:
        return self._each_explained(await self._ask(lambda client: shard.stories.claim(client, batch)))

    async def confirm(self, grants: Sequence[tuple[str, str]]) -> None:
        by_shard: dict[int, list[tuple[str, str]]] = {}
        for story, token in grants:
            by_shard.setdefault(self._shard_of(story), []).append((story, token))
        for shard, own in by_shard.items():
            await self._ask(partial(self.shards[shard].stories.confirm, grants=own))

    async def take_over(self, seconds: float) -> list[UnconfirmedGrant]:
        parts = await self._of_all(lambda client, stories: stories.take_over(client, seconds))
        return [untold for part in parts for untold in part]

    async def open_events(self, quiet_since: int | None = None) -> list[Story]:
        parts = await self._of_all(lambda client, stories: stories.open_events(client, quiet_since))
        return sorted((story for part in parts for story in part), key=lambda story: story.id)

    async def members(self, story: str) -> tuple[Member, ...]:
        stories = self.shards[self._shard_of(story)].stories
        return await self._ask(lambda client: stories.members(client, story))

    async def peaks(self, since: int) -> dict[str, int]:
        parts = await self._of_all(lambda client, stories: stories.peaks(client, since))
        return {story: peak for part in parts for story, peak in part.items()}

    async def _of_all(self, question: Callable[[Redis, RedisStories], Awaitable[R]]) -> list[R]:
        def ask(shard: Shard) -> Awaitable[R]:
            return self._ask(lambda client: question(client, shard.stories))

        return await asyncio.gather(*map(ask, self.shards))

    # For people

    def _keys_by_prefix(self, fingerprint: Fingerprint, document: Document) -> Mapping[str, Sequence[int]]:
        parts = Question.of(fingerprint, document, len(self.shards), least_dropped=1.0).parts
        return {self.shards[part.shard].prefix: part.keys for part in parts}

    async def summary(self) -> StoreSummary:
        return await self._ask(
            lambda client: survey_shards(client, self.url, self.namespace, self.config, self._configs)
        )


def _note_failure(settled: asyncio.Future[list[object]]) -> None:
    """Log that a decision is lost: others find the document undecided, wait for a while and go on without it."""
    if not settled.cancelled() and (error := settled.exception()) is not None:
        logger.debug("A decision did not reach the store: %s", error)
