"""What the worker process of a service does: it sends messages by Apprise."""

import io
import json
import logging
import os
import re
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from typing import Any


def load_sender(_: str) -> Callable[[Sequence[str]], list[bytes]]:
    """Return the function that sends messages. Each is JSON: url of the service, title and text; or null for none.

    It answers each by 0 if Apprise has sent it, else by the status of HTTP that the service gave, or 200 if there is
    none.
    """
    os.environ["NETRC"] = os.devnull  # its default entry would go to every service
    log = io.StringIO()
    logging.basicConfig(level=logging.WARNING, stream=log)
    sys.stderr = sys.stdout = log  # for what a plugin prints, which may be a secret
    with open(os.devnull, "wb") as nothing:  # the same for its libraries
        os.dup2(nothing.fileno(), 1)
        os.dup2(nothing.fileno(), 2)
    from apprise import Apprise  # the extra "alerts"

    @cache
    def service_of(url: str) -> Any:
        service = Apprise()
        service.add(url)
        for each in service:
            # Apprise would wait up to 5.5 s between two messages. A service that has enough answers 429.
            each.request_rate_per_sec = 0
        return service

    def send(url: str, title: str, body: str) -> bytes:
        service = service_of(url)
        # For a service that reads nothing but Markdown, Apprise would escape the dots of our links.
        body_format = "markdown" if all(each.notify_format == "markdown" for each in service) else "text"
        start = log.tell()
        with suppress(Exception):  # its text may have a secret
            if service.notify(body, title, body_format=body_format):
                return b"0"
        status = re.search(r"\berror=(\d{3})\b", log.getvalue()[start:])
        return status[1].encode() if status else b"200"

    return lambda messages: [send(*given) if (given := json.loads(each)) else b"0" for each in messages]
