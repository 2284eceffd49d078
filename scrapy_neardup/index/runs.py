"""Runs: crawls that register documents first and deliver them later.

A run shows that it is alive by a heartbeat in the store. Documents that a run registered and did not deliver before it
died do not count; ``Life`` (records/life.py) is how far a document has come.

The hash ``…:runs`` has for each run "<first heartbeat> <last heartbeat>", milliseconds by the clock of the store.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple, cast

from scrapy_neardup.index.partition import Part, reads, swaps
from scrapy_neardup.index.store import Call, Client, Commit, ConflictError, Expected, answers
from scrapy_neardup.records.documents import Record, read_record
from scrapy_neardup.records.life import DELIVERED, WITHDRAWN

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
    def of(cls, own: int, answer: object) -> Heartbeats:
        """Return the heartbeats in the answer to RUNS, without those that are damaged."""
        now, stored = cast("tuple[int, dict[bytes, bytes]]", answer)
        found = {number: _BEATS.fullmatch(value) for number, value in stored.items() if number.isdigit()}
        return cls(own, now, {int(number): (int(each[1]), int(each[2])) for number, each in found.items() if each})

    @property
    def started(self) -> int:
        """The first heartbeat of the run that asks, 0 if it has none."""
        return self.of_run.get(self.own, (0, 0))[0]

    def is_seen(self, record: Record, kept: Kept | None) -> bool:
        """Decide whether a document counts as seen: it is delivered, or the run lives that is to deliver it.

        If it was dropped, it counts if the one that was ``kept`` does. If that one is gone before it was known to be
        delivered, the copy counts while its own run lives.
        """
        run = (kept.record if kept else record).life.run  # the run of a withdrawn document never lives
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
    found: Record | None = record
    for _ in range(MOST_LINKS + 1):
        if found is None:
            break
        if not found.is_dropped:
            return Kept(key, found)
        key = found.match
        found = record_of(key)
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
        beats = (beat for _, beat in found.of_run.values())
        return any(beat < found.started and abs(found.now - beat) < 1000 * PATIENCE_SECONDS for beat in beats)

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
        forget = [Call("HDEL", name, [*gone])] if gone else []
        # If the store is emptied meanwhile, the next try finds that out; else nobody would.
        unchanged = Expected(Call("HGET", name, (run,)), stored.get(b"%d" % run, b""))
        commit = Commit([unchanged], [*forget, own, Call("EXPIRE", name, (2 * self.policy.window,))])
        if await answers(client, [commit]) != [1]:
            raise ConflictError
        return beats.now, min((first for first, _ in beats.of_run.values()), default=beats.now)

    @swaps
    async def settle(self, client: Client, documents: Sequence[str], life: int) -> bool:
        """Tell the store that documents with these ids are ``DELIVERED`` or ``WITHDRAWN``. Leave out what it lacks.

        The records of withdrawn documents stay, for they name what was alike. Return True, so that ``Breaker.ask``
        returns something else if the store fails.
        """
        calls = [self._read(bytes.fromhex(document)) for document in documents]
        commits = []
        for call, packed in zip(calls, await answers(client, calls), strict=True):
            record = read_record(cast("bytes", packed or b""))
            if record is not None and record.packed_life not in (life, WITHDRAWN):
                write = Call("HSET", call.key, (*call.arguments, replace(record, packed_life=life).pack()))
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
            (packed,) = await answers(client, [self._read(key)])
            record = read_record(cast("bytes", packed or b""))
            if record is None or not record.is_dropped:
                break
            key = record.match
        if record is None or record.life.state == "withdrawn":
            return "lost"
        if record.life.state == "delivered":
            return "kept"
        name = self.layout.asked(record.life.run)
        (asked,) = await answers(client, [Call("HMGET", name, (bytes.fromhex(copy), b""))])
        waiting, made = cast("list[bytes | None]", asked)
        # Without the field that nobody removes, the store has lost the whole hash, and nobody has answered.
        return "kept" if waiting is None and made is not None else "unknown"

    def _read(self, document: bytes) -> Call:
        return Call("HGET", self.layout.records(document), (document,))
