"""A JSON POST for each event."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from requests import Session

SIGNATURE = "X-Neardup-Signature"
"""``sha256=`` and the hexadecimal HMAC-SHA256 of the body under NEARDUP_EVENTS_WEBHOOK_SECRET."""

_ATTEMPTS = 3
_BACKOFF = 0.5  # seconds, doubled each time
_TIMEOUT = (3.05, 5.0)  # to connect, to answer
_WORTH_RETRYING = (408, 429, 500, 502, 503, 504)


class Webhook:
    """Posts in a thread of its own: a slow receiver holds up no event loop."""

    def __init__(self, url: str, secret: str | None = None) -> None:
        self._url = url
        self._secret = secret
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="neardup-webhook")
        self._session: Session | None = None

    async def deliver(self, report: dict[str, Any]) -> None:
        """Raises requests.RequestException where the receiver does not take it."""
        await asyncio.get_running_loop().run_in_executor(self._thread, self._post, report)

    async def close(self) -> None:
        self._thread.shutdown(wait=False, cancel_futures=True)
        if self._session is not None:
            self._session.close()

    def _post(self, report: dict[str, Any]) -> None:
        from requests import HTTPError

        if self._session is None:
            self._session = _session()
        body = json.dumps(report, ensure_ascii=False).encode()
        headers = {
            "Content-Type": "application/json",
            "User-Agent": "scrapy-neardup",
            "X-Neardup-Event": str(report["level"]),
            "X-Neardup-Id": str(report["id"]),
        }
        if self._secret:
            headers[SIGNATURE] = "sha256=" + hmac.new(self._secret.encode(), body, hashlib.sha256).hexdigest()
        # A redirected POST would arrive as a GET without its body.
        answer = self._session.post(self._url, data=body, headers=headers, timeout=_TIMEOUT, allow_redirects=False)
        answer.raise_for_status()
        if answer.is_redirect:
            raise HTTPError(f"redirected to {answer.headers['Location']}: name that url instead", response=answer)


def _session() -> Session:
    from requests import Session
    from requests.adapters import HTTPAdapter
    from urllib3.util import Retry

    retry = Retry(
        _ATTEMPTS,
        backoff_factor=_BACKOFF,
        status_forcelist=_WORTH_RETRYING,
        allowed_methods=None,  # a POST too: receivers know a repetition by its id
        respect_retry_after_header=False,  # an hour's wait is not this thread's: the outbox tries again
    )
    session = Session()
    for scheme in ("http://", "https://"):
        session.mount(scheme, HTTPAdapter(max_retries=retry))
    return session
