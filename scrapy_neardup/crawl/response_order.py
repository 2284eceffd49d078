"""Keep verdicts in the order of the responses, however long each page takes on its way."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import Context


class ResponseOrder:
    """Lets items ask for their verdicts in the order in which their responses came.

    A response takes a ``ResponsePlace`` when it reaches the middleware. Each of its items takes an ``ItemPlace`` within
    that place. The turn of an item comes when all earlier responses are done and all earlier items of its own response
    have left.

    No item waits forever: each response has a deadline, ``patience`` seconds after it came. The deadline begins anew
    when its page has been extracted, because extraction has its own time limit. If the first response in line has no
    item that is ready at its deadline, it is passed over: no item waits for it any more, and its own items do not wait
    for others.
    """

    def __init__(self, patience: float) -> None:
        self.patience = patience
        self.places: deque[ResponsePlace] = deque()
        self._timer: asyncio.TimerHandle | None = None
        self._watched: tuple[ResponsePlace, float] | None = None  # the place and its deadline

    def take_place(self) -> ResponsePlace:
        place = ResponsePlace(self, asyncio.get_running_loop())
        self.places.append(place)
        return place

    def advance(self) -> None:
        """Let the next item go on. Call this after every change."""
        while self.places and self.places[0].is_over:
            self.places.popleft()
        watched = None
        if self.places:
            first = self.places[0]
            if first.items:
                first.items[0].grant_turn()
            # A response alone holds up nobody but its own items.
            if first.is_awaited and (len(self.places) > 1 or len(first.items) > 1):
                watched = first, first.deadline
        if watched != self._watched:
            if self._timer is not None:
                self._timer.cancel()
            self._watched = watched
            # The loop keeps a cancelled timer until its time comes. In a context of its own it keeps no item alive.
            self._timer = watched and first.loop.call_at(first.deadline, self._pass_over, first, context=Context())

    def _pass_over(self, place: ResponsePlace) -> None:
        self.places.remove(place)
        place.is_passed_over = True
        for item in place.items:
            item.grant_turn()
        self.advance()


class ResponsePlace:
    """The place of one response in the order. Call ``close`` when the response yields nothing more."""

    def __init__(self, order: ResponseOrder, loop: asyncio.AbstractEventLoop) -> None:
        self.order = order
        self.loop = loop
        self.items: deque[ItemPlace] = deque()
        self.deadline = loop.time() + order.patience
        self.is_passed_over = False
        self._is_open = True
        self._pauses = 0  # that are open

    @property
    def is_over(self) -> bool:
        """Return whether the response yields nothing more and all its items have left."""
        return not self._is_open and not self.items

    @property
    def is_awaited(self) -> bool:
        """Return whether nothing of the response is ready for its verdict or being extracted."""
        return not self._pauses and not (self.items and self.items[0].is_waiting)

    def add_item(self) -> ItemPlace:
        item = ItemPlace(self)
        self.items.append(item)
        if self.is_passed_over:
            item.grant_turn()
        return item

    @contextmanager
    def pause_deadline(self) -> Iterator[None]:
        """Begin the deadline anew after this context. Use it only for work that is certain to end."""
        self._pauses += 1
        self.order.advance()
        try:
            yield
        finally:
            self._pauses -= 1
            self.deadline = self.loop.time() + self.order.patience
            self.order.advance()

    def close(self) -> None:
        self._is_open = False
        self.order.advance()


class ItemPlace:
    """The place of one item within its response.

    Call ``leave`` as soon as the verdict is asked for or the item is lost. Calling it twice does no harm.
    """

    def __init__(self, response: ResponsePlace) -> None:
        self.response = response
        self.is_waiting = False
        self._turn: asyncio.Future[None] = response.loop.create_future()

    async def wait_for_turn(self) -> None:
        self.is_waiting = True
        self.response.order.advance()
        try:
            await self._turn
        finally:
            self.is_waiting = False

    def leave(self) -> None:
        if self in self.response.items:
            self.response.items.remove(self)
            self.grant_turn()
            self.response.order.advance()

    def grant_turn(self) -> None:
        if not self._turn.done():
            self._turn.set_result(None)
