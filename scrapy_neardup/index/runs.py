"""Runs: crawls that register documents first and deliver them later.

A run shows that it is alive by a heartbeat in the store. Documents that a run registered and did not deliver before it
died do not count; the ``life`` of a record (records/documents.py) is how far a document has come.

The hash ``…:runs`` has for each run "<first heartbeat> <last heartbeat>", milliseconds by the clock of the store.
"""

import asyncio
import logging
import math
import re
import secrets
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple, cast

from scrapy_neardup.index.layout import Part, reads, swaps
from scrapy_neardup.index.store import Breaker, Call, Client, Commit, ConflictError, Expected, answers
from scrapy_neardup.records.documents import DELIVERED, LARGEST_RUN, WITHDRAWN, Record, read_record

logger = logging.getLogger(__name__)

BEAT_SECONDS = 2.0

_END_SECONDS = 4.0  # how long a failing store is tried again at the end
_PAUSE = 0.25

PATIENCE_SECONDS = 6.0  # how long a run that begins waits for the next heartbeats of those that began before it

# If the last heartbeat of a run is older than this, the run is dead. It lives again with its next heartbeat.
DEAD_SECONDS = 15.0

FORGOTTEN_SECONDS = 3600.0  # if the last heartbeat of a run is older than this, the store forgets the run

MOST_LINKS = 8  # how many matches are followed from a document that is dropped to one that is kept

# What became of the item of a document: it has left the pipelines, or it was lost there.
Fate = Literal["kept", "lost", "unknown"]

_BEATS = re.compile(rb"(\d{1,15}) (\d{1,15})")


@dataclass(frozen=True, slots=True)
class Heartbeats:
    """The heartbeats of all runs as a store has them, for one run that asks. It asks with 0 if it is none.

    Times are in milliseconds, by the clock of the store.
    """

    own: int
    now: int = 0
    of_run: Mapping[int, tuple[int, int]] = field(default_factory=dict)  # the first and the last one

    @classmethod
    def of(cls, own: int, answer: object) -> "Heartbeats":
        """Return the heartbeats in the answer to RUNS, without those that are damaged."""
        now, stored = cast("tuple[int, dict[bytes, bytes]]", answer)
        found = {number: _BEATS.fullmatch(value) for number, value in stored.items() if number.isdigit()}
        return cls(own, now, {int(number): (int(each[1]), int(each[2])) for number, each in found.items() if each})

    @property
    def started(self) -> int:
        """The first heartbeat of the run that asks, 0 if it has none."""
        return self.of_run.get(self.own, (0, 0))[0]

    def is_seen(self, record: Record, kept: "Kept | None") -> bool:
        """Decide whether a document counts as seen: it is delivered, or the run lives that is to deliver it.

        If it was dropped, it counts if the one that was ``kept`` does. If that one is gone before it was known to be
        delivered, the copy counts while its own run lives.
        """
        run = (kept.record if kept else record).run  # the run of a withdrawn document never lives
        return run == DELIVERED or run == self.own or self.is_alive(run)

    def is_alive(self, run: int) -> bool:
        """Decide whether another run lives.

        A heartbeat before the first one of the run that asks may be the last one of a crawl that was killed and then
        started again: the run that asks waited ``PATIENCE_SECONDS`` when it began, and runs that live have sent the
        next one meanwhile. So have runs whose heartbeat is ahead of the clock, because the clock was set back.
        """
        _, beat = self.of_run.get(run, (0, 0))
        return self.started <= beat <= self.now <= beat + 1000 * DEAD_SECONDS


class Kept(NamedTuple):
    """The document that was kept when a copy of it was dropped, or the document itself if it was not dropped."""

    key: bytes
    record: Record


def kept_by(key: bytes, record: Record, record_of: Callable[[bytes], Record | None]) -> Kept | None:
    """Follow a document with this key and record to the one that was kept.

    Return None if that one is gone, or more than ``MOST_LINKS`` away. ``record_of`` returns the record of a document.
    """
    reached: Record | None = record
    for _ in range(MOST_LINKS + 1):
        if reached is None:
            break
        if not reached.is_dropped:
            return Kept(key, reached)
        key = reached.match
        reached = record_of(key)
    return None


class Runs(Part):
    """What runs tell the store. The run of this process is ``partition.run``."""

    @swaps
    async def began(self, client: Client, second: int) -> int:
        """Note that a crawl began at this second. Return when the first one began, if that is within a window."""
        key = self.layout.began
        (stored,) = await answers(client, [Call("HGET", key, ("first",))])
        began = min(second, int(cast("bytes", stored or b"%d" % second)))
        await answers(client, [Call("HSET", key, ("first", began)), Call("EXPIRE", key, (self.policy.window,))])
        return began

    @reads
    async def waits_for_others(self, client: Client) -> bool:
        """Return whether another run may live that has sent no heartbeat since the first one of this run."""
        (answer,) = await answers(client, [Call("RUNS", self.layout.runs)])
        found = Heartbeats.of(self.partition.run, answer)
        return any(
            beat < found.started and abs(found.now - beat) < 1000 * PATIENCE_SECONDS
            for _, beat in found.of_run.values()
        )

    @swaps
    async def beat(self, client: Client, *, is_over: bool = False) -> tuple[int, int]:
        """Tell the store that this run is alive, or over: documents that it has not delivered then no longer count.

        Forget runs that were silent for long, and heartbeats ahead of the clock: it was set back, and runs that live
        send the next one. Return the time of the heartbeat, and of the first one in the store.
        """
        name = self.layout.runs
        run = self.partition.run
        (answer,) = await answers(client, [Call("RUNS", name)])
        _, stored = cast("tuple[int, dict[bytes, bytes]]", answer)
        beats = Heartbeats.of(run, answer)
        heard = {
            b"%d" % number
            for number, (_, last) in beats.of_run.items()
            if 0 <= beats.now - last <= 1000 * FORGOTTEN_SECONDS
        }
        gone = stored.keys() - heard - {b"%d" % run}
        first, _ = beats.of_run.get(run, (beats.now, beats.now))
        own = Call("HSET", name, (run, f"{min(first, beats.now)} {beats.now}"))
        if is_over:
            own = Call("HDEL", name, (run,))
        commit = Commit(
            # If the store is emptied meanwhile, the next try finds that out; else nobody would.
            [Expected(Call("HGET", name, (run,)), stored.get(b"%d" % run, b""))],
            [
                *(Call("HDEL", name, (each,)) for each in gone),
                own,
                Call("EXPIRE", name, (2 * self.policy.window,)),
            ],
        )
        if await answers(client, [commit]) != [1]:
            raise ConflictError
        return beats.now, min((first for first, _ in beats.of_run.values()), default=beats.now)

    @swaps
    async def settle(self, client: Client, documents: Sequence[str], life: int) -> bool:
        """Tell the store that documents with these ids are ``DELIVERED`` or ``WITHDRAWN``. Leave out what it lacks.

        The records of withdrawn documents stay, for they name what was alike. Return True, so that ``Breaker.ask``
        returns something else if the store fails.
        """
        calls = [self._record_of(bytes.fromhex(document)) for document in dict.fromkeys(documents)]
        commits = []
        for call, packed in zip(calls, await answers(client, calls), strict=True):
            record = read_record(cast("bytes", packed or b""))
            if record is not None and record.life not in (life, WITHDRAWN):
                write = Call("HSET", call.key, (*call.arguments, replace(record, life=life).pack()))
                commits.append(Commit([Expected(call, cast("bytes", packed))], [write]))
        if any(answer != 1 for answer in await answers(client, commits)):
            raise ConflictError
        return True

    @swaps
    async def answer_others(self, client: Client, is_kept: Callable[[str], bool]) -> None:
        """Tell other runs which of the documents of this run, whose copies they are about to drop, are kept."""
        name = self.layout.asked(self.partition.run)
        (asked,) = await answers(client, [Call("HGETALL", name)])
        kept = [copy for copy, match in cast("dict[bytes, bytes]", asked).items() if copy and is_kept(match.hex())]
        if kept:
            await answers(client, [Call("HDEL", name, kept)])

    @reads
    async def fate_of_match(self, client: Client, copy: str) -> Fate:
        """Return what became of the item that a dropped copy is a copy of, as far as its run has told."""
        key = bytes.fromhex(copy)
        for _ in range(MOST_LINKS + 1):
            (packed,) = await answers(client, [self._record_of(key)])
            record = read_record(cast("bytes", packed or b""))
            if record is None or not record.is_dropped:
                break
            key = record.match
        if record is None or record.life == WITHDRAWN:
            return "lost"
        if record.life == DELIVERED:
            return "kept"
        (asked,) = await answers(client, [Call("HMGET", self.layout.asked(record.run), (bytes.fromhex(copy), b""))])
        waiting, made = cast("list[bytes | None]", asked)
        # Without the field that nobody removes, the store has lost the whole hash, and nobody has answered.
        if waiting is not None or made is None:
            return "unknown"
        return "kept"

    def _record_of(self, document: bytes) -> Call:
        return Call("HGET", self.layout.records(document), (document,))


class Run:
    """One crawl: its heartbeat, and the documents it has delivered.

    While ``breaker`` is open, the store does not answer, and only heartbeats try it.
    """

    def __init__(self, runs: Runs, breaker: Breaker) -> None:
        self._runs = runs
        self._breaker = breaker
        self._queue: list[str] = []
        self._withdrawn: list[str] = []
        # Whether the item of a document has left the pipelines and is not lost, given the id of the document.
        self.is_kept: Callable[[str], bool] = lambda _: True
        # Copies that are to be dropped, and whose matches another run has yet to deliver: it was asked for their fate.
        self.asked: deque[str] = deque(maxlen=1000)
        self._reporting = asyncio.Lock()
        self._report: asyncio.Task[None] | None = None
        self._beating: asyncio.Task[None] | None = None
        self._beaten_at = math.inf  # by the clock of the store, in milliseconds
        self._is_over = False

    async def begin(self) -> None:
        """Register documents as those of this run from now on, and find out which other runs live."""
        if self._beating is None:  # else an earlier try has begun, and the store failed then
            self._runs.partition.run = secrets.randbelow(LARGEST_RUN) + 1
            self._beating = asyncio.create_task(self._beat())
        await self._tell_of_run()
        for _ in range(round(PATIENCE_SECONDS / _PAUSE)):
            if not await self._breaker.ask(self._runs.waits_for_others()):
                break
            await asyncio.sleep(_PAUSE)

    async def _beat(self) -> None:
        """Send heartbeats on time, however long reports take, and also while the last documents are reported."""
        beat_at = time.monotonic()
        while self._beating is not None:
            beat_at = max(beat_at + BEAT_SECONDS, time.monotonic())
            await asyncio.sleep(beat_at - time.monotonic())
            try:
                is_reporting = self._report is not None and not self._report.done()
                if await self._tell_of_run() and not self._is_over and not is_reporting:
                    self._report = asyncio.create_task(self._exchange())
            except Exception:
                logger.exception("A heartbeat of this crawl failed; the next one follows")

    async def _tell_of_run(self, *, is_over: bool = False) -> bool:
        """Send a heartbeat. Warn if the store has lost the last one. Return whether the store answers."""
        sent = await self._breaker.ask(self._runs.beat(is_over=is_over), "A heartbeat of this crawl")
        if sent is None:
            return False
        now, first = sent
        if self._beaten_at < first and now - self._beaten_at < 1000 * FORGOTTEN_SECONDS:
            self._breaker.warn_once(
                f"The window in {self._runs.partition.store.location} is gone: it was emptied, removed or replaced"
                " while this crawl runs. The crawl goes on with an empty window. So copies of earlier articles count as"
                " originals, events may be raised again, and events that waited are lost"
            )
        self._beaten_at = now
        return True

    async def _exchange(self) -> None:
        await self._breaker.ask(self._runs.answer_others(self.is_kept))
        await self.report(to_lost_store=True)

    async def fate_of_match(self, copy: str, seconds: float) -> Fate:
        """Return what became of the match of a dropped copy. If another run has it, wait for that run to tell."""
        until = time.monotonic() + seconds
        if copy not in self.asked:
            return "kept"
        fate: Fate = "unknown"
        while fate == "unknown" and time.monotonic() < until and not self._breaker.is_open:
            await asyncio.sleep(BEAT_SECONDS / 2)
            fate = await self._breaker.ask(self._runs.fate_of_match(copy)) or fate
        return fate

    def deliver(self, documents: Iterable[str]) -> None:
        """Note that documents are delivered. The store is told within ``BEAT_SECONDS``."""
        self._queue += documents

    async def report(self, *, to_lost_store: bool = False) -> None:
        """Tell the store which documents are delivered or withdrawn. If that fails, the next heartbeat tries again.

        A store that is lost is asked only with ``to_lost_store``.
        """
        if self._breaker.is_open and not to_lost_store:
            return
        async with self._reporting:
            for queue, life in ((self._withdrawn, WITHDRAWN), (self._queue, DELIVERED)):
                while queue and (to_lost_store or not self._breaker.is_open):
                    batch = queue[:64]  # reported together
                    if not await self._breaker.ask(self._runs.settle(batch, life), "The delivery of documents"):
                        break
                    del queue[: len(batch)]

    async def withdraw(self, documents: Iterable[str]) -> None:
        """Tell the store that nobody will deliver documents. Copies that were dropped because of them do not count."""
        self._withdrawn += documents
        await self.report()

    async def end(self) -> None:
        """Tell the store which documents are delivered, and that the run is over. Other documents do not count."""
        if self._beating is None:
            return
        self._is_over = True
        if self._report is not None:
            await asyncio.wait([self._report], timeout=_END_SECONDS)
            self._report.cancel()
        until = time.monotonic() + _END_SECONDS
        await self.report(to_lost_store=True)
        while (self._queue or self._withdrawn) and time.monotonic() < until:
            await asyncio.sleep(_PAUSE)
            await self.report(to_lost_store=True)
        if self._queue:
            logger.warning(
                "The store was not told that %d documents are delivered: the next crawl takes their pages as new",
                len(self._queue),
            )
        if (beating := self._beating) is not None:
            self._beating = None  # the task also ends if a client that is closing a connection swallows the next line
            beating.cancel()
            await asyncio.wait([beating])
        await self._tell_of_run(is_over=True)
