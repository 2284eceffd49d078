"""The embedded store: one SQLite file that processes of one machine share, or a database in memory."""

from __future__ import annotations

import asyncio
import itertools
import sqlite3
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from scrapy_neardup.contracts import Judge
from scrapy_neardup.document import (
    MOST_SOURCE_DOCUMENTS,
    Claim,
    Document,
    EventSources,
    Fingerprint,
    Granted,
    Join,
    KnownBoilerplate,
    Match,
    Member,
    Story,
    UnconfirmedGrant,
    most_lines_of,
    with_id,
)
from scrapy_neardup.exceptions import StoreError, StoreUnavailable
from scrapy_neardup.index.base import (
    COUNTED_MINUTES,
    LEARNED_SECONDS,
    MOST_COUNTED,
    Checked,
    DamageLog,
    Index,
    Question,
    Selection,
    StoreSummary,
)
from scrapy_neardup.index.batching import Batcher
from scrapy_neardup.index.horizon import Horizon, slice_seconds
from scrapy_neardup.index.runs import Runs
from scrapy_neardup.index.sqlite.file import MEMORY as MEMORY
from scrapy_neardup.index.sqlite.file import (
    SQLiteFile,
    claim_space,
    drop_idle_spaces,
    make_temporary_tables,
    read_horizon_state,
    save_horizon_state,
    space_of,
    spaces_of,
)
from scrapy_neardup.index.sqlite.stories import SQLiteStories
from scrapy_neardup.index.sqlite.window import SQLiteWindow
from scrapy_neardup.records.documents import Record, new_record
from scrapy_neardup.records.feature_counts import NOTHING, add_counts
from scrapy_neardup.rules.decision import decide, decide_again, most_similar, weights_of
from scrapy_neardup.rules.policy import Policy
from scrapy_neardup.rules.scoring import CandidateState

_BATCH = 64
_STORIES_EXPIRED_A_CHECK = 4  # twice what a steady window needs
_LEAP_DOCUMENTS = 1000  # in a window that nobody shares, this many documents in a row prove that time has leapt
_CLAIM_SECONDS = 600  # the space is claimed again after this time, so that a crawl that runs for days keeps it
R = TypeVar("R")


class SQLiteIndex(Index):
    """``path`` is a file, or ``":memory:"``. A missing file is made with its folder.

    All SQL runs in one separate thread. Checks that wait together share one transaction.
    """

    def __init__(
        self,
        path: str | Path,
        namespace: str,
        config: str,
        policy: Policy,
        *,
        timeout: float = 2.0,
        reads_only: bool = False,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.path = str(path)
        self.namespace = namespace
        self.config = config
        self.policy = policy
        self._clock = clock  # of heartbeats
        self._checks: Batcher[Question, Checked] = Batcher(self._run_checks, _BATCH)
        self._file = SQLiteFile(self.path, timeout, reads_only=reads_only)
        self._damage = DamageLog(self.path)
        self._use_space(0)
        self._opening = asyncio.Lock()
        self._thread: ThreadPoolExecutor | None = None
        self._claimed = 0.0
        is_shared = self.path != MEMORY
        self._horizon = Horizon(
            policy.window,
            slice_seconds(policy.window),
            patience=policy.window if is_shared else _LEAP_DOCUMENTS,
            clock=time.time if is_shared else itertools.count().__next__,
        )

    async def open(self) -> None:
        async with self._opening:
            if self._thread is not None:
                return
            self._thread = ThreadPoolExecutor(1, thread_name_prefix="neardup-sqlite")
            try:
                await self._in_thread(self._connect)
            except BaseException:
                self._thread.shutdown(wait=False)
                self._thread = None
                raise

    async def close(self) -> None:
        if self._thread is None:
            return
        await self._checks.join()
        await self._in_thread(self._file.disconnect)
        self._thread.shutdown()
        self._thread = None

    async def check(self, fingerprint: Fingerprint, document: Document, judge: Judge | None = None) -> Checked:
        return await self._checks.submit((fingerprint, document, judge))

    @property
    def run_folder(self) -> Path | None:
        return None if self.path == MEMORY else Path(f"{self.path}-runs", f"{self.namespace}-{self.config}")

    async def beat(self, alive: Collection[int] = (), dead: Collection[int] = ()) -> None:
        await self._in_thread(self._write, lambda sql: self._window.beat(sql, self.run, alive, dead))

    async def end_run(self) -> None:
        await self._in_thread(self._write, lambda sql: self._window.end_run(sql, self.run))

    async def deliver(self, documents: Sequence[str]) -> None:
        await self._in_thread(self._write, lambda sql: self._window.deliver(sql, list(map(bytes.fromhex, documents))))

    async def withdraw(self, documents: Sequence[str]) -> None:
        await self._in_thread(self._write, lambda sql: self._window.remove(sql, list(map(bytes.fromhex, documents))))

    async def unite(self, story: str, other: Member) -> Story:
        return await self._in_thread(self._write, lambda sql: self._stories.unite(sql, story, other))

    async def mute(self, story: str, *, muted: bool) -> Story | None:
        return await self._in_thread(self._write, lambda sql: self._stories.mute(sql, story, muted=muted))

    async def final_stories(self, stories: Collection[str]) -> dict[str, str]:
        return await self._in_thread(self._read, lambda sql: self._stories.final_stories(sql, stories))

    async def claim(self, claim: Claim) -> Granted | None:
        return await self._in_thread(self._write, lambda sql: self._stories.claim(sql, claim))

    async def confirm(self, grants: Sequence[tuple[str, str]]) -> None:
        await self._in_thread(self._write, lambda sql: self._stories.confirm(sql, grants))

    async def take_over(self, seconds: float) -> list[UnconfirmedGrant]:
        return await self._in_thread(self._write, lambda sql: self._stories.take_over(sql, seconds))

    async def open_events(self, quiet_since: int | None = None) -> list[Story]:
        return await self._in_thread(self._read, lambda sql: self._stories.open_events(sql, quiet_since))

    async def members(self, story: str) -> tuple[Member, ...]:
        return await self._in_thread(self._read, lambda sql: self._stories.members(sql, story))

    async def ended_events(self, since: int) -> list[EventSources]:
        return await self._in_thread(self._read, lambda sql: self._stories.ended_events(sql, since))

    async def similar(self, fingerprint: Fingerprint, document: Document, most: int) -> list[Match]:
        new = new_record(fingerprint, document)
        return await self._in_thread(
            self._read, lambda sql: most_similar(self._window.records(sql), new, self.policy, most)
        )

    async def records(self) -> list[tuple[bytes, Record]]:
        return await self._in_thread(self._read, lambda sql: list(self._window.records(sql)))

    async def add_frequencies(self, kind: str, counted: bytes) -> bytes:
        return await self._in_thread(self._share, lambda sql: self._add_frequencies(sql, kind, counted))

    async def exchange_boilerplate(self, learned: Mapping[bytes, KnownBoilerplate]) -> dict[bytes, KnownBoilerplate]:
        return await self._in_thread(self._share, lambda sql: self._exchange_boilerplate(sql, learned))

    async def count_verdicts(self, minute: int, counts: Mapping[str, int]) -> None:
        await self._in_thread(self._write, lambda sql: _add_verdicts(sql, self._space, minute, counts))

    async def verdict_counts(self, since: int, until: int) -> dict[int, dict[str, int]]:
        return await self._in_thread(self._read, lambda sql: _read_verdicts(sql, self._space, since, until))

    async def summary(self) -> StoreSummary:
        from scrapy_neardup.index.sqlite.survey import survey  # for people: no crawl needs it

        return await self._in_thread(
            self._read, lambda sql: survey(sql, self.path, self._space, self.namespace, self.config)
        )

    async def purge(self, selection: Selection, *, dry_run: bool = False) -> int:
        return await self._in_thread(self._purge, selection, dry_run)

    async def _run_checks(self, batch: Sequence[Question]) -> Sequence[Checked | StoreError]:
        """Check documents in one transaction.

        If data is damaged, check each document in its own. So only the documents that need this data fail.
        """
        try:
            return await self._in_thread(self._write, lambda sql: self._check_all(sql, batch))
        except StoreUnavailable:
            raise
        except StoreError as error:
            if len(batch) == 1:
                return [error]
            return [result for entry in batch for result in await self._run_checks([entry])]

    async def _in_thread(self, step: Callable[..., R], *arguments: object) -> R:
        if self._thread is None:
            raise StoreUnavailable(f"{self.path}: the store is closed")
        if self.path == MEMORY:  # a step takes little longer than handing it to a thread
            return self._file.run_step(step, *arguments)
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._file.run_step, step, *arguments)

    # All methods below run in the store's own thread, or in that of the event loop if the database is in memory.

    def _connect(self) -> None:
        try:
            self._file.connect()
            if self._file.is_read_only:
                self._find_space(self._file.connection)
                return
            with self._file.writing() as sql:
                self._claim_space(sql)
                drop_idle_spaces(sql)
        except BaseException:
            self._file.disconnect()
            raise

    def _claim_space(self, sql: sqlite3.Connection) -> None:
        self._use_space(claim_space(sql, self.namespace, self.config, self.policy.window))
        self._claimed = time.time()

    def _find_space(self, sql: sqlite3.Connection) -> None:
        """Use the space of a file that is only read. Another process may have made or removed it meanwhile."""
        space = space_of(sql, self.namespace, self.config) or make_temporary_tables(sql)
        if space != self._space:
            self._use_space(space)

    def _use_space(self, space: int) -> None:
        self._space = space
        self._window = SQLiteWindow(space, self.policy.window, self._damage, self._clock)
        self._stories = SQLiteStories(space, self._damage)

    def _write(self, step: Callable[[sqlite3.Connection], R]) -> R:
        try:
            with self._file.writing() as sql:
                if time.time() - self._claimed > _CLAIM_SECONDS:
                    self._claim_space(sql)
                return step(sql)
        except BaseException:
            self._claimed = 0.0  # the claim may have been rolled back
            raise

    def _read(self, step: Callable[[sqlite3.Connection], R]) -> R:
        if not self._file.is_read_only and time.time() - self._claimed > _CLAIM_SECONDS:
            self._write(lambda sql: None)  # another process may have removed the tables
        with self._file.reading() as sql:
            if self._file.is_read_only:
                self._find_space(sql)
            return step(sql)

    def _share(self, step: Callable[[sqlite3.Connection], R]) -> R:
        """Write if the file may be written, otherwise read."""
        return self._read(step) if self._file.is_read_only else self._write(step)

    def _check_all(self, sql: sqlite3.Connection, batch: Sequence[Question]) -> list[Checked]:
        self._window.find_generations(sql)
        runs = self._window.runs(sql, self.run)
        checked = [self._check(sql, *question, runs) for question in batch]
        self._expire(sql, [document for _, document, _ in batch])
        return checked

    def _check(
        self, sql: sqlite3.Connection, fingerprint: Fingerprint, document: Document, judge: Judge | None, runs: Runs
    ) -> Checked:
        def state(record: Record) -> CandidateState:
            return runs.state(record, lambda key: self._window.record(sql, key))

        new, known = self._window.place(sql, new_record(fingerprint, document, self.run))
        key, match = new.original, None
        if known is not None:
            if (old := self._window.record(sql, known.candidate)) is not None:
                match = decide_again(key, known, old, self.policy, state(old))
        else:
            keys = fingerprint.identity_keys + fingerprint.text_keys
            postings = self._window.find(sql, keys, weights_of(fingerprint), key)
            found = [(each, old, state(old)) for each, old in self._window.records(sql, postings.candidates)]
            decision = decide(new, found, self.policy, self.policy.least_dropped_share(document.source))
            if decision.is_any_damaged:
                self._damage.warn_once("a record")
            self._window.insert(sql, key, decision.record, keys, postings)
            match = decision.match
        judged = judge(with_id(document, key.hex()), match) if judge else None
        story = self._join(sql, judged.join) if judged and judged.join else None
        return Checked(key.hex(), match, judged, story)

    def _join(self, sql: sqlite3.Connection, join: Join) -> Story | StoreError:
        try:
            return self._stories.join(sql, join)
        except StoreUnavailable:
            raise
        except StoreError as error:
            return error

    def _expire(self, sql: sqlite3.Connection, batch: Sequence[Document]) -> None:
        """Remove the records and stories that have left the window with these documents."""
        before = read_horizon_state(sql, self._space)
        self._horizon.state = replace(before)
        spans = {self._horizon.observe(int(document.seen_at)) for document in batch}
        if self._horizon.state != before:
            save_horizon_state(sql, self._space, self._horizon.state)
        for span in filter(None, spans):
            self._window.expire(sql, span)
            self._stories.expire(sql, span, _STORIES_EXPIRED_A_CHECK * len(batch))

    def _add_frequencies(self, sql: sqlite3.Connection, kind: str, counted: bytes) -> bytes:
        row = sql.execute(f"SELECT total FROM frequencies_{self._space} WHERE kind = ?", (kind,)).fetchone()
        total = row[0] if row and isinstance(row[0], bytes) else b""
        total = add_counts(total, NOTHING if self._file.is_read_only else counted)
        if not self._file.is_read_only and counted != NOTHING:
            sql.execute(f"INSERT OR REPLACE INTO frequencies_{self._space} (kind, total) VALUES (?, ?)", (kind, total))
        return total

    def _exchange_boilerplate(
        self, sql: sqlite3.Connection, learned: Mapping[bytes, KnownBoilerplate]
    ) -> dict[bytes, KnownBoilerplate]:
        if self._file.is_read_only:
            learned = dict.fromkeys(learned, KnownBoilerplate())
        else:
            sql.execute(f"DELETE FROM learned_{self._space} WHERE added < ?", (time.time() - LEARNED_SECONDS,))
        return {
            source: KnownBoilerplate(
                self._add_learned(sql, source, True, each.lines, most_lines_of(source)),
                self._add_learned(sql, source, False, each.documents, MOST_SOURCE_DOCUMENTS),
            )
            for source, each in learned.items()
        }

    def _add_learned(
        self, sql: sqlite3.Connection, source: bytes, is_line: bool, entries: tuple[bytes, ...], most: int
    ) -> tuple[bytes, ...]:
        """Add entries, forget the oldest over ``most``, and return all that are left."""
        table, added = f"learned_{self._space}", time.time()
        if entries:
            rows = [(source, is_line, added, entry) for entry in entries]
            sql.executemany(f"INSERT INTO {table} (source, is_line, added, entry) VALUES (?, ?, ?, ?)", rows)
            sql.execute(
                f"DELETE FROM {table} WHERE source = ? AND is_line = ? AND id <= (SELECT id FROM {table}"
                " WHERE source = ? AND is_line = ? ORDER BY id DESC LIMIT 1 OFFSET ?)",
                (source, is_line, source, is_line, most),
            )
        query = f"SELECT entry FROM {table} WHERE source = ? AND is_line = ? AND typeof(entry) = 'blob' ORDER BY id"
        return tuple(entry for (entry,) in sql.execute(query, (source, is_line)))

    def _purge(self, selection: Selection, dry_run: bool) -> int:
        from scrapy_neardup.index.sqlite.survey import Purge

        with self._file.reading() as sql:
            spaces = spaces_of(sql, self.namespace)
        windows = {space: SQLiteWindow(space, self.policy.window, self._damage) for space in spaces}
        return sum(Purge(self._file, *each, selection).run(dry_run=dry_run) for each in windows.items())


def _add_verdicts(sql: sqlite3.Connection, space: int, minute: int, counts: Mapping[str, int]) -> None:
    """Add to the counts of a minute, and forget those of minutes that are too long ago."""
    sql.execute(f"DELETE FROM verdicts_{space} WHERE minute < ?", (minute - COUNTED_MINUTES,))
    of_minute = f"SELECT name FROM verdicts_{space} WHERE minute = ?"
    known = {str(name) for (name,) in sql.execute(of_minute, (minute,))}
    new = [name for name in counts if name not in known][: max(0, MOST_COUNTED - len(known))]
    rows = [(minute, name, counts[name]) for name in counts if name in known or name in new]
    sql.executemany(
        f"INSERT INTO verdicts_{space} VALUES (?, ?, ?)"
        " ON CONFLICT (minute, name) DO UPDATE SET count = count + excluded.count",
        rows,
    )


def _read_verdicts(sql: sqlite3.Connection, space: int, since: int, until: int) -> dict[int, dict[str, int]]:
    """Return the counts by minute. Leave out what is damaged."""
    found: dict[int, dict[str, int]] = {}
    query = f"SELECT minute, name, count FROM verdicts_{space} WHERE minute BETWEEN ? AND ?"
    for minute, name, count in sql.execute(query, (since, until)):
        if isinstance(minute, int) and isinstance(count, int):  # otherwise it is damaged
            found.setdefault(minute, {})[str(name)] = count
    return found
