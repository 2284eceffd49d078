"""Run programs in forks of this process, which has imported what Scrapy's commands use once for all of them.

``warm_python.py`` connects to the socket that this process listens on, and sends a command: its arguments, folder and
environment, with its input and outputs. A fork of this process starts the command in another fork, and watches over it.
Two messages are the answer: the process id of the command, and its exit status. If the connection ends before, the
command is killed. Processes that the command starts by ``sys.executable``, such as workers, are forks of this one too.
This process ends when its standard input does.
"""

import atexit
import gc
import importlib
import json
import os
import pkgutil
import runpy
import signal
import socket
import sys
from contextlib import suppress
from importlib.metadata import entry_points
from select import select
from typing import Any

LIBRARIES = """
courlan dateutil.parser encodings.utf_32_le filelock htmldate lxml.html numpy.ma numpy.random
redis.asyncio redis.asyncio.cluster requests
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
    """Run the module, code or script of ``sys.argv``. Return its exit status."""
    try:
        if sys.argv[0] == "-m":
            del sys.argv[0]
            runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
        elif sys.argv[0] == "-c":
            exec(sys.argv.pop(1), {"__name__": "__main__"})
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
    importlib.import_module("multiprocessing.spawn")  # keeps this interpreter: its processes get more than three files
    for name in LIBRARIES.split():
        with suppress(ImportError):  # an extra
            importlib.import_module(name)
    for package in ("scrapy.commands", "scrapy_neardup"):
        for module in pkgutil.walk_packages(importlib.import_module(package).__path__, f"{package}."):
            importlib.import_module(module.name)
    for command in entry_points(group="scrapy.commands"):
        command.load()
    import_components()
    with suppress(ImportError):  # an extra, which loads the modules of all services for the first url
        importlib.import_module("apprise").Apprise.instantiate("json://localhost")
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
    sys.executable = command["python"]
    sys.argv = command["arguments"]
    is_script = sys.argv[0] not in ("-m", "-c")
    sys.path[0] = os.path.dirname(os.path.abspath(sys.argv[0])) if is_script else command["folder"]


def serve(path: str) -> bool:
    """Print "ready", and fork for each connection. Return True in the process of a command, False at the end."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the watchers
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(path)
        listener.listen(100)
        print("ready", flush=True)
        while 0 not in select([0, listener], [], [])[0]:
            connection, _ = listener.accept()
            if os.fork():
                connection.close()
                continue
            listener.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            if start(connection):
                return True
            os._exit(0)
    return False


def start(connection: socket.socket) -> bool:
    """Start the command of a connection and watch over it. Return True in the process of the command."""
    message, files, _, _ = socket.recv_fds(connection, 1 << 20, 3)
    if not message:  # it was ended before
        return False
    process = os.fork()
    if not process:
        connection.close()
        become(json.loads(message), files)
        return True
    for each in files:
        os.close(each)
    ended = os.pidfd_open(process)
    with suppress(OSError):  # nobody waits for it
        connection.send(str(process).encode())
        if ended not in select([connection, ended], [], [])[0]:
            os.kill(process, signal.SIGKILL)
        status = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
        connection.send(str(status).encode())
    return False


if __name__ == "__main__":
    import_everything()
    if serve(sys.argv[1]):
        status = run()
