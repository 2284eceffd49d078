"""Send checks of one process to the store together if they arrive together."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

T = TypeVar("T")
R = TypeVar("R")


class Batcher(Generic[T, R]):
    """Passes the arguments submitted since the last batch to ``run``, one batch at a time, in order.

    A single argument is a batch of one and waits for nothing. ``run`` returns one result or one exception for each
    argument. If it raises, everyone who waits gets this exception.
    """

    def __init__(self, run: Callable[[Sequence[T]], Awaitable[Sequence[R | BaseException]]], limit: int) -> None:
        self._run = run
        self._limit = limit
        self._waiting: list[tuple[T, asyncio.Future[R]]] = []
        self._task: asyncio.Task[None] | None = None

    def submit(self, argument: T) -> asyncio.Future[R]:
        """Submit an argument, and return a future with its answer."""
        future: asyncio.Future[R] = asyncio.get_running_loop().create_future()
        self._waiting.append((argument, future))
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._drain())
        return future

    async def join(self) -> None:
        """Wait until everything submitted so far has its answer."""
        while self._task is not None and not self._task.done():
            await asyncio.shield(self._task)

    async def _drain(self) -> None:
        while self._waiting:
            batch = self._waiting[: self._limit]
            del self._waiting[: self._limit]
            results: Sequence[R | BaseException]
            try:
                results = await self._run([argument for argument, _ in batch])
            except Exception as error:
                batch += self._waiting
                self._waiting.clear()
                results = [error] * len(batch)
            except BaseException:
                for _, future in (*batch, *self._waiting):
                    future.cancel()
                self._waiting.clear()
                raise
            for (_, future), result in zip(batch, results, strict=True):
                if future.done():
                    continue
                if isinstance(result, BaseException):
                    future.set_exception(result)
                else:
                    future.set_result(result)
