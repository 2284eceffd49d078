"""Decide documents that are checked together one after the other, as if each had been registered before the next."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, cast

from scrapy_neardup.contracts import Judge, Judged
from scrapy_neardup.document import Document, Fingerprint, Match, Story
from scrapy_neardup.exceptions import StoreError
from scrapy_neardup.index.layout import Generation, Keys, find_candidates
from scrapy_neardup.index.runs import Runs, heartbeats
from scrapy_neardup.index.store import Call
from scrapy_neardup.index.stories import StoredStories
from scrapy_neardup.records.documents import Record, new_record, seconds_of
from scrapy_neardup.rules.decision import decide, decide_again, weights_of
from scrapy_neardup.rules.policy import Policy
from scrapy_neardup.rules.scoring import CandidateState

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


@dataclass(slots=True, eq=False)
class NewDocument:
    """A document that is checked."""

    document: Document
    judge: Judge | None
    record: Record
    keys: Keys
    least_dropped: float
    generations: list[Generation] = field(default_factory=list)  # those in the window, the newest first
    own: Generation = field(init=False)  # in which it is posted
    known: Record | NewDocument | None = None  # if it was checked before: its record, or an earlier one of this batch
    candidates: list[bytes] = field(default_factory=list)
    version: bytes = b""  # that its own generation gets
    match: Match | None = None
    judged: Judged | None = None
    story: Story | StoreError | None = None
    packed: bytes = b""  # the record to register, nothing if the document was checked before

    @property
    def key(self) -> bytes:
        return self.record.original

    @property
    def answer(self) -> Checked:
        return Checked(self.key.hex(), self.match, self.judged, self.story)

    def look_at(self, generations: list[Generation]) -> None:
        """Begin an attempt, with the generations in the window."""
        second = seconds_of(self.key)
        self.known, self.generations, self.packed, self.story = None, generations, b"", None
        self.own = next(each for each in generations if 0 <= second - each.start < each.seconds)

    def is_the_same(self, other: Record) -> bool:
        return (self.record.text_hash, self.record.url_hash) == (other.text_hash, other.url_hash)


def new_document(question: Question, policy: Policy, own_run: int) -> NewDocument:
    fingerprint, document, judge = question
    keys = Keys(fingerprint.identity_keys + fingerprint.text_keys, weights_of(fingerprint))
    least_dropped = policy.least_dropped_share(document.source)
    return NewDocument(document, judge, new_record(fingerprint, document, own_run), keys, least_dropped)


class Batch:
    """What was read for documents that are decided one after the other, and what was decided so far."""

    def __init__(self, news: Sequence[NewDocument], policy: Policy, own_run: int) -> None:
        self._policy = policy
        self.runs = Runs(own_run)
        self.packed: dict[bytes, bytes | None] = {}  # stored records, None where there is none
        self.records: dict[bytes, Record | None] = {}  # those of candidates, also those of this batch
        self.decided: dict[bytes, Record] = {}
        self.stories: StoredStories = {}
        self._shared = set[int]()  # look-up keys of several documents
        self._posted: dict[int, list[tuple[int, bytes]]] = {}  # generations and postings by shared key
        self._versions: dict[int, bytes] = {}  # of the generations with documents of this batch
        self._token, self._commits = secrets.token_bytes(6), 0  # a version is both together
        met = set[int]()
        for new in news:
            self._shared |= met & new.keys.numbers.keys()
            met |= new.keys.numbers.keys()

    def note(self, calls: Sequence[Call], answers: Iterable[object]) -> None:
        """Note what is stored under some keys; ``calls`` have asked for it."""
        for call, packed in zip(calls, answers, strict=False):
            self.packed.update(
                zip(cast("list[bytes]", call.arguments), cast("list[bytes | None]", packed), strict=True)
            )

    def note_runs(self, answer: object) -> None:
        """Note the heartbeats of all runs, from the answer to RUNS."""
        now, kept = cast("tuple[int, dict[bytes, bytes]]", answer)
        self.runs.now = now / 1000
        self.runs.beats = {int(number): (a / 1000, b / 1000) for number, (a, b) in heartbeats(kept).items()}

    def vote(self, new: NewDocument) -> None:
        """Find the candidates of a document, and post it for those that come after it."""
        if self._versions:
            self._add_posted(new)
        new.candidates = find_candidates(new.keys, new.generations, new.key, self._policy.window)
        self._commits += 1
        own, new.version = new.own, self._token + self._commits.to_bytes(2, "big")
        self._versions[own.number] = new.version
        posted = own.number, own.posting_of(new.key)
        for key in new.keys.numbers.keys() & self._shared:
            self._posted.setdefault(key, []).append(posted)

    def _add_posted(self, new: NewDocument) -> None:
        """Add the postings of this batch to those that were read for a document."""
        generations = {generation.number: generation for generation in new.generations}
        for number in generations.keys() & self._versions.keys():
            generations[number].version = self._versions[number]
        for key in new.keys.numbers.keys() & self._posted.keys():
            for number, posting in self._posted[key]:
                if number in generations:
                    generations[number].add(new.keys.numbers[key], posting)

    def decide(self, new: NewDocument) -> None:
        """Find the match of a document, and the record to register unless the document was checked before."""
        if new.known is not None:
            known = new.known if isinstance(new.known, Record) else self.decided[new.key]
            old = self.records.get(known.candidate)
            new.match = decide_again(new.key, known, old, self._policy, self._state(old)) if old else None
            return
        found = [(key, old, self._state(old)) for key in new.candidates if (old := self.records[key])]
        record, new.match = decide(new.record, found, self._policy, new.least_dropped)
        self.records[new.key] = self.decided[new.key] = record

    def _state(self, record: Record) -> CandidateState:
        return self.runs.state(record, self.records.get)
