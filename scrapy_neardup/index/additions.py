"""What processes add up: document frequencies, the boilerplate of sources, and counts of verdicts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from scrapy_neardup.document import MOST_SOURCE_DOCUMENTS, KnownBoilerplate, most_lines_of
from scrapy_neardup.index.layout import Layout
from scrapy_neardup.index.store import Call, Client, Expected, run, swap
from scrapy_neardup.index.stories import ENDED_SECONDS
from scrapy_neardup.records.feature_counts import DOCUMENTS_BYTES, NOTHING, add_counts

LEARNED_SECONDS = ENDED_SECONDS
"""How long the boilerplate of a source is remembered after the source printed it last."""

COUNTED_MINUTES = 120
"""How long the counts of verdicts are kept."""

MOST_COUNTED = 3000
"""How many names are counted in ten minutes; more are left out."""

_SPAN = 10  # minutes of a hash of counts


async def add_frequencies(client: Client, layout: Layout, kind: str, counted: bytes, seconds: int, once: str) -> bytes:
    """See ``LearnedStore.add_frequencies``. Raise ConflictError if others add some meanwhile."""
    key = f"{layout.prefix}:frequencies:{kind}"
    (answer,) = await run(client, [Call("HMGET", key, ("documents", "total"))])
    documents, before = (each or b"" for each in cast("list[bytes | None]", answer))
    total = add_counts(before, counted)
    if counted != NOTHING:  # else somebody only reads: an idle namespace stays empty, and expires
        expected = Expected(Call("HGET", key, ("documents",)), documents)
        fields = "documents", total[:DOCUMENTS_BYTES], "total", total
        await swap(client, [expected], [Call("HSET", key, fields), Call("EXPIRE", key, (seconds,))], once)
    return total


async def exchange_boilerplate(
    client: Client, layout: Layout, learned: Mapping[bytes, KnownBoilerplate], once: str
) -> dict[bytes, KnownBoilerplate]:
    """See ``LearnedStore``. An addition also renews the time limit of the older lines or documents of the source."""
    reads, writes = list[Call](), list[Call]()
    for source, (lines, documents) in learned.items():
        for kind, entries, most in (
            ("lines", lines, most_lines_of(source)),
            ("printed", documents, MOST_SOURCE_DOCUMENTS),
        ):
            key = f"{layout.prefix}:learned:{kind}:{source.hex()}"
            reads.append(Call("LRANGE", key, (0, -1)))
            if entries:
                writes += Call("RPUSH", key, entries[-most:]), Call("LTRIM", key, (-most, -1))
            if lines or documents:
                writes.append(Call("EXPIRE", key, (LEARNED_SECONDS,)))
    if writes:
        await swap(client, [], writes, once)
    lists = iter(cast("list[list[bytes]]", await run(client, reads)))
    return {source: KnownBoilerplate(tuple(next(lists)), tuple(next(lists))) for source in learned}


async def count_verdicts(client: Client, layout: Layout, minute: int, counts: Mapping[str, int], once: str) -> None:
    """Add counts. Leave out new names over the limit. Processes that add at the same time may exceed it."""
    key = _key_of_span(layout, minute // _SPAN)
    fields = {f"{minute}:{name}": count for name, count in counts.items()}
    length, answer = await run(client, [Call("HLEN", key), Call("HMGET", key, [*fields])])
    before = dict(zip(fields, cast("list[bytes | None]", answer), strict=True))
    room = max(0, MOST_COUNTED - cast("int", length))
    new = [field for field, value in before.items() if value is None]
    damaged = [field for field, value in before.items() if not (value or b"0").isdigit()]
    writes = [Call("HDEL", key, damaged)] if damaged else []
    writes += [Call("HINCRBY", key, (field, fields[field])) for field in fields.keys() - new[room:]]
    await swap(client, [], [*writes, Call("EXPIRE", key, (60 * (COUNTED_MINUTES + _SPAN),))], once)


async def verdict_counts(client: Client, layout: Layout, since: int, until: int) -> dict[int, dict[str, int]]:
    """Return the counts by minute. Leave out what is damaged."""
    found: dict[int, dict[str, int]] = {}
    calls = [Call("HGETALL", _key_of_span(layout, span)) for span in range(since // _SPAN, until // _SPAN + 1)]
    for answer in await run(client, calls):
        for field, count in cast("dict[bytes, bytes]", answer).items():
            minute, _, name = field.decode("utf-8", "replace").partition(":")
            if minute.isdecimal() and count.isdigit() and since <= int(minute) <= until:
                found.setdefault(int(minute), {})[name] = int(count)
    return found


def _key_of_span(layout: Layout, span: int) -> str:
    return f"{layout.prefix}:verdicts:{span}"
