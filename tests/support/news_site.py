"""A news site on loopback: whatever pages a test asks for, over real HTTP; and articles to put on them."""

import random
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

_VOCABULARY = (
    "after along annual answer archive bridge building carriage castle ceiling chamber climate coastal committee "
    "copper council country court current debate decision distance district engine evening factory farmer festival "
    "forest garden glacier government harbour history hospital island journal kitchen ladder library market meadow "
    "mineral minister morning mountain museum orchard painter parish player policy railway reason report reservoir "
    "river school season senate signal station storm student summer surface teacher theatre tunnel valley village "
    "voter water weather window winter worker"
).split()


def article(seed: object, words: int = 180) -> str:
    """Prose without figures, of paragraphs on lines of their own; two seeds share next to no three words in a row."""
    draw = random.Random(repr(seed))
    lines, line = [], []
    for count in range(1, words + 1):
        line.append(draw.choice(_VOCABULARY))
        if count % 45 == 0 or count == words:
            lines.append(" ".join(line).capitalize() + ".")
            line = []
    return "\n".join(lines)


def page(text: str, title: str = "News of the day", foot: str = "") -> str:
    """An HTML page with ``text`` as its main content."""
    paragraphs = "".join(f"<p>{line}</p>" for line in text.splitlines())
    return (
        f"<!doctype html><html><head><meta charset='utf-8'><title>{title}</title></head><body>"
        f"<nav><a href='/'>Home</a> <a href='/about'>About</a></nav>"
        f"<article><h1>{title}</h1>{paragraphs}</article><footer>{foot}</footer></body></html>"
    )


@dataclass(frozen=True)
class Answer:
    """One response, sent as it is: a body, or chunks without a length until the reader has enough."""

    body: bytes = b""
    content_type: str = "text/html; charset=utf-8"
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    stream: Callable[[], Iterator[bytes]] | None = None


class NewsSite:
    """Serves ``pages`` (path -> HTML or Answer) on a free port while it is entered, and notes what was asked for."""

    def __init__(self) -> None:
        self.pages: dict[str, str | Answer] = {}
        self.requested: list[str] = []
        site = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                site.requested.append(self.path)
                site.answer(self)

            def log_message(self, format: str, *args: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._server.block_on_close = False
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> "NewsSite":
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def publish(self, path: str, content: str | Answer) -> str:
        """Put a page up and return its url."""
        self.pages[path] = content
        return self.url + path

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        content = self.pages.get(request.path.partition("?")[0], Answer(status=404))
        answer = Answer(content.encode("utf-8")) if isinstance(content, str) else content
        request.send_response(answer.status)
        if answer.content_type:
            request.send_header("Content-Type", answer.content_type)
        for name, value in answer.headers.items():
            request.send_header(name, value)
        if answer.stream is None:
            request.send_header("Content-Length", str(len(answer.body)))
        request.end_headers()
        try:
            request.wfile.write(answer.body)
            if answer.stream is not None:
                request.wfile.writelines(answer.stream())
        except OSError:
            pass  # the reader had enough
