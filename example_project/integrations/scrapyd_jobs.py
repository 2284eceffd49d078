"""Deploy this project to a scrapyd, and run ``newswire`` there twice: ``python -m integrations.scrapyd_jobs``.

Everything happens in a temporary directory. Exit status 0 if the items of the first job agree with the truth file, and
the second job finds every page in the window that the first one left.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import requests
from check_truth import TRUTH, Row, compare, read_lines

PROJECT = Path(__file__).parents[1]
PATIENCE = 300  # seconds
CONFIGURATION = """
[scrapyd]
bind_address = 127.0.0.1
http_port = {port}
items_dir = items
poll_interval = 0.5
"""


class Job(NamedTuple):
    items: list[Row]
    log: str


class Scrapyd:
    """A scrapyd whose working directory, and whose user's home, is ``folder``."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        with socket.create_server(("127.0.0.1", 0)) as listener:
            port = listener.getsockname()[1]
        self._url = f"http://127.0.0.1:{port}"
        (folder / "scrapyd.conf").write_text(CONFIGURATION.format(port=port))
        own = {name: value for name, value in os.environ.items() if not name.startswith(("SCRAPY_", "XDG_"))}
        with (folder / "scrapyd.log").open("w") as log:
            self.process = subprocess.Popen(
                [_tool("scrapyd"), "--pidfile="], cwd=folder, env={**own, "HOME": str(folder)}, stdout=log, stderr=log
            )
        _wait(self._answers)

    def deploy(self) -> None:
        source, egg = self.folder / "source", self.folder / "newsroom.egg"
        shutil.copytree(PROJECT, source, ignore=shutil.ignore_patterns(".scrapy", "__pycache__"))
        build = subprocess.run([_tool("scrapyd-deploy"), "--build-egg", egg], cwd=source, capture_output=True)
        if not egg.exists():
            raise SystemExit(f"The egg cannot be built: {build.stderr.decode()}")
        with egg.open("rb") as file:
            self._post("addversion", {"project": "newsroom", "version": "1"}, files={"egg": file})

    def run(self) -> Job:
        """Run a job to its end."""
        # The spider asks for a store in memory. The settings of a job have the last word.
        setting = "NEARDUP_STORE=sqlite:///neardup.sqlite"
        job = self._post("schedule", {"project": "newsroom", "spider": "newswire", "setting": setting})["jobid"]
        _wait(lambda: job in [each["id"] for each in self._get("listjobs")["finished"]])
        where = f"newsroom/newswire/{job}"
        log = (self.folder / f"logs/{where}.log").read_text(encoding="utf-8")
        return Job(read_lines(self.folder / f"items/{where}.jl"), log)

    def _answers(self) -> bool:
        with suppress(requests.ConnectionError):
            return bool(self._get("daemonstatus"))
        return False

    def _get(self, service: str) -> Any:
        return requests.get(f"{self._url}/{service}.json", timeout=30).json()

    def _post(self, service: str, data: dict[str, str], **more: Any) -> Any:
        said = requests.post(f"{self._url}/{service}.json", data, timeout=30, **more).json()
        if said["status"] != "ok":
            raise SystemExit(f"{service}: {said}")
        return said


def _tool(name: str) -> Path:
    tool = Path(sys.executable).with_name(name)
    if not tool.exists():
        raise SystemExit(f"{name} is not installed: pip install scrapyd scrapyd-client")
    return tool


def _wait(is_done: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not is_done():
        if time.monotonic() > end:
            raise SystemExit("scrapyd takes too long")
        time.sleep(0.2)


def main() -> int:
    with TemporaryDirectory() as folder:
        scrapyd = Scrapyd(Path(folder).resolve())
        try:
            scrapyd.deploy()
            first, second = scrapyd.run(), scrapyd.run()
        finally:
            scrapyd.process.terminate()
            scrapyd.process.wait()
    (place,) = [line.partition("INFO: ")[2] for line in first.log.splitlines() if "The window of" in line]
    print(place)
    score = compare(first.items, read_lines(TRUTH))
    print(f"First job: {len(first.items)} items, {len(score.wrong_lines)} of them other than in the truth file.")
    print(*score.wrong_lines, sep="\n", end="\n" if score.wrong_lines else "")
    again = Counter(f"{item['neardup_status']} {item.get('neardup_kind') or ''}".strip() for item in second.items)
    print(f"Second job: {len(second.items)} items: {', '.join(f'{count} {name}' for name, count in again.items())}.")
    faults = [line for job in (first, second) for line in job.log.splitlines() if " ERROR: " in line]
    print(*faults, sep="\n", end="\n" if faults else "")
    return int(bool(score.wrong_lines or faults or again.keys() & {"original", "unchecked store-unavailable"}))


if __name__ == "__main__":
    sys.exit(main())
