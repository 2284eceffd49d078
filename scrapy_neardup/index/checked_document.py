"""A document on its way through the steps of a check."""

from __future__ import annotations

from dataclasses import dataclass, field

from scrapy_neardup.document import Document
from scrapy_neardup.exceptions import StoreError
from scrapy_neardup.index.postings import Generation, Keys
from scrapy_neardup.index.store import NewPostings
from scrapy_neardup.records.documents import Record, seconds_of
from scrapy_neardup.rules.decision import Decision
from scrapy_neardup.rules.pair import Pair
from scrapy_neardup.story import Story


@dataclass(eq=False)
class CheckedDocument:
    """A document that is checked: what was read for it, what was decided, and in the end how it is registered.

    One that was checked before is decided again, with its ``stored`` record, but not registered.
    """

    given: Document
    record: Record  # as an original
    keys: Keys  # look-up keys
    generations: list[Generation] = field(init=False)  # those in the window, the newest first
    own: Generation = field(init=False)  # the one in which the document is posted
    posted: NewPostings | None = None
    stored: Record | None = None
    candidates: list[bytes] = field(default_factory=list)
    pairs: dict[bytes, Pair | None] = field(default_factory=dict)  # with candidates; None for one that is no match
    decision: Decision = field(init=False)
    packed: bytes = b""  # the record that is registered
    story: Story | StoreError | None = None  # just after the document joined it; the error if its data is damaged
    asks_other_run: bool = False  # it is to be dropped, and another run has yet to deliver its match
    is_registered: bool = False  # it is registered, now or before
    error: StoreError | None = None

    def begin(self, generations: list[Generation]) -> None:
        """Forget what an earlier try has read."""
        self.generations = generations
        # Each generation is there twice, first the one for what came after it was crowded: see ``Layout.generations``.
        self.own = next(each for each in reversed(generations) if each.has(seconds_of(self.key)))
        self.stored = None
        self.pairs = {}
        self.story = None

    @property
    def key(self) -> bytes:
        """The key under which the document is registered. As long as it has no match it is its own original."""
        return self.record.original

    @property
    def id(self) -> str:
        """The same as an id: that of the document, or if another has that, the next that is free."""
        return self.key.hex()

    @property
    def is_done(self) -> bool:
        return self.is_registered or self.error is not None
