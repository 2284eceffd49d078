"""The servers of the crawl benchmarks: one with recorded news pages, and a Redis. Imports nothing of the package."""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product
from pathlib import Path

SETS = ("stream-dev", "gold-dev", "articles")
HERE = Path(__file__).resolve()
WORDS = ["".join(syllables) for syllables in product(("ba", "ne", "ri", "to", "lu", "s", "ka", "me"), repeat=4)]


def pages(data: Path | None, count: int) -> list[bytes]:
    """So many pages of each set, the same ones every time. Without ``data`` they are invented."""
    draw = random.Random(2019)
    if data is None:
        return [invented_page(draw, number) for number in range(count)]
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


def invented_page(draw: random.Random, number: int) -> bytes:
    """As large as recorded pages are: 40 kB, 100 to 800 words. Every third page is a copy of the one before it."""
    story = random.Random(number - (number % 3 == 2))
    places = (int(story.paretovariate(0.3)) for _ in range(story.randrange(100, 800)))  # frequent words come first
    words = [WORDS[min(place, len(WORDS)) - 1] for place in places]
    title = " ".join(words[:8]).capitalize()
    paragraphs = "".join(f"<p>{' '.join(words[at : at + 40])}.</p>\n" for at in range(0, len(words), 40))
    links = "".join(f"<li><a href='/{n}'>{draw.choice(WORDS)} {draw.choice(WORDS)}</a></li>" for n in range(80))
    script = "".join(f"var v{n} = '{draw.choice(WORDS)}';\n" for n in range(draw.randrange(200, 2000)))
    return (
        f"<!doctype html><html lang='en'><head><meta charset='utf-8'><title>{title}</title><script>{script}</script>"
        f"</head><body><nav><ul>{links}</ul></nav><article><h1>{title}</h1>{paragraphs}</article></body></html>"
    ).encode()


@contextmanager
def site(data: Path | None, count: int) -> Iterator[str]:
    """A server process: nothing it does is on the crawl's account."""
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


async def serve(arguments: str) -> None:
    data, count = json.loads(arguments)
    bodies = pages(data and Path(data), count)

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while line := await reader.readline():
                while (await reader.readline()).strip():
                    pass
                number = int(line.split()[1].rpartition(b"/")[2])
                body = page(bodies, number)
                head = f"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {len(body)}\r\n\r\n"
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
def redis_server() -> Iterator[str]:
    """Start a redis-server of its own on a free port of loopback, and yield its url."""
    if (binary := shutil.which("redis-server")) is None:
        sys.exit("redis-server is not on PATH")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder:
        arguments = ["--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", folder]
        process = subprocess.Popen([binary, *arguments], stdout=subprocess.DEVNULL)
        for _ in range(200):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                break
            time.sleep(0.02)
        try:
            yield f"redis://127.0.0.1:{port}/0"
        finally:
            process.kill()
            process.wait()


if __name__ == "__main__":
    asyncio.run(serve(sys.argv[1]))
