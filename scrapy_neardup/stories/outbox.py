"""Events on their way to somebody else's server: nothing is lost when it is away, and nobody waits for it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import re
import secrets
import time
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

logger = logging.getLogger(__name__)

Deliver = Callable[[dict[str, Any]], Awaitable[None]]
"""Sends one report. Raises what it likes where that fails."""

_ORPHANED = 3600  # seconds after which the files of a process that never came back are anybody's
_CLOSING = 10.0  # seconds


class Outbox:
    """Delivers reports in their order, in a task of its own. Each is a file in ``folder`` until it is delivered.

    What could not be delivered is tried again before the next report, at the end, and by the next process that opens
    this folder. A report may arrive twice, never not at all: its ``id`` tells.
    """

    def __init__(self, name: str, folder: Path, deliver: Deliver) -> None:
        self._name = name
        self._folder = folder
        self._deliver = deliver
        self._mine = secrets.token_hex(4)
        self._waiting: dict[str, dict[str, Any]] = {}
        self._wake = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._failing = False
        self._closing = False

    async def open(self) -> None:
        """Take over what others left, and start."""
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            self._adopt()
        except OSError as error:
            logger.error("Events for the %s cannot be kept in %s: %s", self._name, self._folder, error)
        self._task = asyncio.create_task(self._run())
        if self._waiting:
            self._wake.set()

    def put(self, report: Mapping[str, Any]) -> None:
        """Never waits."""
        # Names sort by time, and two levels of one event never share one.
        name = re.sub(r"[^\w.-]", "_", f"{report['time']}-{report['id']}.json")
        self._waiting[name] = dict(report)
        try:
            self._owned(name).write_text(json.dumps(report, ensure_ascii=False), encoding="utf-8")
        except OSError as error:
            logger.error("An event for the %s cannot be kept in %s: %s", self._name, self._folder, error)
        self._wake.set()

    async def close(self) -> None:
        """Give what is waiting a last chance of some seconds, then leave it to the next process."""
        if self._task is None:
            return
        self._closing = True
        self._wake.set()
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self._task, _CLOSING)
        self._task = None
        if self._waiting:
            logger.warning("%d events wait for the %s in %s", len(self._waiting), self._name, self._folder)
        for name in self._waiting:
            with contextlib.suppress(OSError):
                self._owned(name).rename(self._folder / name)

    async def _run(self) -> None:
        while not self._closing:
            await self._wake.wait()
            self._wake.clear()
            await self._send_waiting()
        await self._send_waiting()

    async def _send_waiting(self) -> None:
        for name in sorted(self._waiting):
            try:
                await self._deliver(self._waiting[name])
            except Exception as error:
                if not self._failing:
                    logger.warning("The %s takes no events; they wait in %s. %s", self._name, self._folder, error)
                self._failing = True
                return
            self._failing = False
            del self._waiting[name]
            with contextlib.suppress(OSError):
                self._owned(name).unlink()

    def _owned(self, name: str) -> Path:
        return self._folder / f"{name}.{self._mine}"

    def _adopt(self) -> None:
        for path in sorted(self._folder.glob("*.json*")):
            name = path.name.partition(".json")[0] + ".json"
            try:
                if path.name != name and time.time() - path.stat().st_mtime < _ORPHANED:
                    continue
                os.rename(path, self._owned(name))  # one of several processes wins
                self._waiting[name] = json.loads(self._owned(name).read_text(encoding="utf-8"))
            except FileNotFoundError:
                continue
            except ValueError as error:
                logger.error("%s: no event: %s", self._owned(name), error)
