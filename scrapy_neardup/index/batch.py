"""Documents that are checked together, and what was read of the window for them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from scrapy_neardup.document import Document, Fingerprint, with_id
from scrapy_neardup.exceptions import StoreError, StoreUnavailable
from scrapy_neardup.index.layout import Layout
from scrapy_neardup.index.postings import Generation, Keys, PostedTogether, find_candidates
from scrapy_neardup.index.runs import Heartbeats, kept_by
from scrapy_neardup.records.documents import NO_TEXT, Record, new_record, seconds_of
from scrapy_neardup.records.stored_stories import StoredStories
from scrapy_neardup.records.texts import StoredText, pack_text
from scrapy_neardup.rules.decision import Candidate, Decision, Judge
from scrapy_neardup.rules.pair import CandidateState
from scrapy_neardup.story import Join, Story


class Checked(NamedTuple):
    """The answer to a check.

    ``id`` is the id under which the document is registered. It is the document's own id, or a later one of the same
    second if another document has that id already. ``story`` is the story just after the document joined it, None if it
    joined none. If the data of the story is damaged, ``story`` is the error, and the document is registered without it.
    ``asks_other_run`` is True if the document is to be dropped, and another run has yet to deliver its match.
    """

    id: str
    decision: Decision
    story: Story | StoreError | None
    asks_other_run: bool = False


class NewDocument:
    """A document that is checked: its record as the first of its kind, its look-up keys, and in the end the answer."""

    def __init__(self, fingerprint: Fingerprint, document: Document, run: int, *, keep_text: bool) -> None:
        self._document = document
        self.record = new_record(fingerprint, document, run, keep_text=keep_text)
        self.lookup_keys = Keys.of(fingerprint)
        self.answer: Checked | StoreError | None = None

    @property
    def key(self) -> bytes:
        return self.record.original

    @property
    def document(self) -> Document:
        """Return the document with the id under which it will be registered."""
        return with_id(self._document, self.key.hex())

    @cached_property
    def text(self) -> StoredText:
        return StoredText.of(self._document.title, self._document.text)

    @cached_property
    def packed_text(self) -> bytes:
        return pack_text(self.text)


@dataclass(slots=True, eq=False)
class Attempt:
    """One attempt to register a document: what was read for it, and what was decided.

    A document that was checked before has its ``stored`` record. It is decided again, but not registered.
    """

    new: NewDocument
    generations: list[Generation]  # those in the window, the newest first
    own: Generation  # the one in which the document is posted
    stored: Record | None = None
    generation_version: bytes = b""  # that its own generation gets
    candidates: list[bytes] = field(default_factory=list)
    likely: dict[bytes, Candidate | None] = field(default_factory=dict)  # None for one that cannot be a match
    decision: Decision | None = None
    packed: bytes = b""  # the record that is registered
    story: Story | StoreError | None = None
    asks_other_run: bool = False  # another run is asked for the fate of the match

    @property
    def join(self) -> Join | None:
        return self.decision.join if self.decision else None


class Batch:
    """Documents that are decided one after the other, with what was read for them. No two of them have one key."""

    def __init__(self, documents: Iterable[NewDocument], layout: Layout, run: int) -> None:
        self.attempts: list[Attempt] = []
        for new in documents:
            second, generations = seconds_of(new.key), layout.generations(seconds_of(new.key))
            self.attempts.append(Attempt(new, generations, next(each for each in generations if each.has(second))))
        self.heartbeats = Heartbeats(run)
        self.packed: dict[bytes, bytes | None] = {}  # stored records, None where there is none
        self.records: dict[bytes, Record | None] = {}  # those of candidates, also those of this batch
        self.texts: dict[bytes, StoredText] = {}  # by the key of the document that holds it
        self.stories: StoredStories = {}
        self._posted = PostedTogether(each.new.lookup_keys for each in self.attempts)

    @property
    def document_keys(self) -> set[bytes]:
        return {each.new.key for each in self.attempts}

    @property
    def answered(self) -> int:
        """Return how many documents have their answer."""
        return sum(each.new.answer is not None for each in self.attempts)

    def next_size(self, most: int) -> int:
        """Return how many documents are tried next: the fewer, the less time others have to interfere."""
        return 2 * most if self.answered == len(self.attempts) else max(1, len(self.attempts) // 2)

    def note_damage(self, error: StoreError) -> None:
        """Note that data which one of the documents needs is damaged. Raise the error if the store is lost instead."""
        if isinstance(error, StoreUnavailable):
            raise error
        if len(self.attempts) == 1:
            self.attempts[0].new.answer = error

    def find(self, attempt: Attempt, window: int) -> None:
        """Find the candidates of a document, and post it for those that come after it.

        They are at most 32, those with most weight in common (``postings.find_candidates``).
        The only candidate of a document that was checked before is the one that it is linked to.
        """
        keys, key, stored = attempt.new.lookup_keys, attempt.new.key, attempt.stored
        if stored is not None:
            attempt.candidates = [stored.match] if stored.has_match(key) else []
            return
        self._posted.add_to(keys, attempt.generations)
        attempt.candidates = find_candidates(keys, attempt.generations, key, window)
        attempt.generation_version = self._posted.post(keys, attempt.own, key)

    def state(self, record: Record) -> CandidateState:
        """Decide whether a document counts as seen."""
        return self.heartbeats.state(record, self.records.get)

    def follow_lost(self, attempt: Attempt) -> None:
        """Add what each lost candidate was like. Otherwise a page that is lost in every run would hide its original."""
        if attempt.stored is not None:
            return
        for key in attempt.candidates:  # it grows
            record, known = self.records.get(key), (attempt.new.key, *attempt.candidates)
            if record and record.match not in known and self.state(record) == "lost":
                attempt.candidates.append(record.match)

    def likely_candidates(self, attempt: Attempt, judge: Judge) -> list[Candidate]:
        """Return the candidates whose records are known, without those that cannot be a match.

        A document of this batch has no record until it is decided.
        """
        for key in attempt.candidates:
            record = self.records.get(key)
            known = attempt.likely.get(key)
            if record is not None and (key not in attempt.likely or (known and known.record is not record)):
                is_likely = attempt.stored is not None or judge.may_match(attempt.new.record, record)
                attempt.likely[key] = self._candidate(key, record) if is_likely else None
        return [each for key in attempt.candidates if (each := attempt.likely.get(key)) is not None]

    def _candidate(self, key: bytes, record: Record) -> Candidate:
        kept_key, kept = kept_by(key, record, self.records.get)
        return Candidate(key, record, self.state(record), kept_key if record.is_dropped and kept else b"")

    def lend_texts(self) -> None:
        """Let the documents that come later in this batch read the texts of those before."""
        for each in self.attempts:
            if each.stored is None and each.new.record.text_at != NO_TEXT:
                self.texts[each.new.key] = each.new.text

    def texts_of(self, candidates: Iterable[Candidate]) -> dict[bytes, StoredText]:
        """Return the texts that were read or lent of candidates, and of the documents that were kept instead."""
        texts = dict[bytes, StoredText]()
        for key in {key for each in candidates for key in (each.key, each.kept)}:
            record = self.records.get(key)
            text = self.texts.get(key) or self.texts.get(record.text_at if record else NO_TEXT)
            if text is not None:
                texts[key] = text
        return texts
