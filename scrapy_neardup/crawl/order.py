"""Keep verdicts in the order of the responses, however long each page takes on its way."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import Context
from typing import Generic, TypeVar

T = TypeVar("T")


class ResponseOrder:
    """Lets items ask for their verdicts in the order in which their responses came.

    A response takes a ``ResponsePlace`` when it reaches the middleware. Each of its items takes an ``ItemPlace`` within
    that place. The turn of an item comes when all earlier responses are done and all earlier items of its own response
    have left.

    No item waits forever: a response may be late for at most ``patience`` seconds in all. It is late while it has no
    item that is ready for its verdict. The time in which its page is extracted does not count, because extraction has
    its own time limit. A response that was late for too long is passed over: no item waits for it any more, and its own
    items do not wait for others.
    """

    def __init__(self, patience: float) -> None:
        self._patience = patience
        self.places: deque[ResponsePlace] = deque()
        self.waiting = 0  # items
        self._timer: asyncio.TimerHandle | None = None
        self._watched: ResponsePlace | None = None

    def take_place(self) -> ResponsePlace:
        """Return a new place behind all others."""
        place = ResponsePlace(self, asyncio.get_running_loop())
        self.places.append(place)
        return place

    def advance(self) -> None:
        """Let the next item go on. Call this after every change."""
        while self.places and self.places[0].is_over:
            self.places.popleft()
        first = self.places[0] if self.places else None
        if first is not None and first.items:
            first.items[0].grant_turn()
        self._watch(first if self.waiting else None)

    def _watch(self, first: ResponsePlace | None) -> None:
        """Run the timer while items wait for the first response and that response is late."""
        late = first if first is not None and first.is_late else None
        if self._watched is late:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._watched, self._timer = late, None
        if late is not None:
            seconds = self._patience - late.seconds_late
            # The loop keeps a cancelled timer until its time comes. In a context of its own it keeps no item alive.
            self._timer = late.loop.call_later(seconds, self._pass_over, late, context=Context())

    def _pass_over(self, place: ResponsePlace) -> None:
        self._watched = self._timer = None
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
        self.is_passed_over = False
        self._is_open = True
        self._pauses = 0  # that are open
        self.is_late = True
        self._late = 0.0  # seconds, until the last change
        self._last_change = loop.time()

    @property
    def is_over(self) -> bool:
        """Return whether the response yields nothing more and all its items have left."""
        return not self._is_open and not self.items

    @property
    def seconds_late(self) -> float:
        """Return how late the response was in all, up to now."""
        return self._late + self.is_late * (self.loop.time() - self._last_change)

    def add_item(self) -> ItemPlace:
        """Return a place for the next item of the response."""
        item = ItemPlace(self)
        self.items.append(item)
        if self.is_passed_over:
            item.grant_turn()
        return item

    @contextmanager
    def pause_lateness(self) -> Iterator[None]:
        """Do not count the time in this context as lateness. Use it only for work that is certain to end."""
        self._pauses += 1
        self.update()
        try:
            yield
        finally:
            self._pauses -= 1
            self.update()

    def close(self) -> None:
        self._is_open = False
        self.update()

    def update(self) -> None:
        """Add up the lateness after a change, and let the next item go on."""
        self._late, self._last_change = self.seconds_late, self.loop.time()
        is_ready = bool(self.items) and self.items[0].is_waiting
        self.is_late = not (is_ready or self.is_over or self._pauses)
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
        """Wait until all items before this one have left."""
        self.is_waiting = True
        self.response.order.waiting += 1
        self.response.update()
        try:
            await self._turn
        finally:
            self.is_waiting = False
            self.response.order.waiting -= 1
            self.response.update()

    def leave(self) -> None:
        if self in self.response.items:
            self.response.items.remove(self)
            self.grant_turn()
            self.response.update()

    def grant_turn(self) -> None:
        if not self._turn.done():
            self._turn.set_result(None)


class AnswerOrder(Generic[T]):
    """Releases answers in the order in which they were requested, even if a later answer is ready earlier."""

    def __init__(self) -> None:
        self._asked: deque[tuple[asyncio.Future[T], asyncio.Future[T]]] = deque()

    def follow(self, answer: asyncio.Future[T]) -> asyncio.Future[T]:
        """Return a future that gets the same answer, but only after the futures that were followed earlier.

        Cancelling the future leaves ``answer`` alone, and the order of the others.
        """
        released: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._asked.append((answer, released))
        answer.add_done_callback(self._release)
        return released

    def _release(self, _: asyncio.Future[T]) -> None:
        while self._asked and self._asked[0][0].done():
            answer, released = self._asked.popleft()
            if released.done():
                continue
            if answer.cancelled():
                released.cancel()
            elif (error := answer.exception()) is not None:
                released.set_exception(error)
            else:
                released.set_result(answer.result())
