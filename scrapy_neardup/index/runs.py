"""Runs: crawls that register documents first and deliver them later.

A run shows that it is alive by a heartbeat in the store. Documents that a run registered and did not deliver before it
died do not count.

The hash ``…:runs`` has for each run "<first heartbeat> <last heartbeat>", milliseconds by the clock of the store.
"""

from __future__ import annotations

import asyncio
import logging
import math
import re
import secrets
import time
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, cast

from scrapy_neardup.index.layout import Steps, reads, swaps
from scrapy_neardup.index.store import Breaker, Call, Client, Commit, ConflictError, Expected, answers
from scrapy_neardup.records.documents import WITHDRAWN, Record, read_record
from scrapy_neardup.rules.pair import CandidateState

if TYPE_CHECKING:
    from scrapy_neardup.index.index import Index

logger = logging.getLogger(__name__)

BEAT_SECONDS = 2.0
PATIENCE_SECONDS = 6.0
"""How long a run that begins waits for the next heartbeats of those that began before it."""

DEAD_SECONDS = 15.0
"""If the last heartbeat of a run is older than this, the run is dead. It lives again with its next heartbeat."""

FORGOTTEN_SECONDS = 3600.0
"""If the last heartbeat of a run is older than this, the store forgets the run."""

MOST_LINKS = 8
"""How many matches are followed from a document that is dropped to one that is kept."""

Fate = Literal["kept", "lost", "unknown"]
"""What became of the item of a document: it has left the pipelines, or it was lost there."""

LARGEST_RUN = WITHDRAWN - 1
_REPORTED_TOGETHER = 64
_MOST_COPIES = 1000  # whose match is remembered as one of another run, until somebody asks for its fate
_END_SECONDS = 4.0  # how long a failing store is tried again at the end
_PAUSE = 0.25
_GONE = (
    "it was emptied, removed or replaced while this crawl runs. The crawl goes on with an empty window. So copies of"
    " earlier articles count as originals, events may be raised again, and events that waited are lost"
)
_BEATS = re.compile(rb"(\d{1,15}) (\d{1,15})")


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

    def state(self, record: Record, record_of: Callable[[bytes], Record | None]) -> CandidateState:
        """Decide whether a document counts as seen. A dropped copy does if its match does.

        If the match is gone before it was known to be delivered, the copy counts while its own run lives.
        """
        _, kept = kept_by(b"", record, record_of)
        run = record.run_number if kept is None else kept.run
        return "seen" if run in (0, self.own) or self.is_alive(run) else "lost"

    def is_alive(self, run: int) -> bool:
        """Decide whether another run lives.

        A heartbeat before the first one of the run that asks may be the last one of a crawl that was killed and then
        started again: runs that live have sent the next one while the run that asks began. So have runs whose heartbeat
        is ahead of the clock, because the clock was set back.
        """
        started, _ = self.of_run.get(self.own, (0.0, 0.0))
        _, beat = self.of_run.get(run, (0.0, 0.0))
        return started <= beat <= self.now <= beat + DEAD_SECONDS


def kept_by(key: bytes, record: Record, record_of: Callable[[bytes], Record | None]) -> tuple[bytes, Record | None]:
    """Follow a dropped copy to the document that was kept, and return its key and record.

    The record is None if it is gone, or more than ``MOST_LINKS`` away.

    ``record_of`` returns the record of a document.
    """
    found: Record | None = record
    for _ in range(MOST_LINKS + 1):
        if found is None or not found.is_dropped:
            return key, found
        key = found.match
        found = record_of(key)
    return key, None


def heartbeats(kept: Mapping[bytes, bytes]) -> dict[bytes, tuple[int, int]]:
    """Return the first and the last heartbeat of each run, in milliseconds. Leave out what is damaged."""
    found = {number: _BEATS.fullmatch(value) for number, value in kept.items() if number.isdigit()}
    return {number: (int(each[1]), int(each[2])) for number, each in found.items() if each}


class RunSteps(Steps):
    """What runs tell the store."""

    run: int = 0
    """Number of the run that registers documents, up to ``LARGEST_RUN``; 0 registers them as delivered."""

    @reads
    async def waits_for_others(self, client: Client) -> bool:
        """Return whether another run may live that has sent no heartbeat since the first one of ``run``."""
        (answer,) = await answers(client, [Call("RUNS", self.layout.runs)])
        found = Heartbeats(self.run)
        found.note(answer)
        started, _ = found.of_run.get(self.run, (0.0, 0.0))
        return any(beat < started and abs(found.now - beat) < PATIENCE_SECONDS for _, beat in found.of_run.values())

    @swaps
    async def beat(self, client: Client, *, is_over: bool = False) -> tuple[int, int]:
        """Tell the store that ``run`` is alive, or over: documents that it has not delivered then no longer count.

        Forget runs that were silent for long, and heartbeats ahead of the clock: it was set back, and runs that live
        send the next one. Return the time of the heartbeat, and of the first one in the store.
        """
        name = self.layout.runs
        (answer,) = await answers(client, [Call("RUNS", name)])
        now, kept = cast("tuple[int, dict[bytes, bytes]]", answer)
        beats, run = heartbeats(kept), str(self.run).encode()
        silent = [number for number, (_, last) in beats.items() if not 0 <= now - last <= 1000 * FORGOTTEN_SECONDS]
        gone = {*silent, *(kept.keys() - beats.keys())} - {run}
        first, _ = beats.get(run, (now, now))
        own = Call("HDEL", name, (run,)) if is_over else Call("HSET", name, (run, f"{min(first, now)} {now}"))
        forget = [Call("HDEL", name, [*gone])] if gone else []
        await answers(client, [*forget, own, Call("EXPIRE", name, (2 * self.policy.window,))])
        return now, min((first for first, _ in beats.values()), default=now)

    @swaps
    async def deliver(self, client: Client, documents: Sequence[str]) -> None:
        """Tell the store that documents with these ids are delivered. Those it does not have are left out."""
        await self._settle(client, documents, 0)

    @swaps
    async def withdraw(self, client: Client, documents: Sequence[str]) -> None:
        """Tell the store that documents with these ids are lost. Their records stay, for they name what was alike."""
        await self._settle(client, documents, WITHDRAWN)

    async def _settle(self, client: Client, documents: Sequence[str], run: int) -> None:
        calls, commits = self._reads_of(map(bytes.fromhex, documents)), []
        for call, packed in zip(calls, await answers(client, calls), strict=True):
            record = _record(packed)
            if record is not None and record.run not in (run, WITHDRAWN):
                write = Call("HSET", call.key, (*call.arguments, replace(record, run=run).pack()))
                commits.append(Commit([Expected(call, cast("bytes", packed))], [write]))
        if any(answer != 1 for answer in await answers(client, commits)):
            raise ConflictError

    @swaps
    async def answer_others(self, client: Client, is_kept: Callable[[str], bool]) -> None:
        """Tell other runs which of the documents of ``run``, whose copies they are about to drop, are kept."""
        name = self.layout.asked(self.run)
        (asked,) = await answers(client, [Call("HGETALL", name)])
        kept = [copy for copy, match in cast("dict[bytes, bytes]", asked).items() if copy and is_kept(match.hex())]
        if kept:
            await answers(client, [Call("HDEL", name, kept)])

    @reads
    async def fate_of_match(self, client: Client, copy: str) -> Fate:
        """Return what became of the item that a dropped copy is a copy of, as far as its run has told."""
        key = bytes.fromhex(copy)
        for _ in range(MOST_LINKS + 1):
            (packed,) = await answers(client, self._reads_of([key]))
            if (record := _record(packed)) is None or not record.is_dropped:
                break
            key = record.match
        if record is None or record.run == WITHDRAWN:
            return "lost"
        if not record.run:
            return "kept"
        (asked,) = await answers(client, [Call("HMGET", self.layout.asked(record.run), (bytes.fromhex(copy), b""))])
        waiting, made = cast("list[bytes | None]", asked)
        # Without the field that nobody removes, the store has lost the whole hash, and nobody has answered.
        return "kept" if waiting is None and made is not None else "unknown"

    def _reads_of(self, keys: Iterable[bytes]) -> list[Call]:
        return [Call("HGET", self.layout.records(key), (key,)) for key in keys]


def _record(packed: object) -> Record | None:
    return read_record(packed) if isinstance(packed, bytes) else None


class Run:
    """One crawl: its heartbeat, and the documents it has delivered.

    While ``breaker`` is open, the store does not answer, and only heartbeats try it.
    """

    def __init__(self, index: Index, breaker: Breaker) -> None:
        self._index = index
        self._breaker = breaker
        self._queue: list[str] = []
        self._withdrawn: list[str] = []
        self.is_kept: Callable[[str], bool] = lambda _: True
        """Whether the item of a document has left the pipelines and is not lost, given the id of the document."""
        self._asked: deque[str] = deque(maxlen=_MOST_COPIES)  # copies of what another run has yet to deliver
        self._reporting = asyncio.Lock()
        self._report: asyncio.Task[None] | None = None
        self._beating: asyncio.Task[None] | None = None
        self._beaten_at = math.inf  # by the clock of the store, in milliseconds
        self._is_over = False

    async def begin(self) -> None:
        """Register documents as those of this run from now on, and find out which other runs live."""
        self._index.run = self._index.stories.run = secrets.randbelow(LARGEST_RUN) + 1
        await self._tell_of_run()
        self._beating = asyncio.create_task(self._beat())
        for _ in range(round(PATIENCE_SECONDS / _PAUSE)):
            if not await self._breaker.ask(self._index.waits_for_others()):
                break
            await asyncio.sleep(_PAUSE)

    async def _beat(self) -> None:
        """Send heartbeats on time, however long reports take, and also while the last documents are reported."""
        beat_at = time.monotonic()
        while True:
            beat_at = max(beat_at + BEAT_SECONDS, time.monotonic())
            await asyncio.sleep(beat_at - time.monotonic())
            try:
                if await self._tell_of_run() and not self._is_over:
                    self._start(self._exchange)
            except Exception:
                logger.exception("A heartbeat of this crawl failed; the next one follows")

    async def _tell_of_run(self, *, is_over: bool = False) -> bool:
        """Send a heartbeat. Warn if the store has lost the last one. Return whether the store answers."""
        sent = await self._breaker.ask(self._index.beat(is_over=is_over), "A heartbeat of this crawl")
        if sent is None:
            return False
        now, first = sent
        if self._beaten_at < first and now - self._beaten_at < 1000 * FORGOTTEN_SECONDS:
            self._breaker.warn_once(f"The window in {self._index.store.location} is gone: {_GONE}")
        self._beaten_at = now
        return True

    async def _exchange(self) -> None:
        await self._breaker.ask(self._index.answer_others(self.is_kept))
        await self._report_all()

    def _start(self, report: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Start a report, unless one is under way."""
        if self._report is None or self._report.done():
            self._report = asyncio.create_task(report())

    async def _tell(self, call: Awaitable[None]) -> bool:
        """Return whether the store answers."""

        async def answer() -> bool:
            await call
            return True

        return bool(await self._breaker.ask(answer(), "The delivery of documents"))

    def note_asked(self, copy: str) -> None:
        """Note that another run has been asked for the fate of the match of a copy, which is to be dropped."""
        self._asked.append(copy)

    async def fate_of_match(self, copy: str, seconds: float) -> Fate:
        """Return what became of the match of a dropped copy. If another run has it, wait for that run to tell."""
        until = time.monotonic() + seconds
        fate: Fate = "unknown" if copy in self._asked else "kept"
        while fate == "unknown" and time.monotonic() < until and not self._breaker.is_open:
            await asyncio.sleep(BEAT_SECONDS / 2)
            fate = await self._breaker.ask(self._index.fate_of_match(copy)) or fate
        return fate

    def deliver(self, documents: Iterable[str]) -> None:
        """Note that documents are delivered, and tell the store within ``BEAT_SECONDS``."""
        self._queue += documents
        if len(self._queue) >= _REPORTED_TOGETHER and self._beating is not None:
            self._start(self.report)

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

    async def withdraw(self, documents: Iterable[str]) -> None:
        """Tell the store that nobody will deliver documents. Copies that were dropped because of them do not count."""
        self._withdrawn += documents
        await self.report()

    async def end(self) -> None:
        """Tell the store which documents are delivered, and that the run is over. Other documents do not count."""
        self._is_over = True
        if self._report is not None:
            await asyncio.wait([self._report], timeout=_END_SECONDS)
            self._report.cancel()
        until = time.monotonic() + _END_SECONDS
        await self._report_all()
        while (self._queue or self._withdrawn) and time.monotonic() < until:
            await asyncio.sleep(_PAUSE)
            await self._report_all()
        if self._queue:
            message = "The store was not told that %d documents are delivered: the next crawl takes their pages as new"
            logger.warning(message, len(self._queue))
        if self._beating is not None:
            self._beating.cancel()
            await asyncio.wait([self._beating])
        await self._tell_of_run(is_over=True)
