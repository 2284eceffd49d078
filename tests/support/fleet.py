"""All kinds of stores that keep the contract. Each is started when a test first asks for it."""

import os
import re
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest
from redis import Redis, RedisCluster
from servers import Cluster, RedisServer, TLSServer, bundled_binary

ROOT = Path(__file__).parents[2]
PASSWORD = "let me/in@once"
_ESCAPED = "let%20me%2Fin%40once"


class Fleet:
    """Urls of running servers, by kind; one server a kind for all tests, each of which has a namespace of its own."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._running = ExitStack()
        self._urls: dict[str, str] = {}
        self._failed: dict[str, Exception] = {}

    def url(self, kind: str) -> str:
        """Skip the test if a kind cannot be had here. Each kind is started once, also if that fails."""
        if kind not in self._urls and kind not in self._failed:
            try:
                self._urls[kind] = KINDS[kind](self)
            except Exception as error:
                self._failed[kind] = error
        if kind in self._urls:
            return self._urls[kind]
        if isinstance(self._failed[kind], FileNotFoundError):
            pytest.skip(f"{kind}: {self._failed[kind]}")
        raise self._failed[kind]

    def close(self) -> None:
        self._running.close()

    def folder(self, name: str) -> Path:
        folder = self._folder / name
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def start(self, server: RedisServer) -> RedisServer:
        self._running.callback(server.stop)
        return server.start()

    def plain(self) -> str:
        return os.environ.get("NEARDUP_TEST_REDIS_URL") or self._default.url

    @property
    def _default(self) -> RedisServer:
        if not hasattr(self, "_server"):
            self._server = self.start(RedisServer(self.folder("redis")))
        return self._server

    def bundled(self, kind: str) -> str:
        binary = bundled_binary(kind)
        if binary is None:
            raise FileNotFoundError("its package, named in tox.ini, is not installed")
        return self.start(RedisServer(self.folder(kind), binary=binary)).url

    def unix(self) -> str:
        return self._default.unix_url + "?db=3"

    def database(self) -> str:
        return self._default.url[:-1] + "5"

    def acl(self) -> str:
        server = self.start(RedisServer(self.folder("acl")))
        with server.client() as client:
            client.execute_command("ACL SETUSER", "neardup", "on", f">{PASSWORD}", *documented_rights())
        return f"redis://neardup:{_ESCAPED}@127.0.0.1:{server.port}/0"

    def tls(self) -> str:
        try:
            return self.start(TLSServer(self.folder("tls"))).url
        except RuntimeError as error:
            if "TLS support" in str(error) or "Bad directive" in str(error):
                raise FileNotFoundError("redis-server on PATH is built without TLS; that of Debian has it") from error
            raise

    def cluster(self) -> str:
        cluster = Cluster(self.folder("cluster"))
        self._running.callback(cluster.stop)
        return cluster.start().url


def _bundled(kind: str) -> Callable[[Fleet], str]:
    return lambda fleet: fleet.bundled(kind)


KINDS: dict[str, Callable[[Fleet], str]] = {
    "redis": Fleet.plain,
    **{kind: _bundled(kind) for kind in ("redis6", "redis8", "valkey8", "valkey9")},
    "unix": Fleet.unix,
    "database": Fleet.database,
    "acl": Fleet.acl,
    "tls": Fleet.tls,
    "cluster": Fleet.cluster,
}
"""Every way a Redis is run."""


def documented_rights() -> list[str]:
    """Of the user in docs/redis.md: keys, channels and commands."""
    text = (ROOT / "docs/redis.md").read_text(encoding="utf-8")
    (command,) = re.findall(r"^ACL SETUSER neardup on >password (.*?)^```", text, re.MULTILINE | re.DOTALL)
    return str(command).split()


def open_client(url: str) -> Redis:
    """A blocking client of any kind of server, to look into it."""
    if "+cluster" in url:
        first = re.sub(r",[^/?]*", "", url.replace("+cluster", ""))
        return RedisCluster.from_url(first)  # type: ignore[return-value]  # alike in what is used here
    return Redis.from_url(url)
