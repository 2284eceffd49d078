"""Let tasks that become ready together go on in separate rounds of the event loop, so that they do not block it."""

from __future__ import annotations

import asyncio
from collections import deque


class FairTurns:
    """Gives each task that awaits ``yield_turn`` a round of the event loop of its own.

    Responses arrive in bursts, and checks are answered in batches. Thirty pages for which a spider takes 5 ms each, all
    in one round, would keep timers and sockets waiting for 150 ms.
    """

    def __init__(self) -> None:
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._is_round_used = False

    async def yield_turn(self) -> None:
        """Wait for a round of the event loop in which no other waiting task goes on."""
        loop = asyncio.get_running_loop()
        if not self._is_round_used:
            self._is_round_used = True
            loop.call_soon(self._start_round)
            return
        turn = loop.create_future()
        self._waiting.append(turn)
        await turn

    def _start_round(self) -> None:
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                # The waiting task goes on in the next round, and this method is called again in that round.
                turn.set_result(None)
                turn.get_loop().call_soon(self._start_round)
                return
        self._is_round_used = False
