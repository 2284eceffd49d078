"""An HTTP proxy on the loopback interface that answers for every host of the bundled site, and for no other."""

from __future__ import annotations

import threading
from collections import Counter
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import cast
from urllib.parse import urlsplit

from newsroom.site.press import DIRECTORY, Newsstand

ROBOTS = b"User-agent: *\nDisallow:\n"


class LoopbackProxy(ThreadingHTTPServer):
    """Serves the site from a thread of its own, on a free port, between ``start()`` and ``stop()``."""

    def __init__(self, stand: Newsstand) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.stand = stand
        self.served: Counter[str] = Counter()
        self.thread = threading.Thread(target=self.serve_forever, name="bundled-site", daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def start(self) -> None:
        self.thread.start()

    def stop(self) -> None:
        self.shutdown()
        self.thread.join()
        self.server_close()

    def answer(self, url: str) -> tuple[str, bytes] | None:
        """Content type and body of an address, None for what the site does not have.

        A page with several versions gives the next one at each request, so that it changes between two visits.
        """
        if url == DIRECTORY:
            return "text/html; charset=utf-8", self.stand.directory()
        parts = urlsplit(url)
        source = self.stand.sources.get(parts.netloc)
        if parts.path == "/robots.txt":
            return "text/plain", ROBOTS
        if source is None:
            return None
        if url == source.front_page:
            return "text/html", self.stand.front_page(source)
        versions = self.stand.by_url.get(url)
        if versions is None:
            return None
        page = versions[min(self.served[url], len(versions) - 1)]
        self.served[url] += 1
        return "text/html", self.stand.article(page, source)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Head and body leave in one packet; in two, each answer would wait 40 ms for a delayed acknowledgement.
    wbufsize = -1

    def do_GET(self) -> None:
        found = cast("LoopbackProxy", self.server).answer(self.path)
        if found is None:
            self.send_error(HTTPStatus.NOT_FOUND, "The bundled site has no such page")
            return
        content_type, body = found
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Quiet: the crawl's own log says what was fetched."""
