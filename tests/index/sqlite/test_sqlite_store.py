"""A store without a file, and a store that a fork has taken over."""

import asyncio
import multiprocessing
import sqlite3
import sys
from pathlib import Path

import pytest

from scrapy_neardup.exceptions import StoreUnavailable
from scrapy_neardup.index.sqlite import SQLiteStore


@pytest.mark.parametrize("text", ["database is locked", "database or disk is full", "file is not a database"])
def test_an_error_of_a_store_in_memory_names_no_file(text: str) -> None:
    error = SQLiteStore().explained(sqlite3.OperationalError(text))
    assert str(error) == f"memory://: {text}"


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
