"""Two workers of Dask. For each that ends there is a new one.

A worker kills itself once at each of some moments: just before a file of a replay gets its name. Arguments: the address
of the scheduler, a folder that notes which moments are over, and how names of files begin.
"""

import asyncio
import os
import signal
import sys
from pathlib import Path

from distributed import Worker

import scrapy_neardup.tools.cluster  # noqa: F401  # once for all workers, which are forks


async def work(address: str) -> None:
    async with Worker(address, nthreads=1, dashboard=False) as worker:
        await worker.finished()


if __name__ == "__main__":
    address, notes, *moments = sys.argv[1:]

    def kill(event: str, arguments: tuple[object, ...]) -> None:
        if event != "os.rename":
            return
        name = Path(str(arguments[1])).name
        for moment in moments:
            if name.startswith(moment):
                try:
                    os.close(os.open(Path(notes) / moment, os.O_CREAT | os.O_EXCL))
                except FileExistsError:
                    continue
                os.kill(os.getpid(), signal.SIGKILL)

    workers = set[int]()
    while True:
        while len(workers) < 2:
            worker = os.fork()
            if not worker:
                sys.addaudithook(kill)
                asyncio.run(work(address))
                os._exit(0)
            workers.add(worker)
        workers.discard(os.wait()[0])
