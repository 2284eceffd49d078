from __future__ import annotations

import os
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Protocol

import pytest
from redis import Redis
from servers import RedisServer

from scrapy_neardup.index import Index, Policy, index_from_url

CONFIG = "00000001"


@pytest.fixture(scope="session")
def redis_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """One server for all tests; each of them takes a namespace of its own and leaves nothing behind."""
    if url := os.environ.get("NEARDUP_TEST_REDIS_URL"):
        yield url
        return
    server = RedisServer(tmp_path_factory.mktemp("redis")).start()
    yield server.url
    server.stop()


@pytest.fixture
def redis_server(tmp_path: Path) -> Iterator[RedisServer]:
    """A server of this test alone, to be killed, hung and restarted."""
    server = RedisServer(tmp_path).start()
    yield server
    server.stop()


@pytest.fixture
def namespace(request: pytest.FixtureRequest) -> Iterator[str]:
    name = f"test-{uuid.uuid4().hex}"
    yield name
    if "redis_url" in request.fixturenames:
        client = Redis.from_url(request.getfixturevalue("redis_url"))
        if keys := list(client.scan_iter(match=f"{{neardup:{name}*", count=1000)):
            client.unlink(*keys)
        client.close()


def _memory(request: pytest.FixtureRequest) -> str:
    return "memory://"


def _sqlite(request: pytest.FixtureRequest) -> str:
    return f"sqlite:///{request.getfixturevalue('tmp_path')}/window.sqlite"


def _redis(request: pytest.FixtureRequest) -> str:
    return str(request.getfixturevalue("redis_url"))


STORES: dict[str, Callable[[pytest.FixtureRequest], str]] = {"memory": _memory, "sqlite": _sqlite, "redis": _redis}
"""Every store the contract is kept by: a name, and what makes the url of a running one."""

SHARED = [name for name in STORES if name != "memory"]
"""Stores that several processes use as one window."""


@pytest.fixture(params=STORES)
def store_url(request: pytest.FixtureRequest) -> str:
    return STORES[request.param](request)


@pytest.fixture(params=SHARED)
def shared_url(request: pytest.FixtureRequest) -> str:
    return STORES[request.param](request)


class OpenIndex(Protocol):
    async def __call__(
        self, url: str, policy: Policy = ..., *, namespace: str = ..., config: str = ..., timeout: float = ...
    ) -> Index: ...


@pytest.fixture
async def open_index(namespace: str) -> AsyncIterator[OpenIndex]:
    """Opens indexes in the test's namespace, and closes them when the test is over."""
    opened: list[Index] = []
    suffix = namespace

    async def factory(
        url: str,
        policy: Policy = Policy(),  # noqa: B008 (frozen)
        *,
        namespace: str = "",
        config: str = CONFIG,
        timeout: float = 5.0,
    ) -> Index:
        index = index_from_url(url, namespace=suffix + namespace, config=config, policy=policy, timeout=timeout)
        opened.append(index)
        await index.open()
        return index

    yield factory
    for index in opened:
        await index.close()


@pytest.fixture
async def index(open_index: OpenIndex, store_url: str) -> Index:
    """An empty index under the default policy, once for every store."""
    return await open_index(store_url)
