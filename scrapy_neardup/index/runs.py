"""Runs: crawls that register documents first and deliver them later.

A run shows that it is alive by a heartbeat in the store. Documents that a run registered and did not deliver before it
died do not count.

The hash ``…:runs`` has for each run "<first heartbeat> <last heartbeat>", milliseconds by the clock of the store.
"""

from __future__ import annotations

import asyncio
import logging
import re
import secrets
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, cast

from scrapy_neardup.index.layout import Steps, changes, reads
from scrapy_neardup.index.store import Breaker, Call, Client, Commit, ConflictError, Expected, answers
from scrapy_neardup.records.documents import IS_DROPPED, Record, read_record
from scrapy_neardup.rules.match import Match
from scrapy_neardup.rules.pair import CANDIDATE_STATES, CandidateState

if TYPE_CHECKING:
    from scrapy_neardup.index.index import Index

logger = logging.getLogger(__name__)

BEAT_SECONDS = 2.0
PATIENCE_SECONDS = 2.5
"""How long a run that begins waits for the next heartbeats of those that began before it."""

LATE_SECONDS = 6.0
"""If the last heartbeat of a run is older than this, copies of its documents are no longer dropped."""

DEAD_SECONDS = 15.0
"""If the last heartbeat of a run is older than this, the run is dead. It lives again with its next heartbeat."""

FORGOTTEN_SECONDS = 3600.0
"""If the last heartbeat of a run is older than this, the store forgets the run."""

MOST_LINKS = 8
"""How many matches are followed from a document that is dropped to one that is kept."""

LARGEST_RUN = (1 << 31) - 1
_REPORTED_TOGETHER = 64
_END_SECONDS = 4.0  # how long a failing store is tried again at the end
_PAUSE = 0.25
_SUFFIX = ".run"
_BEATS = re.compile(rb"(\d{1,15}) (\d{1,15})")


def state_of_run(beat: float | None, now: float, started: float | None) -> CandidateState:
    """Return the state of a run's documents, from the last heartbeat of the run.

    ``started`` is the first heartbeat of the run that asks. An earlier heartbeat may be the last one of a crawl that
    was killed and then started again: runs that live have sent the next one while the run that asks began.
    """
    if beat is None or abs(now - beat) > DEAD_SECONDS or (started is not None and beat < started):
        return "lost"
    return "late" if now - beat > LATE_SECONDS else "seen"


@dataclass(slots=True)
class Heartbeats:
    """The heartbeats of all runs as a store has them, for one run that asks. It asks with 0 if it is none."""

    own: int
    now: float = 0.0  # by the clock of the heartbeats, in seconds
    of_run: dict[int, tuple[float, float]] = field(default_factory=dict)  # the first and the last one

    def note(self, answer: object) -> None:
        """Note the answer to RUNS."""
        now, kept = cast("tuple[int, dict[bytes, bytes]]", answer)
        self.now = now / 1000
        self.of_run = {int(number): (a / 1000, b / 1000) for number, (a, b) in heartbeats(kept).items()}

    def state(
        self, record: Record, record_of: Callable[[bytes], Record | None], links: int = MOST_LINKS
    ) -> CandidateState:
        """Decide whether a document counts as seen. ``record_of`` returns the record of a document."""
        if not record.run:
            return "seen"
        number = record.run & ~IS_DROPPED
        found: CandidateState = "seen"
        if number != self.own:
            started, _ = self.of_run.get(self.own, (None, None))
            _, beat = self.of_run.get(number, (None, None))
            found = state_of_run(beat, self.now, started)
        if found == "lost" or not record.is_dropped:
            return found
        match = record_of(record.candidate) if links else None
        return (
            "lost" if match is None else max(found, self.state(match, record_of, links - 1), key=CANDIDATE_STATES.index)
        )


def heartbeats(kept: Mapping[bytes, bytes]) -> dict[bytes, tuple[int, int]]:
    """Return the first and the last heartbeat of each run, in milliseconds. Leave out what is damaged."""
    found = {number: _BEATS.fullmatch(value) for number, value in kept.items() if number.isdigit()}
    return {number: (int(each[1]), int(each[2])) for number, each in found.items() if each}


class RunSteps(Steps):
    """What runs tell the store."""

    run: int = 0
    """Number of the run that registers documents, up to ``LARGEST_RUN``; 0 registers them as delivered."""

    @changes
    async def beat(self, client: Client) -> None:
        """Tell the store that ``run`` is alive."""
        await self._beat(client, self.run)

    @reads
    async def waits_for_others(self, client: Client) -> bool:
        """Return whether another run may live that has sent no heartbeat since the first one of ``run``."""
        (answer,) = await answers(client, [Call("RUNS", self.layout.runs)])
        found = Heartbeats(self.run)
        found.note(answer)
        started, _ = found.of_run.get(self.run, (0.0, 0.0))
        return any(beat < started and found.now - beat < LATE_SECONDS for _, beat in found.of_run.values())

    @changes
    async def end_run(self, client: Client) -> None:
        """Tell the store that ``run`` is over: documents that it has not delivered no longer count."""
        await self._beat(client, self.run, is_over=True)

    async def _beat(self, client: Client, own: int, *, is_over: bool = False) -> None:
        """Note that a run lives or is over, and forget those that were silent for long."""
        name = self.layout.runs
        (answer,) = await answers(client, [Call("RUNS", name)])
        now, kept = cast("tuple[int, dict[bytes, bytes]]", answer)
        beats = heartbeats(kept)
        run = str(own).encode()
        old = {number for number, (_, last) in beats.items() if now - last > 1000 * FORGOTTEN_SECONDS}
        gone = [*(kept.keys() - beats.keys() | old) - {run}]
        # Many runs beat at the same time: only those conflict that write or remove the heartbeat of the same run.
        expected = [Expected(Call("HGET", name, (number,)), kept[number]) for number in (run, *gone) if number in kept]
        if is_over:
            writes = [Call("HDEL", name, [*gone, run])]
        else:
            first, _ = beats.get(run, (now, now))
            writes = [Call("HDEL", name, gone)] if gone else []
            writes.append(Call("HSET", name, (run, f"{first} {now}")))
        writes.append(Call("EXPIRE", name, (2 * self.policy.window,)))
        if await answers(client, [Commit(expected, writes)]) != [1]:
            raise ConflictError

    @changes
    async def deliver(self, client: Client, documents: Sequence[str]) -> None:
        """Tell the store that documents with these ids are delivered. Those it does not have are left out."""
        calls = self._reads_of(documents)
        commits = []
        for call, packed in zip(calls, await answers(client, calls), strict=True):
            record = read_record(packed) if isinstance(packed, bytes) else None
            if record is not None and record.run:
                write = Call("HSET", call.key, (*call.arguments, replace(record, run=0).pack()))
                commits.append(Commit([Expected(call, cast("bytes", packed))], [write]))
        if any(answer != 1 for answer in await answers(client, commits)):
            raise ConflictError

    @changes
    async def withdraw(self, client: Client, documents: Sequence[str]) -> None:
        """Remove documents with these ids from the window: nobody will deliver them."""
        await answers(client, [call._replace(name="HDEL") for call in self._reads_of(documents)])

    def _reads_of(self, documents: Sequence[str]) -> list[Call]:
        keys = [bytes.fromhex(document) for document in documents]
        return [Call("HGET", self.layout.records(key), (key,)) for key in keys]


class Run:
    """One crawl: its heartbeat, and the documents it has delivered.

    While ``breaker`` is open, the store does not answer, and only heartbeats try it.
    """

    def __init__(self, index: Index, breaker: Breaker) -> None:
        self._index = index
        self._breaker = breaker
        self._queue: list[str] = []
        self._withdrawn: list[str] = []
        # Maps a match to the copies that were dropped because of it: in the current window, and in the window before.
        self._copies: dict[str, list[str]] = {}
        self._older_copies: dict[str, list[str]] = {}
        self._reporting = asyncio.Lock()
        self._over = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []

    async def begin(self) -> None:
        """Register documents as those of this run from now on, and find out which other runs live."""
        self._index.run = secrets.randbelow(LARGEST_RUN) + 1
        await self._beat()
        self._tasks = [asyncio.create_task(self._beat_on())]
        for _ in range(round(PATIENCE_SECONDS / _PAUSE)):
            if not await self._breaker.ask(self._index.waits_for_others()):
                break
            await asyncio.sleep(_PAUSE)

    async def _beat_on(self) -> None:
        window = time.monotonic()
        while not self._over.is_set():
            with suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self._over.wait(), BEAT_SECONDS)
                return
            try:
                await self._beat()
                await self._report_all()
            except Exception:
                logger.exception("A heartbeat of this crawl failed; the next one follows")
            if time.monotonic() - window > self._index.policy.window:
                window = time.monotonic()
                self._older_copies, self._copies = self._copies, {}

    async def _beat(self) -> None:
        await self._tell(self._index.beat())

    async def _tell(self, call: Awaitable[None]) -> bool:
        """Return whether the store answers."""

        async def answer() -> bool:
            await call
            return True

        return bool(await self._breaker.ask(answer(), "The delivery of documents"))

    def deliver_with(self, document: str, match: Match) -> None:
        """Deliver or withdraw a document that is dropped as a copy together with its match."""
        if not match.run:
            self.deliver([document])
        elif match.run == self._index.run:
            self._copies.setdefault(match.candidate, []).append(document)

    def deliver(self, documents: Iterable[str]) -> None:
        """Note that documents are delivered, and tell the store within ``BEAT_SECONDS``."""
        self._queue += documents
        if len(self._queue) >= _REPORTED_TOGETHER and self._tasks and not self._reporting.locked():
            self._tasks[1:] = [asyncio.create_task(self.report())]

    async def report(self) -> None:
        """Tell the store which documents are delivered or withdrawn. If that fails, the next heartbeat tries again."""
        if not self._breaker.is_open:
            await self._report_all(lambda: not self._breaker.is_open)

    async def _report_all(self, may_go_on: Callable[[], bool] = lambda: True) -> None:
        async with self._reporting:
            for queue, tell in ((self._withdrawn, self._index.withdraw), (self._queue, self._index.deliver)):
                while queue and may_go_on():
                    batch = queue[:_REPORTED_TOGETHER]
                    if not await self._tell(tell(batch)):
                        break
                    del queue[: len(batch)]
                    for each in batch:
                        queue += self._copies.pop(each, []) + self._older_copies.pop(each, [])

    async def withdraw(self, documents: Iterable[str]) -> None:
        """Remove documents that nobody will deliver, and the copies that were dropped because of them."""
        self._withdrawn += documents
        await self.report()

    async def end(self) -> None:
        """Tell the store which documents are delivered, and that the run is over. Other documents do not count."""
        self._over.set()
        if self._tasks:
            _, late = await asyncio.wait(self._tasks, timeout=_END_SECONDS)
            for task in late:
                task.cancel()
        until = time.monotonic() + _END_SECONDS
        await self._report_all()
        while (self._queue or self._withdrawn) and time.monotonic() < until:
            await asyncio.sleep(_PAUSE)
            await self._report_all()
        if self._queue:
            message = "The store was not told that %d documents are delivered: the next crawl takes their pages as new"
            logger.warning(message, len(self._queue))
        await self._tell(self._index.end_run())
