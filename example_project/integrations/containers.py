"""Try the Dockerfile and compose.yaml without Docker: ``python -m integrations.containers``.

This runs the steps of the Dockerfile and the commands of the services. The files of the image go to a temporary
directory with a fresh virtual environment; Redis is the ``redis-server`` on PATH. With ``--here`` the packages of this
environment are used. Exit status 0 if the workers judged every page, no text has two originals, and the report is
served. Not tried: the base image, its user, and Docker's networks and volumes.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import time
import venv
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import requests
import yaml
from check_truth import read_lines
from integrations.offline import count_statuses, repeated_originals, unused_port
from newsroom.site.press import read_pages
from redis import Redis
from redis.exceptions import ConnectionError as RedisConnectionError

EXAMPLE = Path(__file__).parents[1]
PATIENCE = 120  # seconds


class Machine:
    """A directory in the place of the root of a container's file system."""

    def __init__(self, root: Path, stack: ExitStack) -> None:
        self.root = root
        self.stack = stack
        self.environment = dict(os.environ)
        self.moved = {f"/{name}": f"{root}/{name}" for name in ("app", "data", "src", "window")}

    def build(self, *, fresh: bool) -> None:
        """Carry out the Dockerfile. Without ``fresh``, install nothing."""
        (self.root / "data").mkdir()
        if fresh:
            venv.create(self.root / "venv", with_pip=True)
            self.environment["PATH"] = f"{self.root}/venv/bin:{os.environ['PATH']}"
            self.environment.pop("PYTHONPATH", None)
        for line in (EXAMPLE / "Dockerfile").read_text("utf-8").splitlines():
            instruction, _, rest = line.partition(" ")
            if instruction == "COPY":
                *sources, target = rest.split()
                for source in sources:
                    self.copy(EXAMPLE.parent / source, Path(self.moved_to(target)))
            elif instruction == "RUN" and rest.startswith("pip") and fresh:
                subprocess.run(self.moved_to(rest), shell=True, check=True, env=self.environment)
            elif instruction == "RUN":
                print("Not run:", rest)

    def copy(self, source: Path, target: Path) -> None:
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__", ".scrapy", "*.egg-info"))
        else:
            target.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, target)

    def moved_to(self, text: str) -> str:
        for old, new in self.moved.items():
            text = text.replace(old, new)
        return text

    def start(self, service: dict[str, Any], *arguments: str, folder: str = "/app") -> subprocess.Popen[bytes]:
        given = {name: self.moved_to(value) for name, value in service.get("environment", {}).items()}
        process = subprocess.Popen(
            [*shlex.split(self.moved_to(str(service["command"]))), *arguments],
            cwd=self.moved_to(folder),
            env={**self.environment, **given},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self.stack.callback(process.wait)
        self.stack.callback(process.terminate)
        return process


def wait(what: str, is_so: Callable[[], object]) -> None:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        with suppress(RedisConnectionError, requests.ConnectionError):
            if is_so():
                return
        time.sleep(0.1)
    raise SystemExit(f"{what} did not answer within {PATIENCE} s")


def serves(page: str) -> bool:
    answer = requests.get(page, timeout=10)
    return answer.ok and "<title>" in answer.text


def main(*options: str) -> int:
    services = yaml.safe_load((EXAMPLE / "compose.yaml").read_text("utf-8"))["services"]
    with TemporaryDirectory() as folder, ExitStack() as stack:
        machine = Machine(Path(folder), stack)
        machine.build(fresh="--here" not in options)
        (machine.root / "window").mkdir()
        port, web = str(unused_port()), str(unused_port())
        store, machine.moved["redis://redis:6379"] = f"redis://127.0.0.1:{port}", f"redis://127.0.0.1:{port}"
        machine.moved[" 8000"] = f" {web}"
        machine.start(services["redis"], "--port", port, folder="/window")
        wait("Redis", Redis.from_url(store).ping)
        workers = [machine.start(services[name]) for name in ("worker-1", "worker-2")]
        failed = [worker for worker in workers if worker.wait(PATIENCE)]
        machine.start(services["report"])
        wait("The report", lambda: serves(f"http://127.0.0.1:{web}/report.html"))
        shares = [read_lines(path) for path in sorted((machine.root / "data").glob("items-*.jsonl"))]
    items = [item for share in shares for item in share]
    twice = repeated_originals(items)
    print(f"{' + '.join(str(len(share)) for share in shares)} items: {count_statuses(items)}")
    print(f"{len(twice)} texts have two originals", *twice)
    return int(bool(failed or twice) or len(items) != len(read_pages()))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
