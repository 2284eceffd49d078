"""The tutorial works: a reader who copies each of its blocks gets what the page says."""

import re
import shlex
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from guides import BLOCK, ROOT
from scrapy_processes import run_scrapy
from servers import free_port, wait_until

pytestmark = pytest.mark.slow

PAGE = (ROOT / "docs/tutorial.md").read_text(encoding="utf-8")
SECONDS = 60


@dataclass
class Reader:
    """Does what the page says, in ``folder``. Servers get free ports in place of those of the page."""

    folder: Path
    ports: dict[str, int] = field(default_factory=lambda: {"8000": free_port(), "9000": free_port()})
    logs: list[str] = field(default_factory=list)  # of the crawls
    servers: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def follow(self, language: str, title: str, block: str) -> None:
        for port, free in self.ports.items():
            block = block.replace(port, str(free))
        settings, _, place = title.partition(", ")
        if place:
            path = self.folder / settings
            text = path.read_text(encoding="utf-8")
            old = place.removeprefix("in place of ")
            assert place == "at the end" or text.count(f"\n{old}\n") == 1
            changed = f"{text}\n{block}" if place == "at the end" else text.replace(f"\n{old}\n", f"\n{block}")
            path.write_text(changed, encoding="utf-8")
        elif language == "python" and title:
            (self.folder / title).write_text(block, encoding="utf-8")
        elif language == "python":
            self.run([sys.executable, "-c", block])
        elif title:
            self.serve(block.split())
        else:
            for command in block.replace("\\\n", "").splitlines():
                self.type(command)

    def type(self, command: str) -> None:
        if command.startswith(("pip install ", "python3 -m venv ", ". ")):
            return  # the tests have their environment
        if command.startswith("cd "):
            self.folder /= command.removeprefix("cd ")
        elif command.startswith("scrapy "):
            done = run_scrapy(self.folder, *shlex.split(command)[1:], one_output=True)
            assert done.returncode == 0, f"{command}\n{done.stdout}"
            if command.startswith("scrapy crawl"):
                self.logs.append(done.stdout)
        else:
            self.run(["sh", "-c", command])

    def run(self, command: list[str]) -> None:
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"

    def serve(self, command: list[str]) -> None:
        with (self.folder / f"{command[1]}.log").open("wb") as log:
            started = subprocess.Popen([sys.executable, *command[1:]], cwd=self.folder, stdout=log, stderr=log)
        self.servers.append(started)
        port = self.ports["8000" if command[1] == "press.py" else "9000"]
        wait_until(f"a server at port {port}", lambda: started.poll() is None and _answers(port), SECONDS)


def _answers(port: int) -> bool:
    with closing(socket.socket()) as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[Reader]:
    reader = Reader(tmp_path)
    yield reader
    for server in reader.servers:
        server.kill()
        server.wait()


def test_a_reader_gets_a_breaking_alert(reader: Reader) -> None:
    for language, title, block in BLOCK.findall(PAGE):
        if language != "text":
            reader.follow(language, title, block)
    first, again, later, alerted, shown = reader.logs
    assert "14 items judged, 14 kept\n  6 would be dropped with NEARDUP_ACTION = 'drop'\n" in first
    assert re.search(r"^  original +8$", first, re.MULTILINE)
    assert "Events: 1 breaking, 1 update" in first
    assert re.search(r"^  duplicate +14   revisit 14$", again, re.MULTILINE)
    assert re.search(r"^  update +3$", later, re.MULTILINE)
    assert "Events: 1 update" in later
    assert "\n      3 items, 12 dead, was 4               Ferry runs aground off Skerrow\n" in later
    assert "Events: 1 breaking, 1 update" in alerted
    alerts = (reader.folder / "alerts.py.log").read_text(encoding="utf-8")
    assert "ALERT breaking: Ferry runs aground off Skerrow (3 items)" in alerts
    assert "ALERT update: Ferry runs aground off Skerrow (6 items)" in alerts
    assert re.search(r"^  original +8$", shown, re.MULTILINE), "the report has something to show"
    page = (reader.folder / "report.html").read_text(encoding="utf-8")
    assert "Content-Security-Policy" in page
    assert "Ferry runs aground off Skerrow" in page, "the event"
