"""The steps of a check: documents that come together are decided one after the other, and registered.

A batch asks the store two to five times: for postings; for records of candidates, if there are any; for texts of those
that may be copies; for the story that a document joins; and to commit. Postings without a record are skipped.

Each document is decided as if those before it had been registered. If others have changed what was read for a document,
its commit is refused.
"""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace

from scrapy_neardup.document import LONG_TEXT, with_id
from scrapy_neardup.index.joined_stories import text_of
from scrapy_neardup.index.layout import calls_by_slice, values_by_slice
from scrapy_neardup.index.partition import Partition
from scrapy_neardup.index.postings import Postings, ShardBits
from scrapy_neardup.index.registration import CheckedDocument, Registration
from scrapy_neardup.index.runs import MOST_LINKS, Heartbeats, kept_by
from scrapy_neardup.index.store import Call, Client, answers
from scrapy_neardup.records.documents import NO_TEXT, Record, read_record, seconds_of, with_next_key
from scrapy_neardup.records.texts import StoredText
from scrapy_neardup.rules.pair import Pair
from scrapy_neardup.rules.second_look import chosen_for_second_look


class Batch:
    """Documents that are checked together, and what was read of the window for them. No two of them have one key.

    The methods are the steps of a check, in their order. ``bits`` is what this process remembers of the generations.
    """

    def __init__(self, partition: Partition, bits: ShardBits, client: Client, documents: list[CheckedDocument]) -> None:
        self._partition = partition
        self._layout = partition.layout
        self._judge = partition.judge
        self._client = client
        self.documents = documents
        for each in documents:
            each.begin(self._layout.generations(seconds_of(each.key)))
        self._postings = Postings(self._layout, bits)
        self._heartbeats = Heartbeats(partition.run)
        # Those that were read, also None for damaged ones; then those of this batch.
        self.records: dict[bytes, Record | None] = {}
        self._taken = set[bytes]()  # keys under which anything is stored
        # Stored ones by the ``text_at`` of their records; those of this batch by their own keys.
        self._texts: dict[bytes, StoredText] = {}
        self._registration = Registration(partition, self.records, self._texts)

    async def check(self, *, registers: bool = True) -> None:
        """Take all steps, or only decide the documents."""
        await self._read_postings()
        if registers:
            await self._find_own_keys()
        self._find_candidates()
        await self._read_candidates()
        await self._read_texts()
        await self.decide()
        if registers:
            await self._registration.commit(self._client, self.documents)

    # 1. Read the postings

    async def _read_postings(self) -> None:
        """Read the postings of look-up keys, and what is stored under the documents' own keys."""
        near = [each.near for each in self.documents]
        calls = await self._postings.calls(self._client, near)
        found = await self._read_records({each.key for each in self.documents}, calls)
        await self._postings.take(self._client, near, found)

    async def _read_records(self, keys: AbstractSet[bytes], more: Sequence[Call] = ()) -> list[object]:
        """Read the records under these keys that were not read before. Return the answers to ``more`` calls."""
        calls = calls_by_slice(self._layout.records, keys - self.records.keys())
        if not calls and not more:
            return []
        found = await answers(self._client, [*more, *calls])
        for key, packed in values_by_slice(calls, found[len(more) :]):
            self.records[key] = read_record(packed or b"")
            if packed is not None:
                self._taken.add(key)
                if self.records[key] is None:
                    self._partition.warn_damaged("a record", "its document is not compared")
        return found[: len(more)]

    # 2. Find their own keys

    async def _find_own_keys(self) -> None:
        """Find the documents that were checked before. If another document has a key, take the next key."""
        moved = self.documents
        while moved := [each for each in moved if not self._has_key(each)]:
            for each in moved:
                each.record = with_next_key(each.record)
            await self._read_records({each.key for each in self.documents})

    def _has_key(self, new: CheckedDocument) -> bool:
        """Return whether a document has its key, as the first or because it was checked before."""
        if new.key not in self._taken:
            return True
        stored = self.records[new.key]
        if stored is None or stored.life.state == "withdrawn":
            return False
        if (stored.text_hash, stored.url_hash) != (new.record.text_hash, new.record.url_hash):
            return False
        # Only a document with a match needs ``tells_title``, not stored. A wall has one, but a story of its own.
        has_own_story = stored.story == new.key
        new.stored = replace(stored, tells_title=not has_own_story, is_boilerplate=new.record.is_boilerplate)
        return True

    # 3. Find the candidates

    def _find_candidates(self) -> None:
        """Find the candidates of each document, and post it for those that come after it.

        The only candidate of a document that was checked before is the one that it is linked to.
        """
        for each in self.documents:
            if each.stored is not None:
                each.candidates = [each.stored.match] if each.stored.match != each.key else []
                continue
            each.candidates = self._postings.find(each.near, self._partition.policy.window)
            each.posted = self._postings.post(each.near, each.key)

    async def _read_candidates(self) -> None:
        """Read the heartbeats, the records of all candidates, and those that dropped or lost ones link to."""
        wanted = {key for each in self.documents for key in each.candidates}
        if not wanted:
            return
        (runs,) = await self._read_records(wanted, [Call("RUNS", self._layout.runs)])
        self._heartbeats = Heartbeats.of(self._partition.run, runs)
        done = set[bytes]()
        for _ in range(MOST_LINKS + 1):
            await self._read_records(wanted)
            done |= wanted
            found = [(key, record) for key in wanted if (record := self.records[key])]
            wanted = {record.match for key, record in found if record.is_dropped or self._is_lost(key, record)} - done
            if not wanted:
                break
        self._add_matches_of_lost()

    def _is_lost(self, key: bytes, record: Record) -> bool:
        return not self._heartbeats.is_seen(record, kept_by(key, record, self.records.get))

    def _add_matches_of_lost(self) -> None:
        """Add what each lost candidate was like. Otherwise a page that is lost in every run would hide its original."""
        for new in (each for each in self.documents if each.stored is None):
            for key in new.candidates:  # those that are added are looked at too
                record = self.records.get(key)
                if record and record.match not in (new.key, *new.candidates) and self._is_lost(key, record):
                    new.candidates.append(record.match)

    # 4. Read the texts

    async def _read_texts(self) -> None:
        """Read the texts of candidates that are chosen for a second look, and of documents kept instead of them."""
        wanted = set[bytes]()
        for each in self.documents:
            for pair in chosen_for_second_look(self._update_pairs(each)):
                records = (pair.old, self.records.get(pair.kept_key))
                wanted.update(record.text_at for record in records if record)
        self._texts |= await self._partition.texts(self._client, wanted)
        for each in self.documents:  # those that come later in this batch may read the texts of those before
            if each.stored is None and each.record.text_at != NO_TEXT:
                self._texts[each.key] = StoredText.of(each.given.title, each.given.text)

    def _update_pairs(self, new: CheckedDocument) -> list[Pair]:
        """Pair a document with each candidate whose record is known, and return the pairs that may match.

        It is done before texts are read, and again before the document is decided: then those before it in this batch
        have records, and may have changed others. So ``Judge.decide`` chooses again whose texts are compared.
        """
        for key in new.candidates:
            record = self.records.get(key)
            if record is None:
                continue
            if key in new.pairs and ((known := new.pairs[key]) is None or known.old is record):
                continue  # it is paired, and has not changed since
            kept = kept_by(key, record, self.records.get)
            pair = Pair(
                key,
                new.stored or new.record,
                record,
                self._partition.policy,
                is_seen=self._heartbeats.is_seen(record, kept),
                kept_key=kept.key if kept else b"",
            )
            new.pairs[key] = pair if new.stored is not None or self._judge.system.may_match(pair) else None
        return [each for key in new.candidates if (each := new.pairs.get(key)) is not None]

    # 5. Decide

    async def decide(self) -> None:
        """Decide what each document is. The documents behind it are decided as if it was registered."""
        for each in self.documents:
            pairs = self._update_pairs(each)
            texts = self._texts_of(pairs)
            asked = (with_id(each.given, each.id), each.stored or each.record, pairs, texts)
            lengths = [len(each.given.text), *(len(text.text) for text in texts.values())]
            if pairs and max(lengths) >= LONG_TEXT:
                # To compare them takes long. With Redis that would hold up the event loop; SQLite has a thread anyway.
                each.decision = await self._client.run_aside(self._judge.decide, *asked)
            else:
                each.decision = self._judge.decide(*asked)
            if each.stored is None:
                self.records[each.key] = each.decision.record
                self.records |= {changed: after for changed, (_, after) in each.decision.changed.items()}

    def _texts_of(self, pairs: Sequence[Pair]) -> dict[bytes, StoredText]:
        """Return the known texts of candidates, and of the documents kept instead of them, by document key."""
        keys = [key for pair in pairs for key in (pair.key, pair.kept_key)]
        texts = {key: text_of(key, self.records, self._texts) for key in keys}
        return {key: text for key, text in texts.items() if text is not None}
