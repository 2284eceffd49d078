"""Several real servers that are one store: a master with replicas and Sentinels, a Cluster; and one with TLS."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from redis import Redis
from servers import RedisServer, free_cluster_port, free_port, wait_until

SERVICE = "news"
_SLOTS = 16384
_REPLICA = ("--repl-diskless-sync", "yes", "--repl-diskless-sync-delay", "0")


class Sentinels:
    """A master, two replicas, and three Sentinels that agree within a second that a master is gone."""

    def __init__(self, folder: Path) -> None:
        self.master = RedisServer(folder / "master", *_REPLICA)
        follow = ("--replicaof", "127.0.0.1", str(self.master.port))
        self.replicas = [RedisServer(folder / f"replica-{number}", *_REPLICA, *follow) for number in range(2)]
        self.sentinels = [self._sentinel(folder / f"sentinel-{number}") for number in range(3)]

    def _sentinel(self, folder: Path) -> RedisServer:
        folder.mkdir(parents=True)
        port = free_port()
        (folder / "sentinel.conf").write_text(
            f"sentinel monitor {SERVICE} 127.0.0.1 {self.master.port} 2\n"
            f"sentinel down-after-milliseconds {SERVICE} 60000\n"
            f"sentinel failover-timeout {SERVICE} 3000\n"
        )
        return _Sentinel(folder, port)

    @property
    def url(self) -> str:
        hosts = ",".join(f"127.0.0.1:{sentinel.port}" for sentinel in self.sentinels)
        return f"redis+sentinel://{hosts}/{SERVICE}/0"

    @property
    def servers(self) -> list[RedisServer]:
        return [self.master, *self.replicas, *self.sentinels]

    def start(self) -> Sentinels:
        for server in self.servers:
            server.start()
        # On a slow machine the master may answer late at first. Only then is half a second without an answer enough.
        wait_until("every Sentinel knows all others", lambda: all(map(self._is_ready, self.sentinels)), seconds=120)
        for sentinel in self.sentinels:
            with sentinel.client() as client:
                client.execute_command("SENTINEL", "SET", SERVICE, "down-after-milliseconds", 500)
        return self

    def _is_ready(self, sentinel: RedisServer) -> bool:
        with sentinel.client() as client:
            known = client.sentinel_master(SERVICE)
        replicas = int(known["num-slaves"]) == 2 and int(known["num-other-sentinels"]) == 2
        return replicas and all(map(_is_in_sync, self.replicas))

    def fail_over(self) -> None:
        """Kill the master, and wait until the Sentinels name another."""
        self.master.stop()
        wait_until("another master", lambda: self._master_port() != self.master.port)
        wait_until("it is one", lambda: _role(self._master_port()) == "master")

    def _master_port(self) -> int:
        with self.sentinels[0].client() as client:
            address = client.execute_command("SENTINEL", "GET-MASTER-ADDR-BY-NAME", SERVICE)
        return int(address[1])

    def stop(self) -> None:
        for server in self.servers:
            server.stop()


class _Sentinel(RedisServer):
    def __init__(self, folder: Path, port: int) -> None:
        super().__init__(folder, port=port)
        binary = self._command[0]
        options = ("--port", str(port), "--bind", "127.0.0.1", "--dir", str(folder))
        self._command = [binary, str(folder / "sentinel.conf"), "--sentinel", *options]


class Cluster:
    """Three masters."""

    def __init__(self, folder: Path) -> None:
        options = "--cluster-enabled", "yes", "--cluster-node-timeout", "1000"
        self.nodes = [RedisServer(folder / f"node-{n}", *options, port=free_cluster_port()) for n in range(3)]

    @property
    def url(self) -> str:
        return "redis+cluster://" + ",".join(f"127.0.0.1:{node.port}" for node in self.nodes)

    def start(self) -> Cluster:
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


def _is_in_sync(replica: RedisServer) -> bool:
    with replica.client() as client:
        return bool(client.info("replication").get("master_link_status") == "up")


def _role(port: int) -> str:
    with suppress(OSError), Redis(port=port, socket_timeout=1) as client:
        return str(client.info("replication")["role"])
    return ""
