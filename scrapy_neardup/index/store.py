"""A store keeps hashes and logs under names, and carries out commands on them.

Whoever adds a store writes a class for each of the two protocols of this module, ``Store`` and ``Client``. All rules,
and how the data of a window are laid out, are the same for all stores. The commands are those of Redis, see
https://redis.io/docs/latest/commands. The rest of the module is for those who ask a store.

Whoever changes a hash gives it another *version*, random bytes. So who has read it sees that it has changed since.
"""

import logging
import random
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeVar

from scrapy_neardup.exceptions import StoreError, StoreUnavailable

logger = logging.getLogger(__name__)

R = TypeVar("R")
Argument = bytes | str | int

LogEntry = tuple[bytes, dict[bytes, bytes]]  # its id, and its fields
LOGGED = b"c"  # the only field of an entry


class Call(NamedTuple):
    """A command for one key."""

    name: str
    key: str
    arguments: Sequence[Argument] = ()


class Expected(NamedTuple):
    """A command that reads, and the answer that it gave: nothing if there was none."""

    call: Call
    answer: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewPostings:
    """A document to post in the band hashes of the generations around it; see layout.py.

    ``hashes`` has for each of them its key, and bits, version and newest postings as they were read; its own one comes
    last. The document is not posted if others have posted a document there meanwhile that shares keys which count
    ``least`` or more.
    """

    keys: bytes  # 4 bytes each
    weights: bytes  # what each of the keys counts, a byte each
    least: int
    size: int  # bytes of a posting
    version: bytes  # that the own band hash gets
    added: Sequence[tuple[bytes, bytes]]  # each shard that grows, and the postings that it gets
    gone: Sequence[tuple[bytes, bytes]]  # shards, and a posting that it loses
    hashes: Sequence[tuple[str, int, bytes, bytes]]


class Commit(NamedTuple):
    """All ``writes``, and a posting before them, if all answers are as expected.

    Its answer is 1 if it wrote, else the first answer that differs, or 0 if others posted a document that may be a
    candidate. If a key is of another type than a command needs, nothing is written.
    """

    expected: Sequence[Expected]
    writes: Sequence[Call]
    postings: NewPostings | None = None


class Facts(NamedTuple):
    """What people want to know about a store."""

    facts: dict[str, str]
    warnings: tuple[str, ...] = ()  # settings that make it lose documents
    bytes: int | None = None  # None if the store cannot tell


class Client(Protocol):
    """Carries out commands in one step of a store."""

    async def send(self, calls: Sequence[Call | Commit]) -> list[object]:
        """Return one answer for each call, in their order, or the error of the store for this call.

        Calls are carried out in their order. But commits may come last, if a Redis does not know the script yet. So no
        other call may need what a commit that is sent with it writes.
        Texts and numbers that are kept come back as bytes. The command RUNS returns the time in milliseconds by the
        clock of the store, and all fields of a hash.
        """

    async def run_aside(self, function: Callable[[], R]) -> R:
        """Call a function that would hold up the event loop."""

    async def names(self, beginning: str) -> list[str]:
        """Return all keys that begin so."""

    async def fields(self, key: str) -> Mapping[bytes, bytes]:
        """Return all fields of a large hash."""

    async def facts(self, keys: Sequence[str]) -> "Facts":
        """Return facts about the store, of which these are keys."""


class Store(Protocol):
    """Keeps the data. Opening or closing twice does no harm."""

    location: str  # without a password

    async def open(self, key: str) -> None:
        """Connect, inside the running loop. Raise StoreError if a key such as this cannot be kept; then close it."""

    async def close(self) -> None:
        """Release every resource."""

    async def ask(self, step: Callable[[Client], Awaitable[R]], *, reads: bool = False) -> R:
        """Return what a step returns, which gets a client; see ``layout.py``.

        With ``reads`` it writes nothing, and waits for no writer.

        Errors of the store are StoreErrors that name it and the remedy. Other errors of a step are raised as they are.
        """

    def explained(self, error: Exception) -> StoreError:
        """Return an error among the answers of ``send`` as a StoreError."""


class ConflictError(StoreError):
    """Somebody has changed what was read. Read again."""


def as_bytes(value: object) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode("utf-8", "surrogatepass")


async def answers(client: Client, calls: Sequence[Call | Commit]) -> list[object]:
    """Return the answers of all calls. Raise the error of the first call that failed."""
    found = await client.send(calls)
    for answer in found:
        if isinstance(answer, Exception):
            raise answer
    return found


def new_version() -> bytes:
    return random.randbytes(6)


async def swap(client: Client, versions: Mapping[str, bytes], writes: Sequence[Call]) -> None:
    """Do all ``writes`` in one step. Raise ConflictError if others have changed one of the hashes that were read.

    ``versions`` has the version of each of these hashes, empty if there was none. All get the same new one.
    """
    version = new_version()
    expected = [Expected(Call("HGET", key, ("version",)), before) for key, before in versions.items()]
    writes = [*writes, *(Call("HSET", key, ("version", version)) for key in versions)]
    (answer,) = await answers(client, [Commit(expected, writes)])
    # redis-py sends a command again if its answer was lost. Then the hash has the new version already.
    if answer not in (1, version):
        raise ConflictError


class Breaker:
    """A circuit breaker, through which a process asks its store.

    It is closed while the store answers, even if its answer is that some data are damaged. After a failure it opens for
    a pause that doubles up to 15 s. Then the documents that wait may try together. One warning is logged when the store
    is lost, and one when it is back.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._pause = 0.0  # 0 while closed
        self._retry_at = 0.0
        self._missed = 0
        self._warnings: set[str] = set()

    @property
    def is_open(self) -> bool:
        return self._pause > 0

    def allows(self, documents: int = 1) -> bool:
        """Decide whether so many documents may go to the store now. After True, call ``failed`` or ``succeeded``."""
        if self.is_open and self._clock() < self._retry_at:
            self._missed += documents
            return False
        return True

    async def ask(self, answer: Awaitable[R], subject: str = "A story") -> R | None:
        """Return the store's answer, or None if the store fails. Then log a warning, or open the breaker."""
        try:
            return await answer
        except StoreUnavailable as error:
            if not self.is_open:
                self.failed(error)
        except StoreError as error:
            self.warn_once(f"{subject} cannot be written to the store: {error}")
        return None

    def warn_once(self, warning: str) -> None:
        if warning not in self._warnings and len(self._warnings) < 100:  # many name a document, so they all differ
            self._warnings.add(warning)
            logger.warning("%s", warning)

    def failed(self, error: Exception, documents: int = 1, *, is_known: bool = False) -> None:
        """Note a failure. Log the first one, unless the caller tells the user of it (``is_known``)."""
        if not self.is_open and not is_known:
            logger.warning("The store is lost; items pass unchecked until it is back. %s", error)
        self._pause = min(max(0.5, 2 * self._pause), 15.0)
        self._missed += documents
        self._retry_at = self._clock() + self._pause

    def succeeded(self) -> None:
        if self.is_open:
            logger.warning("The store is back; %d documents passed unchecked.", self._missed)
        self._pause = 0.0
        self._missed = 0
