"""The shared store over several hash tags of a Redis Cluster, so that one window is served by several nodes.

A story lives in one shard.

A document's keys are spread over the shards, and each shard that has one of them has its record. All are asked at the
same time, each by one call of ``scripts/check_shard.lua``. It returns the candidates that arrived in that shard before
the document, and registers the document there as one whose match is not decided yet.

If two documents are checked at the same time, the lowest-numbered shard in which they share a key decides: the one that
came later there may match the other. Both find this out by themselves, because an undecided document is stored with its
keys. So if two documents are alike, exactly one sees that the other came first, however their calls are interleaved.
The later one waits until the earlier one is decided. So it links to an original and not to a duplicate.

Three or more that are alike but not identical can wait for each other in a ring, because each pair may share another
shard. The first one whose patience ends is an original, and the others follow.
"""

from __future__ import annotations

import asyncio
import logging
import struct
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from scrapy_neardup.document import Document, Fingerprint, Match
from scrapy_neardup.index.base import DamageLog
from scrapy_neardup.index.batching import Batcher
from scrapy_neardup.index.redis.index import BATCH, RedisIndex
from scrapy_neardup.index.redis.layout import pack_keys, shard_of, window_arguments
from scrapy_neardup.index.redis.lua import ScriptCall, script
from scrapy_neardup.records.documents import Record, new_record, read_record, seconds_of
from scrapy_neardup.similarity.policy import Policy
from scrapy_neardup.similarity.verification import (
    CANDIDATE_STATES,
    Choice,
    ScoredCandidate,
    best_of_another_story,
    choose_match,
    score_candidate,
    to_match,
)

logger = logging.getLogger(__name__)

MOST_RETURNED = 8
"""Candidates that a shard returns: its best, and some more in case the document came before some of them."""


@dataclass(frozen=True, slots=True)
class Question:
    """A document to be checked."""

    key: bytes
    record: Record  # as an original
    keys: frozenset[int]
    parts: dict[int, tuple[list[int], ...]]  # by shard: its keys of identity, of the text, and of the topic
    least_dropped: float  # it is dropped as a copy if its match holds at least this share of it

    @classmethod
    def of(
        cls, fingerprint: Fingerprint, document: Document, shards: int, least_dropped: float, run: int = 0
    ) -> Question:
        parts: dict[int, tuple[list[int], ...]] = defaultdict(lambda: ([], [], []))
        text_keys = fingerprint.band_keys + fingerprint.sample_keys
        for kind, keys in enumerate((fingerprint.identity_keys, text_keys, fingerprint.topic_keys)):
            for key in keys:
                parts[shard_of(key, shards)][kind].append(key)
        return cls(
            key=bytes.fromhex(document.id),
            record=new_record(fingerprint, document, run),
            keys=frozenset(fingerprint.identity_keys + fingerprint.text_keys),
            parts=dict(sorted(parts.items())),
            least_dropped=least_dropped,
        )


@dataclass(slots=True)
class Candidate:
    """A document that arrived before the new one in at least one shard, as the shards describe it."""

    key: bytes
    record: bytes  # packed
    keys: bytes  # packed, with one more byte if somebody waited in vain; empty once its match is decided
    shards: set[int] = field(default_factory=set)  # in which it arrived before the new document
    state: int = 0  # its place in CANDIDATE_STATES; if shards disagree, the worst one

    @property
    def is_decided(self) -> bool:
        return not self.keys

    def may_match(self, keys: frozenset[int], shards: int) -> bool:
        """Return whether a document with these keys came after this candidate, and so may match it."""
        words = len(self.keys) // 4
        shared = keys.intersection(struct.unpack_from(f">{words}I", self.keys))
        return self.is_decided or min((shard_of(key, shards) for key in shared), default=-1) in self.shards


class ShardedRedisIndex(RedisIndex):
    """The store of a window in several shards. ``url``, see connection.py, names one server or a Cluster.

    The calls of all checks that wait together travel at the same time, in one pipeline a node.
    """

    pauses = 0.001, 0.02  # seconds between two looks at an undecided candidate: the first pause, and the longest

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
        super().__init__(url, namespace, config, policy, timeout=timeout, shards=shards)
        self._clock = clock
        # Each call of a batch delays the decisions for which others wait.
        self._calls: Batcher[Sequence[ScriptCall], list[object]] = Batcher(self._run_calls, max(1, BATCH // shards))
        self._decisions: Batcher[Sequence[ScriptCall], list[object]] = Batcher(self._run_calls, BATCH)
        self._looks: Batcher[tuple[int, bytes], bytes | None] = Batcher(self._run_looks, BATCH)
        # Decisions that this process knows before all shards do.
        self._tasks: dict[bytes, asyncio.Task[Match | None]] = {}
        self._undecided: dict[bytes, asyncio.Future[bytes]] = {}

    async def close(self) -> None:
        while under_way := [task for task in self._tasks.values() if not task.done()]:
            await asyncio.wait(under_way)
        await asyncio.gather(self._calls.join(), self._looks.join(), self._decisions.join())
        await super().close()

    async def check(self, fingerprint: Fingerprint, document: Document) -> Match | None:
        """Check, even if the caller is cancelled: others may wait for the decision."""
        least_dropped = self.policy.least_dropped_share(document.source)
        question = Question.of(fingerprint, document, len(self.layout.prefixes), least_dropped, self.run)
        if (task := self._tasks.get(question.key)) is None:
            task = self._tasks[question.key] = asyncio.create_task(self._check(question, document))
        return await asyncio.shield(task)

    async def _check(self, question: Question, document: Document) -> Match | None:
        decided: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._undecided[question.key] = decided
        # If a single server fails, do not settle anything: that would only be one more answer to wait for.
        undecided = [*question.parts] if self._address.kind == "cluster" else []
        packed = b""
        try:
            answers = await self._ask_shards(question)
            undecided = [shard for shard, answer in answers.items() if not answer[0]]
            if (known := _known_answer(question, answers.values(), self.policy)) is not None:
                match, packed = known
                return match
            scored = _candidates(question, answers, self.policy, len(self.layout.prefixes), self._damage)
            found = await self._choose(question, scored)
            if found.match is not None:
                packed = found.link(question.record, self.policy, question.least_dropped).pack()
        finally:
            decided.set_result(packed or question.record.pack())
            settled = self._settle(undecided, question.key, packed)
            settled.add_done_callback(lambda _: self._forget(question.key))
        await self._unlink_dead([document])
        return found.answer(question.record, self.policy)

    async def _ask_shards(self, question: Question) -> dict[int, Sequence[bytes]]:
        calls: list[ScriptCall] = []
        for shard, (identities, texts, topics) in question.parts.items():
            prefix = self.layout.prefixes[shard]
            keys = *self.layout.check_keys(prefix, seconds_of(question.key)), f"{prefix}:pending".encode()
            posted, kinds = identities + texts + topics, (len(identities), len(topics))
            of_document = window_arguments(question.key, question.record, posted, kinds, question.least_dropped)
            arguments = *of_document, pack_keys(sorted(question.keys)), str(MOST_RETURNED).encode()
            calls.append((self._check_script, keys, arguments))
        answers = await self._calls.submit(calls)
        for answer in answers:
            if isinstance(answer, Exception):
                raise self._explained(answer)
        return dict(zip(question.parts, cast("list[Sequence[bytes]]", answers), strict=True))

    async def _choose(self, question: Question, scored: Sequence[tuple[ScoredCandidate, Candidate]]) -> Choice:
        """Choose the match, after the likelier candidates are decided."""
        # Documents may wait for each other in a ring. They must not all give up at the same time.
        until = self._clock() + self.timeout * (1 + question.key[-1] / 1024)
        alive = [(each, candidate) for each, candidate in scored if each.state != "lost"]
        if_lost = choose_match([each for each, _ in scored if each.state == "lost"])
        for each, candidate in alive:
            match = each if candidate.is_decided else await self._once_decided(question, each, candidate, until)
            if match is not None:
                # The story of an undecided candidate is not known.
                others = (other for other, its_answer in alive if its_answer.is_decided)
                return Choice(match, best_of_another_story(others, match), if_lost.lost_same_page)
        return if_lost

    async def _once_decided(
        self, question: Question, scored: ScoredCandidate, candidate: Candidate, until: float
    ) -> ScoredCandidate | None:
        """Return the candidate as it is scored by its decision. It may turn out not to begin a story, for example."""
        record = read_record(await self._decision(candidate, until))
        if record is None or record.original == question.key:
            return None
        return score_candidate(candidate.key, question.record, record, self.policy, scored.state)

    async def _decision(self, candidate: Candidate, until: float) -> bytes:
        """Return the record of a candidate once its match is decided.

        Return b"" if that takes too long or the candidate is gone.
        """
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
        self._settle(sorted(candidate.shards), candidate.key, b"", b"first" if len(candidate.keys) % 4 else b"doubt")
        return b""

    def _settle(
        self, shards: Sequence[int], key: bytes, record: bytes, state: bytes = b""
    ) -> asyncio.Future[list[object]]:
        """Tell the shards a decision. Others may wait for it, but the verdict does not wait until they are told."""
        arguments = key, state or (b"matched" if record else b"first"), record
        prefixes = [self.layout.prefixes[shard] for shard in shards]
        settled = self._decisions.submit(
            [(script("settle"), (f"{each}:pending", self.layout.records(each, key)), arguments) for each in prefixes]
        )
        settled.add_done_callback(_note_failure)
        return settled

    def _forget(self, key: bytes) -> None:
        del self._undecided[key], self._tasks[key]

    async def _run_calls(self, batch: Sequence[Sequence[ScriptCall]]) -> list[list[object] | BaseException]:
        together = [call for calls in batch for call in calls]
        answers = iter(await self._ask(lambda client: self._types.run(client, together)) if together else ())
        return [[next(answers) for _ in calls] for calls in batch]

    async def _run_looks(self, batch: Sequence[tuple[int, bytes]]) -> list[bytes | BaseException | None]:
        prefixes = [self.layout.prefixes[number] for number, _ in batch]
        calls: list[ScriptCall] = [
            (script("look"), (f"{prefix}:pending", self.layout.records(prefix, key)), (key,))
            for prefix, (_, key) in zip(prefixes, batch, strict=True)
        ]
        return cast("list[bytes | BaseException | None]", await self._call_all(calls))


def _known_answer(
    question: Question, answers: Iterable[Sequence[bytes]], policy: Policy
) -> tuple[Match | None, bytes] | None:
    """Return match and record of a document that was checked before and is decided, else None."""
    decided = [answer for answer in answers if answer[0]]
    for packed, *matched in decided:
        known = read_record(packed)
        old = read_record(matched[0]) if known and matched else None
        state = CANDIDATE_STATES[int(matched[1])] if matched else "seen"
        scored = score_candidate(known.candidate, question.record, old, policy, state) if known and old else None
        if scored:
            return to_match(scored), packed
    return (None, decided[0][0]) if decided else None


def _candidates(
    question: Question,
    answers: Mapping[int, Sequence[bytes]],
    policy: Policy,
    shards: int,
    damage: DamageLog,
) -> list[tuple[ScoredCandidate, Candidate]]:
    """Return the candidates that the document may match, the best first."""
    found: dict[bytes, Candidate] = {}
    for shard, answer in answers.items():
        if len(answer) % 4 != 1 or answer[0]:
            continue  # decided in this shard already
        parts = (answer[at::4] for at in range(1, 5))
        for key, packed, keys, state in zip(*parts, strict=True):
            candidate = found.setdefault(key, Candidate(key, packed, keys))
            candidate.state = max(candidate.state, int(state))
            candidate.shards.add(shard)
            if not keys:  # one shard may learn the decision before another
                candidate.record, candidate.keys = packed, b""
    scored = []
    for candidate in found.values():
        if not candidate.may_match(question.keys, shards):
            continue
        if (record := read_record(candidate.record)) is None:
            damage.warn_once("a record")
            continue
        if record.original == question.key:
            continue
        if passed := score_candidate(candidate.key, question.record, record, policy, CANDIDATE_STATES[candidate.state]):
            scored.append((passed, candidate))
    # Among equals, one that is decided comes first: nobody has to wait for it.
    return sorted(scored, key=lambda each: (*each[0].rank[:-1], not each[1].is_decided, each[0].rank[-1]))


def _note_failure(settled: asyncio.Future[list[object]]) -> None:
    """Log that a decision is lost: others find the document undecided, wait for a while and go on without it."""
    if not settled.cancelled() and (error := settled.exception()) is not None:
        logger.debug("A decision did not reach the store: %s", error)
