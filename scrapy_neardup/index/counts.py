"""How many verdicts of each kind all processes have given in each of the last minutes, for people who watch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from scrapy_neardup.index.partition import Part, reads, swaps
from scrapy_neardup.index.store import Argument, Call, Client, answers, swap

COUNTED_MINUTES = 120  # how long the counts of verdicts are kept

_SPAN = 10  # minutes of a hash of counts


class Counts(Part):
    """The counts of verdicts of one namespace and configuration."""

    @swaps
    async def add(self, client: Client, minute: int, counts: Mapping[str, int]) -> None:
        """Add to the counts of verdicts of a minute (Unix time by the caller's clock // 60), for people who watch.

        The counts of a minute are kept for ``COUNTED_MINUTES``. Names are few: those of statuses, kinds and levels.
        Raise StoreUnavailable if the store does not answer in time; the counts may then be added or not.
        """
        key = self.layout.verdicts(minute // _SPAN)
        names = [f"{minute}:{name}" for name in counts]
        (answer,) = await answers(client, [Call("HMGET", key, ("version", *names))])
        version, *before = cast("list[bytes | None]", answer)
        fields = list[Argument]()
        for name, more, value in zip(names, counts.values(), before, strict=True):
            fields += name, more + (int(value) if value and value.isdigit() else 0)
        writes = [Call("HSET", key, fields)] if fields else []
        await swap(client, {key: version or b""}, [*writes, Call("EXPIRE", key, (60 * (COUNTED_MINUTES + _SPAN),))])

    @reads
    async def read(self, client: Client, since: int, until: int) -> dict[int, dict[str, int]]:
        """Return the counts of the minutes from ``since`` to ``until`` that have any, of all processes."""
        found: dict[int, dict[str, int]] = {}
        calls = [Call("HGETALL", self.layout.verdicts(span)) for span in range(since // _SPAN, until // _SPAN + 1)]
        for answer in await answers(client, calls):
            for field, count in cast("dict[bytes, bytes]", answer).items():
                minute, _, name = field.decode("utf-8", "replace").partition(":")
                if minute.isdecimal() and count.isdigit() and since <= int(minute) <= until:
                    found.setdefault(int(minute), {})[name] = int(count)
        return found
