"""A worker of Dask that kills itself once at each of some moments: just before a file of a replay gets its name.

Arguments: the address of the scheduler, a folder that notes which moments are over, and how names of files begin.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

from distributed import Worker


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

    sys.addaudithook(kill)
    asyncio.run(work(address))
