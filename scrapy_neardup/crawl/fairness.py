"""One item at a time: what becomes ready together does not hold up the event loop together."""

from __future__ import annotations

import asyncio
from collections import deque


class Turns:
    """Whoever awaits ``next`` goes on in a round of the event loop of its own.

    Responses arrive in bursts, and checks are answered in batches: thirty pages that a spider takes 5 ms each for,
    all in one round, keep timers and sockets waiting for 150 ms.
    """

    def __init__(self) -> None:
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._taken = False  # in this round

    async def next(self) -> None:
        loop = asyncio.get_running_loop()
        if not self._taken:
            self._taken = True
            loop.call_soon(self._give)
            return
        turn = loop.create_future()
        self._waiting.append(turn)
        await turn

    def _give(self) -> None:
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                # The one who waited goes on in the next round, and this is called in that one as well.
                turn.set_result(None)
                turn.get_loop().call_soon(self._give)
                return
        self._taken = False
