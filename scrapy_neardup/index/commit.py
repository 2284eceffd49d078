"""Register documents after the decision, each in one atomic step; and delete the keys that have left the window."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from scrapy_neardup.exceptions import StoreError, StoreUnavailable
from scrapy_neardup.index.batch import Attempt, Batch, Checked
from scrapy_neardup.index.layout import Layout
from scrapy_neardup.index.postings import new_postings
from scrapy_neardup.index.runs import kept_by
from scrapy_neardup.index.store import Argument, Call, Client, Commit, Expected, is_version
from scrapy_neardup.index.stories import Stories
from scrapy_neardup.records.documents import NO_TEXT, seconds_of
from scrapy_neardup.rules.policy import HOUR

logger = logging.getLogger(__name__)

_MOST_TRIES = 10  # to join stories that others change, before everything is read again
_COMMITTED = 1  # the answer of a store


async def register(client: Client, batch: Batch, stories: Stories) -> None:
    """Send a commit for each document, and note the answers. Raise StoreUnavailable if the store is lost.

    A document whose commit is refused has no answer then. But if only its story has changed, its match and verdict are
    still right: it joins the story again.
    """
    left = batch.attempts
    for _ in range(_MOST_TRIES):
        await stories.read(client, batch.stories, [each.join for each in left if each.join])
        commits = {each: _commit(batch, each, stories) for each in left}
        sent = {each: commit for each, commit in commits.items() if commit is not None}
        results = dict(zip(sent, await client.send([*sent.values()]), strict=True))
        for each in left:
            _note(each, results.get(each, _COMMITTED), stories)
        if not (left := [each for each, result in results.items() if is_version(result)]):
            break
        batch.stories.clear()


def _note(attempt: Attempt, result: object, stories: Stories) -> None:
    """Note the answer of a store to a commit; a document without a commit is done."""
    new = attempt.new
    if isinstance(result, Exception):
        new.answer = stories.store.explained(result)
        if isinstance(new.answer, StoreUnavailable):
            raise new.answer
    # An earlier attempt may have written this very record, and its answer was lost on its way.
    elif attempt.decision and (result == _COMMITTED or (attempt.packed and result == attempt.packed)):
        new.answer = Checked(new.key.hex(), attempt.decision, attempt.story, attempt.asks_other_run)


def _commit(batch: Batch, attempt: Attempt, stories: Stories) -> Commit | None:
    """Return the commit that registers a document and writes the story that it joins, None if nothing is new.

    The store refuses it if the document's key is taken, if its match is gone, if the story has changed, or if others
    have posted a document that shares look-up keys of ``LEAST_WEIGHT`` or more. So of equal documents exactly one is
    the original.
    """
    decision, layout, window = attempt.decision, stories.layout, stories.policy.window
    assert decision is not None
    expected, writes = _join(batch, attempt, stories)
    record, key, own = attempt.stored or decision.record, attempt.new.key, attempt.own
    kept_key, kept = kept_by(key, record, batch.records.get)
    attempt.asks_other_run = record.is_dropped and kept is not None and kept.run not in (0, record.run_number)
    if attempt.stored is not None:
        return Commit(expected, writes) if writes else None
    attempt.packed = record.pack()
    records, second = layout.records(key), seconds_of(key)
    if (match := decision.match) is not None:
        is_there = Call("HEXISTS", layout.records(match.key), (match.key,))
        expected = [Expected(is_there, b"1"), *expected]
    text_at = decision.record.text_at
    if text_at not in (NO_TEXT, key):
        expected = [Expected(Call("HEXISTS", layout.records(text_at), (text_at,)), b"1"), *expected]
    if kept is not None and attempt.asks_other_run:
        asked = layout.asked(kept.run)
        writes += [Call("HSET", asked, (key, kept_key, b"", b"")), Call("EXPIRE", asked, (window,))]
    writes = [
        Call("EXPIRE", own.name, (own.start + own.seconds - second + window,)),
        *writes,
        Call("HSET", records, (key, attempt.packed)),
        Call("EXPIRE", records, (HOUR - second % HOUR + window,)),
    ]
    for changed, (before, after) in decision.changed.items():
        name = layout.records(changed)
        expected.append(Expected(Call("HGET", name, (changed,)), before.pack()))
        writes.append(Call("HSET", name, (changed, after.pack())))
    if text_at == key:
        writes.append(Call("HSET", layout.texts(key), (key, attempt.new.packed_text)))
    if text_at != NO_TEXT:  # the text lives as long as this record
        writes.append(Call("EXPIRE", layout.texts(text_at), (HOUR - second % HOUR + window,)))
    posted = new_postings(attempt.new.lookup_keys, attempt.generations, own, key, attempt.generation_version)
    return Commit([Expected(Call("HGET", records, (key,))), *expected], writes, posted)


def _join(batch: Batch, attempt: Attempt, stories: Stories) -> tuple[list[Expected], list[Call]]:
    """Let a document join its story. Return how the story is written, nothing if it joins none."""
    if attempt.join is None:
        return [], []
    try:
        attempt.story, expected, writes = stories.join(batch.stories, attempt.join)
    except Exception as error:
        attempt.story = stories.store.explained(error)
        if isinstance(attempt.story, StoreUnavailable):
            raise attempt.story from error
        return [], []
    return expected, writes


class Expiry:
    """Deletes the keys that have left the window: a replay runs faster than the clock by which they expire.

    The last two documents must agree that a second is over, so one document with a wrong date ends nothing. If time
    leaps by more than a window, a clock may be wrong: what lies before the leap is left to the store, until documents
    come back to that time. Other processes delete the keys that they have written to themselves.
    """

    def __init__(self, layout: Layout, window: int) -> None:
        self._layout = layout
        self._window = window
        self._own = set[tuple[str, int, int]]()  # keys that this process has written to, with start and end
        self._latest = 0  # second of the document before
        self._horizon = 0  # seconds before this one are over, by the last two documents
        self._kept_before = 0  # seconds before this one are left to the store, whose keys expire
        self._looked_until = 0  # stories were looked through for those that were dead at this second
        self._part: Argument | None = None  # of the stories, where that goes on

    async def unlink_dead(self, seconds: Sequence[int], stories: Stories, *, is_crawl: bool) -> None:
        """Delete the keys that are over after documents of these seconds, and the stories that are.

        A crawl does not, because others may have a longer window: it only forgets the names of stories that have
        expired.
        """
        names = [name for second in seconds for name in self._note(second)]
        first, end = max(0, self._kept_before), self._horizon
        if is_crawl:
            names, first = [], end
        if names or end > self._looked_until:
            self._looked_until, self._part = max(end, self._looked_until), self._part or 0
        if self._part is None:
            return
        try:  # with each batch of checks a part, so that they do not wait long
            self._part = await stories.unlink_dead(names, first, end, self._part)
        except StoreError as error:  # the checks are done, and the keys expire anyway
            logger.warning("Expired keys are not deleted now: %s", error)

    def _note(self, second: int) -> list[str]:
        """Note a document of this second. Return the keys that have left the window with it."""
        earlier, self._latest = min(self._latest or second, second), second
        before, self._horizon = self._horizon, (earlier - self._window) // HOUR * HOUR
        if self._horizon - before > self._window or self._horizon < self._kept_before:
            self._kept_before = self._horizon
        # The bands of the oldest slice live as long as the slice: a late document may match any document in it.
        self._own |= self._layout.spans_of(second)
        dead = {each for each in self._own if self._kept_before <= each[1] and each[2] <= self._horizon}
        self._own -= dead
        return sorted(name for name, _, _ in dead)
