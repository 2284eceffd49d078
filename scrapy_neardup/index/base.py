"""The contract that every store keeps, and the log of damaged data that all stores have."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Container, Iterable
from dataclasses import astuple, dataclass, field
from typing import NamedTuple, Protocol

from scrapy_neardup.contracts import CountedStore, Judge, Judged, LearnedStore, RunStore, StoryStore
from scrapy_neardup.document import (
    EVERYWHERE,
    Document,
    Fingerprint,
    Match,
    Neighbour,
    Story,
)
from scrapy_neardup.exceptions import StoreError
from scrapy_neardup.records.documents import KEY_BYTES, Record
from scrapy_neardup.records.members import pack_neighbour, unpack_member, unpack_neighbours
from scrapy_neardup.records.stories import COUNTERS, StoryCounters
from scrapy_neardup.rules.policy import HOUR, Policy

logger = logging.getLogger(__name__)

ENDED_SECONDS = 8 * 24 * HOUR
"""How long the sources of events that have ended are kept, before the newest source of the last of them."""

MOST_TAKEN_OVER = 64
"""How many events of dead processes one process takes over at a time. The rest follow a minute later."""

LEARNED_SECONDS = ENDED_SECONDS
"""How long the boilerplate of a source is remembered after the source printed it last."""

COUNTED_MINUTES = 120
"""How long the counts of verdicts are kept."""

MOST_COUNTED = 300
"""How many names are counted in a minute; more are left out."""

_TYPES = [type(default) for default in astuple(StoryCounters())]
_NEIGHBOURS = COUNTERS.index("neighbours")

_DOCUMENT = re.compile(r"\b[0-9a-f]{16}\b")
_EFFECTS = {
    "a record": "its document is not compared",
    "a posting": "it is no candidate",
    "a story": "its event is not reported",
    "the list of neighbours of a story": "they are left out",
}


@dataclass(frozen=True, slots=True)
class StoreSummary:
    """What a store holds for one namespace and configuration."""

    location: str
    namespace: str
    config: str
    documents_per_hour: dict[int, int]  # hour (Unix seconds // 3600) -> documents
    bytes: int | None = None  # None if the store cannot tell
    stories: int = 0  # without those that became a part of another one
    events: int = 0  # that have not ended
    other_configs: tuple[str, ...] = ()  # other configurations in the namespace
    server: dict[str, str] = field(default_factory=dict)  # facts of the store itself, for people
    warnings: tuple[str, ...] = ()  # settings of the store that make it lose documents
    namespaces: tuple[str, ...] = ()  # others in this store; they are looked for only if this one has no documents

    @property
    def documents(self) -> int:
        """Return the number of documents of all hours."""
        return sum(self.documents_per_hour.values())


@dataclass(frozen=True, slots=True)
class Selection:
    """The documents to purge: those of one source, those of one page, or all if neither is given."""

    source: str = ""
    source_hash: bytes = b""  # as in a fingerprint; ``url_hash`` too
    url_hash: bytes = b""
    is_named: Callable[[str], bool] | None = None  # decides whether a text is the source, a url of it, or of the page

    @property
    def is_all(self) -> bool:
        return not (self.source_hash or self.url_hash)

    def takes(self, record: Record) -> bool:
        """Return whether a document is of the source, also if this is the platform of several, or of the page."""
        if self.is_all or self.source_hash == record.source_hash or self.url_hash == record.url_hash:
            return True
        has_source = bool(self.source) and record.source_hash != EVERYWHERE
        return has_source and self.takes_name(record.url.decode("utf-8", "replace"))

    def takes_member(self, key: object, packed: object) -> bool:
        """Return whether a packed member is of the source or page. Return False if the member is damaged."""
        if not isinstance(key, bytes) or not isinstance(packed, bytes) or len(key) != KEY_BYTES:
            return False
        try:
            member = unpack_member(key, packed)
        except StoreError:
            return False
        return self.takes_name(member.url) or (bool(self.source) and member.source == self.source)

    def takes_neighbour(self, neighbour: Neighbour) -> bool:
        return self.is_all or self.takes_name(neighbour.url)

    def takes_name(self, name: str) -> bool:
        """Return whether a text is the source or a host of it, a url of the source, or a url of the page."""
        return self.is_named is not None and self.is_named(name)


def names_any_document(grant: str, gone: Container[bytes]) -> bool:
    """Decide whether a grant, as a store keeps it, is of a story that begins with one of these documents.

    It is also if one of the documents has raised the event.
    """
    return any(bytes.fromhex(document) in gone for document in _DOCUMENT.findall(grant))


def remaining_neighbours(packed: bytes, selection: Selection, gone: Container[bytes]) -> bytes:
    """Return packed neighbours without those of the selection, and without stories whose first document is gone.

    Return nothing if the packed neighbours are damaged.
    """

    def remains(neighbour: Neighbour) -> bool:
        return bytes.fromhex(neighbour.story) not in gone and not selection.takes_neighbour(neighbour)

    try:
        return b"".join(map(pack_neighbour, filter(remains, unpack_neighbours(packed))))
    except StoreError:
        return b""


Question = tuple[Fingerprint, Document, Judge | None]
"""The arguments of a check."""


class Checked(NamedTuple):
    """The answer to a check.

    ``id`` is the id under which the document is registered. It is the document's own id, or a later one of the same
    second if another document has that id already. ``judged`` is the answer of the judge, None if there was none.
    ``story`` is the story just after the document joined it, None if it joined none. If the store cannot use the story,
    because its data is damaged, ``story`` is the error, and the document is registered without it.
    """

    id: str
    match: Match | None
    judged: Judged | None = None
    story: Story | StoreError | None = None


class DamageLog:
    """Warns about damaged data of one store."""

    def __init__(self, location: str) -> None:
        self._location = location  # without a password
        self._warned: set[str] = set()

    def warn_once(self, kind: str) -> None:
        """Warn that data of this kind is damaged, and name the effect. Warn only once for each kind."""
        if kind not in self._warned:
            self._warned.add(kind)
            logger.warning(
                "%s: %s is damaged, or not of this version: %s. Further cases are not logged.",
                *(self._location, kind, _EFFECTS.get(kind, "it is left out")),
            )

    def readable_story(self, key: object, values: Iterable[object]) -> Story | None:
        """Return the story with these counters, None if they are damaged."""
        try:
            if isinstance(key, bytes) and len(key) == KEY_BYTES:
                return self.counters(key, values).story(key)
        except StoreError:
            pass
        self.warn_once("a story")
        return None

    def counters(self, key: bytes, values: Iterable[object]) -> StoryCounters:
        """Return the counters of a story. Raise StoreError if they are damaged. Leave out damaged neighbours."""
        whole = list(values)
        whole[_NEIGHBOURS] = self._readable_neighbours(whole[_NEIGHBOURS])
        if [*map(type, whole)] != _TYPES:
            raise StoreError(f"story {key.hex()}: its counters are not those of this version")
        counters = StoryCounters(*whole)  # type: ignore[arg-type]  # checked above
        # Of two stories the one with the lower key stays. So nobody who follows a story comes back to it.
        if counters.moved and (len(counters.moved) != KEY_BYTES or counters.moved >= key):
            raise StoreError(f"story {key.hex()}: it is a part of {counters.moved.hex()}, which is no earlier story")
        return counters

    def _readable_neighbours(self, packed: object) -> bytes:
        """Return packed neighbours as they are, or nothing if they are damaged."""
        try:
            if isinstance(packed, bytes):
                unpack_neighbours(packed)
                return packed
        except StoreError:
            pass
        self.warn_once("the list of neighbours of a story")
        return b""


class Index(RunStore, StoryStore, LearnedStore, CountedStore, Protocol):
    """Finds the best match of a document in the window and registers the document, in one atomic step.

    1. If documents are alike enough to match each other, exactly one of them is the original, whatever the number of
       tasks, threads and processes that check at the same time.
    2. Time is the documents' own ``seen_at``: two documents at most ``window`` seconds apart are compared.
    3. Memory is bounded by what the window holds; an idle namespace vanishes by itself.
    4. Checking a document again gives the same answer again, and registers nothing. It is the same document if id,
       text and url are the same. If another document has its id, the document gets the next id that is free.
    5. A match names the original, never another duplicate, even if the original's own hour is over.
    6. Data that is read back is length-checked and never evaluated.
    7. Two stores that get the same documents in the same order give the same answers. For this, they choose the
       same candidates in a crowd:
       Time is cut into generations (``horizon.generation_seconds``). In each generation a store keeps at most
       ``MOST_POSTINGS`` postings of a key: those with the largest document keys (the second, then the hash). It does
       not matter whether a document arrived late. Older postings are forgotten, or are not kept at all.
       A check reads the postings of each of its keys. It begins with the newest generation, and in each generation with
       the largest document key. It counts only documents of its window, and at most ``MOST_POSTINGS`` for a key.
       It then looks at no more than ``MAX_CANDIDATES`` of the documents found: those that share most with the new one.
       Among equals the oldest comes first.
    8. A document joins its story in the same atomic step that registers it, and only once, however often it is checked.
       The second document of a story also adds the first one. A story lives for a window after its last member. A level
       of an event is granted to one claim, and to that claim as often as it asks.
    9. A document that a run registered counts as seen if it is delivered or the run lives. Until it is
       delivered, a document that the run drops as a copy counts only as long as its match counts. A page that is
       registered again after its run died rejoins its old story.
    """

    policy: Policy

    async def open(self) -> None:
        """Connect, inside the running loop. Opening twice does no harm.

        Raise StoreError if the store cannot be used as configured.
        """

    async def close(self) -> None:
        """Finish the calls under way and release every resource. Closing twice does no harm."""

    async def check(self, fingerprint: Fingerprint, document: Document, judge: Judge | None = None) -> Checked:
        """Return the id of the document, and the best match within the window: None for the first of its kind.

        ``judge`` says how the document joins a story. If ``is_seen`` of the match is False, the document is the first
        of its kind that counts.

        Raise StoreUnavailable if the store does not answer in time; the document may then be registered or not.
        """

    async def similar(self, fingerprint: Fingerprint, document: Document, most: int) -> list[Match]:
        """Return all documents that match, best first; register nothing. This reads every record: it is for people."""

    async def records(self) -> list[tuple[bytes, Record]]:
        """Return the keys and records of all documents. Like ``similar``, this is for people."""

    async def summary(self) -> StoreSummary:
        """Return a summary of this namespace and configuration."""

    async def purge(self, selection: Selection, *, dry_run: bool = False) -> int:
        """Remove the selected documents of this namespace, whatever their configuration.

        Also remove the copies whose original is removed. Return their number. They are removed from the members of
        stories too, but the counters of these stories stay. A selection of all leaves nothing of the namespace. With
        ``dry_run`` only count the documents. This is not one atomic step: documents that are registered meanwhile may
        stay.
        """
