"""Keep verdicts in the order of the responses, however long each page takes on its way."""

from __future__ import annotations

import asyncio
from contextvars import Context


class ResponseOrder:
    """Lets items ask for their verdicts in the order in which their responses came.

    A response takes a ``ResponsePlace`` when it reaches the middleware. Each of its items takes an ``ItemPlace`` within
    that place. The turn of an item comes when all earlier responses are done and all earlier items of its own response
    have left.

    No item waits forever: one that is ready passes over what is before it after ``patience`` seconds.
    """

    def __init__(self, patience: float) -> None:
        self._patience = patience
        self._last: ResponsePlace | None = None

    def take_place(self) -> ResponsePlace:
        self._last = ResponsePlace(self._last.gone if self._last else _past(), self._patience)
        return self._last


class ResponsePlace:
    """The place of one response in the order. Call ``close`` when the response yields nothing more."""

    def __init__(self, before: asyncio.Future[None], patience: float) -> None:
        self.patience = patience
        self.gone: asyncio.Future[None] = before.get_loop().create_future()  # done with all places before this one
        self.items = 0  # that have not left
        self._newest = before  # done when the newest item is gone
        self._is_open = True

    @property
    def is_over(self) -> bool:
        """Return whether the response yields nothing more and all its items have left."""
        return not self._is_open and not self.items

    def add_item(self) -> ItemPlace:
        item = ItemPlace(self, self._newest)
        self._newest = item.gone
        self.items += 1
        return item

    def close(self) -> None:
        self._is_open = False
        _follow(self._newest, self.gone)


class ItemPlace:
    """The place of one item within its response.

    Call ``let_next_ask`` as soon as the verdict is asked for or the item is lost. Calling it twice does no harm.
    """

    def __init__(self, response: ResponsePlace, before: asyncio.Future[None]) -> None:
        self.gone: asyncio.Future[None] = before.get_loop().create_future()
        self._response = response
        self._before = before
        self._has_left = False

    async def wait_for_turn(self) -> None:
        # The loop keeps a cancelled timer until its time comes. In a context of its own it keeps no item alive.
        seconds = self._response.patience
        timer = self._before.get_loop().call_later(seconds, _settle, self._before, context=Context())
        try:
            await asyncio.shield(self._before)
        finally:
            timer.cancel()

    def let_next_ask(self) -> None:
        if not self._has_left:
            self._has_left = True
            self._response.items -= 1
            _follow(self._before, self.gone)


def _past() -> asyncio.Future[None]:
    past = asyncio.get_running_loop().create_future()
    past.set_result(None)
    return past


def _settle(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


def _follow(before: asyncio.Future[None], after: asyncio.Future[None]) -> None:
    """Let a future be done as soon as the one before it is."""
    if before.done():
        _settle(after)
    else:
        before.add_done_callback(lambda _: _settle(after), context=Context())
