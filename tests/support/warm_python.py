"""The command ``python``, run by a fork of the server whose socket is the first argument: see fork_server.py.

Its other arguments are ``-m`` and a module, ``-c`` and code, or a script, and what is passed to them.

This process has the input, outputs, signals and exit status of the command. It imports little, because it stands in for
a program that starts fast.
"""

import json
import os
import signal
import socket
import sys

FORWARDED = signal.SIGINT, signal.SIGTERM, signal.SIGHUP


def main() -> None:
    path, *arguments = sys.argv[1:]
    signal.pthread_sigmask(signal.SIG_BLOCK, FORWARDED)
    server = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    server.connect(path)
    python = os.path.join(os.path.dirname(path), "python")
    parts = {"arguments": arguments, "folder": os.getcwd(), "environment": dict(os.environ), "python": python}
    socket.send_fds(server, [json.dumps(parts).encode()], [0, 1, 2])
    nothing = os.open(os.devnull, os.O_RDWR)
    for each in (0, 1, 2):
        os.dup2(nothing, each)  # a pipe that this process held would not end with the command
    process = int(server.recv(100))
    for each in FORWARDED:
        signal.signal(each, lambda number, frame: os.kill(process, number))
    signal.pthread_sigmask(signal.SIG_UNBLOCK, FORWARDED)
    status = int(server.recv(100))
    if status < 0:
        if -status != signal.SIGKILL:
            signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    os._exit(status)


main()
