"""Replay an archive on a cluster: more documents than one machine can hold."""

import signal


def dask_setup(worker: object) -> None:
    """Leave Ctrl-C to the command. Dask calls this in each worker that the command has started."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
