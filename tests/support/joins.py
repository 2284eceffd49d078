"""Members of stories and the joins that bring them, for the tests of stories."""

from __future__ import annotations

import struct
from dataclasses import replace

from documents import START, digest

from scrapy_neardup.contracts import Judged
from scrapy_neardup.document import Claim, Document, Fingerprint, Join, Kind, Member, Status, Story, Verdict
from scrapy_neardup.exceptions import StoreError
from scrapy_neardup.index import Index


def member(
    name: str, at: float = 0, source: str = "", owner: str = "", status: Status = "duplicate", kind: Kind | None = None
) -> Member:
    key = struct.pack(">I", int(START + at)) + digest(name, 4)
    return Member(key.hex(), f"https://{source}/{name}", name, source, owner or source, status, kind)


FIRST = member("first", source="wire.example", status="original")


def join(name: str, at: float = 0, source: str = "", **more: str) -> Join:
    return Join(FIRST, member(name, at, source, **more))  # type: ignore[arg-type]


def changed(name: str, source: str, *values: str, before: str = "4", also: str = "") -> Join:
    """A text in which figures changed from one value to others; it says those, and what it says beside them."""
    lines = tuple(f"dead: {before} -> {value}" for value in values)
    return Join(
        FIRST,
        replace(member(name, 60, source, status="update"), changes=lines),
        figures_before=said(before) * len(values),
        figures_after=b"".join(map(said, values)),
        figures=b"".join(map(said, values)) + said(also),
    )


def copying(name: str, source: str, *values: str) -> Join:
    """A text that says so, and differs in no figure from what it is a copy of."""
    return replace(join(name, 70, source), figures=b"".join(map(said, values)))


def said(value: str) -> bytes:
    return digest(value, 4)


def speaking(name: str, language: str) -> Join:
    return Join(FIRST, replace(member(name, 60, f"{name}.example"), language=language))


def beginning(name: str, at: float = 0, source: str = "", **more: str) -> Member:
    """The first document of another story than that of ``FIRST``."""
    return replace(member(name, at, source or f"{name}.example", status="original"), **more)  # type: ignore[arg-type]


def joining(first: Member, name: str, at: float = 0, source: str = "", **more: str) -> Join:
    return Join(first, member(name, at, source or f"{name}.example", **more))  # type: ignore[arg-type]


async def end_event(index: Index, name: str, at: float, sources: int) -> None:
    """Let an event of so many sources of its own run and end, all at one time."""
    first = beginning(name, at, f"{name}.example")
    for number in range(1, sources):
        await joined(index, joining(first, f"{name} {number}", at, f"{name}-{number}.example"))
    assert await index.claim(Claim(first.id, "watch")) is not None
    assert await index.claim(Claim(first.id, "ended", last_source=first.seen_at)) is not None


async def joined(index: Index, join: Join) -> Story:
    """Let a document join a story, as a check does. Return the story after it. Raise the error if it cannot be used."""
    member = join.member
    key = bytes.fromhex(member.id)
    identity = int.from_bytes(digest(member.id, 4), "big")
    fingerprint = Fingerprint(b"", 1, digest(member.id), digest(member.url), bytes(4), (identity,), ())
    document = Document(member.id, member.url, member.source, member.title, "", int.from_bytes(key[:4], "big"))
    checked = await index.check(fingerprint, document, lambda document, match: Judged(Verdict("original"), join))
    if isinstance(checked.story, StoreError):
        raise checked.story
    assert checked.story is not None
    return checked.story
