"""The SQLite file: of which version it is, what damage costs, who waits for whom, and files that may only be read."""

import asyncio
import random
import sqlite3
import time
from collections.abc import Awaitable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import numpy as np
import pytest
from conftest import CONFIG, OpenIndex
from documents import FIRST, JOINS, MINUTE, Article, ScriptedJudge, check, digest, join, joined, members_in
from newsdesk import opened

from scrapy_neardup.exceptions import StoreError, StoreUnavailable
from scrapy_neardup.index import Index, Policy, index_from_url
from scrapy_neardup.index.sqlite import APPLICATION, SQLiteClient, SQLiteFile
from scrapy_neardup.index.store import Call, Client, answers
from scrapy_neardup.index.upkeep import Selection
from scrapy_neardup.records.documents import DELIVERED
from scrapy_neardup.records.learned import NOTHING, SLOTS, LearnedEntries, pack_counts
from scrapy_neardup.story import Claim, Join

SOURCE = digest("wire.example", 4)


@pytest.fixture
def file(sqlite_file: Path) -> Path:
    return sqlite_file


def _content(file: Path) -> bytes:
    return file.read_bytes()


@pytest.fixture
def sql(file: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        yield connection


async def _used(open_index: OpenIndex, file: Path) -> tuple[Index, Article, Article]:
    """A store with an original, a copy and their story."""
    index = await open_index(f"sqlite:///{file}")
    original, copy = Article(source="wire.example"), Article(at=MINUTE)
    await check(index, original)
    JOINS[copy.id] = Join(original.member, copy.member)
    await check(index, copy)
    return index, original, copy


@pytest.mark.parametrize(
    ("statements", "words"),
    [
        (
            f"PRAGMA application_id = {APPLICATION}; PRAGMA user_version = 99; CREATE TABLE keys (id);",
            "another version",
        ),
        ("CREATE TABLE accounts (id INTEGER)", "another program"),
        ("PRAGMA user_version = 7; CREATE TABLE keys (namespace, config, expires)", "another program"),
        ("PRAGMA application_id = 7; CREATE TABLE keys (id)", "another program"),
    ],
)
async def test_a_file_that_is_not_for_this_version_is_named_and_left_as_it_is(
    open_index: OpenIndex, file: Path, sql: sqlite3.Connection, statements: str, words: str
) -> None:
    sql.executescript(statements)
    before = _content(file)
    with pytest.raises(StoreError, match=rf"window\.sqlite.*{words}.*move it away, or set NEARDUP_STORE"):
        await open_index(f"sqlite:///{file}")
    assert _content(file) == before
    assert [each.name for each in file.parent.iterdir()] == [file.name]


VALUES = ("CAST(x'fe' AS TEXT)", -1.5, "x'05'", f"x'{400 * '05'}'")


@pytest.mark.parametrize("value", VALUES)
async def test_damage_of_any_entry_stops_nothing(
    open_index: OpenIndex, file: Path, sql: sqlite3.Connection, caplog: pytest.LogCaptureFixture, value: str
) -> None:
    """By a value of any type; a damaged story itself may be an error, but nobody else's."""
    index, original, copy = await _used(open_index, file)
    await index.events.claim(Claim(original.id, "watch", token="t"))
    await index.learned.exchange_boilerplate({SOURCE: LearnedEntries((b"12345678",))})
    await index.learned.add_frequencies("terms", pack_counts(1, np.ones(SLOTS, np.uint32)))
    kinds = sql.execute("SELECT id, name FROM keys WHERE name NOT LIKE '%:bands:%'").fetchall()
    assert len(kinds) == 8
    for serial, (key, name) in enumerate(kinds):
        caplog.clear()
        for table in ("entries", "texts"):
            sql.execute(f"UPDATE {table} SET value = {value} WHERE key = ?", (key,))
        other = Article(f"other {serial}", at=serial)
        assert await check(index, other) is None, name
        assert await check(index, other.copy(at=serial + 0.5)) is not None
        assert (await joined(index, Join(other.member, other.copy(at=serial + 0.7).member))).items == 2
        for question in (
            index.events.running(),
            index.events.ended(0),
            index.summary(),
            members_in(index, original.id),
        ):
            await question
        try:
            await joined(index, Join(original.member, copy.copy(at=serial).member))
        except StoreError as error:
            assert original.id in str(error)  # noqa: PT017
        await index.events.take_over(0)
        await index.learned.exchange_boilerplate({SOURCE: LearnedEntries()})
        assert len(await index.learned.add_frequencies("terms", NOTHING)) > 4
        await index.documents.records()
        await index.purge(Selection(source="nowhere.example", source_hash=b"none"))
        texts = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
        repeated = [each for each in texts if texts.count(each) > 1]
        assert all("A member of a story is left out" in each for each in repeated)


async def test_who_looks_waits_for_no_writer(open_index: OpenIndex, file: Path, sql: sqlite3.Connection) -> None:
    _, original, _ = await _used(open_index, file)
    index = await open_index(f"sqlite:///{file}", timeout=0.1)
    sql.execute("BEGIN IMMEDIATE")
    found = await index.documents.records()
    summary = await index.summary()
    stories = await index.events.running()
    members = await members_in(index, original.id)
    would_go = await index.purge(Selection(source="wire.example", source_hash=SOURCE), dry_run=True)
    sql.execute("ROLLBACK")
    assert (len(found), summary.documents, stories, len(members), would_go) == (2, 2, [], 2, 2)


@pytest.mark.parametrize("folder", ["/proc", "/proc/neardup"])
async def test_a_window_that_cannot_be_made_is_named_with_the_remedy(open_index: OpenIndex, folder: str) -> None:
    """In these folders nobody makes a file, not even the administrator."""
    remedy = r"read and write the file and its folder.* or set NEARDUP_STORE to another file"
    with pytest.raises(StoreError, match=rf"^{folder}/window\.sqlite: .*{remedy}"):
        await open_index(f"sqlite://{folder}/window.sqlite".replace("sqlite:///", "sqlite:////"))


SITE = digest("a.example", 4)
SEEDS = (4, 11, 44, 52, 62, 208)
"""At these seeds errors that were not ours came through: five from the schema, one from a table of postings."""


def _index(file: Path) -> Index:
    return index_from_url(
        f"sqlite:///{file}", namespace="news", config=CONFIG, judge=ScriptedJudge(Policy()), timeout=0.2
    )


async def _fill(file: Path) -> None:
    """Keep something of every kind in a window."""
    index = _index(file)
    await index.open()
    for number in range(60):
        url = f"https://a.example/{number}"
        await check(index, Article(f"story {number}", at=number, serial=number, url=url, source="a.example"))
    await joined(index, join("copy", 60, "copy.example"))
    await index.events.claim(Claim(FIRST.id, "watch", token="t"))
    await index.learned.exchange_boilerplate({SITE: LearnedEntries((b"1234",), (b"x" * 20,))})
    await index.close()


def _scribble(file: Path, seed: int) -> Path:
    """Make a copy, overwritten with noise in up to 40 places of up to 200 bytes."""
    draw, data = random.Random(seed), bytearray(file.read_bytes())
    size = len(data)
    for _ in range(draw.randrange(1, 40)):
        at, noise = draw.randrange(size), draw.randbytes(draw.randrange(1, 200))
        data[at : at + len(noise)] = noise
    damaged = file.with_name(f"{seed}.sqlite")
    damaged.write_bytes(data[:size])
    return damaged


def test_a_log_with_a_damaged_name_loses_no_entry(file: Path) -> None:
    opened_file = SQLiteFile(str(file), 1.0)
    opened_file.connect()
    with opened_file.transaction(writes=True) as sql:
        client = SQLiteClient(sql)
        client.hset("log", b"zz", b"")
        for entry in (b"a", b"b", b"c"):
            client.xadd("log", "MAXLEN", "~", 5, "*", b"c", entry)
        assert client.xlen("log") == 4


@contextmanager
def _failing(file: Path, document: str) -> Iterator[None]:
    """Let nobody keep a record of this document, as if a page of the file were damaged."""
    with closing(sqlite3.connect(file, isolation_level=None)) as sql:
        when = f"BEFORE INSERT ON entries WHEN NEW.field = x'{document}'"
        sql.execute(f"CREATE TRIGGER fail {when} BEGIN SELECT RAISE(ABORT, 'a damaged page'); END")
        yield
        sql.execute("DROP TRIGGER fail")


def _calls(index: Index) -> Iterator[Awaitable[object]]:
    yield index.open()
    for number in (3, 30, 59):
        yield check(index, Article(f"story {number}", at=70 + number, serial=1000 + number))
    yield joined(index, join("another", 61, "other.example"))
    yield index.events.running()
    yield members_in(index, FIRST.id)
    yield index.stories.final_stories([FIRST.id])
    yield index.documents.records()
    yield index.learned.exchange_boilerplate({SITE: LearnedEntries((b"5678",))})
    yield index.learned.add_frequencies("terms", NOTHING)
    yield index.runs.beat()
    yield index.events.take_over(0)
    yield index.events.ended(0)
    yield index.runs.settle([FIRST.id], DELIVERED)
    yield index.summary()
    yield index.purge(Selection(source="a.example", source_hash=SITE))
    yield index.close()


async def test_every_error_of_a_scribbled_file_names_the_file_and_the_remedy(file: Path) -> None:
    await _fill(file)
    refused = 0
    for seed in SEEDS:
        damaged = _scribble(file, seed)
        for call in _calls(_index(damaged)):
            (answer,) = await asyncio.gather(call, return_exceptions=True)
            assert isinstance(answer, StoreError) or not isinstance(answer, BaseException), f"seed {seed}: {answer!r}"
            if isinstance(answer, StoreError) and not isinstance(answer, StoreUnavailable):
                refused += 1
                assert str(answer).startswith(f"{damaged}: ")
                assert "move it away" in str(answer)
    assert refused >= len(SEEDS)


async def test_damaged_data_do_not_count_as_a_lost_store(file: Path, caplog: pytest.LogCaptureFixture) -> None:
    async with opened(store=f"sqlite:///{file}") as room:
        documents = [room.article(number, "wire", 0) for number in range(3)]
        with _failing(file, documents[0].id):
            verdicts = [await room.detector.check(each) for each in (*documents, documents[0])]
    assert [verdict.status for verdict in verdicts] == ["unchecked", "original", "original", "unchecked"]
    assert verdicts[0].reason == "store-unavailable"
    (warning,) = (record.getMessage() for record in caplog.records if record.levelname == "WARNING")
    assert warning.startswith(f"A document passes unchecked: {file}: ")


async def test_keys_expire_and_are_made_anew(
    open_index: OpenIndex, sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = await open_index(sqlite_url)
    key = index.layout.name("one")
    write, read = Call("HSET", key, ("f", b"1")), Call("HGETALL", key)
    await index.store.ask(lambda client: answers(client, [write, Call("EXPIRE", key, (60,))]))
    now = time.time
    monkeypatch.setattr("time.time", lambda: now() + 61)
    assert await index.store.ask(lambda client: answers(client, [read]), reads=True) == [{}]
    again = Call("HSET", key, ("g", b"2"))
    assert (await index.store.ask(lambda client: answers(client, [again, read])))[1] == {b"g": b"2"}


async def test_a_step_that_fails_leaves_nothing_in_a_file(open_index: OpenIndex, sqlite_url: str) -> None:
    index = await open_index(sqlite_url)
    key = index.layout.name("one")

    async def steps(client: Client) -> None:
        await answers(client, [Call("HSET", key, ("f", b"1"))])
        raise StoreError("on purpose")

    with pytest.raises(StoreError, match="on purpose"):
        await index.store.ask(steps)
    assert await index.store.ask(lambda client: answers(client, [Call("HLEN", key)])) == [0]
