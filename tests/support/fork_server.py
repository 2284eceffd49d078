"""Run Scrapy's commands in forks of this process, which has imported Scrapy and other libraries once for all of them.

Each line of standard input is a command: its arguments, folder, environment, and the files of its input and output.
Two lines answer it: the id of the process, and its exit status. Each fork imports the code of this project for itself.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from typing import Any

LIBRARIES = """
courlan dateutil.parser redis.asyncio requests rich.console sqlite3 tldextract trafilatura xxhash
scrapy.cmdline scrapy.commands.crawl scrapy.core.downloader.contextfactory scrapy.core.downloader.handlers.http11
scrapy.core.engine scrapy.core.scheduler scrapy.crawler scrapy.exporters scrapy.extensions.feedexport scrapy.http
scrapy.pipelines scrapy.spiders scrapy.utils.reactor twisted.internet.asyncioreactor twisted.web.client twisted.web.http
"""
"""Slow imports. None of them starts a thread, which a fork would lose, or chooses a reactor."""


def become(command: dict[str, Any]) -> None:
    """Turn this fork into the process of a command. Variables that Python reads at its start do nothing here."""
    os.chdir(command["folder"])
    os.environ.clear()
    os.environ.update(command["environment"])
    # Two versions of a file of one second and size would have one cached form.
    sys.dont_write_bytecode = True
    for number, path in enumerate(command["files"]):
        opened = os.open(path, os.O_WRONLY | os.O_APPEND if number else os.O_RDONLY)
        os.dup2(opened, number)
        os.close(opened)
    sys.argv = ["scrapy", *command["arguments"]]
    sys.path[:1] = [command["folder"], *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]


def serve() -> bool:
    """Fork for each command. Return whether this process is a fork, which runs its command when this has returned."""
    for line in sys.stdin:
        sys.stdout.flush()
        command = json.loads(line)
        process = os.fork()
        if not process:
            become(command)
            return True
        print(process, flush=True)
        print(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]), flush=True)
    return False


if __name__ == "__main__":
    for name in LIBRARIES.split():
        importlib.import_module(name)
    if serve():
        from scrapy.cmdline import execute

        execute()
