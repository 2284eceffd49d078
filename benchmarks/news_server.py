"""The servers that the crawl benchmarks run: one with recorded news pages, and a Redis."""

from __future__ import annotations

import asyncio
import json
import random
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SETS = ("stream-dev", "gold-dev", "articles")
HERE = Path(__file__).resolve()


def pages(data: Path, count: int) -> list[bytes]:
    """So many pages of each set, the same ones every time."""
    draw = random.Random(2019)
    files: list[Path] = []
    for number, name in enumerate(SETS, 1):
        with (data / f"{name}.jsonl").open(encoding="utf-8") as lines:
            rows = [json.loads(line) for line in lines]
        most = (count - len(files)) // (len(SETS) + 1 - number) if name != "stream-dev" else count // 2
        files += [data / row["file"] for row in draw.sample(rows, min(most, len(rows)))]
    with (data / "stream-dev.jsonl").open(encoding="utf-8") as lines:
        others = [path for line in lines if (path := data / json.loads(line)["file"]) not in set(files)]
    files += draw.sample(others, count - len(files))
    draw.shuffle(files)
    return [file.read_bytes() for file in files]


@contextmanager
def site(data: Path | None, count: int) -> Iterator[str]:
    """A server process: nothing it does is on the crawl's account. Without data it has small JSON articles only."""
    command = [sys.executable, str(HERE), json.dumps([data and str(data), count])]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield f"http://127.0.0.1:{int(process.stdout.readline())}"
    finally:
        process.kill()
        process.wait()


def page(bodies: list[bytes], number: int) -> bytes:
    """Behind the last page they come again, each time with a paragraph of its own."""
    body = bodies[number % len(bodies)]
    if number < len(bodies):
        return body
    draw = random.Random(number)
    words = " ".join(f"w{draw.randrange(5000)}" for _ in range(60))
    return body.replace(b"<p", f"<p>Edition {number}: {words}.</p><p".encode(), 1)


def small(number: int) -> bytes:
    """Return an article as JSON, with a text of its own: a bare kilobyte."""
    draw = random.Random(number)
    words = " ".join(f"w{draw.randrange(5000)}" for _ in range(120))
    return json.dumps({"url": f"https://site-{number % 50}.example/{number}", "text": f"{words}."}).encode()


async def serve(arguments: str) -> None:
    data, count = json.loads(arguments)
    bodies = pages(Path(data), count) if data else []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while line := await reader.readline():
                while (await reader.readline()).strip():
                    pass
                number = int(line.split()[1].rpartition(b"/")[2])
                kind, body = ("text/html", page(bodies, number)) if bodies else ("application/json", small(number))
                head = f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n"
                writer.write(head.encode() + body)
                await writer.drain()
        except OSError:
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


@contextmanager
def redis_server(folder: str) -> Iterator[str]:
    binary = shutil.which("redis-server")
    if binary is None:
        sys.exit("redis-server is not on PATH")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    arguments = ["--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", folder]
    process = subprocess.Popen([binary, *arguments], stdout=subprocess.DEVNULL)
    try:
        yield f"redis://127.0.0.1:{port}/0"
    finally:
        process.kill()
        process.wait()


if __name__ == "__main__":
    asyncio.run(serve(sys.argv[1]))
