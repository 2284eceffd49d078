"""A SQLite file that is damaged on disk: every error names the file and the remedy, and stops no more than it must."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Awaitable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from conftest import CONFIG, OpenIndex
from damage import scribbled
from documents import Article, check, digest
from joins import FIRST, join, joined
from newsdesk import opened

from scrapy_neardup.contracts import KnownBoilerplate
from scrapy_neardup.document import Claim
from scrapy_neardup.exceptions import StoreError, StoreUnavailable
from scrapy_neardup.index import Index, Policy, index_from_url
from scrapy_neardup.index.purging import Selection
from scrapy_neardup.records.feature_counts import NOTHING

SOURCE = digest("a.example", 4)
SEEDS = (4, 11, 44, 52, 62, 208)
"""At these seeds errors that were not ours came through: five from the schema, one from a table of postings."""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "window.sqlite"


def _index(file: Path) -> Index:
    return index_from_url(f"sqlite:///{file}", namespace="news", config=CONFIG, policy=Policy(), timeout=0.2)


async def _fill(file: Path) -> None:
    """Keep something of every kind in a window."""
    index = _index(file)
    await index.open()
    for number in range(60):
        url = f"https://a.example/{number}"
        await check(index, Article(f"story {number}", at=number, serial=number, url=url, source="a.example"))
    await joined(index, join("copy", 60, "copy.example"))
    await index.claim(Claim(FIRST.id, "watch", token="t"))
    await index.exchange_boilerplate({SOURCE: KnownBoilerplate((b"1234",), (b"x" * 20,))})
    await index.count_verdicts(5, {"original": 1})
    await index.close()


def _scribble(file: Path, seed: int) -> Path:
    """Make a damaged copy."""
    damaged = file.with_name(f"{seed}.sqlite")
    damaged.write_bytes(scribbled(file.read_bytes(), seed))
    return damaged


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
    yield index.open_events()
    yield index.members(FIRST.id)
    yield index.final_stories([FIRST.id])
    yield index.records()
    yield index.exchange_boilerplate({SOURCE: KnownBoilerplate((b"5678",))})
    yield index.add_frequencies("terms", NOTHING)
    yield index.verdict_counts(0, 10)
    yield index.beat()
    yield index.take_over(0)
    yield index.ended_events(0)
    yield index.deliver([FIRST.id])
    yield index.summary()
    yield index.purge(Selection(source="a.example", source_hash=SOURCE))
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


async def test_damage_that_one_document_needs_fails_no_other_one(open_index: OpenIndex, file: Path) -> None:
    index = await open_index(f"sqlite:///{file}")
    articles = [Article(f"story {number}") for number in range(4)]
    with _failing(file, articles[1].id):
        answers = await asyncio.gather(*(check(index, each) for each in articles), return_exceptions=True)

    assert [type(answer) for answer in answers] == [type(None), StoreError, type(None), type(None)]
    assert all([await check(index, each.copy(at=1)) for each in articles[2:]])
