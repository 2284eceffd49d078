"""Keep verdicts in the order of the responses, however long each page takes on its way."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Generic, TypeVar

T = TypeVar("T")
_IMPATIENT = 10.0


class ResponseOrder:
    """Lets items ask for their verdicts in the order in which their responses came.

    A response takes a ``ResponsePlace`` when it reaches the middleware. Each of its items takes an ``ItemPlace`` within
    that place. The turn of an item comes when all earlier responses are done and all earlier items of its own response
    have left.

    No item waits forever: a response may be late for at most ``patience`` seconds in all. It is late while it has no
    item that is ready for its verdict. The time in which its page is extracted does not count, because extraction has
    its own time limit. The time until Scrapy asks for the next item, because pipelines are slow, counts ten times: the
    spider has more to yield, but nobody knows when. A response that was late for too long is passed over: no item
    waits for it any more, and its own items do not wait for others.
    """

    def __init__(self, patience: float) -> None:
        self._patience = patience
        self._places: deque[ResponsePlace] = deque()
        self._waiting = 0  # items
        self._timer: asyncio.TimerHandle | None = None
        self._timed: tuple[ResponsePlace, float] | None = None  # the place that is late, and its pace

    def __len__(self) -> int:
        return len(self._places)

    def take_place(self) -> ResponsePlace:
        """Return a new place behind all others."""
        place = ResponsePlace(self, asyncio.get_running_loop())
        self._places.append(place)
        return place

    async def wait_for_turn(self, item: ItemPlace) -> None:
        self._waiting += 1
        try:
            while not self._is_turn_of(item):
                await item.sleep()
        finally:
            self._waiting -= 1
            self.advance()

    def _is_turn_of(self, item: ItemPlace) -> bool:
        place = item.response
        if place.is_passed_over or item.has_left:
            return True
        return self._places[0] is place and place.items[0] is item

    def advance(self) -> None:
        """Let the next item go on. Call this after every change."""
        while self._places and self._places[0].is_over:
            self._places.popleft()
        first = self._places[0] if self._places else None
        if first is not None and first.items:
            first.items[0].wake()
        self._watch(first if self._waiting else None)

    def _watch(self, first: ResponsePlace | None) -> None:
        """Run the timer while somebody waits for the first place and it is late."""
        late = first if first is not None and first.is_late else None
        timed = None if late is None else (late, late.pace)
        if timed == self._timed:
            return
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._timed = timed
        if late is not None:
            delay = (self._patience - late.seconds_late) / late.pace
            self._timer = late.loop.call_later(delay, self._pass_over, late)

    def _pass_over(self, place: ResponsePlace) -> None:
        self._timer = self._timed = None
        self._places.remove(place)
        place.is_passed_over = True
        for item in place.items:
            item.wake()
        self.advance()


class ResponsePlace:
    """The place of one response in the order. Call ``close`` when the response yields nothing more."""

    def __init__(self, order: ResponseOrder, loop: asyncio.AbstractEventLoop) -> None:
        self.order = order
        self.loop = loop
        self.items: deque[ItemPlace] = deque()
        self.is_passed_over = False
        self._is_open = True
        self._holders = 0
        self.pace = 1.0  # each second of waiting counts as so many seconds of lateness
        self._late = 0.0  # seconds, until the last change
        self._late_since: float | None = loop.time()

    @property
    def is_over(self) -> bool:
        return not self._is_open and not self.items

    @property
    def is_late(self) -> bool:
        return self._late_since is not None

    @property
    def seconds_late(self) -> float:
        """Return how late the response was in all, up to now."""
        return self._late + (self.pace * (self.loop.time() - self._late_since) if self._late_since is not None else 0.0)

    def add_item(self) -> ItemPlace:
        """Return a place for the next item of the response."""
        item = ItemPlace(self)
        self.items.append(item)
        return item

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Do not count the time in this context as lateness. Use it only for work that is certain to end."""
        self._holders += 1
        self.update()
        try:
            yield
        finally:
            self._holders -= 1
            self.update()

    @contextmanager
    def hand_over(self) -> Iterator[None]:
        """Count the time until Scrapy asks for the next item."""
        self._change_pace(_IMPATIENT)
        try:
            yield
        finally:
            self._change_pace(1.0)

    def _change_pace(self, pace: float) -> None:
        if self.is_late:
            self._late, self._late_since = self.seconds_late, self.loop.time()
        self.pace = pace
        self.update()

    def close(self) -> None:
        self._is_open = False
        self.update()

    def update(self) -> None:
        """Stop or start the clock after a change, and let the next item go on."""
        is_ready = bool(self.items) and self.items[0].is_waiting
        is_late = not (is_ready or self._holders or self.is_over)
        if is_late != self.is_late:
            self._late = self.seconds_late
            self._late_since = self.loop.time() if is_late else None
        self.order.advance()


class ItemPlace:
    """The place of one item within its response.

    Call ``leave`` as soon as the verdict is asked for or the item is lost. Calling it twice does no harm.
    """

    def __init__(self, response: ResponsePlace) -> None:
        self.response = response
        self.has_left = False
        self._woken: asyncio.Future[None] | None = None  # while the item waits

    @property
    def is_waiting(self) -> bool:
        return self._woken is not None

    async def wait_for_turn(self) -> None:
        """Wait until all items before this one have left."""
        await self.response.order.wait_for_turn(self)

    def leave(self) -> None:
        if self.has_left:
            return
        self.has_left = True
        self.response.items.remove(self)
        self.wake()
        self.response.update()

    async def sleep(self) -> None:
        """Wait for ``wake``."""
        self._woken = self.response.loop.create_future()
        try:
            self.response.update()
            await self._woken
        finally:
            self._woken = None
            self.response.update()

    def wake(self) -> None:
        if self._woken is not None and not self._woken.done():
            self._woken.set_result(None)


class AnswerOrder(Generic[T]):
    """Releases answers in the order in which they were requested, even if a later answer is ready earlier."""

    def __init__(self) -> None:
        self._waiting: deque[tuple[asyncio.Future[T], asyncio.Future[T]]] = deque()

    def follow(self, answer: asyncio.Future[T]) -> asyncio.Future[T]:
        """Return a future with the same answer, but not before those followed earlier.

        Cancelling the future leaves ``answer`` alone.
        """
        follower: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._waiting.append((answer, follower))
        answer.add_done_callback(self._release)
        return follower

    def _release(self, _: asyncio.Future[T]) -> None:
        while self._waiting and self._waiting[0][0].done():
            answer, follower = self._waiting.popleft()
            if follower.done():
                continue
            if answer.cancelled():
                follower.cancel()
            elif (error := answer.exception()) is not None:
                follower.set_exception(error)
            else:
                follower.set_result(answer.result())
