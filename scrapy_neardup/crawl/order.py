"""Verdicts in the order of the responses, however long each page takes on its way."""

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

    A response takes a ``Place`` when it reaches the middleware, and each of its items takes a ``Ticket`` of that
    place. A ticket's turn comes when all earlier places are empty and all earlier tickets of its own place are gone.

    Nobody waits forever: a place may be late for at most ``patience`` seconds in all. It is late while it has no item
    that is ready for its verdict, but not while its page is extracted, which has a limit of its own. Time that Scrapy
    takes to ask for the next item, because pipelines are slow, counts ten times: the spider has more to tell, but
    nobody knows when. After that a place is passed over: nobody waits for it any more, and its own items wait for
    nobody.
    """

    def __init__(self, patience: float) -> None:
        self._patience = patience
        self._places: deque[Place] = deque()
        self._waiting = 0  # tickets
        self._timer: asyncio.TimerHandle | None = None
        self._timed: tuple[Place, float] | None = None  # the place that is late, and its pace

    def __len__(self) -> int:
        return len(self._places)

    def join(self) -> Place:
        """Take the last place."""
        place = Place(self, asyncio.get_running_loop())
        self._places.append(place)
        return place

    async def wait(self, ticket: Ticket) -> None:
        self._waiting += 1
        try:
            while not self._is_turn_of(ticket):
                await ticket.called()
        finally:
            self._waiting -= 1
            self.advance()

    def _is_turn_of(self, ticket: Ticket) -> bool:
        place = ticket.place
        if place.is_passed_over or ticket.is_gone:
            return True
        return self._places[0] is place and place.tickets[0] is ticket

    def advance(self) -> None:
        """Let the next one go on; called after every change."""
        while self._places and self._places[0].is_over:
            self._places.popleft()
        first = self._places[0] if self._places else None
        if first is not None and first.tickets:
            first.tickets[0].call()
        self._watch(first if self._waiting else None)

    def _watch(self, first: Place | None) -> None:
        """Run the timer while somebody waits for the first place, and it is late."""
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

    def _pass_over(self, place: Place) -> None:
        self._timer = self._timed = None
        self._places.remove(place)
        place.is_passed_over = True
        for ticket in place.tickets:
            ticket.call()
        self.advance()


class Place:
    """One response in the order. ``close`` it when it yields nothing more."""

    def __init__(self, order: ResponseOrder, loop: asyncio.AbstractEventLoop) -> None:
        self.order = order
        self.loop = loop
        self.tickets: deque[Ticket] = deque()
        self.is_passed_over = False
        self._is_open = True
        self._holders = 0
        self.pace = 1.0  # at which it gets later
        self._late = 0.0  # seconds, until the last change
        self._late_since: float | None = loop.time()

    @property
    def is_over(self) -> bool:
        return not self._is_open and not self.tickets

    @property
    def is_late(self) -> bool:
        return self._late_since is not None

    @property
    def seconds_late(self) -> float:
        """In all, up to now."""
        return self._late + (self.pace * (self.loop.time() - self._late_since) if self._late_since is not None else 0.0)

    def ticket(self) -> Ticket:
        """For the next item of the response."""
        ticket = Ticket(self)
        self.tickets.append(ticket)
        return ticket

    @contextmanager
    def held(self) -> Iterator[None]:
        """Let nobody pass meanwhile, however long it takes. For work that always ends."""
        self._holders += 1
        self.change()
        try:
            yield
        finally:
            self._holders -= 1
            self.change()

    @contextmanager
    def handed_over(self) -> Iterator[None]:
        """While Scrapy has an item and has not asked for the next one."""
        self._change_pace(_IMPATIENT)
        try:
            yield
        finally:
            self._change_pace(1.0)

    def _change_pace(self, pace: float) -> None:
        if self.is_late:
            self._late, self._late_since = self.seconds_late, self.loop.time()
        self.pace = pace
        self.change()

    def close(self) -> None:
        self._is_open = False
        self.change()

    def change(self) -> None:
        """Stop or start the clock after a change, and let the next one go on."""
        is_ready = bool(self.tickets) and self.tickets[0].is_waiting
        is_late = not (is_ready or self._holders or self.is_over)
        if is_late != self.is_late:
            self._late = self.seconds_late
            self._late_since = self.loop.time() if is_late else None
        self.order.advance()


class Ticket:
    """One item in the order. ``leave`` as soon as its verdict is asked for, or if the item is lost; twice is fine."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.is_gone = False
        self._called: asyncio.Future[None] | None = None

    @property
    def is_waiting(self) -> bool:
        return self._called is not None

    async def turn(self) -> None:
        """Wait until all items before this one have left."""
        await self.place.order.wait(self)

    def leave(self) -> None:
        if self.is_gone:
            return
        self.is_gone = True
        self.place.tickets.remove(self)
        self.call()
        self.place.change()

    async def called(self) -> None:
        self._called = self.place.loop.create_future()
        try:
            self.place.change()
            await self._called
        finally:
            self._called = None
            self.place.change()

    def call(self) -> None:
        if self._called is not None and not self._called.done():
            self._called.set_result(None)


class AnswerOrder(Generic[T]):
    """Lets answers out in the order in which they were asked for; a later one may be there sooner."""

    def __init__(self) -> None:
        self._waiting: deque[tuple[asyncio.Future[T], asyncio.Future[T]]] = deque()

    def follow(self, answer: asyncio.Future[T]) -> asyncio.Future[T]:
        """The same answer, but not before those that were followed earlier. Cancelling it leaves ``answer`` alone."""
        follower: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._waiting.append((answer, follower))
        answer.add_done_callback(self._let_out)
        return follower

    def _let_out(self, _: asyncio.Future[T]) -> None:
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
