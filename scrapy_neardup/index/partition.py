"""What the parts of an index have in common, and how their steps reach the store.

A *step* is an async method that gets the client of a store: it reads, decides in Python, and writes. ``reads`` and
``swaps`` hand it to ``Store.ask``, so that its callers leave the client out.

With Redis a step waits for each answer of the server, and others may write meanwhile. So a step writes by a ``Commit``,
which the server refuses if what was read has changed; the step then raises ConflictError, and ``swaps`` repeats it from
the start. A check repeats itself, see ``Documents.check``. With SQLite a step is one transaction in the thread of the
store. Its client answers at once, so the step runs through without a pause. Only a check can be refused there: if what
this process remembers of a generation is not right.
"""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Coroutine
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from scrapy_neardup.exceptions import StoreError
from scrapy_neardup.index.layout import Layout, calls_by_slice, values_by_slice
from scrapy_neardup.index.store import Client, ConflictError, R, Store, answers
from scrapy_neardup.records.documents import NO_TEXT
from scrapy_neardup.records.texts import StoredText, unpack_text
from scrapy_neardup.rules.decision import Judge

logger = logging.getLogger(__name__)

P = ParamSpec("P")

_MOST_ATTEMPTS = 100  # how often a step is repeated because others were faster
_PAUSE = 0.002  # seconds, at most; doubled each time that somebody else was faster


class Partition:
    """One namespace and configuration in a store: what all parts of an index share.

    ``run`` is the number of the crawl that registers documents and claims events, 0 if there is none. Documents are
    then registered as delivered, and claims have no heartbeats.
    """

    def __init__(self, store: Store, layout: Layout, judge: Judge) -> None:
        self.store = store
        self.layout = layout
        self.judge = judge
        self.policy = judge.policy
        self.run = 0
        self._warned: set[str] = set()

    def warn_damaged(self, subject: str, effect: str) -> None:
        """Warn that data is damaged, and name the effect. Warn only once for each subject, such as "a record"."""
        if subject not in self._warned:
            self._warned.add(subject)
            logger.warning(
                "%s %s: %s is damaged, or not of this version: %s. Further cases are not logged.",
                *(self.store.location, self.layout.prefix, subject, effect),
            )

    async def texts(self, client: Client, keys: set[bytes]) -> dict[bytes, StoredText]:
        """Return the texts that documents with these keys hold, as far as they are there and whole."""
        calls = calls_by_slice(self.layout.texts, keys - {NO_TEXT})
        texts = dict[bytes, StoredText]()
        for key, packed in values_by_slice(calls, await answers(client, calls)):
            text = unpack_text(packed or b"")
            if text is not None:
                texts[key] = text
            elif packed is not None:
                self.warn_damaged("a text", "it is not compared")
        return texts


class Part:
    """A part of an index, which works on the partition of this index."""

    def __init__(self, partition: Partition) -> None:
        self.partition = partition
        self.layout = partition.layout
        self.policy = partition.policy


S = TypeVar("S", bound=Part)
Step = Callable[Concatenate[S, Client, P], Awaitable[R]]
Method = Callable[Concatenate[S, P], Coroutine[Any, Any, R]]


def reads(step: Step[S, P, R]) -> Method[S, P, R]:
    """Let a step that only reads be called without its client."""

    @wraps(step)
    async def call(self: S, /, *arguments: P.args, **named: P.kwargs) -> R:
        return await self.partition.store.ask(lambda client: step(self, client, *arguments, **named), reads=True)

    return call


def swaps(step: Step[S, P, R]) -> Method[S, P, R]:
    """Let a step that reads, decides and swaps be called without its client. Repeat it if others were faster."""

    @wraps(step)
    async def call(self: S, /, *arguments: P.args, **named: P.kwargs) -> R:
        for failures in range(_MOST_ATTEMPTS):
            try:
                return await self.partition.store.ask(lambda client: step(self, client, *arguments, **named))
            except ConflictError:  # noqa: PERF203
                await pause_after(failures)
        raise StoreError("other processes change the same data all the time")

    return call


async def pause_after(failures: int) -> None:
    """Wait before the next try: each process for another time, else they would stop each other again."""
    await asyncio.sleep(random.uniform(0, min(0.1, _PAUSE * 2 ** min(failures, _MOST_ATTEMPTS))))
