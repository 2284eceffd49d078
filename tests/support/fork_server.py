"""Run modules and scripts in forks of this process, which has imported what Scrapy's commands use once for all of them.

``warm_python.py`` connects to the socket that this process listens on, and sends a command: its arguments, folder and
environment, with its input and outputs. Two lines answer it: the id of the fork, and its exit status. If the connection
ends before, the fork is killed, as the command would be. This process ends when its standard input does.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import pkgutil
import runpy
import signal
import socket
import struct
import sys
from contextlib import suppress
from importlib.metadata import entry_points
from selectors import EVENT_READ, DefaultSelector
from typing import Any

LIBRARIES = """
courlan dateutil.parser encodings.utf_32_le filelock htmldate lxml.html numpy.ma numpy.random
redis.asyncio redis.asyncio.cluster redis.asyncio.sentinel requests
resiliparse.extract.html2text rich.console rich.table sqlite3 tldextract trafilatura xxhash
scrapy.cmdline scrapy.core.downloader.contextfactory scrapy.core.downloader.handlers.http11
scrapy.core.engine scrapy.core.scheduler scrapy.crawler scrapy.exporters scrapy.extensions.feedexport scrapy.http
scrapy.pipelines scrapy.spiders scrapy.utils.reactor twisted.internet.asyncioreactor twisted.web.client twisted.web.http
"""
"""Slow imports. None of them starts a thread, which a fork would lose, or chooses a reactor."""


status: int | None = None
"""The exit status of a command that has ended as it meant to."""


def leave() -> None:
    """End a fork before the interpreter frees its objects, which copies memory and takes as long as a short command."""
    if status is not None:
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        except OSError:  # nobody reads the output any more: the interpreter knows what to do
            return
        os._exit(status)


atexit.register(leave)  # before all others, so that it runs when these are done


def run() -> int:
    """Run the module or script of ``sys.argv``. Return its exit status."""
    try:
        if sys.argv[0] == "-m":
            del sys.argv[0]
            runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
        else:
            runpy.run_path(sys.argv[0], run_name="__main__")
    except SystemExit as ended:
        if ended.code is None or isinstance(ended.code, int):
            return ended.code or 0
        raise
    return 0


def import_everything() -> None:
    """Import libraries, Scrapy's commands and those of other packages, and all of this project."""
    os.environ["OPENBLAS_NUM_THREADS"] = "1"  # numpy would start threads
    for name in LIBRARIES.split():
        with suppress(ImportError):  # an extra
            importlib.import_module(name)
    for package in ("scrapy.commands", "scrapy_neardup"):
        for module in pkgutil.walk_packages(importlib.import_module(package).__path__, f"{package}."):
            importlib.import_module(module.name)
    for command in entry_points(group="scrapy.commands"):
        command.load()
    import_components()
    urls = importlib.import_module("scrapy_neardup.content.urls")
    urls.source_of("https://example.com/")  # reads the list of public suffixes
    assert "twisted.internet.reactor" not in sys.modules
    gc.freeze()  # a fork would copy this memory to look for garbage in it, which takes longer than most commands


def import_components() -> None:
    """Import the classes that Scrapy's default settings name."""
    settings = importlib.import_module("scrapy.settings.default_settings")
    for value in vars(settings).values():
        for name in [*value, *value.values()] if isinstance(value, dict) else [value]:
            if isinstance(name, str) and name.startswith("scrapy."):
                with suppress(ImportError):  # of an extra of Scrapy
                    importlib.import_module(name.rpartition(".")[0])


def become(command: dict[str, Any], files: list[int]) -> None:
    """Turn this fork into the process of a command."""
    os.setsid()
    os.chdir(command["folder"])
    os.environ.clear()
    os.environ.update(command["environment"])
    # Two versions of a file of one second and size would have one cached form.
    sys.dont_write_bytecode = True
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    sys.argv = command["arguments"]
    is_module = sys.argv[0] == "-m"
    sys.path[0] = command["folder"] if is_module else os.path.dirname(os.path.abspath(sys.argv[0]))


def receive(connection: socket.socket) -> tuple[dict[str, Any], list[int]]:
    """Return a command, and its input and outputs. Raise ValueError or struct.error if it was ended before."""
    message, files, _, _ = socket.recv_fds(connection, 1 << 16, 3)
    (size,) = struct.unpack_from(">I", message)
    while len(message) < 4 + size and (more := connection.recv(1 << 16)):
        message += more
    return json.loads(message[4:]), files


class ForkServer:
    def __init__(self, path: str) -> None:
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(path)
        self._listener.listen(100)
        self._selector = DefaultSelector()
        for each in (0, self._listener):
            self._selector.register(each, EVENT_READ)

    def serve(self) -> bool:
        """Fork for each command. Return True in a fork, which then runs its command, and False when this ends."""
        while True:
            for key, _ in self._selector.select():
                if key.fileobj == 0:
                    return False
                if key.fileobj is self._listener:
                    if self._fork():
                        return True
                else:
                    self._selector.unregister(key.fileobj)
                    key.data()

    def _fork(self) -> bool:
        """Start the command of a new connection. Return whether this process is its fork."""
        connection, _ = self._listener.accept()
        try:
            command, files = receive(connection)
        except (struct.error, ValueError):
            connection.close()
            return False
        ended, alive = os.pipe()  # ``ended`` can be read when the last process that holds ``alive`` is gone
        process = os.fork()
        if not process:
            for each in (connection, self._listener, self._selector):
                each.close()
            os.close(ended)
            become(command, files)
            return True
        for each in (*files, alive):
            os.close(each)

        def kill() -> None:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)

        def reap() -> None:
            status = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
            os.close(ended)
            with suppress(KeyError):
                self._selector.unregister(connection)
            with suppress(OSError):  # nobody waits for it
                connection.sendall(f"{status}\n".encode())
            connection.close()

        with suppress(OSError):
            connection.sendall(f"{process}\n".encode())
        self._selector.register(connection, EVENT_READ, kill)
        self._selector.register(ended, EVENT_READ, reap)
        return False


if __name__ == "__main__":
    import_everything()
    server = ForkServer(sys.argv[1])
    print("ready", flush=True)
    if server.serve():
        status = run()
