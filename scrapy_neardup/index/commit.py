"""Register documents after the decision: record, posting and story of each in one atomic step."""

from __future__ import annotations

from scrapy_neardup.exceptions import StoreUnavailable
from scrapy_neardup.index.batch import Attempt, Batch, Checked
from scrapy_neardup.index.postings import new_postings
from scrapy_neardup.index.runs import kept_by
from scrapy_neardup.index.store import Call, Client, Commit, Expected, is_version
from scrapy_neardup.index.stories import Stories
from scrapy_neardup.records.documents import seconds_of
from scrapy_neardup.rules.policy import HOUR

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
    if attempt.stored is not None:
        return Commit(expected, writes) if writes else None
    record, key, own = decision.record, attempt.new.key, attempt.own
    attempt.packed = record.pack()
    records, second = layout.records(key), seconds_of(key)
    if (match := decision.match) is not None:
        is_there = Call("HEXISTS", layout.records(match.key), (match.key,))
        expected = [Expected(is_there, b"1"), *expected]
    if record.is_dropped:
        kept_key, kept = kept_by(key, record, batch.records.get)
        attempt.asks_other_run = kept is not None and kept.run not in (0, record.run_number)
        if kept is not None and attempt.asks_other_run:
            asked = layout.asked(kept.run)
            writes += [Call("HSET", asked, (key, kept_key)), Call("EXPIRE", asked, (window,))]
    writes = [
        Call("EXPIRE", own.name, (own.start + own.seconds - second + window,)),
        *writes,
        Call("HSET", records, (key, attempt.packed)),
        Call("EXPIRE", records, (HOUR - second % HOUR + window,)),
    ]
    posted = new_postings(attempt.new.keys, attempt.generations, own, key, attempt.version)
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
