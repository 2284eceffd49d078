"""A stand-in for every chat and mail server: it takes what Apprise sends, over HTTPS, HTTP or SMTP."""

import email.policy
import json
import socketserver
import ssl
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import trustme

# What the services answer to a message that they take.
_ANSWER = {"ok": True, "access_token": "a", "user_id": "@u:h", "home_server": "h", "room_id": "!r:h", "event_id": "$1"}


class Services:
    """Takes the requests to any host: clients come through the proxy that ``environment`` names, and trust it."""

    def __init__(self, folder: Path) -> None:
        self.texts: list[str] = []  # every text of every message
        authority, services = trustme.CA(), self
        authority.cert_pem.write_to_path(str(folder / "ca.pem"))

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_CONNECT(self) -> None:
                self.close_connection = False
                self.send_response(200)
                self.end_headers()
                context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
                authority.issue_cert(self.path.partition(":")[0]).configure_cert(context)
                self.connection = context.wrap_socket(self.connection, server_side=True)
                self.rfile = self.connection.makefile("rb")
                self.wfile = self.connection.makefile("wb", buffering=0)  # type: ignore[assignment]

            def do_POST(self) -> None:
                services.texts += _texts_of(self.rfile.read(int(self.headers["Content-Length"] or 0)))
                answer = b"ok" if "slack" in self.headers["Host"] else json.dumps(_ANSWER).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            do_GET = do_PUT = do_POST  # noqa: N815

            def log_message(self, *_: object) -> None:
                pass

        class Mailbox(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                self.wfile.write(b"220 mail.example\r\n")
                for line in self.rfile:
                    is_data = line.upper().startswith(b"DATA")
                    self.wfile.write(b"354 go on\r\n" if is_data else b"250 ok\r\n")
                    if is_data:
                        message = b"".join(iter(self.rfile.readline, b".\r\n"))
                        parsed = email.message_from_bytes(message, policy=email.policy.default)
                        services.texts += [part.get_content() for part in parsed.walk() if not part.is_multipart()]
                        self.wfile.write(b"250 taken\r\n")

        self._servers = [
            ThreadingHTTPServer(("127.0.0.1", 0), Handler),
            socketserver.ThreadingTCPServer(("127.0.0.1", 0), Mailbox),
        ]
        self.web, self.mail = (f"127.0.0.1:{server.server_address[1]}" for server in self._servers)
        self.environment = {
            "HTTPS_PROXY": f"http://{self.web}",
            "REQUESTS_CA_BUNDLE": str(folder / "ca.pem"),
            "NO_PROXY": "",
        }

    def __enter__(self) -> "Services":
        for server in self._servers:
            server.daemon_threads = True
            threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        return self

    def __exit__(self, *exception: object) -> None:
        for server in self._servers:
            server.shutdown()
            server.server_close()


def _texts_of(body: bytes) -> Iterator[str]:
    """Yield each text of a JSON or of a form."""
    try:
        yield from _walk(json.loads(body))
    except ValueError:
        yield from _walk(parse_qs(body.decode()))


def _walk(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    for part in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _walk(part)
