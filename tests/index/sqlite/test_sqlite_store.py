"""A store without a file, one that cannot be read when it is opened, and one that a fork has taken over."""

import asyncio
import multiprocessing
import sqlite3
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from scrapy_neardup.exceptions import StoreError, StoreUnavailable
from scrapy_neardup.index.sqlite import SQLiteStore


@pytest.mark.parametrize("text", ["database is locked", "database or disk is full", "file is not a database"])
def test_an_error_of_a_store_in_memory_names_no_file(text: str) -> None:
    error = SQLiteStore().explained(sqlite3.OperationalError(text))
    assert str(error) == f"memory://: {text}"


async def test_a_file_that_could_not_be_read_is_opened_again_when_it_can(sqlite_file: Path) -> None:
    first, store = SQLiteStore(sqlite_file), SQLiteStore(sqlite_file)
    await first.open("key")
    await first.close()
    with closing(sqlite3.connect(sqlite_file)) as other:
        other.execute("ALTER TABLE keys RENAME TO gone")
        with pytest.raises(StoreError, match="no such table"):
            await store.open("key")
        await store.close()
        other.execute("ALTER TABLE gone RENAME TO keys")
    with ThreadPoolExecutor(1) as busy:  # in the place of the thread that has failed
        busy.submit(id, store).result()
        await store.open("key")
        await store.close()


def _use(store: SQLiteStore) -> None:
    async def use() -> None:
        with pytest.raises(StoreUnavailable, match="opened in another process"):
            await store.ask(lambda client: client.names(""), reads=True)
        await store.close()

    asyncio.run(use())


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no fork")
def test_a_fork_cannot_use_the_store_of_its_parent(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path / "window.sqlite")

    async def fork() -> None:
        await store.open("key")
        child = multiprocessing.get_context("fork").Process(target=_use, args=(store,))
        child.start()
        await asyncio.to_thread(child.join, 20)
        child.kill()
        await store.close()
        assert child.exitcode == 0

    asyncio.run(fork())
