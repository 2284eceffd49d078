"""Which keys a window has in its store.

Under one hash tag, ``{neardup:<namespace>:<config>}``. All keys expire:

``…:records:<slice>``    HASH document key -> packed record, until the slice's end + window
``…:texts:<slice>``      HASH document key -> packed text, as long as the record of each document that names it
``…:bands:<generation>`` HASH shard -> postings, until the generation's end + window
``…:runs``               HASH number of a run -> its first and last heartbeat, until two windows after the last one
``…:asked:<run>``        HASH dropped copy of another run -> its match, until this run has kept the item of the match,
                         or a window after the last addition
``…:frequencies:<kind>`` HASH "total": document frequencies of features or terms, until a window after the last addition
``…:verdicts:<span>``    HASH minute and name -> count, of ten minutes, for two hours
``…:learned:<source hash>`` HASH "lines" that are boilerplate, and "printed", documents that others are compared with;
                         the newest come last; until ``LEARNED_SECONDS`` after the last addition

A slice is an hour, and a generation 65,536 s, and their names are numbers. If the window is over two days, generations
are longer, and their names say how much: ``<number>x<multiples of 65,536 s>``.

More keys: stories.py. For postings see postings.py.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Coroutine
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from scrapy_neardup.exceptions import StoreError
from scrapy_neardup.index.postings import Generation
from scrapy_neardup.index.store import LOGGED, MOST_ATTEMPTS, Call, Client, ConflictError, Store, pause_after
from scrapy_neardup.records.documents import seconds_of
from scrapy_neardup.records.stories import StoryChange
from scrapy_neardup.rules.policy import HOUR, Policy, longest_hold

logger = logging.getLogger(__name__)

R = TypeVar("R")
P = ParamSpec("P")

GENERATION = 1 << 16
"""Seconds of a generation of postings: as many as 2 bytes can number. It is doubled for a long window."""

_MOST_GENERATIONS = 3  # within one window


class Layout:
    """The keys of one namespace and configuration. All begin with ``prefix``, a hash tag."""

    most_changes = 100_000
    """How many changes of stories a log keeps, or a few more."""

    def __init__(self, namespace: str, config: str, window: int) -> None:
        self.namespace = namespace
        self.config = config
        self.prefix = f"{{neardup:{namespace}:{config}}}"
        self.runs, self.stories, self.events, self.ended, self.outbox, self.changes = map(
            self.name, ("runs", "stories", "events", "ended", "outbox", "changes")
        )
        self._window = window
        self._generation = GENERATION
        while window > _MOST_GENERATIONS * self._generation:
            self._generation *= 2

    @property
    def of_namespace(self) -> str:
        """Return how all keys of the namespace begin, of every configuration."""
        return f"{{neardup:{self.namespace}:"

    def name(self, ending: str) -> str:
        """Return a key that the namespace and configuration have once, such as ``events``."""
        return f"{self.prefix}:{ending}"

    def learned(self, source: bytes) -> str:
        """Return the key of the hash that has what was learned of a source, given by its hash."""
        return f"{self.prefix}:learned:{source.hex()}"

    def asked(self, run: int) -> str:
        """Return the key of the hash by which other runs ask this run whether it has kept an item."""
        return self.name(f"asked:{run}")

    def story(self, key: bytes) -> str:
        """Return the key of the hash that has the story whose first document has this key."""
        return f"{self.prefix}:story:{key.hex()}"

    def log(self, *changes: StoryChange) -> list[Call]:
        """Return the calls that log changes of stories. Send them with the commit that makes the changes."""
        limit = "MAXLEN", "~", self.most_changes, "*", LOGGED
        added = [Call("XADD", self.changes, (*limit, each.pack())) for each in changes]
        return [*added, Call("EXPIRE", self.changes, (2 * self._window,))]

    def generations(self, second: int) -> list[Generation]:
        """Return the generations of postings around a second, the newest first."""
        numbers = reversed(self._around(second, self._generation))
        return [Generation(self.bands(each), each * self._generation, self._generation) for each in numbers]

    def slices(self, second: int) -> list[str]:
        """Return the keys of the hashes that have the records around a second."""
        return [self._slice(number) for number in self._around(second, HOUR)]

    def _around(self, second: int, seconds: int) -> range:
        """Return the numbers of the spans of ``seconds`` that lie within a window before and after this second."""
        return range((second - self._window) // seconds, (second + self._window) // seconds + 1)

    def bands(self, generation: int) -> str:
        """Return the key of the hash that has the postings of a generation."""
        times = self._generation // GENERATION
        return f"{self.prefix}:bands:{generation}{f'x{times}' if times > 1 else ''}"

    def records(self, document: bytes) -> str:
        """Return the key of the hash that has the record of a document."""
        return self._slice(seconds_of(document) // HOUR)

    def texts(self, document: bytes) -> str:
        """Return the key of the hash that has the text of a document, if the document holds it itself."""
        return self._texts(seconds_of(document) // HOUR)

    def _slice(self, number: int) -> str:
        return f"{self.prefix}:records:{number}"

    def _texts(self, number: int) -> str:
        return f"{self.prefix}:texts:{number}"

    def spans_of(self, second: int) -> set[tuple[str, int, int]]:
        """Return the keys that a document of this second is written to, each with its start and its end in seconds."""
        spans = set()
        # A text may be that of a later document too.
        longer = longest_hold(self._window)
        for name_of, seconds, more in (
            (self._slice, HOUR, 0),
            (self._texts, HOUR, longer),
            (self.bands, self._generation, 0),
        ):
            start = second // seconds * seconds
            spans.add((name_of(second // seconds), start, start + seconds + more))
        return spans


def parts_of(name: str) -> tuple[str, str]:
    """Return the namespace and the configuration of a key."""
    namespace, _, config = name.partition("}")[0].removeprefix("{neardup:").rpartition(":")
    return namespace, config


class Steps:
    """The base of what an index is made of: methods that take steps in the store of one namespace and configuration.

    Damaged data cost one warning for each kind, and are left out.
    """

    def __init__(self, store: Store, layout: Layout, policy: Policy) -> None:
        self.store = store
        self.layout = layout
        self.policy = policy
        self._warned: set[str] = set()

    def warn_damaged(self, subject: str, effect: str) -> None:
        """Warn that data is damaged, and name the effect. Warn only once for each subject, such as "a record"."""
        if subject not in self._warned:
            self._warned.add(subject)
            logger.warning(
                "%s %s: %s is damaged, or not of this version: %s. Further cases are not logged.",
                *(self.store.location, self.layout.prefix, subject, effect),
            )


S = TypeVar("S", bound=Steps)


Step = Callable[Concatenate[S, Client, P], Awaitable[R]]
Method = Callable[Concatenate[S, P], Coroutine[Any, Any, R]]


def reads(step: Step[S, P, R]) -> Method[S, P, R]:
    """Let a method that only reads be called without its client."""

    @wraps(step)
    async def call(self: S, /, *arguments: P.args, **named: P.kwargs) -> R:
        return await self.store.ask(lambda client: step(self, client, *arguments, **named), reads=True)

    return call


def swaps(step: Step[S, P, R]) -> Method[S, P, R]:
    """Let a method that reads, decides and swaps be called without its client. Repeat it if others were faster."""

    @wraps(step)
    async def call(self: S, /, *arguments: P.args, **named: P.kwargs) -> R:
        for failures in range(MOST_ATTEMPTS):
            try:
                return await self.store.ask(lambda client: step(self, client, *arguments, **named))
            except ConflictError:  # noqa: PERF203
                await pause_after(failures)
        raise StoreError("other processes change the same data all the time")

    return call
