"""The servers of the crawl benchmarks: one with news pages, and a Redis. Imports nothing of the package."""

from __future__ import annotations

import asyncio
import json
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

from servers import RedisServer

WORDS = ["".join(syllables) for syllables in product(("ba", "ne", "ri", "to", "lu", "s", "ka", "me"), repeat=4)]


def pages(data: str | None, count: int) -> list[bytes]:
    """Return pages, the same ones every time: half of them of ``stream-dev``. Without ``data`` they are invented."""
    draw = random.Random(2019)
    if data is None:
        return [invented_page(draw, number) for number in range(count)]
    files: list[str] = []
    for most, names in ((count - count // 2, ("stream-dev",)), (count // 2, ("gold-dev", "articles"))):
        rows = [row for name in names for row in Path(data, f"{name}.jsonl").read_text("utf-8").splitlines()]
        files += [json.loads(row)["file"] for row in draw.sample(rows, most)]
    draw.shuffle(files)
    return [Path(data, file).read_bytes() for file in files]


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
    command = [sys.executable, __file__, json.dumps([data and str(data), count])]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield f"http://127.0.0.1:{int(process.stdout.readline())}"
    finally:
        process.kill()
        process.wait()


async def serve(arguments: str) -> None:
    bodies = pages(*json.loads(arguments))

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while line := await reader.readline():
                while (await reader.readline()).strip():
                    pass
                body = bodies[int(line.split()[1].rpartition(b"/")[2])]
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
def redis_server(folder: str | None = None) -> Iterator[RedisServer]:
    """Start a Redis of its own on a free port of loopback."""
    with tempfile.TemporaryDirectory(dir=folder) as own:
        server = RedisServer(Path(own)).start()
        try:
            yield server
        finally:
            server.stop()


if __name__ == "__main__":
    asyncio.run(serve(sys.argv[1]))
