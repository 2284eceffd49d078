"""Which keys a window has in its store, and how they are named: nobody else writes a part of such a name.

Under one hash tag, ``{neardup:<namespace>:<config>}``. All keys expire:

``…:records:<slice>``    HASH document key -> packed record, until the slice's end + window
``…:texts:<slice>``      HASH document key -> packed text, as long as the record of each document that names it
``…:bands:<generation>`` HASH shard -> postings, until the generation's end + window; see postings.py. The name ends
                         with "+" if it has what came after the shards of the first hash were crowded
``…:runs``               HASH number of a run -> its first and last heartbeat, until two windows after the last one
``…:asked:<run>``        HASH dropped copy of another run -> its match, until this run has kept the item of the match,
                         or a window after the last addition. An empty field stays: a server that evicts keys may
                         have removed a hash without it
``…:began``              HASH "first": when the first crawl began, until a window after the start of the last one
``…:story:<id>``         HASH counters, version and members, until a window after the last member; see stories.py
``…:events``             HASH story -> nothing, of events that have not ended
``…:ended``              HASH story -> its packed sources, of events that have ended
``…:owners``             HASH language and owner -> the first and the last second at which it printed in this language
``…:outbox``             HASH token and receiver -> a claim that was granted, until the receiver has the event, or for a
                         window
``…:log``                STREAM of packed changes of stories, until two windows after the newest; see stories.py
``…:frequencies:<kind>`` HASH "total": document frequencies of features or terms, until a window after the last addition
``…:learned:<source hash>`` HASH "lines" that are boilerplate, and "printed", documents that others are compared with;
                         the newest come last; until ``ENDED_SECONDS`` after the last addition

A slice is ``SLICE`` seconds, a generation ``GENERATION``, and their names are numbers. If the window is over two days,
generations are longer, and their names say how much: ``<number>x<multiples of GENERATION>``.

The second part of the module is what the parts of an index have in common, and how their steps reach the store. A
*step* is an async method that gets the client of a store: it reads, decides in Python, and writes. ``reads`` and
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
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import wraps
from itertools import groupby
from typing import Any, Concatenate, NamedTuple, ParamSpec, TypeVar, cast

from scrapy_neardup.exceptions import StoreError
from scrapy_neardup.index.store import LOGGED, Call, Client, ConflictError, R, Store, answers
from scrapy_neardup.records.documents import NO_TEXT, StoredText, seconds_of, unpack_text
from scrapy_neardup.records.stories import StoryChange
from scrapy_neardup.rules.decision import Judge
from scrapy_neardup.rules.policy import longest_hold

logger = logging.getLogger(__name__)

SLICE = 3600  # seconds of a slice of records and texts

# Seconds of a generation of postings: as many as 2 bytes can number. It is doubled as long as a window has over three.
GENERATION = 1 << 16

OF_TEXTS = "}:texts:"  # in the keys of texts, which a store may keep apart because they are long


class Span(NamedTuple):
    """A key that has what came within some time, with the first second of that time and the seconds that it lasts.

    An *overflow* has the postings that came after its generation was crowded.
    """

    name: str
    start: int
    seconds: int
    is_overflow: bool = False


class Layout:
    """The keys of one namespace and configuration. All begin with ``prefix``, a hash tag."""

    most_changes = 100_000  # how many changes of stories a log keeps, or a few more

    def __init__(self, namespace: str, config: str, window: int) -> None:
        self.namespace = namespace
        self.config = config
        self.of_namespace = f"{{neardup:{namespace}:"  # how the keys of all its configurations begin
        self.prefix = f"{self.of_namespace}{config}}}"
        self.runs = self.name("runs")
        self.began = self.name("began")
        self.events = self.name("events")
        self.ended = self.name("ended")
        self.owners = self.name("owners")
        self.outbox = self.name("outbox")
        self.changes = self.name("log")
        self._window = window
        self._generation = GENERATION
        while window > 3 * self._generation:
            self._generation *= 2

    def name(self, ending: str) -> str:
        """Return the key of the namespace and configuration with this ending, such as ``events``."""
        return f"{self.prefix}:{ending}"

    def frequencies(self, kind: str) -> str:
        return self.name(f"frequencies:{kind}")

    def learned(self, source: bytes) -> str:
        return self.name(f"learned:{source.hex()}")

    def asked(self, run: int) -> str:
        """Return the key of the hash by which other runs ask this run whether it has kept an item."""
        return self.name(f"asked:{run}")

    def story(self, key: bytes) -> str:
        return f"{self.prefix}:story:{key.hex()}"

    def log(self, *changes: StoryChange) -> list[Call]:
        """Return the calls that log changes of stories. Send them with the commit that makes the changes."""
        return [
            *(
                Call("XADD", self.changes, ("MAXLEN", "~", self.most_changes, "*", LOGGED, each.pack()))
                for each in changes
            ),
            Call("EXPIRE", self.changes, (2 * self._window,)),
        ]

    def generations(self, second: int) -> list[Span]:
        """Return the hashes of the postings around a second, the newest first: each generation behind its overflow."""
        return [
            span for each in reversed(self._around(second, self._generation)) for span in self._spans_of_bands(each)
        ]

    def _spans_of_bands(self, generation: int) -> list[Span]:
        times = self._generation // GENERATION
        name = self.name(f"bands:{generation}{f'x{times}' if times > 1 else ''}")
        span = Span(name, generation * self._generation, self._generation)
        return [span._replace(name=f"{name}+", is_overflow=True), span]

    def slices(self, second: int) -> list[str]:
        """Return the keys of the hashes that have the records around a second."""
        return [self._records(number) for number in self._around(second, SLICE)]

    def _around(self, second: int, seconds: int) -> range:
        """Return the numbers of the spans of ``seconds`` that lie within a window before and after this second."""
        return range((second - self._window) // seconds, (second + self._window) // seconds + 1)

    def records(self, document: bytes) -> str:
        return self._records(seconds_of(document) // SLICE)

    def texts(self, document: bytes) -> str:
        """Return the key of the hash that has the text of a document, if the document holds it itself."""
        return texts_beside(self.records(document))

    def _records(self, number: int) -> str:
        return f"{self.prefix}:records:{number}"

    def spans_of(self, second: int) -> set[Span]:
        """Return the keys that a document of this second is written to."""
        records = self._records(second // SLICE)
        start = second // SLICE * SLICE
        return {
            Span(records, start, SLICE),
            # A text may be that of a later document too.
            Span(texts_beside(records), start, SLICE + longest_hold(self._window)),
            *self._spans_of_bands(second // self._generation),
        }


def calls_by_slice(name_of: Callable[[bytes], str], keys: Iterable[bytes]) -> list[Call]:
    """Return the calls that read what hashes have of documents. ``name_of`` returns the hash of a document."""
    slices = [[*group] for _, group in groupby(sorted(keys), lambda key: seconds_of(key) // SLICE)]
    return [Call("HMGET", name_of(each[0]), each) for each in slices]


def values_by_slice(calls: Sequence[Call], found: Sequence[object]) -> Iterator[tuple[bytes, bytes | None]]:
    """Yield the keys of documents and what was found of each."""
    for call, values in zip(calls, found, strict=True):
        yield from zip(cast("list[bytes]", call.arguments), cast("list[bytes | None]", values), strict=True)


class KeyName(NamedTuple):
    """A key of any namespace and configuration, in its parts; ``detail`` is empty if there is one of its kind."""

    name: str
    namespace: str
    config: str
    kind: str
    detail: str

    @classmethod
    def of(cls, name: str) -> "KeyName":
        tag, _, ending = name.partition("}:")
        namespace, _, config = tag.removeprefix("{neardup:").rpartition(":")
        kind, _, detail = ending.partition(":")
        return cls(name, namespace, config, kind, detail)


def texts_beside(records: str) -> str:
    """Return the key of the texts of the documents whose records have this key."""
    return records.replace("}:records:", OF_TEXTS)


P = ParamSpec("P")

_MOST_ATTEMPTS = 100  # how often a step is repeated because others were faster
_PAUSE = 0.002  # seconds, at most; doubled each time that somebody else was faster


@dataclass(eq=False)
class Partition:
    """One namespace and configuration in a store: what all parts of an index share.

    ``run`` is the number of the crawl that registers documents and claims events, 0 if there is none. Documents are
    then registered as delivered, and claims have no heartbeats.
    """

    store: Store
    layout: Layout
    judge: Judge
    run: int = 0
    warned: set[str] = field(default_factory=set)  # subjects of damage

    def warn_damaged(self, subject: str, effect: str) -> None:
        """Warn that data is damaged, and name the effect. Warn only once for each subject, such as "a record"."""
        if subject not in self.warned:
            self.warned.add(subject)
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
        self.policy = partition.judge.policy


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
