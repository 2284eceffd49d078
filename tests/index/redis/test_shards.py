"""One window over several shards: who is the original, however the calls of several documents are interleaved."""

from __future__ import annotations

import asyncio
import itertools
import uuid
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
from conftest import CONFIG
from documents import START, digest, key_of
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule, run_state_machine_as_test
from long_form import tries
from redis import Redis

from scrapy_neardup.document import Document, Fingerprint, Match
from scrapy_neardup.index import Policy
from scrapy_neardup.index.redis.lua import ScriptCall
from scrapy_neardup.index.redis.sharded import ShardedRedisIndex

if TYPE_CHECKING:
    pass

SHARDS = 5
BLOCKS = 4
_serial = itertools.count()

Waiting = tuple[Callable[[Redis], object], "asyncio.Future[object]"]


@dataclass(frozen=True)
class Mosaic:
    """A text of four blocks, each in one of two versions. Texts with two blocks alike are copies, with one related."""

    blocks: tuple[int, ...]

    def alike(self, other: Mosaic) -> int:
        return sum(map(int.__eq__, self.blocks, other.blocks))

    def fingerprint(self) -> Fingerprint:
        parts = list(enumerate(self.blocks))
        return Fingerprint(
            signature=b"".join(digest(repr((part, lane)), 8) for part in parts for lane in range(8)),
            size=300,
            text_hash=digest(repr(self.blocks)),
            url_hash=bytes(8),
            source_hash=bytes(4),
            identity_keys=(key_of("text", self.blocks),),
            band_keys=tuple(key_of(part, band) for part in parts for band in range(2)),
        )


class Interleaved(ShardedRedisIndex):
    """Of one process with one document: each of its calls waits in ``pool`` until it is let through."""

    pauses = 0.0, 0.0

    def __init__(self, namespace: str, pool: list[Waiting], clock: Callable[[], float]) -> None:
        super().__init__("redis://nowhere", namespace, CONFIG, Policy(), shards=SHARDS, timeout=2, clock=clock)
        self._pool = pool

    async def _wait(self, step: Callable[[Redis], object]) -> object:
        future: asyncio.Future[object] = asyncio.get_running_loop().create_future()
        self._pool.append((step, future))
        return await future

    async def _run_calls(self, batch: Sequence[Sequence[ScriptCall]]) -> list[list[object] | BaseException]:
        return [await asyncio.gather(*map(self._call, calls)) for calls in batch]

    async def _call(self, call: ScriptCall) -> object:
        script, keys, arguments = call
        return await self._wait(lambda client: client.eval(script.source, len(keys), *keys, *arguments))

    async def _run_looks(self, batch: Sequence[tuple[int, bytes]]) -> list[bytes | BaseException | None]:
        return [await self._look(*each) for each in batch]

    async def _look(self, number: int, key: bytes) -> bytes | None:
        prefix = self.layout.prefixes[number]
        undecided = await self._wait(lambda client: client.hexists(f"{prefix}:pending", key))
        record = await self._wait(lambda client: client.hget(self.layout.records(prefix, key), key))
        return None if undecided else record or b""  # type: ignore[return-value]


class Interleavings(RuleBasedStateMachine):
    """Documents begin at any time; one call of any of them goes through at a time."""

    client: Redis
    versions: int

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.namespace = f"machine-{uuid.uuid4().hex}"
        self.pool: list[Waiting] = []
        self.now = 0.0
        self.checks: dict[str, tuple[Mosaic, asyncio.Task[Match | None]]] = {}
        self.indexes: list[Interleaved] = []

    @precondition(lambda self: len(self.checks) < 6)
    @rule(blocks=st.tuples(*[st.integers(0, 1)] * BLOCKS))
    def begin(self, blocks: tuple[int, ...]) -> None:
        mosaic = Mosaic(tuple(block % self.versions for block in blocks))
        key = START.to_bytes(4, "big") + digest(str(next(_serial)), 4)
        document = Document(key.hex(), "", "", "", "", float(START))
        index = Interleaved(self.namespace, self.pool, lambda: self.now)
        self.indexes.append(index)
        self.checks[document.id] = mosaic, self.loop.create_task(index.check(mosaic.fingerprint(), document))
        self._settle_down()

    @rule(which=st.integers(0, 1000))
    def let_through(self, which: int) -> None:
        if not self.pool:
            return
        step, future = self.pool.pop(which % len(self.pool))
        future.set_result(step(self.client))
        self._settle_down()

    def _settle_down(self) -> None:
        async def a_few_rounds() -> None:
            for _ in range(12):
                await asyncio.sleep(0)

        self.loop.run_until_complete(a_few_rounds())

    def _finish(self) -> bool:
        """Whether no patience was needed."""
        idle, patient = 0, True
        while self.pool or not all(task.done() for _, task in self.checks.values()):
            open_before = sum(not task.done() for _, task in self.checks.values())
            if self.pool:
                self.let_through(0)
            else:
                self._settle_down()
            idle = 0 if sum(not task.done() for _, task in self.checks.values()) < open_before else idle + 1
            if idle > 100:  # more calls than six documents have: a ring
                self.now += 0.01
                patient = False
        return patient

    def teardown(self) -> None:
        patient = self._finish()
        answers = {key: (mosaic, task.result()) for key, (mosaic, task) in self.checks.items()}
        pending = [name for name in self.client.scan_iter(match=f"*{self.namespace}*") if b":pending" in name]
        keys = list(self.client.scan_iter(match=f"{{neardup:{self.namespace}:*", count=1000))
        if keys:
            self.client.unlink(*keys)
        self.loop.close()
        assert pending == [], "everything is decided"
        assert patient or self.versions > 1, "identical documents never wait for each other in a ring"
        for mosaic, match in answers.values():
            if match is not None:
                candidate, _ = answers[match.candidate]
                assert (candidate.alike(mosaic) < 2) is match.related
                _, its_match = answers[match.original]
                assert its_match is None or its_match.related, "a star, never a chain"
        if patient:
            firsts = [mosaic for mosaic, match in answers.values() if match is None or match.related]
            for one, other in itertools.combinations(firsts, 2):
                assert one.alike(other) < 2, "of documents alike exactly one is the original"
            for same in {mosaic for mosaic, _ in answers.values()}:
                own = [match for mosaic, match in answers.values() if mosaic == same]
                assert sum(match is None or not match.same_text for match in own) == 1


@pytest.mark.parametrize("versions", [1, 2], ids=["identical", "alike"])
def test_of_documents_alike_one_is_the_original_however_their_calls_are_interleaved(
    redis_url: str, versions: int
) -> None:
    with closing(Redis.from_url(redis_url)) as client:
        machine = type("Machine", (Interleavings,), {"client": client, "versions": versions})
        run_state_machine_as_test(
            machine,
            settings=settings(
                max_examples=tries(60), stateful_step_count=60, deadline=None, suppress_health_check=list(HealthCheck)
            ),
        )
